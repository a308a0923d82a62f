"""A file that is not what was written is made anew, and the answer is right all the same."""

from __future__ import annotations

import io
import os
import shutil
import stat
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from vector_world import CALLERS, DIMS, MODELS, World, brute_force, packed

from satchel.replica import DATABASE_FILE
from satchel.vectors import Damaged, VectorIndex
from satchel.vectors.format import HEADER_BYTES, Header, read_header
from satchel.vectors.place import Place
from satchel.vectors.source import SOURCES

RECORDS = 40


@pytest.fixture
def world(tmp_path: Path) -> World:
    made = World(tmp_path)
    for _ in range(RECORDS):
        made.write()
        made.say()
    ask_all(made)
    return made


def ask_all(world: World, index: VectorIndex | None = None) -> None:
    """Every file, against brute force."""
    world.check_all(index)


def other(world: World) -> VectorIndex:
    """As another process would open the files."""
    return VectorIndex(world.home, world.replica.ranking)


def places(world: World) -> list[Place]:
    replica_id = world.replica.store.replica_id
    return [
        Place(world.home, replica_id, kind, model, DIMS) for kind in SOURCES for model in MODELS
    ]


def rewritten(path: Path, **fields: object) -> None:
    """The header with other fields and a right checksum."""
    held = path.read_bytes()
    header = read_header(held[:HEADER_BYTES])
    path.write_bytes(header._replace(**fields).pack() + held[HEADER_BYTES:])


def flipped(path: Path, offset: int, count: int = 1) -> None:
    changed = bytearray(path.read_bytes())
    for at in range(offset, offset + count):
        changed[at] ^= 0xFF
    path.write_bytes(changed)


def header_of(path: Path) -> Header:
    return read_header(path.read_bytes()[:HEADER_BYTES])


def of_version(path: Path) -> None:
    changed = bytearray(path.read_bytes())
    changed[8] = 99
    check = zlib.crc32(changed[: HEADER_BYTES - 4])
    changed[HEADER_BYTES - 4 : HEADER_BYTES] = check.to_bytes(4, "little")
    path.write_bytes(changed)


def a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()
    (path / "inside").write_text("x")


def a_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def a_broken_link(path: Path) -> None:
    path.unlink()
    path.symlink_to(path.with_name("nowhere"))


