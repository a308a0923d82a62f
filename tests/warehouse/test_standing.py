"""The hub's SQL judges a file's past as `satchel_sync.standing` does, by facts of its tenant."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import psycopg
import pytest
from fix_hub import HubWorld, hello_of, row_of, titled
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from satchel_sync.changes import Access, Hello, Standing, Welcome
from satchel_sync.errors import HubRefused, HubUnreachable, VersionsDiffer
from satchel_sync.standing import Known, judge
from satchel_sync.tables import MEMORY, TASK
from satchel_sync.version import SCHEMA_MIN
from satchel_warehouse import admin
from satchel_warehouse.endpoint import WarehouseHub
from satchel_warehouse.errors import WarehouseRefused

NAMES = st.sampled_from(["", "a", "b", "c"])
SEQS = st.dictionaries(
    st.sampled_from(["memory", "task", "ünï"]), st.integers(0, 2**62), max_size=3
)
JUDGE = "SELECT satchel.judge(%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)"
ALONE = settings(
    deadline=None, max_examples=600, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@ALONE
@given(
    attempt=st.sampled_from(["a", "b", "c"]), last=NAMES, token=NAMES, epoch=NAMES, cursors=SEQS,
    known=st.builds(
        Known, epoch=st.sampled_from(["a", "b"]), last_attempt=NAMES, attempt_known=st.booleans(),
        link_known=st.booleans(), token_known=st.booleans(), token_outdated=st.booleans(),
        delivered=SEQS, must_reconcile=st.booleans(),
    ),
)  # fmt: skip
def test_sql_judges_as_python_does(
    world: HubWorld, attempt: str, last: str, token: str, epoch: str,
    cursors: Mapping[str, int], known: Known,
) -> None:  # fmt: skip
    hello = replace(
        hello_of(1, attempt), last_attempt=last, token=token, epoch=epoch, cursors=cursors
    )
    found = _session(world).execute(
        JUDGE,
        (
            attempt, last, token, epoch, json.dumps(cursors), known.epoch, known.last_attempt,
            known.attempt_known, known.link_known, known.token_known, known.token_outdated,
            json.dumps(known.delivered), known.must_reconcile,
        ),
    )  # fmt: skip
    assert found.fetchone() == (judge(hello, known).value,)


class File:
    """A replica's file as far as hello tells of it, with a login of its own."""

    def __init__(self, world: HubWorld, number: int, tenant: str = "default") -> None:
        self.world, self.attempts = world, 0
        self.hub = WarehouseHub(world.login(tenant))
        world.hubs.append(self.hub)
        self.hello = hello_of(number, f"{number}-0")

    def say(self, **change: Any) -> Welcome:
        """One hello, that nothing is remembered of."""
        return self.hub.hello(replace(self.hello, **change))

    def standing(self, **change: Any) -> Standing:
        return self.say(**change).standing

    def sync(self) -> Standing:
        """A hello, a push and a pull, all of which the file remembers."""
        self.attempts += 1
        attempt = f"{self.hello.replica_id[0]}-{self.attempts}"
        welcome = self.say(attempt=attempt)
        row = row_of(
            MEMORY, attempt, titled(MEMORY, title="x"), origin=self.hello.replica_id,
            lineage="", hlc=self.attempts,
        )  # fmt: skip
        token = self.hub.push(MEMORY, [row]).token
        upto = self.hub.bound()["memory"]
        cursor = self.hello.cursors.get("memory", 0)
        while cursor < upto:
            cursor = self.hub.pull(MEMORY, cursor, upto).cursor
        self.hello = replace(
            self.hello, last_attempt=attempt, token=token, cursors={"memory": cursor},
            epoch=self.hello.epoch or welcome.epoch, hub_id=welcome.hub_id,
        )  # fmt: skip
        return welcome.standing

    def succeeded(self, number: int) -> Hello:
        """Its hello under a new id."""
        hello = self.hello
        return replace(
            hello, replica_id=bytes([number]) * 16, predecessors=(hello.replica_id,),
            attempt=f"{number}-new",
        )  # fmt: skip


def test_every_replica_that_goes_on_is_known(world: HubWorld) -> None:
    one, two = File(world, 1), File(world, 2)
    assert [file.sync() for file in (one, two, one, two, one)] == [Standing.KNOWN] * 5
    assert one.standing(attempt="1-again") is Standing.KNOWN
    assert one.standing(attempt="1-again") is Standing.KNOWN, "its answer was lost"


