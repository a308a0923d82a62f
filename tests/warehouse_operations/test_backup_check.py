"""A dump is sound only if it was restored, read and found to hold what the warehouse holds."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from fix_hub import HubWorld, fresh_database
from fix_operations import Kept, dumped, libpq

from satchel_sync.tables import MEMORY
from satchel_warehouse.database import connect
from satchel_warehouse.errors import DumpInvalid, EmbeddedFailed
from satchel_warehouse.operations.backups import Dump, check, examined, known


@pytest.fixture
def filled(kept: Kept) -> Kept:
    """A hub with some rows, one of them deleted."""
    a = kept.machine("a")
    for number in range(5):
        a.put(f"{number}", f"text {number}")
    a.sync()
    a.delete(MEMORY, "4")
    a.sync()
    return kept


def held_against(kept: Kept, file: Path, *, beside: bool = True) -> Dump:
    """The check of a dump, restored in the tests' server: one of its own costs seconds."""
    with fresh_database(kept.world.dsn) as dsn:
        restored_into(HubWorld(dsn), file)
        copy, live = (connect(at, path="warehouse.admin") for at in (dsn, kept.world.dsn))
        try:
            return examined(file, copy, live if beside else None)
        finally:
            copy.close()
            live.close()


def restored_into(there: HubWorld, file: Path) -> None:
    """Restore as the check does."""
    command = ["pg_restore", "--no-owner", "--no-privileges", "--exit-on-error"]
    subprocess.run([*command, f"--dbname={there.name}", file], env=libpq(there), check=True)


def past_triggers(kept: Kept, statement: str) -> None:
    """Write as somebody does whom the triggers do not see."""
    db = kept.world.psql()
    db.execute("SET session_replication_role = replica")
    db.execute(statement.encode())


def test_a_sound_dump_is_written_down_and_what_changed_since_is_no_fault(
    filled: Kept, tmp_path: Path
) -> None:
    file = dumped(filled.world, tmp_path / "dump")
    assert not known(filled.world.dsn, days=7).recent
    a = filled.machine("a")
    a.put("0", "edited since")
    a.put("new", "written since")
    a.sync()
    found = check(file, filled.world.dsn)
    assert (found.sound, found.faults, found.why_not) == (True, [], "")
    assert (found.rows["memory"], found.tenants, found.damaged) == (5, ["default"], {})
    compared = {one.kind: one for one in found.compared or ()}
    assert (compared["memory"].newer, compared["memory"].rows) == (2, 4)
    backups = known(filled.world.dsn, days=7)
    assert backups.recent
    assert backups.dump is not None
    assert backups.dump.detail["reaches_at"] == found.reaches_at
    filled.later(8)
    assert not known(filled.world.dsn, days=7).recent
    assert known(filled.world.dsn, days=9).recent


def test_rows_that_vanished_or_changed_past_the_triggers_are_told_by_the_dump(
    filled: Kept, tmp_path: Path
) -> None:
    file = dumped(filled.world, tmp_path / "dump")
    assert held_against(filled, file).sound
    for statement in (
        "UPDATE satchel.memory SET digest = '\\x0000000000000000' WHERE id = '2'",
        "DELETE FROM satchel.memory WHERE id = '1'",
    ):
        past_triggers(filled, statement)
        found = held_against(filled, file)
        assert not found.sound
        assert [fault for fault in found.faults if "rows of memory" in fault] == found.faults


def test_a_dump_that_lacks_rows_is_not_sound(filled: Kept, tmp_path: Path) -> None:
    """Each with a warehouse beside it, and by what the dump says itself."""
    told = {
        "memory": "rows of memory",
        "hub": "satchel.hub",
        "attempt": "satchel.attempt",
        "token": "satchel.token",
        "conflict": "satchel.conflict",
    }
    filled.world.psql().execute(
        "INSERT INTO satchel.conflict VALUES ('default', 'memory', 'k', 'v', '', '{}', 'w', 'push',"
        " 0, '')"
    )
    filled.later(1)
    filled.machine("a").sync()
    for table, word in told.items():
        left_out = f"--exclude-table-data=satchel.{table}"
        file = dumped(filled.world, tmp_path / table, "--format=custom", left_out)
        found = held_against(filled, file)
        assert any(word in fault for fault in found.faults), (table, found)
        alone = held_against(filled, file, beside=False)
        assert alone.sound is (table == "conflict"), (table, alone.faults)
    found = held_against(filled, dumped(filled.world, tmp_path / "whole"))
    assert found.sound, found.faults
    assert {"digest_part", "receipt"} <= set(found.not_looked_at)
    assert not {"memory", "audit", "replica"} & set(found.not_looked_at)


