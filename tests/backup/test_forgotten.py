"""Nothing that was forgotten comes back with a backup: not here, not later, not by another way."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from fix_memory import seen_as
from place import Place, damage

from satchel.errors import Refused
from satchel.memory import edges, promotion
from satchel.memory.forget import forget
from satchel.memory.write import write
from satchel.store import outbox, wiping
from satchel.store.applying import apply
from satchel_crypto.errors import SignatureInvalid
from satchel_sync.row import Row
from satchel_sync.stamp import INT64_MAX, SCRUBBED
from satchel_sync.tables import MEMORY

SECRET = "the launch code is zebra-umbrella-42"
TRACE = b"zebra-umbrella"


def traces(place: Place) -> list[str]:
    """Files in use in which the text is: those of the home but its backups."""
    place.close()
    found = [
        path.name
        for path in place.folder.rglob("*")
        if path.is_file() and "backups" not in path.parts and TRACE in path.read_bytes()
    ]
    place.open()
    return found


def is_forgotten(place: Place, key: str) -> bool:
    query = "SELECT life, hlc FROM memory WHERE id = ?"
    return place.by_hand("writes", query, (key,)) == [(INT64_MAX, INT64_MAX)]


def test_what_was_forgotten_since_is_forgotten_again(place: Place) -> None:
    key, other = place.write(SECRET), place.write("the attic is dry")
    place.edit(key, f"{SECRET}, edited")
    edges.link(place.replica, key, other, "near", metadata={"note": "zebra-umbrella"})
    place.read(key)
    backup = place.backup()
    certificate = place.forget(key)["certificate"]
    answer = place.restored(backup)
    # The row, its edge, and its history.
    assert answer["forgotten"] == len({row["key"] for row in certificate["rows"]}) >= 3
    assert is_forgotten(place, key)
    assert place.texts() == {other: "the attic is dry"}
    assert traces(place) == []
    given = "SELECT count(*) FROM given WHERE memory_id = ?"
    assert place.by_hand("reads", given, (key,)) == [(0,)]
    said = place.said()
    assert [one.action for one in said][:3] == ["began", "restored file", "forgotten"]
    assert place.breaks() == []


def test_a_file_too_large_to_be_written_anew_is_told(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = place.write(SECRET)
    backup = place.backup()
    place.forget(key)
    monkeypatch.setattr(wiping, "COMPACT_ASKED_BYTES_MAX", 1000)
    (notice,) = place.restored(backup)["notices"]
    assert "VACUUM" in notice
    assert is_forgotten(place, key)


def test_a_row_that_the_backup_never_had_cannot_come_by_another_way(place: Place) -> None:
    backup = place.backup()
    key = place.write(SECRET)
    with place.replica.store.read() as db:
        row = outbox.row(db, MEMORY, key)
    assert row is not None
    place.forget(key)
    assert place.restored(backup)["forgotten"] == 0
    assert is_forgotten(place, key)
    with place.replica.store.write() as db:
        apply(db, MEMORY, [row], None, place.clock.at_ms, path="bundle")
    assert is_forgotten(place, key)
    assert traces(place) == []


def test_what_is_made_of_it_goes_where_it_was_marked(place: Place) -> None:
    ada = seen_as(place.replica, "ada")
    key = write(ada, SECRET, scope="agent").id
    made = promotion.promote(ada, key, scope="org").id
    backup = place.backup()
    forget(place.replica, [key], linked=True, confirm=True)
    place.restored(backup)
    assert (is_forgotten(place, key), is_forgotten(place, made)) == (True, True)
    marks = "SELECT count(*) FROM relationship WHERE id = ? AND life = ?"
    assert place.by_hand("writes", marks, (f"linked:{key}", INT64_MAX)) == [(1,)]
    assert traces(place) == []


def test_local_rows_stay_local(place: Place) -> None:
    """A forgotten local row says its id to no hub: neither one that the backup has, nor another."""
    held = write(place.replica, f"{SECRET} here", local=True).id
    backup = place.backup()
    late = write(place.replica, f"{SECRET} late", local=True).id
    place.forget(held, late)
    place.restored(backup)
    assert (is_forgotten(place, held), is_forgotten(place, late)) == (True, True)
    waiting = "SELECT count(*) FROM outbox WHERE key IN (?, ?)"
    assert place.by_hand("writes", waiting, (held, late)) == [(0,)]


def test_it_is_known_from_restore_to_restore(place: Place) -> None:
    """Forgotten once; then two backups of before it, one after the other."""
    key = place.write(SECRET)
    first = place.backup()
    place.write("between")
    second = place.backup()
    place.forget(key)
    for backup in (second, first):
        place.restored(backup)
        assert is_forgotten(place, key)
    assert traces(place) == []


def test_another_backup_of_the_home_knows_it_where_the_file_is_gone(place: Place) -> None:
    key = place.write(SECRET)
    backup = place.backup()
    place.forget(key)
    place.backup()
    place.close()
    for path in place.folder.glob("satchel.db*"):
        path.unlink()
    assert place.restored(backup)["forgotten"] >= 1
    assert is_forgotten(place, key)


def test_certificates_tell_a_machine_that_knows_nothing(place: Place, tmp_path: Path) -> None:
    """A new machine that never syncs: what the owner kept of it is enough."""
    key = place.write(SECRET)
    backup = place.backup(out=tmp_path / "disk", with_keys=True)
    answer = place.forget(key)
    paper = tmp_path / "certificate.json"
    paper.write_text(json.dumps(answer))
    with Place(tmp_path / "new") as new:
        new.close()
        shutil.rmtree(new.folder)
        told = new.restored(backup, certificates=[paper])
        assert (told["forgotten"] >= 1, told["put"]) == (
            True,
            ["satchel.db", *sorted((p for p in told["put"] if "keys/" in p), reverse=True)],
        )
        assert is_forgotten(new, key)
        assert traces(new) == []
        assert new.breaks() == []
    changed = paper.read_text().replace(key, key[::-1])
    paper.write_text(changed)
    with pytest.raises(SignatureInvalid):
        place.restore(backup, certificates=[paper])


def test_without_any_of_it_that_is_said(place: Place, tmp_path: Path) -> None:
    place.write(SECRET)
    backup = place.backup(out=tmp_path / "disk")
    with Place(tmp_path / "new") as new:
        new.close()
        shutil.rmtree(new.folder)
        notices = new.restored(backup)["notices"]
    assert any("was no replica here that knows what was forgotten" in one for one in notices)
    assert any("keys and secrets" in one for one in notices)


def test_a_damaged_file_is_asked_as_far_as_it_can_be_read(place: Place, tmp_path: Path) -> None:
    key = place.write(SECRET)
    backup = place.backup()
    certificate = place.forget(key)
    place.close()
    pages = place.path.stat().st_size // 4096
    damage(place.path, at=0)
    assert pages > 1
    with pytest.raises(Refused) as refused:
        place.restore(backup)
    assert "--forgotten FILE" in refused.value.hint
    paper = tmp_path / "certificate.json"
    paper.write_text(json.dumps(certificate["certificate"]))
    place.restored(backup, certificates=[paper], unread=True)
    assert is_forgotten(place, key)


def test_a_late_version_of_it_from_elsewhere_is_scrubbed(place: Place) -> None:
    """What a pull brings of another machine that has not heard yet."""
    key = place.write(SECRET)
    backup = place.backup()
    place.forget(key)
    place.restored(backup)
    columns = [None] * (len(MEMORY.columns) + 1)
    columns[MEMORY.names.index("content")] = SECRET
    stamp = SCRUBBED._replace(life=65536, hlc=1 << 60, origin=b"o" * 16, digest=b"d" * 8)
    with place.replica.store.write() as db:
        apply(db, MEMORY, [Row(key, stamp, "", tuple(columns))], None, place.clock.at_ms)
    assert is_forgotten(place, key)
