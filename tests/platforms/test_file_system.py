"""Files on each operating system: the part of this one for real, the others on what they call."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from satchel import whole_file as whole_files
from satchel.setup import apply
from satchel_crypto import file_system, private_file
from satchel_crypto.device_secrets import DeviceSecrets
from satchel_crypto.errors import KeyInvalid
from satchel_crypto.file_system import PATIENCE_S, FileSystem, MacOS, Posix, Windows


def no_links(part: Path, path: Path) -> None:
    """link(2) on FAT and exFAT."""
    raise PermissionError(errno.EPERM, "Operation not permitted", str(path))


@dataclass
class Held:
    """Windows: a name that others hold for so many tries, by the seam's sleeping."""

    tries: int
    slept: list[float] = field(default_factory=list)

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.tries -= 1


@pytest.fixture
def hold(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], Held]:
    """Let renames be refused, until the seam has slept so often."""

    def made(tries: int) -> Held:
        held, real = Held(tries), os.replace

        def refusing(src: str, dst: str) -> None:
            if held.tries > 0:
                raise PermissionError(errno.EACCES, "Access is denied", str(dst))
            real(src, dst)

        monkeypatch.setattr(os, "replace", refusing)
        return held

    return made


SYSTEMS: dict[str, FileSystem] = {
    "posix": Posix(),
    "posix without links": Posix(link=no_links),
    "macos": MacOS(control=lambda descriptor, command: None),
    "windows": Windows(),
}


@pytest.fixture(params=SYSTEMS)
def here(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> FileSystem:
    """That system in the place of this one, for all that writes."""
    found = SYSTEMS[request.param]
    for module in (file_system, private_file, whole_files):
        monkeypatch.setattr(module, "HERE", found)
    return found


def test_a_name_is_taken_only_where_it_is_free(here: FileSystem, tmp_path: Path) -> None:
    path, part = tmp_path / "name", tmp_path / "part"
    part.write_bytes(b"first")
    here.add(part, path)
    assert path.read_bytes() == b"first"
    if isinstance(here, Windows):
        return  # rename(2) of Linux replaces: seen_as has that of Windows, and the test below
    part.unlink(missing_ok=True)
    part.write_bytes(b"second")
    with pytest.raises(FileExistsError):
        here.add(part, path)
    assert path.read_bytes() == b"first"


def test_windows_adds_by_a_rename_that_does_not_replace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, str]] = []
    monkeypatch.setattr(os, "rename", lambda src, dst: asked.append((str(src), str(dst))))
    monkeypatch.setattr(os, "replace", lambda src, dst: pytest.fail("this one replaces"))
    Windows().add(tmp_path / "part", tmp_path / "name")
    assert asked == [(str(tmp_path / "part"), str(tmp_path / "name"))]


def test_whole_files_and_private_ones_are_written_everywhere(
    here: FileSystem, tmp_path: Path
) -> None:
    path, key = tmp_path / "file", tmp_path / "keys" / "a.key"
    for overwrite, content in ((False, b"new"), (True, b"newer")):
        with whole_files.whole_file(path, overwrite=overwrite) as file:
            file.write(content)
    private_file.add(key, b"first")
    private_file.replace(tmp_path / "keys" / "b.json", b"{}")
    assert (path.read_bytes(), key.read_bytes()) == (b"newer", b"first")
    assert sorted(one.name for one in tmp_path.rglob("*")) == ["a.key", "b.json", "file", "keys"]
    assert {one.stat().st_mode & 0o777 for one in (path, key)} == {0o600}
    with pytest.raises(FileExistsError), whole_files.whole_file(path, overwrite=False):
        pass


def test_a_stick_without_links_keeps_the_file_that_came_first(tmp_path: Path) -> None:
    """Whoever loses the race for a name leaves what is there, and nothing of their own."""
    path, part = tmp_path / "name", tmp_path / "part"
    path.write_bytes(b"first")
    part.write_bytes(b"second")
    with pytest.raises(FileExistsError):
        Posix(link=no_links).add(part, path)
    assert path.read_bytes() == b"first"


def test_a_stick_that_fails_is_left_without_an_empty_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(src: str, dst: str) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "replace", full)
    (tmp_path / "part").touch()
    with pytest.raises(OSError, match="No space"):
        Posix(link=no_links).add(tmp_path / "part", tmp_path / "name")
    assert not (tmp_path / "name").exists()


def test_another_failure_of_link_is_told(tmp_path: Path) -> None:
    def full(part: Path, path: Path) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(OSError, match="No space"):
        Posix(link=full).add(tmp_path / "part", tmp_path / "name")
    assert list(tmp_path.iterdir()) == []


def test_windows_waits_for_who_reads_a_file(hold: Callable[[int], Held], tmp_path: Path) -> None:
    held = hold(3)
    (tmp_path / "part").write_bytes(b"new")
    Windows(sleep=held.sleep).replace(tmp_path / "part", tmp_path / "name")
    assert (tmp_path / "name").read_bytes() == b"new"
    assert len(held.slept) == 3


def test_windows_does_not_wait_for_ever(hold: Callable[[int], Held], tmp_path: Path) -> None:
    held = hold(1_000)
    (tmp_path / "part").write_bytes(b"new")
    with pytest.raises(PermissionError):
        Windows(sleep=held.sleep).replace(tmp_path / "part", tmp_path / "name")
    assert PATIENCE_S <= sum(held.slept) < 2 * PATIENCE_S


def test_only_windows_waits(hold: Callable[[int], Held], tmp_path: Path) -> None:
    held = hold(1)
    (tmp_path / "part").touch()
    with pytest.raises(PermissionError):
        Posix().replace(tmp_path / "part", tmp_path / "name")
    assert held.slept == []


