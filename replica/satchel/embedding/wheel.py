"""A wheel of plain files: the same files give the same bytes.

Members stand in order with one time and one mode, and nothing is compressed: what that gives
depends on the zlib that is here. Format: packaging.python.org, "Binary distribution format" and
"Core metadata specifications" 2.4.
"""

from __future__ import annotations

import base64
import shutil
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

from satchel.whole_file import whole_file
from satchel_crypto import content_sha256

TAG = "py3-none-any"
EPOCH = (1980, 1, 1, 0, 0, 0)
"""The first moment that a zip file can name."""
_MODE = 0o100644
_UNIX = 3


class Wheel:
    """Files by their path in the wheel, each from the disk or as text."""

    def __init__(self, *, name: str, version: str) -> None:
        """`name` is the distribution's, as file names have it (`a_b`)."""
        self.name, self.version = name, version
        self._texts: dict[str, str] = {}
        self._files: dict[str, tuple[Path, str]] = {}
        self._licences: list[str] = []

    @property
    def file_name(self) -> str:
        """`name-version-tag.whl`."""
        return f"{self.name}-{self.version}-{TAG}.whl"

    @property
    def _info(self) -> str:
        return f"{self.name}-{self.version}.dist-info"

    def add_text(self, path: str, text: str) -> None:
        """A file of this text, as UTF-8."""
        self._texts[path] = text

    def add_file(self, path: str, source: Path, sha256: str) -> None:
        """A file as it lies on the disk; `sha256` is what was read of it."""
        self._files[path] = (source, sha256)

    def add_licence(self, source: Path, sha256: str) -> None:
        """A file with a licence's text."""
        self._licences.append(source.name)
        self.add_file(f"{self._info}/licenses/{source.name}", source, sha256)

    def describe(
        self, *, summary: str, licence: str | None, entry_points: Mapping[str, Mapping[str, str]]
    ) -> None:
        """The metadata; `entry_points` by group and name."""
        lines = [
            "Metadata-Version: 2.4",
            f"Name: {self.name.replace('_', '-')}",
            f"Version: {self.version}",
            f"Summary: {summary}",
            *([f"License-Expression: {licence}"] if licence else []),
            *(f"License-File: {name}" for name in self._licences),
        ]
        self.add_text(f"{self._info}/METADATA", "\n".join(lines) + "\n")
        tags = f"Wheel-Version: 1.0\nGenerator: satchel\nRoot-Is-Purelib: true\nTag: {TAG}\n"
        self.add_text(f"{self._info}/WHEEL", tags)
        groups = [
            f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in sorted(some.items()))
            for group, some in sorted(entry_points.items())
        ]
        self.add_text(f"{self._info}/entry_points.txt", "\n".join(groups))

    def write(self, out: Path) -> Path:
        """Write it into a folder, which is made; whole or not at all. Raises OSError."""
        out.mkdir(parents=True, exist_ok=True)
        target = out / self.file_name
        with tempfile.TemporaryDirectory(dir=out, prefix=".wheel-") as scratch:
            members = {**self._files, **self._written(Path(scratch))}
            with (
                whole_file(target, overwrite=True) as file,
                zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive,
            ):
                for path in sorted(members, key=lambda path: (path.startswith(self._info), path)):
                    _put(archive, path, members[path][0])
        target.chmod(0o644)  # it is made to be handed on
        return target

    def _written(self, scratch: Path) -> dict[str, tuple[Path, str]]:
        """The texts as files, and RECORD, which lists everything with its hash and size."""
        made: dict[str, tuple[Path, str]] = {}
        for number, (path, text) in enumerate(self._texts.items()):
            made[path] = _text_file(scratch / str(number), text)
        record = f"{self._info}/RECORD"
        listed = sorted({**self._files, **made}.items())
        lines = [
            f"{path},sha256={_base64(sha256)},{source.stat().st_size}"
            for path, (source, sha256) in listed
        ]
        return {
            **made,
            record: _text_file(scratch / "record", "\n".join([*lines, f"{record},,", ""])),
        }


def _text_file(path: Path, text: str) -> tuple[Path, str]:
    path.write_bytes(text.encode())
    return path, content_sha256(path)


def _put(archive: zipfile.ZipFile, path: str, source: Path) -> None:
    member = zipfile.ZipInfo(path, EPOCH)
    member.create_system, member.external_attr = _UNIX, _MODE << 16
    member.file_size = source.stat().st_size  # so that a large one gets room for its size
    with source.open("rb") as read, archive.open(member, "w") as write:
        shutil.copyfileobj(read, write, 1 << 20)


def _base64(sha256: str) -> str:
    """As RECORD has it: url-safe, without padding."""
    return base64.urlsafe_b64encode(bytes.fromhex(sha256)).rstrip(b"=").decode()
