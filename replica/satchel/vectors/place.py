"""Where a vector file lies: opened and checked, locked for one writer, replaced whole."""

from __future__ import annotations

import contextlib
import io
import mmap
import os
import re
import threading
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from satchel import plain_file
from satchel.vectors.errors import Damaged, Unwritable
from satchel.vectors.format import HEADER_BYTES, Header, read_header
from satchel.vectors.groups import Groups, Seen
from satchel.vectors.image import Image
from satchel_crypto.file_system import HERE

FOLDER = "vectors"
_NAME_CHARS_MAX = 80
_TRIES = 5
_TRY_AGAIN_S = 0.002
_UNSAFE = re.compile(r"[^A-Za-z0-9.@_-]+")
_DEVICE = re.compile(r"^(?:con|prn|aux|nul|com\d|lpt\d)(?=\.|$)", re.IGNORECASE)
"""Names that Windows keeps for devices, also with an ending."""
_threads: dict[str, threading.Lock] = {}
"""The kernel's lock is between processes; this one is between the threads of one."""


class Mark(NamedTuple):
    """What tells that a file was not touched since."""

    inode: tuple[int, int]
    size: int
    modified_ns: int

    @staticmethod
    def of(found: os.stat_result) -> Mark:
        """The mark of a file's present state."""
        return Mark((found.st_dev, found.st_ino), found.st_size, found.st_mtime_ns)


class Opened(NamedTuple):
    """A file as it was when it was opened."""

    image: Image
    mark: Mark


