"""What satchel would find on Windows, as far as Linux can show it.

Names that DOS had, long paths, names of open files are refused to everybody, descriptors work as
those of its C library, modes say next to nothing. Not shown: consoles, ACLs, drives, the registry
but for one value, and which locks hold whom.
"""

from __future__ import annotations

import builtins
import errno
import fcntl
import io
import os
import select
import signal
import socket
import subprocess
import sys
import types
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from seen_module import Shown, is_ours_calling, require_there, show
from seen_names import (
    NTFS_NEVER,
    POSIX_MODULES,
    POSIX_OS,
    POSIX_SELECT,
    POSIX_SIGNAL,
    POSIX_SOCKET,
    WINDOWS_SIGNALS,
)

O_BINARY, O_NOINHERIT, O_TEXT = 0x8000, 0x80, 0x4000
PATH_CHARS_MAX = 259
"""MAX_PATH without its NUL, which holds unless registry and program allow more."""
GUID = "0b7ea5e5-5a7c-4e1f-9b0a-7d8e0f1a2b3c"

_real = types.SimpleNamespace(
    open=os.open, read=os.read, write=os.write, fsync=os.fsync, chmod=os.chmod, mkdir=os.mkdir,
    replace=os.replace, rename=os.rename, unlink=os.unlink, stat=os.stat, fstat=os.fstat,
    lstat=os.lstat, link=os.link, io_open=io.open,
)  # fmt: skip
_IN_ORDER = ("st_mode", "st_ino", "st_dev", "st_nlink", "st_uid", "st_gid", "st_size")
_BY_NAME = [one for one in dir(os.stat_result) if one.startswith("st_") and one not in _IN_ORDER]
_text_mode: set[int] = set()
"""Descriptors that were opened without O_BINARY: their bytes are changed on the way."""


# ---- the file system ----------------------------------------------------------------------------


def _refuse(code: int, path: Any) -> OSError:
    return OSError(code, os.strerror(code), os.fsdecode(path))


def _require_name(path: Any) -> None:
    """Raises OSError for a name that NTFS does not take from a program of Windows."""
    if isinstance(path, int):
        return
    place = Path(os.fsdecode(path)).absolute()
    if len(str(place)) > PATH_CHARS_MAX:
        raise _refuse(errno.ENOENT, path)
    if NTFS_NEVER.fullmatch(place.name):
        raise _refuse(errno.EINVAL, path)


def _is_open(path: Any) -> bool:
    """Whether any process has this file open or mapped."""
    try:
        found = _real.stat(path)
    except OSError:
        return False
    name = os.path.realpath(path)
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            for descriptor in (process / "fd").iterdir():
                with suppress(OSError):
                    if os.path.samestat(found, _real.stat(descriptor)):
                        return True
            with _real.io_open(process / "maps", encoding="utf-8", errors="replace") as maps:
                if any(line.rstrip("\n").endswith(f" {name}") for line in maps):
                    return True
    return False


def _require_closed(path: Any) -> None:
    """Neither SQLite nor Python opens files so that others may delete or rename them."""
    if Path(path).is_file() and _is_open(path):
        raise _refuse(errno.EACCES, path)


def _replace(src: Any, dst: Any, **more: Any) -> None:
    _require_name(dst)
    _require_closed(src)
    _require_closed(dst)
    if Path(dst).is_dir():
        raise _refuse(errno.EACCES, dst)
    _real.replace(src, dst, **more)


def _rename(src: Any, dst: Any, **more: Any) -> None:
    _require_name(dst)
    _require_closed(src)
    if os.path.lexists(dst):
        raise _refuse(errno.EEXIST, dst)
    _real.rename(src, dst, **more)


def _unlink(path: Any, **more: Any) -> None:
    _require_closed(path)
    _real.unlink(path, **more)


def _link(src: Any, dst: Any, **more: Any) -> None:
    _require_name(dst)
    _real.link(src, dst, **more)


def _mkdir(path: Any, mode: int = 0o777, **more: Any) -> None:
    _require_name(path)
    _real.mkdir(path, 0o777, **more)


def _chmod(path: Any, mode: int, **more: Any) -> None:
    """Windows has one bit of the mode: whether a file may be written."""
    now = _real.stat(path).st_mode
    _real.chmod(path, now | 0o200 if mode & 0o200 else now & ~0o222)


def _as_seen(found: os.stat_result) -> os.stat_result:
    """A file is everybody's, as far as its mode says anything; nobody owns it."""
    mode = found.st_mode | (0o777 if found.st_mode & 0o040000 else 0o666)
    mode &= ~0o222 if not found.st_mode & 0o200 else ~0
    fields = [mode, *list(found)[1:4], 0, 0, *list(found)[6:]]
    return os.stat_result(fields, {name: getattr(found, name) for name in _BY_NAME})


def _open_file(file: Any, mode: str = "r", *given: Any, **more: Any) -> Any:
    """What pathlib opens by, too."""
    require_there(file)
    if set(mode) & set("wax+"):
        _require_name(file)
    if "b" not in mode and "encoding" not in more and len(given) < 2 and is_ours_calling():
        raise AssertionError(f"{file!r} is opened in the code page of the machine")
    return _real.io_open(file, mode, *given, **more)


