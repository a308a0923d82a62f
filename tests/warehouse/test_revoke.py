"""`satchel warehouse replica list|revoke`: a machine is shut out, and taken back."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from fix_hub import HubWorld, hello_of, row_of, titled

from satchel_sync.changes import Standing
from satchel_sync.errors import HubRefused
from satchel_sync.tables import MEMORY
from satchel_warehouse import admin
from satchel_warehouse.endpoint import WarehouseHub
from satchel_warehouse.wire import said

LOST, OTHER = b"\xa1" * 8 + b"\xb2" * 8, b"\xa1" * 8 + b"\xc3" * 8


def satchel(world: HubWorld, home: Path, *words: str) -> tuple[int, Any]:
    """Run the command; its exit code and JSON."""
    env = os.environ | {
        "SATCHEL_HOME": str(home),
        "SATCHEL_WAREHOUSE_ADMIN_DSN": world.dsn,
    }
    done = subprocess.run(
        [sys.executable, "-m", "satchel", "--json", "warehouse", "replica", *words],
        env=env, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    return done.returncode, json.loads(done.stdout or done.stderr)


@pytest.fixture(scope="module")
def hubs(world: HubWorld) -> dict[bytes, WarehouseHub]:
    """Two machines with ids that begin alike; one pushed a row."""
    made = {}
    for replica_id in (LOST, OTHER):
        made[replica_id] = WarehouseHub(world.login())
        world.hubs.append(made[replica_id])
        hello = replace(hello_of(1, replica_id.hex()), replica_id=replica_id)
        made[replica_id].hello(replace(hello, predecessors=(b"\x77" * 16,)))
    made[LOST].push(MEMORY, [row_of(MEMORY, "k", titled(MEMORY, title="x"), origin=LOST)])
    return made


def test_the_machines_are_listed(
    world: HubWorld, hubs: dict[bytes, WarehouseHub], tmp_path: Path
) -> None:
    exit_code, found = satchel(world, tmp_path, "list")
    lost = next(one for one in found if one["replica_id"] == LOST.hex())
    assert exit_code == 0
    assert (lost["host"], lost["rows"], lost["predecessors"]) == ("host-1", 1, ["77" * 16])
    assert (lost["revoked_at"], lost["must_reconcile"], lost["tenant"]) == (None, False, "default")
    assert lost["login"] in world.logins
    assert lost["first_seen"][:2] == "20"


@pytest.mark.parametrize(
    ("given", "exit_code", "told"),
    [
        ("a1a1a1a1", 2, LOST.hex()),
        ("a1a1a1", 2, "8 or more"),
        ("%' OR true; --", 2, "no replica id"),
        ("0123456789abcdef", 3, "no replica"),
        (LOST.hex() + "00", 3, "no replica"),
    ],
)
def test_an_id_that_does_not_name_one_machine(
    world: HubWorld, hubs: dict[bytes, WarehouseHub], tmp_path: Path,
    given: str, exit_code: int, told: str,
) -> None:  # fmt: skip
    got, error = satchel(world, tmp_path, "revoke", "--yes", "--", given)
    assert got == exit_code
    assert told in json.dumps(error)
    assert not any(one.revoked_at for one in admin.replicas(world.dsn))


def test_a_revoked_machine_stays_out_until_it_is_taken_back(
    world: HubWorld, hubs: dict[bytes, WarehouseHub], tmp_path: Path
) -> None:
    hub, again = hubs[LOST], hello_of(1, "again", last_attempt=LOST.hex())
    again = replace(again, replica_id=LOST, predecessors=(b"\x77" * 16,))
    exit_code, error = satchel(world, tmp_path, "revoke", "b2b2b2b2")
    assert (exit_code, "--yes" in json.dumps(error)) == (4, True)
    assert hub.bound()["memory"]

    exit_code, told = satchel(world, tmp_path, "revoke", "b2b2b2b2", "--yes")
    assert (exit_code, told["replica_id"], bool(told["revoked_at"])) == (0, LOST.hex(), True)
    row = row_of(MEMORY, "late", titled(MEMORY, title="x"), origin=LOST)
    heir = replace(again, replica_id=b"\xd4" * 16, predecessors=(LOST,), last_attempt="")
    grandchild = replace(heir, replica_id=b"\xd5" * 16, predecessors=(b"\xd4" * 16, LOST))
    for call in (
        hub.bound,
        lambda: hub.push(MEMORY, [row]),
        lambda: hub.pull(MEMORY, 0, 9),
        lambda: hub.reconcile(),
        lambda: hub.hello(again),
        lambda: hub.hello(heir),
        lambda: hub.hello(grandchild),
    ):
        with pytest.raises(HubRefused) as caught:
            call()
        assert caught.value.exit_code == 4
    assert hubs[OTHER].fetch(MEMORY, ["late"]).rows == ()
    assert {one.replica_id for one in admin.replicas(world.dsn)}.isdisjoint(["d4" * 16, "d5" * 16])

    exit_code, told = satchel(world, tmp_path, "revoke", LOST.hex(), "--undo")
    assert (exit_code, told["revoked_at"], told["must_reconcile"]) == (0, None, True)
    assert hub.hello(again).standing is Standing.MOVED
    assert hub.hello(again).standing is Standing.MOVED, "until it has reconciled"
    hub.reconciled(hub.reconcile().seqs)
    after = replace(again, attempt="after", last_attempt="again")
    assert hub.hello(after).standing is Standing.KNOWN
    assert hub.push(MEMORY, [row]).accepted == ("late",)


def test_a_machine_that_was_not_revoked_is_not_taken_back(
    world: HubWorld, hubs: dict[bytes, WarehouseHub], tmp_path: Path
) -> None:
    exit_code, told = satchel(world, tmp_path, "revoke", OTHER.hex(), "--undo")
    assert (exit_code, told["must_reconcile"]) == (0, False)


def id_of(text: str) -> bytes:
    return text.encode().ljust(16, b".")


class Family:
    """Machines of one tenant, by name; each with a login of its own, as it is after a copy."""

    def __init__(self, world: HubWorld) -> None:
        self.world = world
        self.hubs: dict[str, WarehouseHub] = {}

    def enter(self, name: str, *earlier: str, tenant: str = "default") -> bool:
        """Say hello as `name`, whose earlier ids are these, newest first; whether it may."""
        if name not in self.hubs:
            self.hubs[name] = WarehouseHub(self.world.login(tenant))
            self.world.hubs.append(self.hubs[name])
        hello = replace(hello_of(1, uuid4().hex), replica_id=id_of(name))
        try:
            self.hubs[name].hello(replace(hello, predecessors=tuple(map(id_of, earlier))))
        except HubRefused:
            return False
        return True

    def may(self, name: str) -> bool:
        """Whether an attempt that was open before still goes on."""
        try:
            self.hubs[name].bound()
        except HubRefused:
            return False
        return True

    def revoke(self, name: str, *, undo: bool = False) -> set[str]:
        """The names that it shuts out, or takes back."""
        ids = admin.revoke_replica(self.world.dsn, id_of(name), undo=undo)
        return {bytes.fromhex(one).decode().rstrip(".") for one in ids}


@pytest.fixture
def family(hub_world: HubWorld) -> Family:
    """The file of a, that became b, that became c; a copy of it when it was a: d."""
    made = Family(hub_world)
    for chain in ("a", "ba", "cba", "da", "x"):
        assert made.enter(*chain)
    return made


def test_a_revocation_names_all_it_shuts_out(family: Family) -> None:
    assert family.revoke("b") == set("bc")
    assert {name: family.may(name) for name in "abcdx"} == {
        "a": True, "b": False, "c": False, "d": True, "x": True,
    }  # fmt: skip
    assert [family.enter(*chain) for chain in ("cba", "ecba", "eba", "fda", "yx")] == [
        False, False, False, True, True,
    ]  # fmt: skip
    assert family.revoke("a") == set("abcdf")
    assert not any(family.enter(*chain) for chain in ("a", "da", "fda", "gfda", "ga"))
    assert family.enter("x")


def test_an_undo_takes_back_what_went_with_it_and_one_by_one(family: Family) -> None:
    assert family.revoke("c") == {"c"}
    time.sleep(0.01)
    assert family.revoke("a") == set("abcd")
    assert family.revoke("d", undo=True) == {"d"}
    assert [family.enter(*chain) for chain in ("da", "eda", "a", "ga")] == [
        True,
        True,
        False,
        False,
    ]
    assert family.revoke("a", undo=True) == set("ab"), "c was revoked for itself"
    assert [family.enter(*chain) for chain in ("a", "ba", "cba", "hcba", "hba")] == [
        True, True, False, False, True,
    ]  # fmt: skip
    assert family.revoke("c", undo=True) == {"c"}
    assert family.revoke("c", undo=True) == set()
    machines = {one.replica_id: one.must_reconcile for one in admin.replicas(family.world.dsn)}
    assert [machines[id_of(name).hex()] for name in "abcdx"] == [True, True, True, True, False]


def test_whom_the_hub_does_not_know_nobody_revokes(family: Family) -> None:
    assert family.revoke("nobody") == set()
    assert family.revoke("nobody", undo=True) == set()


def test_machines_of_another_tenant_are_none_of_the_file(family: Family) -> None:
    assert family.enter("o", "a", tenant="other")
    assert family.revoke("a") == set("abcd")
    assert family.may("o")
    assert family.enter("p", "a", tenant="other")


def test_a_long_chain_of_which_each_names_only_the_one_before(family: Family) -> None:
    names = [f"n{number}" for number in range(30)]
    assert family.enter("n0")
    for older, newer in pairwise(names):
        assert family.enter(newer, older)
    assert family.revoke("n0") == set(names)
    assert not family.enter("new", "n29")


def test_an_heir_that_comes_while_its_file_is_revoked_is_shut_out(family: Family) -> None:
    """Its hello is not committed when the administrator looks: the revocation waits for it."""
    hello = replace(hello_of(1, "in between"), replica_id=id_of("late"), predecessors=(id_of("a"),))
    with psycopg.connect(family.world.login()) as slow, ThreadPoolExecutor(1) as pool:
        slow.execute("SELECT satchel_api.hello(%s)", (json.dumps(said(hello)),))
        revoking = pool.submit(family.revoke, "a")
        watcher = family.world.psql()
        waits = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
        for _ in range(600):
            if watcher.execute(waits).fetchone() != (0,):
                break
            time.sleep(0.05)
        assert not revoking.done()
        slow.commit()
        assert revoking.result(60) == {*"abcd", "late"}
        with pytest.raises(psycopg.Error) as caught:
            slow.execute("SELECT satchel_api.bound('in between')")
        assert caught.value.sqlstate == "SA001"


def test_the_answer_names_who_is_shut_out_and_who_is_not(family: Family, tmp_path: Path) -> None:
    world, ids = family.world, {name: id_of(name).hex() for name in "abcd"}
    _, told = satchel(world, tmp_path, "revoke", ids["b"], "--yes")
    assert (told["shut_out"], told["still_open"]) == (sorted([ids["b"], ids["c"]]), [ids["a"]])
    exit_code, told = satchel(world, tmp_path, "revoke", ids["b"], "--undo")
    assert (exit_code, told["taken_back"]) == (0, sorted([ids["b"], ids["c"]]))