def test_the_end_of_a_table_that_is_missing_is_found(filled: Kept, tmp_path: Path) -> None:
    """Another kind was written later, so that number is known to be behind it."""
    filled.later(1)
    file = dumped(filled.world, tmp_path / "whole")
    with fresh_database(filled.world.dsn) as dsn:
        restored_into(HubWorld(dsn), file)
        copy, live = (connect(at, path="warehouse.admin") for at in (dsn, filled.world.dsn))
        copy.execute("SET session_replication_role = replica")
        copy.execute("UPDATE satchel.replica SET delivered = '{}'")
        tail = "DELETE FROM satchel.memory WHERE change_seq > 3"
        assert copy.execute(tail).rowcount > 0
        try:
            found = examined(file, copy, live)
        finally:
            copy.close()
            live.close()
    assert [fault for fault in found.faults if "rows of memory" in fault], found


def test_a_dump_of_damaged_rows_is_not_sound(filled: Kept, tmp_path: Path) -> None:
    past_triggers(filled, "UPDATE satchel.memory SET content = 'lie' WHERE id IN ('1', '4')")
    found = held_against(filled, dumped(filled.world, tmp_path / "dump"))
    assert (found.damaged, found.faults) == ({"memory": 2}, ["2 rows of memory are damaged"])


def test_a_dump_of_another_time_is_not_held_against_the_warehouse(
    filled: Kept, tmp_path: Path
) -> None:
    file = dumped(filled.world, tmp_path / "tar", "--format=tar")
    filled.world.psql().execute("UPDATE satchel.tenant SET epoch = DEFAULT")
    found = held_against(filled, file)
    assert (found.sound, found.compared) == (True, None)
    assert "restored since" in found.why_not


def test_what_is_no_dump_is_refused_with_the_reason(filled: Kept, tmp_path: Path) -> None:
    good = dumped(filled.world, tmp_path / "dump").read_bytes()
    cases = {
        "cut": (good[: len(good) // 2], "cannot be restored"),
        "empty": (b"", "no dump of the custom or tar format"),
        "script": (b"-- PostgreSQL database dump\n\\! touch owned\n", "no dump of the custom"),
    }
    for name, (content, word) in cases.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(DumpInvalid, match=word):
            check(tmp_path / name, filled.world.dsn)
    for place in (tmp_path / "missing", tmp_path):
        with pytest.raises(DumpInvalid, match="cannot be read"):
            check(place, None)
    with pytest.raises(EmbeddedFailed, match="no copy can be made"):
        check(tmp_path / "dump", None, folder=tmp_path / "nowhere")
    assert not (tmp_path / "owned").exists()
    assert not known(filled.world.dsn, days=7).recent, "nothing of it is written down as sound"


def test_a_byte_that_flipped_among_the_rows_is_found(filled: Kept, tmp_path: Path) -> None:
    """They are compressed, with a sum. What comes before them is made anew by mark-restored."""
    a = filled.machine("a")
    a.put("big", os.urandom(100_000).hex())
    a.sync()
    data = bytearray(dumped(filled.world, tmp_path / "dump").read_bytes())
    data[-50_000] ^= 0xFF
    (tmp_path / "flipped").write_bytes(data)
    with pytest.raises(DumpInvalid, match="cannot be restored"):
        check(tmp_path / "flipped", filled.world.dsn)


def test_a_dump_of_an_older_version_or_of_no_warehouse_says_so(
    filled: Kept, tmp_path: Path
) -> None:
    copy = connect(filled.world.dsn, path="warehouse.admin")
    try:
        filled.world.psql().execute("UPDATE satchel.alembic_version SET version_num = '0004'")
        with pytest.raises(DumpInvalid, match="revision 0004"):
            examined(tmp_path, copy, None)
        filled.world.psql().execute("ALTER TABLE satchel.alembic_version RENAME TO something")
        with pytest.raises(DumpInvalid, match="holds no warehouse"):
            examined(tmp_path, copy, None)
    finally:
        copy.close()
