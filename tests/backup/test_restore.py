"""A restore: all of the backup, a new identity, what was there kept, whatever state it is in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import apsw
import pytest
from fix_command import run
from fix_memory import TrigramEmbedder
from place import Place, damage, everything

from satchel.backup import manifest
from satchel.backup.staging import RESTORED
from satchel.errors import (
    BackupUnusable,
    ConfirmationNeeded,
    Refused,
)
from satchel.memory.search.search import search
from satchel.replica import DATABASE_FILE
from satchel.store import succession
from satchel.store.meta import meta


def test_the_replica_is_what_it_was_and_somebody_new(place: Place) -> None:
    kept_key = place.write("kept")
    before, was = place.holds(), place.id
    backup = place.backup()
    place.edit(kept_key, "changed")
    place.write("later")
    answer = place.restored(backup)
    assert {at: row for at, row in place.holds().items() if at in before} == before
    assert set(place.holds()) == set(before)
    assert (answer["was"], answer["forgotten"], answer["notices"]) == (was, 0, [])
    assert place.id == answer["replica_id"] == place.replica.store.replica_id.hex() != was
    with place.replica.store.read() as db:
        assert succession.predecessors(db)[0].hex() == was
        assert meta(db, "succeeded_why") == RESTORED
    # One succession: the copy in the staging folder was none, and opening it again is none.
    place.close()
    place.open()
    assert place.id == answer["replica_id"]
    place.write("goes on")
    assert "goes on" in place.texts().values()


def test_what_was_there_is_another_backup_and_goes_back_in(place: Place) -> None:
    backup = place.backup()
    place.write("only here")
    answer = place.restored(backup)
    assert place.texts() == {}
    again = place.restored(Path(answer["kept"]))
    assert list(place.texts().values()) == ["only here"]
    assert again["was"] != answer["replica_id"]
    assert place.breaks() == []


def test_nothing_is_done_unasked(place: Place) -> None:
    backup = place.backup()
    place.write("later")
    place.close()
    before = everything(place.folder)
    with pytest.raises(ConfirmationNeeded, match="only in the backup"):
        place.restore(backup, confirm=lambda question: False)
    assert everything(place.folder) == before
    place.open()


def test_vectors_are_dropped_and_made_anew(place: Place) -> None:
    place.replica.given_embedder = TrigramEmbedder()
    object.__setattr__(place.replica.settings, "embedding", "auto")
    place.write("a green shed")
    backup = place.backup()
    place.write("a red barn")
    assert search(place.replica, "barn").mode == "hybrid"
    assert list((place.folder / "vectors").iterdir())
    place.restored(backup)
    assert not list((place.folder / "vectors").glob("*.vec"))
    place.replica.given_embedder = TrigramEmbedder()
    hits = search(place.replica, "green barn").hits
    assert [hit.snippet for hit in hits] == ["a green shed"]


# ---- what is there cannot be used ----------------------------------------------------------------


def spoil_header(place: Place) -> None:
    damage(place.path, at=0)


def spoil_pages(place: Place) -> None:
    with apsw.Connection(str(place.path)) as db:
        query = "SELECT rootpage FROM sqlite_schema WHERE name = 'memory'"
        page = db.execute(query).get
    damage(place.path, at=(page - 1) * 4096)


def spoil_length(place: Place) -> None:
    with place.path.open("r+b") as file:
        file.truncate(3 * 4096)


@pytest.mark.parametrize("spoil", [spoil_header, spoil_pages, spoil_length])
def test_in_place_of_a_damaged_file(place: Place, spoil: Any) -> None:
    place.busy(3)
    backup, expected = place.backup(), place.texts()
    place.close()
    spoil(place)
    spoiled = place.path.read_bytes()
    with pytest.raises(Refused, match="cannot be read"):
        place.restore(backup)
    assert place.path.read_bytes() == spoiled
    answer = place.restored(backup, unread=True)
    assert place.texts() == expected
    with place.replica.store.read() as db:
        assert db.execute("PRAGMA integrity_check").get == "ok"
    kept = Path(answer["kept"])
    assert manifest.read(kept).damaged
    with pytest.raises(BackupUnusable, match="put aside as damaged"):
        place.restore(kept)
    place.busy(1)
    assert place.breaks() == []


def test_damaged_reads_are_replaced_and_whole_ones_stay(place: Place) -> None:
    key = place.write("one")
    place.read(key)
    backup = place.backup()
    place.read(key)
    count = len(place.records("reads"))
    assert place.restored(backup)["put"] == [DATABASE_FILE]
    query = "SELECT count(*) FROM audit"
    assert place.by_hand("reads", query) == [(count,)]
    place.close()
    (place.folder / "activity.db-wal").unlink(missing_ok=True)
    damage(place.folder / "activity.db", at=0)
    assert place.restored(backup)["put"] == [DATABASE_FILE, "activity.db"]
    assert place.by_hand("reads", query) == [(count - 1,)]
    assert [name for name in place.backups() if name.endswith(".damaged")]
    place.read(key)
    assert place.breaks() == []


# ---- the command ---------------------------------------------------------------------------------


def test_the_commands(tmp_path: Path) -> None:
    """What they answer is shown, and run, in docs/BACKUPS.md."""
    home = {"SATCHEL_HOME": str(tmp_path / "a b")}
    none = run("backup", **home)
    assert (none.code, none.error["code"]) == (3, "not_found")
    gone = run("restore", "no such", "--yes", **home)
    assert (gone.code, gone.error["code"]) == (3, "not_found")
    assert not (tmp_path / "a b").exists()
