"""The audit of a home that was restored: no alarm without a cause, and each cause still told."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from home import HOUR_MS
from place import Place

from satchel_crypto.audit_record import READS, WRITES


def fresh(place: Place, folder: Path, *, keep: str = "") -> Place:
    """Another home, empty but for copies of these files."""
    new = Place(folder)
    new.close()
    shutil.rmtree(folder)
    folder.mkdir()
    for path in place.folder.glob(keep) if keep else ():
        shutil.copy(path, folder / path.name)
    new.clock.at_ms = place.clock.at_ms
    return new


def used(place: Place) -> None:
    """Reads and writes in a home that was restored, and anchors after an hour."""
    place.busy(2)
    place.later()
    place.read(place.later(2 * HOUR_MS))


def test_what_was_written_since_is_on_record_still(place: Place) -> None:
    """The rows are gone, and the chain of the file that wrote them is whole."""
    place.busy(2)
    backup, was = place.backup(), bytes.fromhex(place.id)
    gone = place.write("gone with the restore")
    place.later()
    expected = place.records()
    place.restored(backup)
    with place.replica.store.read() as db:
        from satchel.audit import chain

        assert list(chain.records(db, was)) == expected
    began = place.said()[0]
    assert (began.detail["replica_id"], began.detail["seq"]) == (was.hex(), expected[-1].seq)
    assert any(gone in record.body for record in expected)
    assert place.breaks() == []
    used(place)
    assert place.breaks() == []


@pytest.mark.parametrize("lost", ["", "satchel.db*", "activity.db*", "*.db*"])
def test_whatever_of_the_home_is_lost(place: Place, lost: str) -> None:
    place.busy(3)
    place.later()
    backup = place.backup()
    place.busy(3)
    place.later()
    place.close()
    for path in place.folder.glob(lost) if lost else ():
        path.unlink()
    place.restored(backup)
    assert place.breaks() == []
    used(place)
    assert place.breaks() == []


@pytest.mark.parametrize("with_keys", [True, False], ids=["with keys", "without"])
def test_on_another_machine(place: Place, tmp_path: Path, with_keys: bool) -> None:
    """Without the key its MACs say nothing there: links and the ends that were told hold it."""
    place.busy(3)
    place.later()
    backup = place.backup(out=tmp_path / "disk", with_keys=with_keys)
    new = fresh(place, tmp_path / "new")
    new.restored(backup)
    assert new.breaks() == []
    used(new)
    assert new.breaks() == []
    new.close()
    new.open()
    assert new.breaks() == []
    # Restored once more there, and copied from there: the same.
    again = new.backup(with_keys=with_keys)
    new.busy(1)
    new.restored(again)
    used(new)
    assert new.breaks() == []
    new.close()


def test_beside_newer_reads_of_the_same_home(place: Place) -> None:
    """activity.db is not set back: who was given what stays on record."""
    key = place.busy(2)[0]
    backup = place.backup()
    place.read(key)
    reads = place.records(READS)
    place.restored(backup)
    assert place.by_hand(READS, "SELECT count(*) FROM audit") == [(len(reads),)]
    used(place)
    assert place.breaks() == []


def test_restored_from_restore_to_restore(place: Place) -> None:
    backups = []
    for _ in range(3):
        place.busy(1)
        backups.append(place.backup())
    for backup in (backups[0], backups[2], backups[1]):
        place.restored(backup)
        used(place)
    assert place.breaks() == []


def test_what_came_without_its_key_is_not_changed_unseen(place: Place, tmp_path: Path) -> None:
    """Each record of the old chain, by one who has not the key of the new machine either."""
    place.busy(3)
    was = bytes.fromhex(place.id)
    backup = place.backup(out=tmp_path / "disk")
    with fresh(place, tmp_path / "new") as new:
        new.restored(backup)
        new.read(new.write("new"))
        for name in (WRITES, READS):
            newest = "SELECT max(seq) FROM audit WHERE replica_id = ?"
            ((last,),) = new.by_hand(name, newest, (was,))
            for statement, given in (
                ("UPDATE audit SET body = replace(body, 'una', 'eve') WHERE seq = 2", ()),
                ("DELETE FROM audit WHERE replica_id = ? AND seq = 3", (was,)),
                ("DELETE FROM audit WHERE replica_id = ? AND seq = ?", (was, last)),
                ("DELETE FROM audit WHERE replica_id = ?", (was,)),
            ):
                saved = new.by_hand(name, "SELECT * FROM audit")
                new.by_hand(name, statement, given)
                assert {one[0] for one in new.breaks()} == {name}, statement
                new.by_hand(name, "DELETE FROM audit")
                for row in saved:
                    new.by_hand(name, "INSERT INTO audit VALUES(?, ?, ?, ?, ?, ?)", row)
                assert new.breaks() == []


def test_a_backup_whose_chain_was_cut_is_told(place: Place, tmp_path: Path) -> None:
    """A restore vouches for nothing that was wrong before."""
    place.busy(3)
    place.by_hand(WRITES, "DELETE FROM audit WHERE seq = 3")
    assert place.breaks()
    backup = place.backup(out=tmp_path / "disk", with_keys=True)
    with fresh(place, tmp_path / "new") as new:
        new.restored(backup)
        assert [(one[0], one[1]) for one in new.breaks()] == [(WRITES, 3)]