class Place:
    """The path of one file, and what it is to be of."""

    def __init__(self, home: Path, replica_id: bytes, kind: str, model_id: str, dims: int) -> None:
        """Nothing is opened yet."""
        self.name = f"{kind} {model_id}"
        self.replica_id, self.dims = replica_id, dims
        self.folder = home / FOLDER
        safe = _DEVICE.sub(r"_\g<0>", _UNSAFE.sub("_", model_id)[:_NAME_CHARS_MAX])
        # Two models may have one safe name.
        self.path = self.folder / f"{safe}-{zlib.crc32(model_id.encode()):08x}.{kind}.vec"

    def mark(self) -> Mark | None:
        """The mark of what is there now, None for nothing."""
        try:
            return Mark.of(self.path.stat())
        except OSError:
            return None

    def open(self, before: Opened | None = None) -> Opened | None:
        """Map the file, None where there is none; of the same file as `before` the map is kept.

        Raises Damaged for what cannot be used here.
        """
        try:
            with io.FileIO(self.path, "r", opener=plain_file.opener) as file:
                header, mark, trusted = self._settled(file)
                table = _at(file, header.layout.end, header.table_bytes)
                opened = Opened(_image(file, header, table, mark, before), mark)
                if not trusted:
                    opened.image.verify()
                    opened = opened._replace(mark=self._trust(file, opened))
                return opened
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (OSError, ValueError) as error:
            raise Damaged(f"it cannot be read: {error}") from error

    def _settled(self, file: io.FileIO) -> tuple[Header, Mark, bool]:
        """Header and mark that belong together: a writer may be between the two.

        Trusted is what has the time of modification that its last writer gave it.
        """
        for tries in range(_TRIES):
            found = os.fstat(file.fileno())
            try:
                header = self._checked(_at(file, 0, HEADER_BYTES), found)
            except Damaged:
                if tries == _TRIES - 1:
                    raise
            else:
                trusted = found.st_mtime_ns == header.stamp_ns
                if trusted or tries == _TRIES - 1:
                    return header, Mark.of(found), trusted
            time.sleep(_TRY_AGAIN_S)
        raise AssertionError("the last try returns or raises")

    def _checked(self, packed: bytes, found: os.stat_result) -> Header:
        header = read_header(packed)
        if (header.name, header.dims) != (self.name, self.dims):
            raise Damaged(f"it is of {header.name!r} with {header.dims} dims")
        if header.replica_id != self.replica_id:
            raise Damaged("it is of another replica")
        if found.st_size < header.end or header.records > header.capacity:
            raise Damaged(f"it has {found.st_size} bytes, its header says {header.end}")
        return header

    def _trust(self, file: io.FileIO, opened: Opened) -> Mark:
        """Spare the next one the check of every record."""
        if Mark.of(os.fstat(file.fileno())) == opened.mark:
            with contextlib.suppress(OSError):  # another user's file: then each checks for itself
                self._stamp(opened.image.header)
        return Mark.of(os.fstat(file.fileno()))

    def _stamp(self, header: Header, path: Path | None = None) -> None:
        os.utime(path or self.path, ns=(header.stamp_ns, header.stamp_ns))

    @contextmanager
    def writing(self) -> Iterator[io.FileIO]:
        """The file to append to. Raises Unwritable."""
        try:
            with io.FileIO(self.path, "r+", opener=plain_file.opener) as file:
                yield file
                self._stamp(read_header(_at(file, 0, HEADER_BYTES)))
        except OSError as error:
            raise _unwritable(self.folder, error) from error

    @contextmanager
    def replacing(self, header: Header) -> Iterator[io.FileIO]:
        """A new file, which takes this place at the end. Raises Unwritable.

        The caller holds the lock: drafts that lie around are nobody's.
        """
        draft = self.path.with_name(f"{self.path.name}.{os.getpid()}.draft")
        try:
            for left in self.folder.glob(f"{self.path.name}.*.draft"):
                left.unlink()
            descriptor = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
            with io.FileIO(descriptor, "r+") as file:
                file.truncate(header.layout.end)
                yield file
                written = read_header(_at(file, 0, HEADER_BYTES))
            self._stamp(written, draft)
            if self.path.is_dir():
                self.path.rename(self.path.with_name(f"{self.path.name}.{written.stamp_ns}"))
            HERE.replace(draft, self.path)
        except OSError as error:
            raise _unwritable(self.folder, error) from error
        finally:
            with contextlib.suppress(OSError):
                draft.unlink(missing_ok=True)

    @contextmanager
    def locked(self, wait_s: float = 0) -> Iterator[bool]:
        """Whether this is the one writer now; it waits so long to become it. Raises Unwritable."""
        import fasteners  # its import takes longer than a search

        ours = _threads.setdefault(str(self.path), threading.Lock())
        if not (ours.acquire(timeout=wait_s) if wait_s else ours.acquire(blocking=False)):
            yield False
            return
        path = self.path.with_suffix(".lock")
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            os.close(plain_file.opener(str(path), os.O_RDWR | os.O_CREAT))
            lock = fasteners.InterProcessLock(path)
            got = lock.acquire(blocking=bool(wait_s), timeout=wait_s or None)
            try:
                yield got
            finally:
                if got:
                    lock.release()
        except OSError as error:
            raise _unwritable(self.folder, error) from error
        finally:
            ours.release()


def _image(
    file: io.FileIO, header: Header, table: bytes, mark: Mark, before: Opened | None
) -> Image:
    if zlib.crc32(table) != header.table_check:
        raise Damaged("its table of groups does not fit its checksum")
    same = before is not None and before.mark.inode == mark.inode and not HERE.maps_hold
    if before is not None and same and before.image.header.capacity == header.capacity:
        image = before.image.under(header)
        if image.groups.table != table:
            image = Image(image.buffer, header, Groups(table), Seen())
        return image
    return Image(_mapped(file, header.layout.end), header, Groups(table), Seen())


def _mapped(file: io.FileIO, size: int) -> mmap.mmap:
    """A map of the file; a copy where a map would keep its writers from replacing it."""
    if not HERE.maps_hold:
        return mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ)
    buffer = mmap.mmap(-1, size)
    file.seek(0)
    with memoryview(buffer) as whole:
        done = 0
        while done < size:
            count = file.readinto(whole[done:])
            if not count:
                raise Damaged(f"it ends after {done} bytes, its header says {size}")
            done += count
    return buffer


def _at(file: io.FileIO, offset: int, size: int) -> bytes:
    file.seek(offset)
    return file.read(size) or b""


def _unwritable(folder: Path, error: OSError) -> Unwritable:
    return Unwritable(
        f"{folder} cannot be written: {error.strerror or error}",
        hint="let this user write to that folder; until then vectors are held in memory",
    )