def test_tokens_are_given_in_order_and_none_twice(world: HubWorld) -> None:
    file = File(world, 3)
    file.sync()
    tokens = [file.hub.push(TASK, []).token for _ in range(20)]
    assert len({*tokens, file.hello.token}) == 21
    assert all(len(bytes.fromhex(token)) == 16 for token in tokens)
    assert file.standing(token=tokens[-1], attempt="3-newer") is Standing.KNOWN
    older = {"token": tokens[3], "attempt": "3-older", "last_attempt": "3-newer"}
    assert file.standing(**older) is Standing.RESTORED
    rows = world.psql().execute("SELECT count(*) FROM satchel.attempt WHERE attempt = '3-older'")
    assert rows.fetchone() == (0,), "an attempt of a restored file is not opened"
    assert file.standing(**older | {"token": ""}) is Standing.KNOWN, "no token tells nothing"


def test_a_push_that_fails_gives_no_token(world: HubWorld) -> None:
    file = File(world, 4)
    file.sync()
    db = world.psql()
    query = "SELECT count(*) FROM satchel.token"
    before = db.execute(query).fetchone()
    db.execute("ALTER TABLE satchel.task ADD CONSTRAINT no CHECK (title <> 'no')")
    try:
        with pytest.raises(Exception, match='violates check constraint "no"'):
            file.hub.push(TASK, [row_of(TASK, "t", titled(TASK, title="no"), origin=b"\x04" * 16)])
    finally:
        db.execute("ALTER TABLE satchel.task DROP CONSTRAINT no")
    assert db.execute(query).fetchone() == before


FOREIGN = ("attempt", "last_attempt", "token", "predecessors", "cursors")


def test_facts_of_another_tenant_are_unknown(world: HubWorld) -> None:
    ours, theirs = File(world, 5), File(world, 6, tenant="other")
    ours.sync()
    theirs.sync()
    mine = theirs.hello
    foreign, unheard = ours.hello, replace(ours.hello, last_attempt="?", token="f" * 32)
    for number, told in enumerate((foreign, unheard)):
        standings = [
            theirs.standing(attempt=f"6-a{number}", last_attempt=told.last_attempt),
            theirs.standing(attempt=f"6-b{number}", last_attempt=f"6-a{number}", token=told.token),
            theirs.standing(
                attempt=f"6-c{number}", last_attempt=f"6-b{number}", token=mine.token,
                predecessors=(b"\x05" * 16,), cursors={"memory": ours.hello.cursors["memory"] + 9},
            ),
        ]  # fmt: skip
        assert standings == [Standing.REWOUND] * 3
        theirs.hello = replace(mine, last_attempt=f"6-c{number}")
    # The very id of an attempt of ours is free for them.
    same = {"attempt": ours.hello.last_attempt, "predecessors": (b"\x05" * 16,)}
    assert theirs.standing(**same) is Standing.KNOWN
    assert theirs.hub.bound()["memory"] < ours.hub.bound()["memory"] + 10
    theirs.hub.bye({})
    finished = world.psql().execute(
        "SELECT finished_at IS NULL FROM satchel.attempt WHERE attempt = %s AND replica_id = %s",
        (ours.hello.last_attempt, b"\x05" * 16),
    )
    assert finished.fetchone() == (True,), "and what they say of it touches theirs alone"


def test_an_attempt_of_another_login_is_as_unknown_as_any(world: HubWorld) -> None:
    mine, other = File(world, 7), File(world, 8, tenant="other")
    mine.sync()
    other.sync()
    told = []
    for attempt in (other.hello.last_attempt, "nobody's"):
        session = world.psql(mine.hub._dsn)
        for door in ("bound(%s)", "reconcile(%s)", "reconciled(%s, '{}')", "bye(%s, '{}')",
                     "journal(%s, '[]')", "damaged_memory(%s, '', 9)", "push_begin_memory(%s)",
                     "heal_memory(%s)", "push_end_memory(%s, 1)", "pull_memory(%s, 0, 9, 9, 9)",
                     "fetch_memory(%s, '{}', 9, 9)", "manifest_memory(%s, '{}')",
                     "digests(%s, '{}', '{}', '{}')"):  # fmt: skip
            with pytest.raises(psycopg.Error) as caught:
                session.execute(f"SELECT satchel_api.{door}".encode(), (attempt,))
            told.append((door, caught.value.sqlstate, caught.value.diag.message_primary))
    half = len(told) // 2
    assert told[:half] == told[half:]
    assert {state for _, state, _ in told} == {"55000"}


