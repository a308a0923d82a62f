"""What is asked of macOS and Windows by ctypes, on stand-ins for their libraries."""

from __future__ import annotations

import ctypes
import io
import os
import stat
import struct
from collections.abc import Callable
from pathlib import Path, PureWindowsPath
from typing import Any, TextIO

import apsw
import pytest

from satchel.cli import pipes_windows
from satchel.store import flushing, local_disk, volume_macos
from satchel.store.connection import Store
from satchel.store.drive_windows import is_remote
from satchel.terminal import is_terminal


@pytest.mark.parametrize(
    ("drive", "type_", "remote"),
    [
        ("C:", 3, False),
        ("Z:", 4, True),
        ("D:", 2, False),
        (r"\\server\share", 0, True),
        ("", 4, False),
    ],
)
def test_a_drive_of_another_machine_is_known(drive: str, type_: int, remote: bool) -> None:
    asked: list[str] = []

    def ask(root: str) -> int:
        asked.append(root)
        return type_

    assert is_remote(drive, ask) is remote
    assert asked in ([], [f"{drive}\\"])


def test_a_home_on_another_machines_disk_is_refused_by_its_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    share = local_disk.of_windows(PureWindowsPath(r"\\server\share\home"))
    assert share == r"a network share (\\server\share)"
    for kind, said in (("smbfs", "a network file system (smbfs, mounted at /Volumes/x)"), ("", "")):
        monkeypatch.setattr(volume_macos, "type_of", lambda folder, kind=kind: (kind, "/Volumes/x"))
        assert local_disk.of_mac(tmp_path) == said


def statfs_of(kind: bytes, place: bytes, code: int = 0) -> Callable[[], Callable[..., int]]:
    """statfs(2) of macOS: its bytes by the offsets of sys/mount.h, written by hand."""
    raw = bytearray(2168)
    struct.pack_into("<IiQQQQQiiIIII16s1024s", raw, 0, 4096, 1 << 20, 1, 2, 3, 4, 5, 6, 7, 501, 26,
                     0x1000, 0, kind, place)  # fmt: skip

    def called(path: bytes, found: Any) -> int:
        assert isinstance(path, bytes)
        held = found._obj
        assert ctypes.sizeof(held) == len(raw)
        ctypes.memmove(ctypes.byref(held), bytes(raw), len(raw))
        return code

    return lambda: called


def test_the_type_of_a_volume_is_told(tmp_path: Path) -> None:
    assert volume_macos.type_of(tmp_path, statfs_of(b"apfs", b"/")) == ("apfs", "/")
    smb = volume_macos.type_of(tmp_path, statfs_of(b"smbfs", "/Volumes/Büro".encode()))
    assert smb == ("smbfs", "/Volumes/Büro")
    assert smb[0] in volume_macos.NETWORKED


def test_a_mac_that_does_not_say_is_trusted(tmp_path: Path) -> None:
    def missing() -> Callable[..., int]:
        raise AttributeError("statfs")

    assert volume_macos.type_of(tmp_path, missing) == ("", "")
    assert volume_macos.type_of(tmp_path, statfs_of(b"nfs", b"/x", code=-1)) == ("", "")


class Terminal(io.StringIO):
    """What its C library calls a terminal."""

    def __init__(self, descriptor: int | None) -> None:
        super().__init__()
        self.descriptor = descriptor

    def isatty(self) -> bool:
        return True

    def fileno(self) -> int:
        if self.descriptor is None:
            raise io.UnsupportedOperation("fileno")
        return self.descriptor


@pytest.mark.parametrize(
    ("stream", "platform", "console", "expected"),
    [
        (None, "linux", True, False),
        (io.StringIO(), "win32", True, False),
        (Terminal(0), "linux", False, True),
        (Terminal(0), "win32", True, True),
        (Terminal(0), "win32", False, False),  # NUL, as hosts and the Task Scheduler give it
        (Terminal(None), "win32", False, True),  # a terminal of a test, without a descriptor
    ],
)
def test_nul_is_no_terminal(
    stream: TextIO | None, platform: str, console: bool, expected: bool
) -> None:
    asked: list[int] = []

    def is_console(descriptor: int) -> bool:
        asked.append(descriptor)
        return console

    assert is_terminal(stream, platform, is_console) is expected
    assert asked == ([0] if isinstance(stream, Terminal) and stream.descriptor == 0
                     and platform == "win32" else [])  # fmt: skip


def test_a_real_terminal_is_one() -> None:
    controller, terminal = os.openpty()
    with os.fdopen(terminal, "r", encoding="utf-8") as stream, os.fdopen(controller, "rb"):
        assert is_terminal(stream)


FLUSHES = {
    ("full", "linux"): ("synchronous = FULL",),
    ("process", "win32"): ("synchronous = NORMAL",),
    ("full", "darwin"): ("synchronous = FULL", "fullfsync = ON", "checkpoint_fullfsync = ON"),
    ("process", "darwin"): ("synchronous = NORMAL", "checkpoint_fullfsync = ON"),
}


@pytest.mark.parametrize(("asked", "expected"), FLUSHES.items())
def test_a_mac_flushes_the_drive_too(asked: tuple[Any, str], expected: tuple[str, ...]) -> None:
    found = flushing.pragmas(*asked)
    assert found == expected
    db = apsw.Connection("")
    for pragma in found:
        name, _, value = pragma.partition(" = ")
        db.execute(f"PRAGMA {pragma}")
        assert db.execute(f"PRAGMA {name}").get == {"FULL": 2, "NORMAL": 1, "ON": 1}[value]
    db.close()


def test_every_connection_of_a_mac_is_told_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = flushing.pragmas
    monkeypatch.setattr(flushing, "pragmas", lambda durability: real(durability, "darwin"))
    store = Store.open(tmp_path / "satchel.db")
    try:
        with store.read() as db:
            told = [db.execute(f"PRAGMA {name}").get for name in ("synchronous", "fullfsync")]
        assert told == [2, 1]
    finally:
        store.close()


def test_a_reader_that_is_gone_is_told_as_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Linux says EINVAL, too, where too little is written to an eventfd."""
    descriptor = os.eventfd(0)
    real = os.fstat

    def as_a_pipe(one: int) -> os.stat_result:
        found = real(one)
        return os.stat_result((stat.S_IFIFO, *found[1:])) if one == descriptor else found

    monkeypatch.setattr(os, "fstat", as_a_pipe)
    with os.fdopen(descriptor, "w", encoding="cp1252") as pipe:
        told = pipes_windows.told(pipe)
        told.write("é")
        with pytest.raises(BrokenPipeError):
            told.flush()
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, descriptor)  # as the program does, so that nothing fails when Python ends
        os.close(null)
        told.flush()


def test_another_stream_stays_as_it_is(tmp_path: Path) -> None:
    text = io.StringIO()
    assert pipes_windows.told(text) is text
    with (tmp_path / "file").open("w", encoding="utf-8") as file:
        assert pipes_windows.told(file) is file


def test_a_pipe_takes_everything_in_utf_8() -> None:
    read, write = os.pipe()
    with os.fdopen(read, "rb") as end, os.fdopen(write, "w", encoding="cp1252") as pipe:
        told = pipes_windows.told(pipe)
        told.write("東京\n")
        told.flush()
        assert end.read(7) == "東京\n".encode()
