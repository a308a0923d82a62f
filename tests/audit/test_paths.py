"""Every way to write leaves one record, and every way to read; the catalog says which there are."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from fix_memory import seen_as
from fix_steps import STEPS, filled
from home import Home

from satchel.audit.auditor import MachineAuditor
from satchel.config import Settings
from satchel.memory.supersede import supersede
from satchel.peers import opened
from satchel.replica import Replica, open_replica
from satchel.store.endpoint import SqliteReplica
from satchel.tools import catalog
from satchel_crypto.audit_record import READS, WRITES, Entry
from satchel_sync.digest import row_digest
from satchel_sync.row import Row
from satchel_sync.stamp import CREATED, SCRUBBED, Stamp
from satchel_sync.tables import MEMORY

UNRECORDED = {
    "agent_get", "agent_list", "chatlog_list", "chatlog_stats", "memory_stats", "session_get",
    "session_list",
    "space_get", "space_list",
}  # fmt: skip
"""Tools that give out no text that somebody remembered: names, numbers and times."""


@pytest.fixture
def bob(tmp_path: Path) -> Iterator[Home]:
    """A home whose caller is the agent bob, in the operator's role: no tool is refused."""
    with Home(tmp_path / "home", agent_id="bob", role="operator") as made:
        yield made


def test_every_tool_is_tried() -> None:
    elsewhere = {tool.name for noun in catalog.PLATES for tool in catalog.of_noun(noun).values()}
    assert {name for name, _, _ in STEPS} == set(catalog.every()) - elsewhere


def test_each_tool_leaves_one_record_in_its_chain_and_none_in_the_other(bob: Home) -> None:
    known: dict[str, str] = {}
    bob.write("the first one begins the chain")
    bob.read()
    for name, arguments, keep in STEPS:
        tool, _ = catalog.find(name)
        before = {chain: len(_acts(bob, chain)) for chain in (WRITES, READS)}
        bob.clock.at_ms += 6 * 60_000  # a sign of life is written every five minutes
        who = "ann" if name == "session_join" else "bob"  # bob is in it already
        replica = seen_as(bob.replica, who, role="operator")
        answer = tool.call(replica, tool.arguments(filled(arguments, known)))
        replica.activity.wait()
        if keep:
            known[f"${keep}"] = answer["id"]
        new = {chain: _acts(bob, chain)[before[chain] :] for chain in (WRITES, READS)}
        wanted = {
            WRITES: [name] if tool.writes else [],
            READS: [name] if not tool.writes and name not in UNRECORDED else [],
        }
        found = {chain: [one.tool for one in said] for chain, said in new.items()}
        assert found == wanted, name
        for one in (*new[WRITES], *new[READS]):
            assert (one.actor, one.at, bool(one.rows)) == (who, bob.clock.at_ms, True), name
    assert bob.breaks() == []


def _acts(home: Home, chain: str) -> list[Entry]:
    """What was said of somebody's acts; anchors come every hour."""
    return [one for one in home.said(chain) if one.action != "anchor"]


def test_what_a_record_says_of_each_act(home: Home) -> None:
    key = home.write("a kettle")
    newer = supersede(home.replica, key, "a pot").id
    said = home.said()[1:]
    assert [one.action for one in said] == ["created", "changed"]
    assert said[0].rows == (("memory", key),)
    assert {("memory", key), ("memory", newer)} <= set(said[1].rows)
    assert said[1].detail["updated"] == 1
    assert said[1].detail["created"] >= 1


def test_a_row_that_was_written_by_hand(home: Home) -> None:
    key = home.write("a kettle")
    home.by_hand(WRITES, "UPDATE memory SET content = 'stolen' WHERE id = ?", (key,))
    home.by_hand(WRITES, "INSERT INTO memory(id, content) VALUES('m1', 'planted')")
    home.by_hand(WRITES, "DELETE FROM memory WHERE id = 'm1'")
    home.by_hand(WRITES, "UPDATE history SET actor = 'eve'")
    home.write("a pot")
    _, _, by_hand, created = home.said()
    assert (by_hand.action, by_hand.actor, by_hand.tool) == ("by hand", None, None)
    assert {("memory", key), ("memory", "m1")} <= set(by_hand.rows)
    assert by_hand.detail["updated"] >= 1
    assert by_hand.detail["deleted"] == 1
    assert (created.action, created.actor) == ("created", "una")


def test_a_key_of_any_kind_that_somebody_wrote_by_hand(home: Home) -> None:
    home.write("a kettle")
    for key in (b"\xff\xfe", "x" * 5_000, "a\0b", 'é\n"\\', 7.5):
        home.by_hand(WRITES, "INSERT INTO memory(id, content) VALUES(?, 'planted')", (key,))
    home.by_hand(WRITES, "INSERT INTO memory(id, content) VALUES(CAST(x'ff41' AS TEXT), 'planted')")
    home.write("a pot")
    assert len(home.said()[2].rows) == 6
    assert home.breaks() == []


