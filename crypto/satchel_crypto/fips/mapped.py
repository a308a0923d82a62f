"""The files that this process has mapped: what is really loaded, whatever its name says (Linux)."""

from __future__ import annotations

import ctypes
import os
import re
import stat
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from satchel_crypto.errors import FipsRefused

_LINE = re.compile(
    r"(?P<start>[0-9a-f]+)-(?P<end>[0-9a-f]+) (?P<rights>\S{4}) (?P<offset>[0-9a-f]+)"
    r" \S+ (?P<inode>\d+) +(?P<path>/.*)"
)
_OTHERS_WRITE = 0o022


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """Addresses `start` ≤ a < `end`, which show a file from `offset` on."""

    start: int
    end: int
    rights: str
    offset: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Mapped:
    """A file in this process's memory."""

    path: Path
    segments: tuple[Segment, ...]

    def holds(self, address: int | None, *, code: bool = False) -> bool:
        """Whether an address is inside the file, or inside its code."""
        return address is not None and any(
            one.start <= address < one.end and ("x" in one.rights or not code)
            for one in self.segments
        )

    def content(self) -> bytes:
        """All of the file, once its code is known to be what runs.

        Raises FipsRefused for a file that others may write, or that is not what is in memory.
        """
        data = read_owned(self.path)
        for one in self.segments:
            if "x" in one.rights and "w" not in one.rights:
                loaded = ctypes.string_at(one.start, one.end - one.start)
                on_disk = data[one.offset : one.offset + len(loaded)]
                # Behind the end of the file a page holds zeros.
                if loaded[: len(on_disk)] != on_disk or not on_disk or any(loaded[len(on_disk) :]):
                    raise FipsRefused(
                        f"{self.path} was changed after it was loaded",
                        hint="start this process again",
                    )
        return data


def loaded() -> dict[Path, Mapped]:
    """Every file that is mapped now. Raises FipsRefused where a system does not tell."""
    if sys.platform != "linux":
        raise FipsRefused(
            f"what is loaded cannot be proved on {sys.platform}",
            hint="FIPS mode works on Linux; elsewhere use the system's own FIPS products",
        )
    maps = Path("/proc/self/maps").read_bytes().decode("utf-8", "surrogateescape")
    found: dict[str, list[Segment]] = {}
    for name, segment in _segments(maps):
        found.setdefault(name, []).append(segment)
    made = (Mapped(path=Path(name), segments=tuple(them)) for name, them in found.items())
    return {one.path: one for one in made}


def holder(address: int | None) -> Mapped | None:
    """The mapped file that an address lies in."""
    return next((one for one in loaded().values() if one.holds(address)), None)


def read_owned(path: Path) -> bytes:
    """A file that only root or this account can have written. Raises FipsRefused."""
    if sys.platform == "win32":
        raise FipsRefused("who may write a file cannot be proved on Windows")
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(handle, "rb") as file:
            found = os.fstat(handle)
            data = file.read() if stat.S_ISREG(found.st_mode) else b""
    except OSError as error:
        raise FipsRefused(f"{path} cannot be read: {error.strerror or error}") from error
    if not stat.S_ISREG(found.st_mode):
        raise FipsRefused(f"{path} is no plain file")
    if found.st_uid not in (0, os.geteuid()):
        raise FipsRefused(
            f"{path} belongs to another account (uid {found.st_uid})",
            hint=f"only root's or your own file counts: chown it, once you know who wrote {path}",
        )
    if found.st_mode & _OTHERS_WRITE:
        raise FipsRefused(
            f"{path} can be written by others (mode {found.st_mode & 0o777:o})",
            hint=f"chmod go-w {path}, once you know that it is as it was",
        )
    return data


def _segments(maps: str) -> Iterator[tuple[str, Segment]]:
    for line in maps.splitlines():
        found = _LINE.fullmatch(line)
        if found and found["inode"] != "0":
            start, end, offset = (int(found[name], 16) for name in ("start", "end", "offset"))
            segment = Segment(start=start, end=end, rights=found["rights"], offset=offset)
            yield found["path"], segment
