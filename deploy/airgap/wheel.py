"""A wheel as its own metadata tells it (PEP 427, 639, 770); nothing of it is run."""

from __future__ import annotations

import re
import zipfile
from dataclasses import dataclass
from email.message import Message
from email.parser import BytesParser
from email.policy import compat32
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name, parse_wheel_filename

from airgap.errors import KitError
from satchel_crypto import content_sha256

_LICENCE_FILE = re.compile(r"(licen[cs]es?|copying|notice|authors)([.\-_/].*)?", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wheel:
    """One wheel of the kit; `unpacked_bytes` is what its files take once they are installed."""

    path: Path
    name: str
    version: str
    sha256: str
    tags: frozenset[str]
    """Platform tags: `any`, or those that it runs on."""
    summary: str
    licence: str
    """An SPDX expression, or the words that the metadata has for it; empty for none."""
    licence_files: dict[str, bytes]
    requires: tuple[Requirement, ...]
    sboms: tuple[bytes, ...]
    """Bills of materials that lie in it: of what is compiled into it."""
    unpacked_bytes: int
    longest_name: int
    """Characters of the longest name of a file in it."""

    @property
    def title(self) -> str:
        """`name-version`, as a folder is called."""
        return f"{self.name}-{self.version}"


def read(path: Path) -> Wheel:
    """Read a wheel. Raises KitError for a file that is none."""
    try:
        name, version, _, tags = parse_wheel_filename(path.name)
        with zipfile.ZipFile(path) as archive:
            files = [one for one in archive.infolist() if not one.is_dir()]
            [metadata] = [one for one in files if _inside(one.filename, "METADATA")]
            told = BytesParser(policy=compat32).parsebytes(archive.read(metadata))
            folder = metadata.filename.rpartition("/")[0] + "/"
            own = {
                one.filename.removeprefix(folder): archive.read(one)
                for one in files
                if one.filename.startswith(folder)
            }
    except (ValueError, zipfile.BadZipFile) as error:  # a wrong name of a wheel is a ValueError
        raise KitError(f"{path} is no wheel: {error}") from error
    return Wheel(
        path=path,
        name=canonicalize_name(name),
        version=str(version),
        sha256=content_sha256(path),
        tags=frozenset(tag.platform for tag in tags),
        summary=str(told.get("Summary", "")),
        licence=_licence(told),
        licence_files={
            file.removeprefix("licenses/"): data
            for file, data in own.items()
            if _LICENCE_FILE.fullmatch(file)
        },
        requires=tuple(Requirement(one) for one in told.get_all("Requires-Dist", [])),
        sboms=tuple(data for file, data in own.items() if file.startswith("sboms/")),
        unpacked_bytes=sum(one.file_size for one in files),
        longest_name=max(len(one.filename) for one in files),
    )


def _inside(name: str, file: str) -> bool:
    return name.count("/") == 1 and name.endswith(f".dist-info/{file}")


def _licence(told: Message) -> str:
    """The expression, else the classifiers, else the first line of the field of older metadata."""
    if expression := str(told.get("License-Expression") or "").strip():
        return expression
    words = [
        str(one).rpartition(" :: ")[2]
        for one in told.get_all("Classifier", [])
        if str(one).startswith("License ::")
    ]
    named = [one for one in words if one != "OSI Approved"]
    said = str(told.get("License") or "").strip().splitlines()
    return ", ".join(named) or (said[0][:80] if said else "")
