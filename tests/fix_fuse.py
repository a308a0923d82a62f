"""An empty file system that says that it is a network's, served from here: the kernel's FUSE.

`python tests/fix_fuse.py FOLDER WORDS…` mounts it on FOLDER, runs the words, and ends with their
exit code. To be run in a mount namespace of its own (`unshare -m`), which takes it away whatever
happens.
The protocol: include/uapi/linux/fuse.h of Linux.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
import subprocess
import sys
import threading
from pathlib import Path

TYPE = "fuse.sshfs"
_HEADER = struct.Struct("<IIQQIIII")
_REPLY = struct.Struct("<IiQ")
_INIT = struct.Struct("<IIIIHHIIHHI28x")
_ATTRIBUTES = struct.Struct("<QII6Q10I")
_LOOKUP, _FORGET, _GETATTR, _STATFS, _INIT_CODE, _OPENDIR, _READDIR = 1, 2, 3, 17, 26, 27, 28
_RELEASEDIR, _ACCESS, _INTERRUPT, _DESTROY, _BATCH_FORGET = 29, 34, 36, 38, 42
_SILENT = (_FORGET, _INTERRUPT, _BATCH_FORGET)
_ROOT_MODE = 0o040700
_BUFFER_BYTES = 1 << 20


def mount(folder: Path) -> int:
    """Mount it; the descriptor that the kernel asks through. Raises OSError."""
    descriptor = os.open("/dev/fuse", os.O_RDWR)
    said = f"fd={descriptor},rootmode=40000,user_id={os.getuid()},group_id={os.getgid()}"
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(b"far:/", os.fsencode(folder), TYPE.encode(), 0, said.encode()):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return descriptor


def serve(descriptor: int) -> None:
    """Answer until it is unmounted: one folder, in which there is nothing."""
    while True:
        try:
            asked = os.read(descriptor, _BUFFER_BYTES)
        except OSError:
            return
        _, code, unique, *_ = _HEADER.unpack_from(asked)
        if code in _SILENT:
            continue
        error, body = _answer(code)
        os.write(descriptor, _REPLY.pack(_REPLY.size + len(body), -error, unique) + body)


def _answer(code: int) -> tuple[int, bytes]:
    if code == _INIT_CODE:
        return 0, _INIT.pack(7, 31, 0, 0, 8, 8, 4096, 1, 0, 0, 0)
    if code == _GETATTR:
        mode = (0, 0, 0, _ROOT_MODE, 2, os.getuid(), os.getgid(), 0, 4096, 0)
        return 0, _ATTRIBUTES.pack(1, 0, 0, 1, 0, 0, 0, 0, 0, *mode)
    if code == _STATFS:
        return 0, struct.pack("<5Q4I24x", 1 << 20, 1 << 20, 1 << 20, 99, 99, 4096, 255, 4096, 0)
    if code == _OPENDIR:
        return 0, bytes(16)
    if code in (_READDIR, _RELEASEDIR, _ACCESS, _DESTROY):
        return 0, b""
    return (errno.ENOENT if code == _LOOKUP else errno.ENOSYS), b""


def main(folder: str, *words: str) -> int:
    """Mount, run, and leave the rest to the namespace."""
    descriptor = mount(Path(folder))
    threading.Thread(target=serve, args=(descriptor,), daemon=True).start()
    return subprocess.run(words, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