def test_a_replica_of_another_tenant_is_no_origin_and_no_revocation(world: HubWorld) -> None:
    ours, theirs = File(world, 9), File(world, 10, tenant="other")
    ours.sync()
    theirs.sync()
    row = row_of(MEMORY, "foreign", titled(MEMORY, title="x"), origin=b"\x09" * 16)
    (refusal,) = theirs.hub.push(MEMORY, [row]).refused
    assert refusal.detail == f"origin {'09' * 16} is unknown here"
    world.psql().execute(
        "UPDATE satchel.replica SET revoked_at = 1 WHERE replica_id = %s", (b"\x09" * 16,)
    )
    heir = replace(theirs.succeeded(11), predecessors=(b"\x09" * 16, b"\x0a" * 16))
    assert theirs.hub.hello(heir).standing is Standing.KNOWN
    with pytest.raises(HubRefused):
        ours.hub.hello(replace(ours.succeeded(12), epoch=""))


def test_a_file_may_move_to_another_login_of_its_tenant(world: HubWorld) -> None:
    old, new = File(world, 13), File(world, 14)
    old.sync()
    moved = old.succeeded(15)
    assert new.hub.hello(moved).standing is Standing.KNOWN
    row = row_of(MEMORY, "13-unsent", titled(MEMORY, title="x"), origin=b"\x0d" * 16)
    assert new.hub.push(MEMORY, [row]).accepted == ("13-unsent",)


def test_two_that_find_one_rewind_at_once_open_one_epoch(world: HubWorld) -> None:
    files = [File(world, number) for number in range(20, 26)]
    for file in files:
        file.sync()
    before = files[0].hello.epoch
    together = threading.Barrier(len(files))

    def find(file: File) -> str:
        assert file.standing(attempt="rewound", token="e" * 32) is Standing.REWOUND
        together.wait(30)
        return file.hub.reconcile().epoch

    with ThreadPoolExecutor(len(files)) as pool:
        epochs = set(pool.map(find, files))
    assert len(epochs) == 1
    (epoch,) = epochs
    assert (len(bytes.fromhex(epoch)), epoch != before) == (8, True)


def test_a_rewind_that_one_tenant_tells_of_opens_no_epoch_of_another(world: HubWorld) -> None:
    ours, theirs = File(world, 40), File(world, 41, tenant="other")
    ours.sync()
    theirs.sync()
    assert ours.hello.epoch != theirs.hello.epoch
    before = admin.status(world.dsn).epochs
    assert theirs.standing(attempt="41-x", token="e" * 32) is Standing.REWOUND
    opened = theirs.hub.reconcile().epoch
    after = admin.status(world.dsn).epochs
    assert after == before | {"other": opened} != before
    assert ours.sync() is Standing.KNOWN
    # The name of another tenant's epoch is a made-up one here.
    assert ours.standing(attempt="40-x", epoch=opened) is Standing.MOVED
    assert ours.hub.reconcile().epoch == before["default"]


def test_one_id_is_judged_one_hello_at_a_time(world: HubWorld) -> None:
    """Copies of a file that never synced say hello at once: one of them is the first."""
    files = [File(world, 30) for _ in range(4)]
    for file in files[1:]:
        file.hub = WarehouseHub(files[0].hub._dsn)
        world.hubs.append(file.hub)
    together = threading.Barrier(len(files))

    def hello(number: int) -> Standing:
        together.wait(30)
        return files[number].standing(attempt=f"copy {number}")

    with ThreadPoolExecutor(len(files)) as pool:
        found = sorted(pool.map(hello, range(len(files))))
    assert found == [Standing.KNOWN, *[Standing.RESTORED] * 3]


