"""Where a mapped file can be neither replaced nor deleted (Windows) vectors are copied, not mapped.

The file system of these tests refuses what Windows refuses: to take the name of a mapped file.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest
from test_damage import places
from vector_world import World

from satchel.vectors import VectorIndex, place, writing
from satchel.vectors.format import Header
from satchel.vectors.groups import Groups
from satchel_crypto.file_system import FileSystem, Posix, Windows

WINDOWS = Windows(sleep=lambda seconds: None)


def is_mapped(path: Path) -> bool:
    """Whether this process has the file mapped."""
    lines = Path("/proc/self/maps").read_text("utf-8").splitlines()
    return any(line.endswith(str(path)) for line in lines)


@pytest.fixture
def refusing(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names that could not be taken, because somebody has mapped their file."""
    refused: list[str] = []
    real = os.replace

    def replace(src: str, dst: str) -> None:
        if is_mapped(Path(dst)):
            refused.append(str(dst))
            raise PermissionError(errno.EACCES, "Access is denied", str(dst))
        real(src, dst)

    monkeypatch.setattr(os, "replace", replace)
    return refused


def on(monkeypatch: pytest.MonkeyPatch, here: FileSystem) -> None:
    for module in (place, writing):
        monkeypatch.setattr(module, "HERE", here)


@pytest.mark.usefixtures("narrow")
@pytest.mark.parametrize("seed", range(4))
def test_answers_are_those_of_brute_force_and_no_writer_is_refused(
    seed: int, tmp_path: Path, refusing: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files grow and are made anew under two other readers, who follow."""
    on(monkeypatch, WINDOWS)
    world = World(tmp_path, seed)
    others = [VectorIndex(world.home, world.replica.ranking) for _ in range(2)]
    try:
        for _ in range(60):
            world.step()
            world.check(world.random.choice([*others, None]))
        for index in (*others, None):
            world.check(index, times=5)
        assert refusing == []
        assert [one.path for one in places(world) if is_mapped(one.path)] == []
        assert world.replica.vectors.notices() == []
        assert [left for left in (tmp_path / "vectors").iterdir() if "draft" in left.name] == []
    finally:
        world.close()


@pytest.mark.usefixtures("narrow")
def test_maps_would_keep_writers_out_there(
    tmp_path: Path, refusing: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the test above shows nothing; answers come from memory then, and are right as well."""
    on(monkeypatch, Posix())
    world = World(tmp_path, 1)
    other = VectorIndex(world.home, world.replica.ranking)
    try:
        for _ in range(60):
            world.step()
            world.check(world.random.choice([other, None]))
        assert refusing != []
    finally:
        world.close()


def test_a_model_that_is_named_like_a_device_has_a_file_that_windows_makes(tmp_path: Path) -> None:
    names = ("aux", "CON.7", "nul.x/y", "com1", "lpt9.gguf", "conx", "a.con")
    found = [place.Place(tmp_path, b"\0" * 16, "memory", name, 3).path.name for name in names]
    begun = [name.partition("-")[0] for name in found]
    assert begun == ["_aux", "_CON.7", "_nul.x_y", "_com1", "_lpt9.gguf", "conx", "a.con"]
    assert not any(one.split(".")[0].casefold() in {"aux", "con", "nul"} for one in found)


def test_a_clock_that_stands_still_tells_two_changes_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader knows by the time of change, which is the stamp, whether it has to look again."""
    still_ns = 1_700_000_000_000_000_000
    monkeypatch.setattr(writing.time, "time_ns", lambda: still_ns)
    header = Header(b"\0" * 16, "memory m", 3, 8, 0, 0, 0, 0, -1, 0, 0, 0)
    pen = writing.Pen(lambda offset, data: None, header, Groups())
    stamps = [pen.finish(counter).stamp_ns for counter in range(3)]
    assert stamps == [still_ns + step * writing.STAMP_STEP_NS for step in range(3)]