DAMAGE: dict[str, Callable[[Path], object]] = {
    "missing": lambda path: path.unlink(),
    "empty": lambda path: path.write_bytes(b""),
    "cut in the header": lambda path: os.truncate(path, 1000),
    "cut in the records": lambda path: os.truncate(path, HEADER_BYTES + 500),
    "cut at the end": lambda path: os.truncate(path, path.stat().st_size - 1),
    "all zeros": lambda path: path.write_bytes(bytes(path.stat().st_size)),
    "text": lambda path: path.write_text("this is no vector file " * 10_000),
    "a flipped magic": lambda path: flipped(path, 0),
    "a flipped counter": lambda path: flipped(path, 64),
    "a flipped checksum": lambda path: flipped(path, HEADER_BYTES - 1),
    "flipped rows": lambda path: flipped(path, header_of(path).layout.rows + 8, 8),
    "flipped sources": lambda path: flipped(path, header_of(path).layout.sources, 16),
    "flipped groups": lambda path: flipped(path, header_of(path).layout.groups + 16, 2),
    "flipped checks": lambda path: flipped(path, header_of(path).layout.checks),
    "flipped halves": lambda path: flipped(path, header_of(path).layout.halves, 200),
    "one flipped half": lambda path: flipped(path, header_of(path).layout.halves + 31),
    "a flipped table": lambda path: flipped(path, header_of(path).layout.end + 3),
    "another version": of_version,
    "another model": lambda path: rewritten(path, name="memory another"),
    "another kind": lambda path: rewritten(path, name="task small@1"),
    "other dims": lambda path: rewritten(path, dims=DIMS + 1),
    "another replica": lambda path: rewritten(path, replica_id=b"\1" * 16),
    "a counter ahead": lambda path: rewritten(path, counter=1 << 61),
    "more records than room": lambda path: rewritten(path, records=1 << 40),
    "more room than bytes": lambda path: rewritten(path, capacity=1 << 40),
    "a folder": a_folder,
    "a broken link": a_broken_link,
    "a pipe": a_pipe,
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_file_is_made_anew(damage: Callable[[Path], object], world: World) -> None:
    before = [place.path.stat().st_ino for place in places(world)]
    for place in places(world):
        damage(place.path)
    ask_all(world, other(world))
    ask_all(world)
    for place, inode in zip(places(world), before, strict=True):
        opened = place.open()
        assert opened is not None
        opened.image.verify()
        assert stat.S_IMODE(place.path.stat().st_mode) == 0o600
        assert place.path.stat().st_ino != inode
    assert world.replica.vectors.notices() == []


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_damage_under_a_reader_is_seen_by_its_next_question(
    damage: Callable[[Path], object], world: World
) -> None:
    """Whoever has the file mapped already; what is cut off under a map would end the process."""
    if (
        "cut" in next(name for name in DAMAGE if DAMAGE[name] is damage)
        or damage is DAMAGE["empty"]
    ):
        pytest.skip("a map of a file that is cut meanwhile cannot be read at all")
    for place in places(world):
        kept = place.path.with_suffix(".kept")
        os.link(place.path, kept)
        copy = place.path.with_suffix(".copy")
        shutil.copy2(place.path, copy)
        copy.replace(place.path)
        damage(place.path)
    ask_all(world)


def test_what_a_killed_writer_left_behind_its_header_is_no_part(world: World) -> None:
    """Records were written and the header was not: the next writer writes over them."""
    for place in places(world):
        header = header_of(place.path)
        with place.path.open("r+b") as file:
            for begin in (header.layout.rows, header.layout.sources, header.layout.groups):
                file.seek(begin + header.records * 8)
                file.write(b"\7" * 80)
    ask_all(world, other(world))
    for _ in range(10):
        world.write()
    ask_all(world, other(world))


def test_a_file_that_vanishes_right_after_an_append_is_made_anew(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    append = Place.writing

    @contextmanager
    def and_vanish(place: Place) -> Iterator[io.FileIO]:
        with append(place) as file:
            yield file
        place.path.unlink()

    monkeypatch.setattr(Place, "writing", and_vanish)
    for _ in range(3):
        world.write()
        world.say()
        ask_all(world)


def test_a_touched_file_is_looked_through_once(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = places(world)[0]
    os.utime(place.path)
    looked = []
    monkeypatch.setattr(
        "satchel.vectors.image.Image.verify", lambda image: looked.append(image.header.name)
    )
    assert place.open() is not None
    assert place.open() is not None
    assert looked == [place.name]


def test_a_restored_older_database_gets_its_own_file(world: World, tmp_path: Path) -> None:
    """Even when it was written to before anybody asked, so that no number is ahead."""
    for afterwards in (0, 1, 30):
        world.replica.store.close()
        copies = tmp_path / f"copies{afterwards}"
        copies.mkdir()
        for name in (DATABASE_FILE, f"{DATABASE_FILE}-wal", f"{DATABASE_FILE}-shm"):
            if (world.home / name).exists():
                shutil.copy(world.home / name, copies / name)
        world.replica = world.open()
        with world.replica.store.write() as db:
            db.execute("DELETE FROM memory WHERE row % 3 = 0")
        for _ in range(5):
            world.write()
        ask_all(world)
        world.replica.store.close()
        for name in (DATABASE_FILE, f"{DATABASE_FILE}-wal", f"{DATABASE_FILE}-shm"):
            (world.home / name).unlink(missing_ok=True)
            if (copies / name).exists():
                shutil.copy(copies / name, world.home / name)
        world.replica = world.open()
        for _ in range(afterwards):
            world.write()
        ask_all(world)


def test_a_home_of_which_vectors_is_a_file_searches_in_memory(tmp_path: Path) -> None:
    (tmp_path / "vectors").write_text("in the way")
    world = World(tmp_path)
    for _ in range(RECORDS):
        world.write()
        world.change()
        world.check()
    ask_all(world)
    (notice,) = world.replica.vectors.notices()
    assert "cannot be written" in notice
    (tmp_path / "vectors").unlink()
    ask_all(world, other(world))
    assert len(list((tmp_path / "vectors").glob("*.vec"))) == 4
    world.write()
    world.say()
    ask_all(world)
    assert world.replica.vectors.notices() == []


def test_a_pipe_in_place_of_the_lock_is_not_waited_for(world: World) -> None:
    for place in places(world):
        a_pipe(place.path.with_suffix(".lock"))
        place.path.unlink()
    index = other(world)
    ask_all(world, index)
    (notice,) = index.notices()
    assert "it is no file" in notice
    for place in places(world):
        place.path.with_suffix(".lock").unlink()
    ask_all(world, other(world))
    assert all(place.path.exists() for place in places(world))


def test_a_question_inside_a_write_leaves_no_trace_when_it_is_rolled_back(world: World) -> None:
    before = [place.path.read_bytes() for place in places(world)]
    with pytest.raises(ZeroDivisionError):
        delete_ask_and_fail(world)
    ask_all(world)
    assert [place.path.read_bytes() for place in places(world)] == before


def delete_ask_and_fail(world: World) -> None:
    asked = (CALLERS[0], "memory", MODELS[0], DIMS, packed([1] * DIMS), 100, "1", {})
    with world.replica.store.write() as db:
        db.execute("DELETE FROM memory WHERE row % 2 = 0")
        found = world.replica.vectors.nearest(db, *asked)
        assert found == brute_force(db, *asked[1:]) != []
        raise ZeroDivisionError


def test_a_masked_vector_is_wiped(world: World) -> None:
    """Nothing of a deleted memory's vector is left in the file once it has followed."""
    with world.replica.store.write() as db:
        db.execute("DELETE FROM memory")
        db.execute("DELETE FROM chatlog")
    ask_all(world)
    for place in places(world):
        opened = place.open()
        assert opened is not None
        header = opened.image.header
        begin = header.layout.halves
        left = place.path.read_bytes()[begin : begin + 2 * DIMS * header.records]
        assert left == bytes(len(left))


def test_the_errors_are_typed(world: World) -> None:
    place = places(world)[0]
    flipped(place.path, 0)
    with pytest.raises(Damaged, match="does not begin") as refusal:
        place.open()
    assert refusal.value.code == "vector_file_damaged"
