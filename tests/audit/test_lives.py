"""What becomes of a home over time: backups, copies, rotation; no alarm without a cause."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from home import DAY_MS, HOUR_MS, Home

from satchel.store import migrate
from satchel_crypto.audit_record import CHAINS, READS, WRITES


def copied(home: Home, target: Path, *, without: str = "") -> Home:
    """A copy of the folder, as a backup restored on another machine is one."""
    home.close()
    ignored = shutil.ignore_patterns(without) if without else None
    shutil.copytree(home.folder, target, ignore=ignored)
    home.open()
    copy = Home(target)
    copy.clock.at_ms = home.clock.at_ms
    return copy


def put_back(home: Home, backup: Path, *, as_new_file: bool) -> None:
    """Put an older satchel.db in the place of the present one, and open the home again."""
    path = home.folder / "satchel.db"
    for tail in ("-wal", "-shm"):
        path.with_name(path.name + tail).unlink(missing_ok=True)
    if as_new_file:
        draft = path.with_suffix(".draft")
        shutil.copy(backup, draft)
        draft.replace(path)
    else:
        path.write_bytes(backup.read_bytes())
    home.open()


def test_each_chain_names_the_other_every_hour(home: Home) -> None:
    home.busy()
    home.later(HOUR_MS - 1000)
    assert not [one for one in home.said() if one.action == "anchor"]
    home.later(HOUR_MS)
    (there,) = [one for one in home.said(READS) if one.action == "anchor"]
    (here,) = [one for one in home.said() if one.action == "anchor"]
    assert here.detail["chain"] == READS
    assert (here.detail["seq"], here.detail["link"]) == (
        there.seq, home.records(READS)[there.seq - 1].link.hex(),
    )  # fmt: skip
    assert (there.detail["chain"], there.detail["seq"]) == (WRITES, here.seq - 1)
    home.later(1000)
    assert len([one for one in home.said() if one.action == "anchor"]) == 1
    assert home.breaks() == []


def test_an_anchor_is_missed_where_the_reads_cannot_be_written(home: Home) -> None:
    home.busy()
    home.by_hand(READS, "BEGIN IMMEDIATE")
    home.later()
    home.by_hand(READS, "ROLLBACK")
    (anchor,) = [one for one in home.said() if one.action == "anchor"]
    assert anchor.detail == {"chain": READS, "missed": 1}
    home.later()
    assert home.breaks() == []


def test_a_power_cut_that_takes_the_last_reads_is_no_alarm(home: Home) -> None:
    """Their log is brought to the disk with an anchor; what comes behind it may be lost."""
    home.busy()
    home.later()
    home.replica.activity.close()
    saved = {file: file.read_bytes() for file in home.folder.glob("activity.db*")}
    home.read(home.write("one more"))
    home.close()
    for file, data in saved.items():
        file.write_bytes(data)
    (home.folder / "activity.db-shm").unlink(missing_ok=True)
    home.open()
    assert home.breaks() == []
    home.busy(2)
    home.later()
    assert home.breaks() == []


def test_a_home_that_is_copied_goes_on_under_an_id_of_its_own(home: Home, tmp_path: Path) -> None:
    ids = home.busy()
    home.later()
    was = home.replica.store.replica_id
    last = {name: home.records(name)[-1] for name in CHAINS}
    with copied(home, tmp_path / "copy") as copy:
        assert copy.breaks() == []
        assert copy.replica.store.replica_id != was
        copy.write("here")
        copy.read(*ids[:1])
        for name in CHAINS:
            began = copy.said(name)[0]
            assert (began.action, began.seq) == ("began", 1)
            assert began.detail == {
                "why": "succeeded",
                "replica_id": was.hex(),
                "seq": last[name].seq,
                "link": last[name].link.hex(),
            }
        copy.later()
        assert copy.breaks() == []
        checked = [(one.verdict.chain, one.current) for one in copy.check()]
        assert sorted(checked) == [(READS, False), (READS, True), (WRITES, False), (WRITES, True)]
    home.busy(2)
    home.later()
    assert home.breaks() == []


def test_a_copy_without_the_reads_is_no_alarm(home: Home, tmp_path: Path) -> None:
    home.busy()
    home.later()
    with copied(home, tmp_path / "copy", without="activity.db*") as copy:
        copy.busy(2)
        copy.later()
        assert copy.breaks() == []


def test_an_older_replica_put_back_beside_newer_reads_is_no_alarm(
    home: Home, tmp_path: Path
) -> None:
    home.busy()
    home.close()
    backup = tmp_path / "backup.db"
    shutil.copy(home.folder / "satchel.db", backup)
    home.open()
    home.busy()
    home.later()
    home.close()
    put_back(home, backup, as_new_file=True)
    home.busy(2)
    home.later()
    assert home.breaks() == []


def test_an_older_replica_written_over_the_newer_one_is_told(home: Home, tmp_path: Path) -> None:
    """Nothing shows that it is a restored backup: records are gone, and that is what is said."""
    home.busy()
    home.close()
    backup = tmp_path / "backup.db"
    shutil.copy(home.folder / "satchel.db", backup)
    home.open()
    home.busy()
    home.later()
    home.close()
    put_back(home, backup, as_new_file=False)
    assert [(one[0], one[2]) for one in home.breaks()] == [(WRITES, "cut off")]


def test_a_copy_without_its_key_says_so(home: Home, tmp_path: Path) -> None:
    home.busy()
    with copied(home, tmp_path / "copy", without="keys") as copy:
        copy.busy(2)
        assert {(one[0], one[2]) for one in copy.breaks()} == {
            (WRITES, "key replaced"), (READS, "key replaced"),
        }  # fmt: skip
        current = [one.verdict for one in copy.check() if one.current]
        assert all(one.ok for one in current)


@pytest.mark.parametrize("name", CHAINS)
def test_the_chain_of_an_id_before_that_is_removed_is_missed(
    home: Home, tmp_path: Path, name: str
) -> None:
    home.busy()
    was = home.replica.store.replica_id
    with copied(home, tmp_path / "copy") as copy:
        copy.busy(2)
        for table in ("audit", "audit_head"):
            copy.by_hand(name, f"DELETE FROM {table} WHERE replica_id = ?", (was,))
        assert copy.breaks() == [(name, 1, "cut off")]


# ---- rotation -----------------------------------------------------------------------------------


def test_what_is_too_old_goes_and_the_chain_stays(home: Home) -> None:
    home.busy()
    last_old = {name: home.records(name)[-1] for name in CHAINS}
    home.later(92 * DAY_MS)
    for name in CHAINS:
        said = home.said(name)
        rotated = next(one for one in said if one.action == "rotated")
        assert rotated.detail == {
            "seq": last_old[name].seq, "link": last_old[name].link.hex(),
        }  # fmt: skip
        assert said[0].seq == last_old[name].seq + 1
    assert home.breaks() == []
    home.busy()
    home.later(92 * DAY_MS)
    home.busy()
    assert home.breaks() == []
    assert min(one.at for one in home.records()) >= home.clock.at_ms - 91 * DAY_MS


def test_keep_days_is_a_setting(tmp_path: Path) -> None:
    with Home(tmp_path / "home", audit_keep_days=7) as home:
        home.busy()
        home.later(5 * DAY_MS)
        assert home.records()[0].seq == 1
        home.later(4 * DAY_MS)
        assert home.records()[0].seq > 1
        assert home.breaks() == []


@pytest.mark.parametrize("name", CHAINS)
def test_more_that_is_removed_than_a_rotation_tells(home: Home, name: str) -> None:
    home.busy()
    home.later(60 * DAY_MS)
    home.busy()
    home.later(45 * DAY_MS)
    first = home.records(name)[0].seq
    assert first > 1
    assert home.breaks() == []
    home.by_hand(name, "DELETE FROM audit WHERE seq <= ?", (first + 1,))
    assert home.breaks() == [(name, first, "removed")]


@pytest.mark.parametrize("name", CHAINS)
def test_a_rotation_that_somebody_else_writes(home: Home, name: str) -> None:
    """Without the key nobody can tell a removal as satchel does."""
    home.busy()
    cut = home.records(name)[3]
    said = replace(
        home.said(name)[-1], action="rotated", detail={"link": cut.link.hex(), "seq": cut.seq}
    )
    last = home.records(name)[-1].seq
    home.by_hand(name, "UPDATE audit SET body = ? WHERE seq = ?", (said.body(), last))
    home.by_hand(name, "DELETE FROM audit WHERE seq <= ?", (cut.seq,))
    assert [one[:2] for one in home.breaks()] == [(name, last)]


def test_what_the_warehouse_has_not_got_waits(home: Home) -> None:
    home.busy()
    with home.replica.store.write() as db:
        db.execute("INSERT INTO meta VALUES('hub_id', x'00')")
        db.execute("INSERT INTO meta VALUES('audit_sent', '{\"writes\": 3}')")
    home.later(92 * DAY_MS)
    assert [home.records(name)[0].seq for name in CHAINS] == [4, 1]
    home.later(4 * 92 * DAY_MS)
    assert all(home.records(name)[0].seq > 4 for name in CHAINS)
    assert home.breaks() == []


def test_the_chain_of_an_id_before_goes_when_all_of_it_is_old(home: Home, tmp_path: Path) -> None:
    home.busy()
    with copied(home, tmp_path / "copy") as copy:
        copy.busy(2)
        copy.later(92 * DAY_MS)
        assert {one.current for one in copy.check()} == {True}
        assert copy.breaks() == []
        copy.busy(2)
        assert copy.breaks() == []


def test_a_clock_that_goes_back_breaks_nothing(home: Home) -> None:
    home.busy()
    home.clock.at_ms -= 30 * DAY_MS
    home.busy()
    home.later()
    assert home.breaks() == []


def test_an_old_file_is_migrated_and_begins_its_chain(home: Home) -> None:
    key = home.write("older than the audit")
    later = "".join(script for number, script in migrate.scripts() if number > 4)
    for what, name in re.findall(r"^CREATE (TABLE|INDEX) (\w+)", later, re.MULTILINE):
        home.by_hand(WRITES, f"DROP {what} {name}")
    home.by_hand(WRITES, "PRAGMA user_version = 4")
    home.close()
    shutil.rmtree(home.folder / "keys")
    home.open()
    assert (home.folder / "backups" / "satchel-schema-0004.db").exists()
    assert home.breaks() == []
    home.read(key)
    home.write("newer")
    assert [one.action for one in home.said()] == ["began", "created"]
    assert home.breaks() == []


def test_both_files_have_the_same_tables(home: Home) -> None:
    home.busy(1)
    query = (
        "SELECT name, sql FROM sqlite_schema WHERE name IN ('audit', 'audit_head') ORDER BY name"
    )
    writes, reads = home.by_hand(WRITES, query), home.by_hand(READS, query)
    assert len(writes) == 2
    assert writes == reads
