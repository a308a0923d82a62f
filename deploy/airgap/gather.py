"""Brings the pinned wheels together: from a cache, by their hash, or by pip from its index."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from shutil import copyfile

from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename

from airgap.errors import WheelMissing
from airgap.pins import Pin
from airgap.target import Target
from satchel_crypto import content_sha256

TIMEOUT_S = 1800
_SAID_LINES = 6


def gather(pins: Sequence[Pin], target: Target, cache: Path, out: Path) -> list[Path]:
    """Copy a wheel of each pin into `out`; what the cache lacks is downloaded into it first.

    The cache is by target, so that the same pins give the same wheels. Raises WheelMissing.
    """
    folder = cache / f"{target.name}-{target.python}"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    held = _held(pins, folder)
    if missing := [pin for pin in pins if pin not in held]:
        _download(missing, target, folder)
        held = _held(pins, folder)
    if absent := [f"{pin.name} {pin.version}" for pin in pins if pin not in held]:
        raise WheelMissing(f"pip brought no pinned wheel of {', '.join(absent)}")
    return [Path(copyfile(held[pin], out / held[pin].name)) for pin in pins]


def _held(pins: Iterable[Pin], folder: Path) -> dict[Pin, Path]:
    """The wheels of the cache that are pinned ones, hashed now."""
    named: dict[tuple[str, str], Path] = {}
    for path in sorted(folder.glob("*.whl")):
        try:
            name, version, _, _ = parse_wheel_filename(path.name)
        except InvalidWheelFilename:
            continue
        named[canonicalize_name(name), str(version)] = path
    found = [(pin, named.get((pin.name, pin.version))) for pin in pins]
    return {pin: path for pin, path in found if path and content_sha256(path) in pin.hashes}


def _download(pins: Sequence[Pin], target: Target, folder: Path) -> None:
    """By pip, which checks each hash before it opens a wheel; whole files only get into `folder`.

    The index is that of this user's pip configuration.
    """
    with tempfile.TemporaryDirectory(prefix=".download-", dir=folder) as work:
        listed = Path(work) / "requirements.txt"
        listed.write_text("".join(f"{pin.line()}\n" for pin in pins), "utf-8")
        done = subprocess.run(
            [
                sys.executable, "-m", "pip", "--disable-pip-version-check", "download", "--quiet",
                "--no-deps", "--only-binary=:all:", "--require-hashes", *target.pip_options,
                "--requirement", str(listed), "--dest", work,
            ],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace",
            timeout=TIMEOUT_S, check=False,
        )  # fmt: skip
        if done.returncode:
            said = "\n".join(done.stderr.strip().splitlines()[-_SAID_LINES:])
            raise WheelMissing(
                f"pip could not get the wheels for {target.name}, Python {target.python}:\n{said}",
                hint="a kit is built where a package index can be reached; another platform may"
                " have no wheel of a distribution",
            )
        for wheel in Path(work).glob("*.whl"):
            wheel.replace(folder / wheel.name)
