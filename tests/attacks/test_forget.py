"""Attack 20 and its kind: what is forgotten on one machine is forgotten wherever it was written."""

from __future__ import annotations

import itertools

import pytest
from fix_machines import Fleet, Machine

from satchel.errors import ConfirmationNeeded, NotFound, Refused
from satchel.memory import change, edges, forget, messages
from satchel.memory.search import search
from satchel.memory.write import write
from satchel.store import rows
from satchel_sync.stamp import SCRUBBED
from satchel_sync.tables import MEMORY

SECRET = "the launch code is zebra-umbrella-42"
LATER = "the launch code is zebra-umbrella-43, edited offline"
TRACE = "zebra-umbrella"


def traces(machine: Machine) -> list[str]:
    """Files of a machine's home in which the text is, read as bytes."""
    home = machine.store.home
    return [
        str(path.relative_to(home))
        for path in sorted(home.rglob("*"))
        if path.is_file() and TRACE.encode() in path.read_bytes()
    ]


def hub_traces(fleet: Fleet) -> list[str]:
    """Tables of the hub in which the text is, in any column."""
    found = []
    with fleet.world.psql().cursor() as cursor:
        tables = cursor.execute(
            "SELECT c.oid::regclass::text FROM pg_class c"
            " JOIN pg_namespace n ON n.oid = c.relnamespace"
            " WHERE n.nspname LIKE 'satchel%' AND c.relkind = 'r'"
        ).fetchall()
        for (table,) in tables:
            query = f"SELECT count(*) FROM {table} AS t WHERE t::text LIKE %s"
            if cursor.execute(query, (f"%{TRACE}%",)).fetchone() != (0,):
                found.append(table)
    return found


ORDERS = sorted(set(itertools.permutations(["a", "b", "b", "a"])))


@pytest.mark.parametrize("order", ORDERS, ids="".join)
def test_20_forgotten_here_edited_there_is_nowhere_afterwards(
    fleet: Fleet, order: tuple[str, ...]
) -> None:
    a, b = fleet.pair()
    key = write(a.replica, SECRET, scope="org").id
    fleet.quiet()
    change.update(b.replica, key, text=LATER)
    change.update(b.replica, key, title=f"about {TRACE}")
    forget.forget(a.replica, [key], confirm=True)
    for name in order:
        fleet.machine(name).sync()
    fleet.quiet()
    for machine in (a, b):
        with machine.store.read() as db:
            assert db.execute(
                "SELECT life, hlc, origin, digest FROM memory WHERE id = ?", (key,)
            ).get == tuple(SCRUBBED)
        machine.store.close()
    assert (traces(a), traces(b), hub_traces(fleet)) == ([], [], [])


def test_20_a_third_machine_away_all_along_forgets_too(fleet: Fleet) -> None:
    a, b = fleet.pair()
    c = fleet.machine("c")
    key = write(a.replica, SECRET, scope="org").id
    fleet.quiet()
    other = write(c.replica, "another fact", scope="org").id
    edges.link(c.replica, key, other, "supports", metadata={"why": TRACE})
    change.update(c.replica, key, text=LATER)
    forget.forget(a.replica, [key], confirm=True)
    for machine in (a, b, c, a, b):
        machine.sync()
    fleet.quiet()
    for machine in (a, b, c):
        machine.store.close()
        assert traces(machine) == []
    assert hub_traces(fleet) == []


def test_forget_takes_history_vectors_edges_journal_and_queries_with_it(fleet: Fleet) -> None:
    a, _ = fleet.pair()
    replica = a.replica
    key = write(replica, SECRET, scope="org").id
    other = write(replica, "another fact", scope="org").id
    edges.link(replica, key, other, "supports")
    change.update(replica, key, text=LATER)
    search(replica, TRACE)
    answer = forget.forget(replica, [key], confirm=True)
    certificate = answer["certificate"]
    assert {row["kind"] for row in certificate["rows"]} >= {"memory", "history", "relationship"}
    assert certificate["signature"] is None
    assert search(replica, "launch code").hits == []
    a.store.close()
    assert traces(a) == []
    assert TRACE not in str(certificate)


def test_forgotten_is_final(fleet: Fleet) -> None:
    a, _ = fleet.pair()
    replica = a.replica
    key = write(replica, SECRET, scope="org").id
    forget.forget(replica, [key], confirm=True)
    for attempt in (
        lambda: change.update(replica, key, text="again"),
        lambda: change.restore(replica, key),
        lambda: forget.forget(replica, [key], confirm=True),
    ):
        with pytest.raises((NotFound, Refused)):
            attempt()


def test_forget_needs_confirm_and_takes_all_or_none(fleet: Fleet) -> None:
    a, _ = fleet.pair()
    key = write(a.replica, SECRET, scope="org").id
    with pytest.raises(ConfirmationNeeded):
        forget.forget(a.replica, [key])
    with pytest.raises(NotFound):
        forget.forget(a.replica, [key, "0" * 36], confirm=True)
    assert a.text(key) == SECRET


def test_a_deleted_memory_can_still_be_forgotten(fleet: Fleet) -> None:
    a, _ = fleet.pair()
    key = write(a.replica, SECRET, scope="org").id
    change.delete(a.replica, key, confirm=True)
    forget.forget(a.replica, [key], confirm=True)
    a.store.close()
    assert traces(a) == []


def test_rows_that_repeat_the_text_are_named_and_with_linked_go_too(fleet: Fleet) -> None:
    a, _ = fleet.pair()
    replica = a.replica
    key = write(replica, SECRET, scope="org").id
    copy = write(replica, f"noted again: {SECRET}", scope="org").id
    sent = messages.send(replica, "bob", "look at this", context_ids=[key])["id"]
    answer = forget.forget(replica, [key], confirm=True)
    assert set(answer["linked"]) == {copy, sent}
    with a.store.read() as db:
        assert rows.get(db, MEMORY, copy).content == f"noted again: {SECRET}"


def test_with_linked_they_are_scrubbed(fleet: Fleet) -> None:
    a, _ = fleet.pair()
    replica = a.replica
    key = write(replica, SECRET, scope="org").id
    copy = write(replica, f"noted again: {SECRET}", scope="org").id
    answer = forget.forget(replica, [key], linked=True, confirm=True)
    assert answer["linked"] == [copy]
    fleet.quiet()
    a.store.close()
    assert (traces(a), hub_traces(fleet)) == ([], [])
