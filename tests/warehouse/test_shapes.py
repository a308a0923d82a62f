"""What a login sends beside rows: shapes and sizes are looked at before anything is stored."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from fix_hub import HubWorld, hello_of, row_of, titled

from satchel_sync.changes import Access, Hello, Loser, Standing
from satchel_sync.errors import VersionsDiffer
from satchel_sync.limits import JOURNAL_MAX, ROW_BYTES_MAX
from satchel_sync.stamp import SCRUBBED
from satchel_sync.subjects import scrubbed
from satchel_sync.tables import HISTORY, MEMORY, TABLES
from satchel_sync.version import SCHEMA_MIN
from satchel_warehouse import wire
from satchel_warehouse.endpoint import WarehouseHub
from satchel_warehouse.errors import WarehouseRefused
from satchel_warehouse.functions import PREDECESSORS_MAX, REPORT_BYTES_MAX

DEEP = "[" * 20_000 + "]" * 20_000
VERSION = "00" * 7 + "01" + "ab" * 32


class Visitor:
    """A login that calls doors by hand, in an attempt that it opened."""

    def __init__(self, world: HubWorld, **changes: Any) -> None:
        dsn = world.login()
        self.attempt = uuid4().hex
        self.replica_id = uuid4().bytes
        self.hub = WarehouseHub(dsn)
        world.hubs.append(self.hub)
        hello = replace(hello_of(0, self.attempt), replica_id=self.replica_id)
        self.welcome = self.hub.hello(replace(hello, **changes))
        self.db = world.psql(dsn)

    def call(self, door: str, *given: Any) -> None:
        places = ", ".join(["%s"] * (1 + len(given)))
        self.db.execute(f"SELECT satchel_api.{door}({places})".encode(), (self.attempt, *given))


@pytest.fixture(scope="module")
def visitor(world: HubWorld) -> Visitor:
    return Visitor(world)


def entry(**changes: Any) -> dict[str, Any]:
    """A journal entry that is taken."""
    right = {
        "kind": "history", "key": uuid4().hex, "version": VERSION, "lineage": "", "winner": VERSION,
        "path": "push", "at": 1, "about": [["memory", "m"]], "content": '{"kind":"memory"}',
    }  # fmt: skip
    return right | changes


def asked(world: HubWorld, query: str, *given: Any) -> Any:
    """The one value of a query, in a session of its own: many here would be too many."""
    with psycopg.connect(world.dsn) as db:
        ((value,),) = db.execute(query.encode(), given).fetchall()
    return value


def journaled(world: HubWorld) -> int:
    return int(asked(world, "SELECT count(*) FROM satchel.conflict"))


ODD_ENTRIES: dict[str, Callable[[], Any]] = {
    "a kind that is none": lambda: [entry(kind="nosuch")],
    "a table of the hub's own": lambda: [entry(kind="replica")],
    "no kind": lambda: [entry(kind=None)],
    "an empty key": lambda: [entry(key="")],
    "a large key": lambda: [entry(key="k" * 1025)],
    "a short version": lambda: [entry(version="v")],
    "a version in capitals": lambda: [entry(version=VERSION.upper())],
    "a long winner": lambda: [entry(winner=VERSION + "00")],
    "no winner": lambda: [entry(winner=None)],
    "a lineage of words": lambda: [entry(lineage="a lineage")],
    "a long lineage": lambda: [entry(lineage=" ".join([VERSION] * 9))],
    "no path": lambda: [entry(path=None)],
    "a long path": lambda: [entry(path="p" * 41)],
    "a time in words": lambda: [entry(at="noon")],
    "a time beyond 64 bits": lambda: [entry(at=10**30)],
    "about a word": lambda: [entry(about="m")],
    "about too many": lambda: [entry(about=[["memory", "m"]] * 101)],
    "no content": lambda: [entry(content=None)],
    "content that is no JSON": lambda: [entry(content="{")],
    "content that is a list": lambda: [entry(content="[]")],
    "deep content": lambda: [entry(content=DEEP)],
    "deep content of a column": lambda: [entry(content=f'{{"from_id":{DEEP}}}')],
    "a column that is a list": lambda: [entry(content='{"from_id":["m"]}')],
    "large content": lambda: [entry(content=json.dumps({"a": "x" * ROW_BYTES_MAX}))],
    "too many": lambda: [entry() for _ in range(JOURNAL_MAX + 1)],
    "an entry that is a number": lambda: [5],
    "an entry that is a list": lambda: [["history"]],
    "no list": lambda: {"kind": "history"},
    "one odd entry of many": lambda: [*[entry() for _ in range(9)], entry(key="")],
}


@pytest.mark.parametrize("name", ODD_ENTRIES)
def test_the_journal_takes_no_odd_entry(world: HubWorld, visitor: Visitor, name: str) -> None:
    before = journaled(world)
    with pytest.raises(psycopg.Error) as caught:
        visitor.call("journal", json.dumps(ODD_ENTRIES[name]()))
    assert caught.value.sqlstate == "SA001"
    assert len(caught.value.diag.message_primary or "") < 300
    assert journaled(world) == before


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_the_journal_takes_every_kind(world: HubWorld, visitor: Visitor, table: Any) -> None:
    before = journaled(world)
    content = json.dumps({"a": "x" * (ROW_BYTES_MAX - 40), "n": 1.5, "b": None})
    entries = [entry(kind=table.name), entry(kind=table.name, content=content)]
    visitor.call("journal", json.dumps([*entries, entry(lineage=" ".join([VERSION] * 8))]))
    assert journaled(world) == before + 3


@pytest.mark.parametrize("text", ["a\0b", "half \ud83d of a pair", "é" * 10, '"\\u0000"\\'])
def test_what_a_machine_wrote_by_hand_is_journaled_and_forgotten(
    hub_world: HubWorld, text: str
) -> None:
    """Infinity, texts that Postgres cannot hold, lineages that are none: no sync ends at them."""
    hub, db = hub_world.replica(1), hub_world.psql()
    values = titled(MEMORY, title=text, importance=float("inf"), content="kept")
    row = replace(row_of(MEMORY, "m", titled(MEMORY)), values=values, lineage="by hand")
    told = titled(HISTORY, kind="memory", key="m", event=text, changes="{}")
    about = replace(row_of(HISTORY, "h", titled(HISTORY)), values=told)
    hub.journal(
        [Loser(t.name, r, SCRUBBED, "pull", 1) for t, r in ((MEMORY, row), (HISTORY, about))]
    )
    found = db.execute("SELECT content FROM satchel.conflict ORDER BY kind DESC").fetchall()
    kept = json.loads(found[0][0])
    assert (kept["title"], kept["content"], kept["importance"]) == (text, "kept", "inf")
    hub.push(MEMORY, [scrubbed(MEMORY, "m")])
    assert journaled(hub_world) == 0


def test_entries_too_large_are_journaled_without_their_content(hub_world: HubWorld) -> None:
    hub, db = hub_world.replica(1), hub_world.psql()
    large = titled(MEMORY, content="x" * (ROW_BYTES_MAX + 1))
    rows = [replace(row_of(MEMORY, f"m{n}", titled(MEMORY)), values=large) for n in range(3)]
    hub.journal([Loser("memory", row, SCRUBBED, "pull", 1) for row in rows])
    for (content,) in db.execute("SELECT content FROM satchel.conflict").fetchall():
        assert json.loads(content)["left_out_bytes"] > ROW_BYTES_MAX


def test_many_entries_go_in_pages() -> None:
    row = row_of(MEMORY, "m", titled(MEMORY, content="x" * 1_000_000))
    small = row_of(MEMORY, "m", titled(MEMORY))
    pages = list(wire.journal_pages([Loser("memory", row, SCRUBBED, "pull", 1)] * 40))
    assert [len(json.loads(page)) for page in pages] == [17, 17, 6]
    pages = list(wire.journal_pages([Loser("memory", small, SCRUBBED, "pull", 1)] * 1201))
    assert [len(json.loads(page)) for page in pages] == [JOURNAL_MAX, JOURNAL_MAX, 201]


@pytest.mark.parametrize(
    "content", [DEEP, f'{{"key":{DEEP}}}', "{", "", "[]", "5", '{"key":"\\u0000"}', "null", None]
)
def test_no_content_of_the_journal_stops_a_forget(hub_world: HubWorld, content: str | None) -> None:
    """It may be there since before anybody looked at it, or by somebody's SQL."""
    hub, db = hub_world.replica(1), hub_world.psql()
    hub.push(MEMORY, [row_of(MEMORY, "m", titled(MEMORY, content="secret"))])
    for kind in ("history", "embedding", "relationship", "memory"):
        db.execute(
            "INSERT INTO satchel.conflict VALUES"
            " ('default', %s, 'k', 'v', '', %s, 'w', 'push', 1, '\\x00')",
            (kind, content),
        )
    assert hub.push(MEMORY, [scrubbed(MEMORY, "m")]).accepted == ("m",)
    assert db.execute("SELECT content FROM satchel.memory").fetchall() == [(None,)]