def test_macos_asks_the_drive_to_flush_and_settles_for_less(tmp_path: Path) -> None:
    asked: list[int] = []

    def refused(descriptor: int, command: int) -> None:
        asked.append(command)
        raise OSError(errno.ENOTSUP, "a disk of a network")

    with (tmp_path / "file").open("wb") as file:
        file.write(b"x")
        MacOS(control=refused).flush(file.fileno())
    MacOS(control=refused).settle(tmp_path)
    assert asked == [51, 51], "F_FULLFSYNC of sys/fcntl.h"


def test_each_platform_has_its_part() -> None:
    found = {name: type(file_system.of(name)) for name in ("linux", "freebsd14", "darwin", "win32")}
    assert found == {"linux": Posix, "freebsd14": Posix, "darwin": MacOS, "win32": Windows}
    assert {name for name in found if file_system.of(name).maps_hold} == {"win32"}


def test_setup_keeps_modes_only_where_there_are_some(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "fchmod")
    apply._write(tmp_path / "settings.json", b"{}", 0o644, new=True)
    assert (tmp_path / "settings.json").read_bytes() == b"{}"


def test_windows_opens_a_file_between_two_that_have_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, real, tries = tmp_path / "file", os.open, [0, 0]
    path.write_bytes(b"x\r\n")

    def refusing(name: Path, flags: int, mode: int) -> int:
        tries[0] += 1
        if tries[0] <= tries[1]:
            raise PermissionError(errno.EACCES, "Access is denied", str(name))
        return real(name, flags, mode)

    monkeypatch.setattr(os, "open", refusing)
    held = Held(2)
    for tries[1] in (0, 2):
        tries[0] = 0
        os.close(Windows(sleep=held.sleep).opened(path, os.O_RDONLY))
        assert tries[0] == tries[1] + 1
    tries[:] = [0, 1_000]
    with pytest.raises(PermissionError):
        Windows(sleep=held.sleep).opened(path, os.O_RDONLY)
    assert sum(held.slept) < 1, "nobody waits long for a file that may not be read"


@pytest.mark.parametrize("fault", [errno.EIO, errno.ENOSPC, errno.EROFS])
def test_a_disk_that_fails_is_told_of(
    fault: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(descriptor: int) -> None:
        raise OSError(fault, os.strerror(fault))

    monkeypatch.setattr(os, "fsync", failing)
    with pytest.raises(OSError, match=os.strerror(fault)):
        Posix().settle(tmp_path)
    with pytest.raises(KeyInvalid, match=os.strerror(fault)):
        private_file.settle(tmp_path)


def test_a_folder_that_cannot_be_flushed_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Posix().settle(tmp_path / "gone")
    asked: list[int] = []

    def refusing(descriptor: int) -> None:
        asked.append(descriptor)
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))

    monkeypatch.setattr(os, "fsync", refusing)
    Posix().settle(tmp_path)
    assert len(asked) == 1


def test_a_pipe_in_the_place_of_a_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    os.close(Posix().opened(tmp_path / "pipe", os.O_RDONLY))


def test_the_empty_file_of_a_power_cut_is_filled_where_there_are_no_links(
    here: FileSystem, tmp_path: Path
) -> None:
    """Elsewhere no satchel leaves one: an empty key is a damaged one, and told."""
    keys = DeviceSecrets(tmp_path)
    (tmp_path / "audit.key").touch(mode=0o600)
    if SYSTEMS["posix without links"] is here:
        assert keys.get_or_make("audit", lambda: b"k" * 32) == b"k" * 32
        assert keys.get_or_make("audit", lambda: b"l" * 32) == b"k" * 32
    elif not isinstance(here, Windows):
        with pytest.raises(KeyInvalid, match="it has 0 bytes"):
            keys.get_or_make("audit", lambda: b"k" * 32)
    assert [one.name for one in tmp_path.iterdir()] == ["audit.key"]


def test_one_of_many_makes_a_secret_on_a_stick(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An empty file of before, or of another who is just at it: all of them get one secret."""
    monkeypatch.setattr(private_file, "HERE", SYSTEMS["posix without links"])
    keys = DeviceSecrets(tmp_path)
    with ThreadPoolExecutor(8) as threads:
        for at in range(20):
            if at % 2:
                (tmp_path / f"k{at}.key").touch(mode=0o600)
            made = threads.map(
                lambda one, at=at: keys.get_or_make(f"k{at}", lambda: bytes([one]) * 32), range(8)
            )
            assert len(set(made)) == 1


@pytest.mark.parametrize("what", ["full", "link", "folder", "pipe", "of another meanwhile"])
def test_nothing_but_an_empty_file_is_filled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    path, part, stick = tmp_path / "name", tmp_path / "part", Posix(link=no_links)
    part.write_bytes(b"new")

    def another(src: str, dst: str) -> None:
        path.unlink()
        path.write_bytes(b"of another")
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    if what == "full":
        path.write_bytes(b"kept")
    elif what == "link":
        (tmp_path / "empty").touch()
        path.symlink_to(tmp_path / "empty")
    elif what == "folder":
        path.mkdir()
    elif what == "pipe":
        os.mkfifo(path)
    else:
        path.touch()
        monkeypatch.setattr(os, "replace", another)
    kind = path.lstat().st_mode
    with pytest.raises(OSError):  # noqa: PT011 - which one depends on what is there
        stick.fill(part, path)
    assert path.lstat().st_mode == kind
    assert part.read_bytes() == b"new"
    if what in ("full", "of another meanwhile"):
        assert path.read_bytes() in (b"kept", b"of another")