# ---- descriptors, as the C library of Windows has them ------------------------------------------


def _open(path: Any, flags: int, mode: int = 0o777, **more: Any) -> int:
    require_there(path)
    if flags & os.O_CREAT:
        _require_name(path)
    if Path(path).is_dir():
        raise _refuse(errno.EACCES, path)
    descriptor = _real.open(path, flags & ~(O_BINARY | O_NOINHERIT | O_TEXT), mode, **more)
    (_text_mode.discard if flags & O_BINARY else _text_mode.add)(descriptor)
    return descriptor


def _write(descriptor: int, data: Any) -> int:
    if descriptor in _text_mode:
        _real.write(descriptor, bytes(data).replace(b"\n", b"\r\n"))
        return len(data)
    return _real.write(descriptor, data)


def _read(descriptor: int, size: int) -> bytes:
    data = _real.read(descriptor, size)
    if descriptor in _text_mode:
        return data.partition(b"\x1a")[0].replace(b"\r\n", b"\n")
    return data


def _fsync(descriptor: int) -> None:
    """FlushFileBuffers wants a handle that may write."""
    if fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY:
        raise _refuse(errno.EBADF, str(descriptor))
    _real.fsync(descriptor)


def _execve(*_: Any) -> None:
    raise AssertionError("execve on Windows: the shell goes on before the new program has ended")


def _kill(pid: int, number: int) -> None:
    if number not in (signal.SIGTERM, signal.SIGINT):
        raise AssertionError(f"os.kill(pid, {number}) on Windows ends the process")
    os.kill(pid, number)


# ---- other modules ------------------------------------------------------------------------------


def _signal(number: int, handler: Any) -> Any:
    if signal.Signals(number).name not in WINDOWS_SIGNALS:
        raise ValueError(f"signal {number} is none of Windows")
    return signal.signal(number, handler)


class Process(subprocess.Popen):  # type: ignore[type-arg]
    """A process, started with nothing that Windows does not know."""

    def __init__(self, *given: Any, **more: Any) -> None:
        for name in ("preexec_fn", "pass_fds", "user", "group", "extra_groups", "umask"):
            if more.get(name) not in (None, (), -1):
                raise ValueError(f"{name} is not supported on Windows platforms")
        words = more.get("args", given[0] if given else None)
        if more.get("text") and "encoding" not in more and is_ours_calling():
            raise AssertionError(f"the output of {words!r} is read in the machine's code page")
        super().__init__(*given, **more)


def _run(*given: Any, **more: Any) -> Any:
    if more.get("text") and "encoding" not in more:
        raise AssertionError(f"the output of {given!r} is read in the code page of the machine")
    return subprocess.run(*given, **more)


class Key:
    """A key of the registry that is open."""

    def __enter__(self) -> Key:
        return self

    def __exit__(self, *_: object) -> None:
        return None


def _value(key: Key, name: str) -> tuple[str, int]:
    if name != "MachineGuid":
        raise FileNotFoundError(errno.ENOENT, "The system cannot find the file specified")
    return GUID, 1


def _winreg() -> types.ModuleType:
    """The registry, with one value in it."""
    made = types.ModuleType("winreg")
    numbers = {"KEY_READ": 1, "KEY_WOW64_64KEY": 2, "HKEY_LOCAL_MACHINE": 3}
    made.__dict__.update(numbers, OpenKey=lambda *_: Key(), QueryValueEx=_value)
    return made


def _shown() -> dict[str, types.ModuleType]:
    shown_os = Shown(
        os, POSIX_OS, name="nt", O_BINARY=O_BINARY, O_NOINHERIT=O_NOINHERIT, O_TEXT=O_TEXT,
        open=_open, read=_read, write=_write, fsync=_fsync, kill=_kill,
        execv=_execve, execve=_execve, execvp=_execve,
    )  # fmt: skip
    return {
        "sys": Shown(sys, platform="win32"),
        "os": shown_os,
        "signal": Shown(signal, POSIX_SIGNAL, signal=_signal),
        "select": Shown(select, POSIX_SELECT),
        "socket": Shown(socket, POSIX_SOCKET),
        "subprocess": Shown(subprocess, Popen=Process, run=_run),
    }


def install() -> None:
    """Show Windows to every module of ours that is imported from now on."""
    show(_shown(), POSIX_MODULES)
    builtins.open = io.open = _open_file  # type: ignore[assignment]
    os.replace, os.rename, os.link, os.mkdir = _replace, _rename, _link, _mkdir  # type: ignore[assignment]
    os.unlink = os.remove = _unlink  # type: ignore[assignment]
    os.chmod = _chmod  # type: ignore[assignment]
    os.stat, os.fstat, os.lstat = map(_seeing, (_real.stat, _real.fstat, _real.lstat))  # type: ignore[assignment]
    sys.modules["winreg"] = _winreg()


def _seeing(real: Callable[..., os.stat_result]) -> Callable[..., os.stat_result]:
    return lambda *given, **more: _as_seen(real(*given, **more))
