"""The pinned requirements of the project, and those of them that a machine needs.

The files of requirements/ are whole: each holds every distribution that its extra leads to.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from airgap.errors import KitError
from airgap.target import Target

REQUIREMENTS = Path(__file__).parents[2] / "requirements"
BASE = "base"
EXTRAS = ("warehouse", "report", "metrics", "nacl")
"""Extras of satchel that a kit can hold: those with a file of pins."""
INSTALLER = "pip"
MODEL = "model"

_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pin:
    """One distribution: any of the files with these SHA-256 is the pinned one."""

    name: str
    version: str
    hashes: frozenset[str]

    def line(self, hashes: Iterable[str] = ()) -> str:
        """As pip's requirements files have it, with these hashes or its own."""
        named = sorted(hashes or self.hashes)
        return " ".join([f"{self.name}=={self.version}", *(f"--hash=sha256:{h}" for h in named)])


def pins_for(target: Target, extras: Iterable[str]) -> list[Pin]:
    """What a machine needs for satchel with these extras, by name. Raises KitError."""
    found: dict[str, Pin] = {}
    for name in (BASE, *extras):
        for pin in read(REQUIREMENTS / f"{name}.txt", target):
            other = found.setdefault(pin.name, pin)
            if other.version != pin.version:
                raise KitError(
                    f"requirements/ pins {pin.name} as {other.version} and as {pin.version}",
                    hint="make lock",
                )
    return [found[name] for name in sorted(found)]


def read(path: Path, target: Target) -> list[Pin]:
    """The pins of one file that count on a machine. Raises KitError for a line that is none."""
    try:
        text = path.read_text("utf-8")
    except FileNotFoundError:
        raise KitError(
            f"there is no {path}", hint=f"a kit can hold the extras {', '.join(EXTRAS)}"
        ) from None
    return [pin for block in _blocks(text) if (pin := _pin(path, block, target)) is not None]


def _blocks(text: str) -> list[str]:
    """Each requirement with the lines that continue it, without comments."""
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    return [one for one in "\n".join(lines).replace("\\\n", " ").splitlines() if one.strip()]


def _pin(path: Path, block: str, target: Target) -> Pin | None:
    said = block.partition("--hash")[0].strip()
    try:
        requirement = Requirement(said)
    except InvalidRequirement as error:
        raise KitError(f"{path}: {said!r} is no requirement: {error}") from None
    hashes = frozenset(_HASH.findall(block))
    [*specifiers] = requirement.specifier
    if len(specifiers) != 1 or specifiers[0].operator != "==" or not hashes:
        raise KitError(f"{path}: {said!r} is not pinned with a hash", hint="make lock")
    if requirement.marker and not requirement.marker.evaluate(target.environment):
        return None
    return Pin(
        name=canonicalize_name(requirement.name), version=specifiers[0].version, hashes=hashes
    )