def test_what_was_delivered_is_noted_for_last_and_empty_pages_and_never_more(
    world: HubWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = File(world, 31)
    file.say()
    rows = [row_of(TASK, f"t{n}", titled(TASK, title="x"), origin=b"\x1f" * 16) for n in range(5)]
    file.hub.push(TASK, rows)
    world.psql().execute("UPDATE satchel.memory SET title = 'y'")
    monkeypatch.setattr("satchel_warehouse.endpoint.PULL_ROWS_MAX", 2)
    upto, cursor = file.hub.bound()["task"], 0
    while cursor < upto:
        cursor = file.hub.pull(TASK, cursor, upto).cursor
        assert delivered(world, 31)["task"] >= cursor
    assert file.hub.pull(TASK, upto - 1, upto - 1).cursor == upto - 1
    file.hub.pull(MEMORY, 2**40, 2**50)
    assert delivered(world, 31) == {"task": upto, "memory": file.hub.bound()["memory"]}
    file.hub.reconciled({"task": 2**50, "session": 7, "nothing": 3})
    assert delivered(world, 31) == {
        "task": upto, "memory": file.hub.bound()["memory"], "session": 0,
    }  # fmt: skip


def test_a_program_of_an_old_schema_pulls_and_pushes_nothing(world: HubWorld) -> None:
    file = File(world, 32)
    assert file.say(schema=SCHEMA_MIN - 1).access is Access.READ_ONLY
    file.hub.pull(MEMORY, 0, 9)
    for call in (
        lambda: file.hub.push(MEMORY, []),
        lambda: file.hub.heal(MEMORY, []),
        file.hub.reconcile,
        lambda: file.hub.reconciled({}),
    ):
        with pytest.raises(VersionsDiffer):
            call()


@pytest.mark.parametrize(
    "change",
    [
        {"predecessors": (b"short",)},
        {"predecessors": (b"\x01" * 16, b"")},
        {"replica_id": b"\x01" * 17},
        {"attempt": "x" * 201},
    ],
)
def test_odd_hellos_are_refused(world: HubWorld, change: dict[str, Any]) -> None:
    with pytest.raises(WarehouseRefused, match="bytes"):
        File(world, 33).say(**change)


def test_rows_of_any_origin_are_taken_and_logged_once_a_reconcile_began(world: HubWorld) -> None:
    file = File(world, 34)
    file.sync()
    rows = [
        row_of(MEMORY, f"relayed {n}", titled(MEMORY, title="x"), origin=bytes([n]) * 16)
        for n in (200, 201, 201, 34)
    ]
    rows = [replace(row, key=f"{row.key} {n}") for n, row in enumerate(rows)]
    assert {r.key for r in file.hub.push(MEMORY, rows).refused} == {r.key for r in rows[:3]}
    file.hub.reconcile()
    assert len(file.hub.push(MEMORY, rows[:2]).accepted) == 2
    assert len(file.hub.push(MEMORY, rows).accepted) == 4
    found = world.psql().execute(
        "SELECT origin, rows, kind, tenant, attempt FROM satchel.relayed ORDER BY origin"
    )
    told = ("memory", "default", file.hello.last_attempt)
    assert found.fetchall() == [(b"\xc8" * 16, 1, *told), (b"\xc9" * 16, 2, *told)]
    assert file.say(attempt="34-after", reconcile="the file says so")
    assert file.hub.push(MEMORY, [replace(rows[0], key="more")]).accepted == ("more",)


def test_a_hub_set_back_is_found_and_a_sync_in_between_breaks_off(hub_world: HubWorld) -> None:
    one, two = File(hub_world, 1), File(hub_world, 2)
    one.sync()
    two.sync()
    two.sync()
    hub_world.backup()
    assert [one.sync(), two.sync()] == [Standing.KNOWN] * 2, "a backup is no rewind"
    one.say(attempt="1-open")
    row = row_of(MEMORY, "lost", titled(MEMORY, title="x"))
    hub_world.rewind()
    with pytest.raises(HubUnreachable):
        one.hub.push(MEMORY, [row])
    welcome = one.say(attempt="1-open")
    assert (welcome.standing, welcome.epoch) == (Standing.REWOUND, one.hello.epoch)
    opened = one.hub.reconcile()
    assert opened.epoch != one.hello.epoch
    assert two.standing(attempt="2-next") is Standing.MOVED
    assert two.hub.reconcile().epoch == opened.epoch


def delivered(world: HubWorld, number: int) -> dict[str, int]:
    found = world.psql().execute(
        "SELECT delivered FROM satchel.replica WHERE replica_id = %s", (bytes([number]) * 16,)
    )
    return dict((found.fetchone() or ({},))[0])


def _session(world: HubWorld) -> psycopg.Connection[Any]:
    return world.sessions[0] if world.sessions else world.psql()