def test_an_odd_entry_about_a_forgotten_one_goes_too(hub_world: HubWorld) -> None:
    hub, db = hub_world.replica(1), hub_world.psql()
    db.execute(
        "INSERT INTO satchel.conflict VALUES ('default', 'relationship', 'k', 'v', '', %s, 'w',"
        " 'push', 1, '\\x00')",
        ('{"from_id":"m","metadata":"secret \\u0000 \\ud800"}',),
    )
    hub.push(MEMORY, [scrubbed(MEMORY, "m")])
    assert journaled(hub_world) == 0


def test_a_program_of_an_old_schema_adds_nothing_to_the_journal(world: HubWorld) -> None:
    old, before = Visitor(world, schema=SCHEMA_MIN - 1), journaled(world)
    assert old.welcome.access is Access.READ_ONLY
    with pytest.raises(VersionsDiffer):
        old.hub.journal([Loser("memory", row_of(MEMORY, "m", titled(MEMORY)), SCRUBBED, "pull", 1)])
    assert journaled(world) == before
    old.hub.bye({"exit": 13})


def report_of(world: HubWorld, attempt: str) -> str:
    return str(asked(world, "SELECT report FROM satchel.attempt WHERE attempt = %s", attempt))


@pytest.mark.parametrize(("size", "cut"), [(REPORT_BYTES_MAX - 20, False), (20_000_000, True)])
def test_a_large_report_is_cut_and_says_so(world: HubWorld, size: int, cut: bool) -> None:
    visitor = Visitor(world)
    visitor.hub.bye({"exit": 11, "x": "é" * (size // 6)})
    kept = json.loads(report_of(world, visitor.attempt))
    assert len(report_of(world, visitor.attempt).encode()) <= REPORT_BYTES_MAX
    assert ("cut_from_bytes" in kept) is cut
    assert kept["begins"].startswith('{"exit": 11') if cut else kept["exit"] == 11


ODD_HELLOS: dict[str, dict[str, Any]] = {
    "a large link": {"last_attempt": "x" * 201},
    "a huge link": {"last_attempt": "x" * 10_000_000},
    "a large token": {"token": "x" * 201},
    "a large epoch": {"epoch": "x" * 201},
    "a large attempt": {"attempt": "x" * 201},
    "no attempt": {"attempt": ""},
    "a hub id that is none": {"hub_id": b"short"},
    "a predecessor that is none": {"predecessors": (b"\x01" * 15,)},
    "a cursor below 0": {"cursors": {"memory": -1}},
    "a cursor with a fraction": {"cursors": {"memory": 1.5}},
    "a cursor beyond 64 bits": {"cursors": {"memory": 10**30}},
    "a cursor in words": {"cursors": {"memory": "all"}},
    "a cursor that is none": {"cursors": {"memory": None}},
    "a cursor of an unknown kind in words": {"cursors": {"nosuch": "all"}},
    "a schema below 0": {"schema": -5},
    "a schema in words": {"schema": "new"},
    "a schema beyond 32 bits": {"schema": 10**12},
}


@pytest.mark.parametrize("name", ODD_HELLOS)
def test_odd_hellos_are_refused_and_leave_nothing(world: HubWorld, name: str) -> None:
    known = "SELECT count(*) FROM satchel.replica WHERE replica_id = %s"
    hello = replace(hello_of(0, uuid4().hex), replica_id=uuid4().bytes)
    with WarehouseHub(world.login()) as hub:
        with pytest.raises(WarehouseRefused) as caught:
            hub.hello(replace(hello, **ODD_HELLOS[name]))
        assert len(str(caught.value)) < 300
        assert asked(world, known, hello.replica_id) == 0
        assert hub.hello(hello).standing is Standing.KNOWN


@pytest.mark.parametrize("protocol", [-1, 10**30, 1.5, "2", None, True, [2]])
def test_a_protocol_that_is_none_is_an_old_one(world: HubWorld, protocol: Any) -> None:
    said: Hello = replace(hello_of(0, "x"), replica_id=uuid4().bytes, protocol=protocol)
    with WarehouseHub(world.login()) as hub:
        assert hub.hello(said).access is Access.UPGRADE_REQUIRED


def test_cursors_of_kinds_that_the_hub_lacks_tell_of_no_rewind(world: HubWorld) -> None:
    visitor = Visitor(world, cursors={"nosuch": 5, "memory": 0})
    assert visitor.welcome.standing is Standing.KNOWN
    with pytest.raises(WarehouseRefused):
        visitor.hub.reconciled({"memory": -1})
    visitor.hub.reconciled({"nosuch": 5})


def test_the_newest_of_a_long_chain_are_kept(world: HubWorld) -> None:
    chain = tuple(number.to_bytes(16) for number in range(1, PREDECESSORS_MAX + 500))
    visitor = Visitor(world, predecessors=chain)
    query = "SELECT predecessors FROM satchel.replica WHERE replica_id = %s"
    assert tuple(asked(world, query, visitor.replica_id)) == chain[:PREDECESSORS_MAX]


def test_a_hand_made_reconciled_is_looked_at(visitor: Visitor) -> None:
    for seqs in ('{"memory": "all"}', "[]", "5", "null", '{"memory": 1e40}'):
        with pytest.raises(psycopg.Error) as caught:
            visitor.call("reconciled", seqs)
        assert caught.value.sqlstate == "SA001"
