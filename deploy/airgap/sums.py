"""Writes the sums of a kit, in the form that `sha256sum -c` and `shipped/verify.py` read."""

from __future__ import annotations

import re
from pathlib import Path

from airgap.errors import KitError
from satchel_crypto import content_sha256

FILE = "SHA256SUMS"
_NAME = re.compile(r"[A-Za-z0-9._+!-]+(/[A-Za-z0-9._+!-]+)*")


def write(kit: Path) -> int:
    """Write the sums of every file that is there; how many. Raises KitError for a strange name."""
    names = sorted(path.relative_to(kit).as_posix() for path in kit.rglob("*") if not path.is_dir())
    if strange := [name for name in names if not _NAME.fullmatch(name)]:
        raise KitError(f"a kit cannot hold a file of the name {strange[0]!r}")
    folded = {name.lower(): name for name in names}
    if twins := sorted(set(names) - set(folded.values())):
        raise KitError(f"{twins[0]} has a twin that Windows and macOS take for the same file")
    lines = [f"{content_sha256(kit / name)}  {name}\n" for name in names]
    (kit / FILE).write_text("".join(lines), "ascii", newline="\n")
    return len(lines)
