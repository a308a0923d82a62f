"""Whether a folder lies on a disk of this machine: a write-ahead log is shared in its memory.

On a network file system a second machine sees neither that memory nor the locks, and both write
over each other (https://sqlite.org/wal.html#overview); SQLite itself does not notice where it is.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path, PurePath

MOUNTS = Path("/proc/self/mountinfo")
_TYPES = """
9p afs beegfs ceph cifs coda davfs fuse.ceph fuse.davfs fuse.glusterfs fuse.rclone fuse.s3fs
fuse.sshfs fuse.vmhgfs-fuse glusterfs gpfs lustre ncpfs nfs nfs4 orangefs prl_fs pvfs2 smb3 smbfs
vboxsf vmhgfs
"""
NETWORKED = frozenset(_TYPES.split())
"""Types of file systems, as Linux names them, that more than one machine may write to."""


def refusal(folder: Path) -> str:
    """What the folder lies on, in words, where that is no disk of this machine; else ""."""
    if sys.platform == "win32":
        return of_windows(folder.absolute())
    if sys.platform == "darwin":
        return of_mac(folder)
    try:
        device, table = folder.stat().st_dev, MOUNTS.read_text("utf-8", "surrogateescape")
    except OSError:  # no such table outside Linux, and what is no folder is told elsewhere
        return ""
    kind, place = of_mounts(table, f"{os.major(device)}:{os.minor(device)}")
    return f"a network file system ({kind}, mounted at {place})" if kind in NETWORKED else ""


def of_mounts(table: str, device: str) -> tuple[str, str]:
    """(type, mount point) of a device `major:minor` in a table of mountinfo; "" where it has none.

    https://man7.org/linux/man-pages/man5/proc_pid_mountinfo.5.html: optional fields end at a dash.
    """
    for line in table.splitlines():
        words = line.split(" ")
        if len(words) > 9 and words[2] == device and "-" in words[6:]:
            return words[words.index("-", 6) + 1], words[4]
    return "", ""


def of_windows(folder: PurePath) -> str:
    """A share, by its name or by the letter of a drive that stands for it."""
    from satchel.store.drive_windows import is_remote

    return f"a network share ({folder.drive})" if is_remote(folder.drive) else ""


def of_mac(folder: Path) -> str:
    """A volume of another machine, by its type."""
    from satchel.store import volume_macos

    kind, place = volume_macos.type_of(folder)
    if kind not in volume_macos.NETWORKED:
        return ""
    return f"a network file system ({kind}, mounted at {place})"
