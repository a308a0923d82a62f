"""The type of file system that a folder of a Mac lies on, by statfs(2)."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

NETWORKED = frozenset({"afpfs", "ftp", "nfs", "smbfs", "webdav"})
"""Types, as macOS names them, that more than one machine may write to."""


class _Statfs(ctypes.Structure):
    """struct statfs with 64-bit inodes, sys/mount.h."""

    _fields_ = (
        ("f_bsize", ctypes.c_uint32),
        ("f_iosize", ctypes.c_int32),
        ("counts", ctypes.c_uint64 * 5),
        ("f_fsid", ctypes.c_int32 * 2),
        ("f_owner", ctypes.c_uint32),
        ("f_type", ctypes.c_uint32),
        ("f_flags", ctypes.c_uint32),
        ("f_fssubtype", ctypes.c_uint32),
        ("f_fstypename", ctypes.c_char * 16),
        ("f_mntonname", ctypes.c_char * 1024),
        ("f_mntfromname", ctypes.c_char * 1024),
        ("f_reserved", ctypes.c_uint32 * 8),
    )


def _statfs() -> Callable[..., int]:
    """On Intel the plain name is that of an older layout."""
    library: Any = ctypes.CDLL(None)
    try:
        return library["statfs$INODE64"]  # type: ignore[no-any-return]
    except AttributeError:
        return library.statfs  # type: ignore[no-any-return]


def type_of(folder: Path, find: Callable[[], Callable[..., int]] = _statfs) -> tuple[str, str]:
    """(type, mount point); two empty texts where the system does not say."""
    found = _Statfs()
    try:
        failed = find()(os.fsencode(folder), ctypes.byref(found))
    except (AttributeError, OSError):
        return "", ""
    if failed:
        return "", ""
    return found.f_fstypename.decode("ascii", "replace"), os.fsdecode(found.f_mntonname)