def test_many_rows_are_one_record(home: Home) -> None:
    home.by_hand(
        WRITES,
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 250)"
        " INSERT INTO memory(id, content) SELECT 'm' || i, 'many' FROM n",
    )
    home.write("a pot")
    _, by_hand, _ = home.said()
    assert (len(by_hand.rows), by_hand.more, by_hand.detail) == (100, 150, {"created": 250})


def test_a_write_that_changes_nothing_leaves_none(home: Home) -> None:
    home.write("a kettle")
    before = len(home.records())
    home.write("a kettle")
    with home.replica.store.write():
        pass
    assert len(home.records()) == before


def test_what_is_rolled_back_leaves_none(home: Home) -> None:
    home.write("a kettle")
    before = home.records()
    with pytest.raises(KeyError):
        _write_and_fail(home)
    assert home.records() == before


def _write_and_fail(home: Home) -> None:
    with home.replica.store.write() as db:
        db.execute("UPDATE memory SET title = 'x'")
        raise KeyError


def test_every_door_opens_its_store_with_an_auditor(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path / "home", embedding="off")
    with open_replica(settings) as replica:
        assert isinstance(replica.store._auditor, MachineAuditor)
        assert isinstance(replica.activity._auditor, MachineAuditor)
    with opened(settings) as store:
        assert isinstance(store._auditor, MachineAuditor)


def test_no_module_of_the_product_opens_a_store_past_the_doors() -> None:
    import satchel

    folder = Path(satchel.__file__).parent
    callers = {
        file.relative_to(folder).as_posix()
        for file in folder.rglob("*.py")
        if "Store.open(" in file.read_text("utf-8")
    }
    assert callers == {"replica.py"}


def test_a_reader_that_cannot_record_tells_it_with_the_next_read(home: Home) -> None:
    key = home.write("a kettle")
    home.read(key)
    home.by_hand(READS, "BEGIN IMMEDIATE")
    home.read(key)
    home.read(key)
    home.by_hand(READS, "ROLLBACK")
    home.read(key)
    assert home.replica.activity.failures == 2
    assert [dict(one.detail) for one in home.said(READS)[1:]] == [{}, {"lost_before": 2}]
    assert home.breaks() == []


def test_what_was_asked_is_nowhere(home: Home) -> None:
    home.write("a kettle")
    home.search("where is the lighthouse keeper")
    assert [one.tool for one in home.said(READS)[1:]] == ["search"]
    home.close()
    for file in home.folder.rglob("*"):
        if file.is_file():
            assert b"lighthouse" not in file.read_bytes(), file
    home.open()


def test_what_is_forgotten_stays_as_ids_only(home: Home) -> None:
    from satchel.memory.forget import forget

    key = home.write("the treasure lies under the old oak")
    home.read(key)
    home.search("treasure")
    forget(home.replica, [key], confirm=True)
    forgotten = home.said()[-1]
    assert (forgotten.action, ("memory", key) in forgotten.rows) == ("forgotten", True)
    assert [one.rows for one in home.said(READS)[1:]] == [(("memory", key),)] * 2
    home.close()
    for file in home.folder.rglob("*"):
        if file.is_file():
            raw = file.read_bytes()
            assert b"treasure" not in raw, file
            assert "treasure".encode("utf-16-le") not in raw, file
    home.open()
    assert home.breaks() == []


def test_replica_has_an_auditor_of_its_own_reads(home: Home) -> None:
    """A handle made by hand on a store, as a sync makes one, records its reads too."""
    other = Replica(home.replica.store, home.settings, home.replica.caller)
    assert isinstance(other.activity._auditor, MachineAuditor)


def test_a_sync_leaves_one_record_with_counts_and_none_for_its_rows(home: Home) -> None:
    home.write("a kettle")
    before = len(home.records())
    replica = SqliteReplica(home.replica.store)
    values = (None,) * (len(MEMORY.names) + 1)
    stamp = Stamp(CREATED, 5, bytes(15) + b"7", row_digest(MEMORY, "m1", values))
    assert replica.apply(MEMORY, [Row("m1", stamp, "", values)], 5).applied == 1
    assert len(home.records()) == before
    replica.record({"kinds": {"memory": {"sent": 2, "pulled": 1}}, "repaired": {"task": ["t1"]}})
    (synced,) = home.said()[before:]
    assert (synced.action, synced.rows) == ("synced", ())
    assert synced.detail == {"path": "pull", "sent": 2, "pulled": 1, "repaired": 1}
    replica.record({"kinds": {"memory": {"sent": 0, "pulled": 0}}, "repaired": {}})
    assert len(home.records()) == before + 1


def test_what_a_sync_forgets_is_recorded(home: Home) -> None:
    key = home.write("a kettle")
    before = len(home.records())
    values = (None,) * (len(MEMORY.names) + 1)
    SqliteReplica(home.replica.store).apply(MEMORY, [Row(key, SCRUBBED, "", values)], 5)
    (forgotten,) = home.said()[before:]
    assert (forgotten.action, forgotten.actor) == ("forgotten", None)
