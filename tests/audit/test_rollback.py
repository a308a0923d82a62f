"""A chain set back to an earlier whole state without the key; rows changed past the triggers."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fix_command import run
from home import HOUR_MS, Home

from satchel.audit import covering
from satchel.audit.checking import unfit
from satchel.store import touched
from satchel.store.endpoint import SqliteReplica
from satchel_crypto.audit_record import READS, SEEN_LINK, SEEN_SEQ, WRITES
from satchel_sync.changes import PushAnswer, Refusal
from satchel_sync.digest import row_digest
from satchel_sync.row import Row
from satchel_sync.stamp import CREATED, Stamp
from satchel_sync.tables import MEMORY

TABLES = ("audit", "audit_head")


@pytest.fixture
def durable(tmp_path: Path) -> Iterator[Home]:
    """A home whose every write is on the disk when it is acknowledged, as it is by default."""
    with Home(tmp_path / "home", durability="full") as made:
        yield made


def kept(home: Home, name: str = WRITES) -> Callable[[], None]:
    """What puts the chain as it is now back into its file, rows of all else untouched."""
    held = {one: home.by_hand(name, f"SELECT * FROM {one}").fetchall() for one in TABLES}

    def put_back() -> None:
        for table, rows in held.items():
            home.by_hand(name, f"DELETE FROM {table}")
            for row in rows:
                marks = ", ".join("?" * len(row))
                home.by_hand(name, f"INSERT INTO {table} VALUES({marks})", row)

    return put_back


def why(home: Home) -> str:
    (broken,) = [one.verdict.broken for one in home.check() if one.verdict.broken]
    return broken.message


# ---- the chain of writes set back ---------------------------------------------------------------


def test_writes_that_stay_when_their_records_go(home: Home) -> None:
    home.busy(2)
    last = home.records()[-1].seq
    put_back = kept(home)
    home.write("SECRET attack fact")
    home.write("another")
    assert home.breaks() == []
    put_back()
    assert home.breaks() == [(WRITES, last + 1, "cut off")]
    assert why(home) == f"rows that no record tells of: 2, the first behind record {last}"
    home.busy(3)  # what is written honestly afterwards hides nothing
    assert home.breaks() == [(WRITES, last + 1, "cut off")]
    home.later()
    assert home.breaks() == [(WRITES, last + 1, "cut off")]


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO memory(id, content) VALUES('m1', 'planted')",
        "UPDATE memory SET content = 'planted'",
        "DELETE FROM memory",
    ],
)
def test_rows_by_hand_whose_record_goes(home: Home, statement: str) -> None:
    home.busy(2)
    last = home.records()[-1].seq
    put_back = kept(home)
    home.by_hand(WRITES, statement)
    assert home.breaks() == []  # not sealed yet: no record is missing
    with home.replica.store.write():
        pass
    assert home.breaks() == []
    put_back()
    assert home.breaks() == [(WRITES, last + 1, "cut off")]


def test_a_row_by_hand_that_is_gone_before_it_is_sealed_is_recorded(home: Home) -> None:
    home.write("a kettle")
    home.by_hand(WRITES, "INSERT INTO memory(id, content) VALUES('m1', 'planted')")
    home.by_hand(WRITES, "DELETE FROM memory WHERE id = 'm1'")
    home.write("a pot")
    assert any(("memory", "m1") in one.rows for one in home.said())
    assert home.breaks() == []


def test_a_read_names_the_writes_that_it_saw(durable: Home) -> None:
    key = durable.write("a kettle")
    durable.read(key)
    last = durable.records()[-1]
    (read,) = [one for one in durable.said(READS) if one.action == "read"]
    assert (read.detail[SEEN_SEQ], read.detail[SEEN_LINK]) == (last.seq, last.link.hex())
    durable.read(key)
    assert durable.said(READS)[-1].detail == {}  # it is said once
    assert durable.breaks() == []


def test_writes_set_back_with_their_rows_behind_what_a_read_saw(durable: Home) -> None:
    """No row is left that no record tells of: only the read knows."""
    durable.busy(2)
    last = durable.records()[-1].seq
    put_back = kept(durable)
    key = durable.write("to be undone")
    durable.read(key)
    for table in ("memory", "history"):
        triggers = durable.by_hand(
            WRITES, "SELECT name FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = ?",
            (table,),
        ).fetchall()  # fmt: skip
        for (name,) in triggers:
            durable.by_hand(WRITES, f'DROP TRIGGER "{name}"')
    durable.by_hand(WRITES, "DELETE FROM memory WHERE id = ?", (key,))
    put_back()
    assert durable.breaks() == [(WRITES, last + 1, "cut off")]
    assert why(durable) == f"the chain ends at {last} and stood at {last + 1} before"


def test_writes_set_back_and_written_over_are_told_of_the_read_too(durable: Home) -> None:
    durable.busy(2)
    durable.close()
    backup = {file: file.read_bytes() for file in durable.folder.glob("satchel.db*")}
    durable.open()
    last = durable.records()[-1].seq
    durable.read(durable.write("to be undone"))
    durable.close()
    for file in durable.folder.glob("satchel.db-*"):
        file.unlink()
    for file, data in backup.items():
        file.write_bytes(data)
    durable.open()
    durable.busy(2)
    assert durable.breaks() == [(WRITES, last + 1, "wrong head")]


def test_a_power_cut_may_take_writes_where_the_disk_is_not_waited_for(home: Home) -> None:
    """So no read names what could be lost."""
    home.read(home.write("a kettle"))
    assert all(SEEN_LINK not in one.detail for one in home.said(READS))


# ---- no alarm without a cause -------------------------------------------------------------------


def test_reads_behind_the_writes_are_no_alarm(durable: Home, tmp_path: Path) -> None:
    """Power cut: activity.db lost its last reads; and a home restored as new files."""
    durable.busy(2)
    put_back = kept(durable, READS)
    durable.busy(2)
    put_back()
    assert [one for one in durable.breaks() if one[0] == WRITES] == []
    durable.busy(2)
    assert [one for one in durable.breaks() if one[0] == WRITES] == []
    durable.close()
    shutil.copytree(durable.folder, tmp_path / "copy")
    durable.open()
    with Home(tmp_path / "copy", durability="full") as copy:
        copy.clock.at_ms = durable.clock.at_ms
        copy.busy(2)
        copy.later()
        assert [one for one in copy.breaks() if one[0] == WRITES] == []


def test_a_file_written_anew_and_a_sync_are_no_alarm(durable: Home) -> None:
    durable.busy(2)
    durable.replica.store.compact()
    assert durable.breaks() == []
    values = ("m1", *(None,) * (len(MEMORY.names)))[: len(MEMORY.names) + 1]
    for number, origin in enumerate((bytes(15) + b"7", durable.replica.store.replica_id)):
        hlc = (durable.clock.at_ms + number << 16) + 1
        stamp = Stamp(CREATED, hlc, origin, row_digest(MEMORY, f"m{number}", values))
        durable.clock.at_ms += 5
        row = Row(f"m{number}", stamp, "", values)
        SqliteReplica(durable.replica.store).apply(MEMORY, [row], 5 + number)
        assert durable.breaks() == []
    assert durable.said()[-1].action == "restamped"  # its own row, which was not here any more
    durable.busy(2)
    durable.later(HOUR_MS)
    assert durable.breaks() == []


def test_rows_that_a_hub_brings_back_from_the_future_are_no_alarm(home: Home) -> None:
    """They get lower stamps, and the clock falls back: both are recorded."""
    home.busy(2)
    past_ms = home.clock.at_ms
    home.clock.at_ms += 40 * HOUR_MS
    home.busy(2)
    home.clock.at_ms = past_ms + 1000
    replica = SqliteReplica(home.replica.store)
    batch = replica.outgoing(MEMORY, 0, replica.outbox_end())
    assert batch is not None
    early = tuple(
        Refusal(row.key, "future") for row in batch.rows if row.stamp.hlc >> 16 > past_ms + HOUR_MS
    )
    assert len(early) == 2
    answer = PushAnswer(accepted=(), refused=early, now_ms=home.clock.at_ms)
    replica.settle(MEMORY, batch.rows, answer, 40 * HOUR_MS)
    assert home.said()[-1].action == "restamped"
    assert home.breaks() == []
    home.busy(2)
    assert home.breaks() == []


def test_spans_that_overlap_cover_what_they_say() -> None:
    spans = [covering.Span(5, 9, 2), covering.Span(6, 7, 3), covering.Span(12, 12, 4)]
    assert covering._missing([5, 6, 8, 9, 12], spans) is None
    assert covering._missing([8, 10, 11, 12, 13], spans) == (3, 2)


def test_stamps_are_gathered_in_one_transaction_only() -> None:
    with touched.noting() as notes:
        touched.note_stamps([7, 5])
        touched.note_stamps([])
        touched.note_stamps([6, 9])
    touched.note_stamps([1])
    assert notes.stamps == (5, 9)


# ---- a replica that is gone ---------------------------------------------------------------------


def test_a_replica_that_is_deleted_beside_its_reads(durable: Home) -> None:
    durable.busy(2)
    was = durable.replica.store.replica_id.hex()
    durable.close()
    for file in durable.folder.glob("satchel.db*"):
        file.unlink()
    durable.open()
    assert durable.breaks() == [(WRITES, 1, "cut off")]
    assert why(durable) == f"of {was} nothing is here, and others tell of its writes"
    durable.busy(2)
    assert durable.breaks() == [(WRITES, 1, "cut off")]


def test_reads_of_a_home_without_a_write_are_no_alarm(durable: Home, tmp_path: Path) -> None:
    durable.search("kettle")
    durable.close()
    shutil.copytree(durable.folder, tmp_path / "copy")
    with Home(tmp_path / "copy", durability="full") as copy:
        copy.busy(1)
        assert copy.breaks() == []
    durable.open()


# ---- rows past the triggers ---------------------------------------------------------------------


def test_a_row_changed_with_its_triggers_dropped(home: Home) -> None:
    key = home.write("the truth")
    assert unfit(home.replica.store) == []
    for (name,) in home.by_hand(
        WRITES, "SELECT name FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = 'memory'"
    ).fetchall():
        home.by_hand(WRITES, f'DROP TRIGGER "{name}"')
    home.by_hand(WRITES, "UPDATE memory SET content = 'FORGED' WHERE id = ?", (key,))
    assert unfit(home.replica.store) == [f"memory {key}"]
    home.close()
    done = run("audit", "verify", SATCHEL_HOME=str(home.folder))
    assert (done.code, done.error["code"]) == (1, "audit_broken")
    assert (done.json["ok"], done.json["changed_rows"]) == (False, [f"memory {key}"])
    assert key in done.error["message"]
    home.open()
