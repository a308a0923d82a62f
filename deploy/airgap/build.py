"""Builds a kit: wheels, pins, licences, bill of materials, installer, sums, signature."""

from __future__ import annotations

import json
import os
import re
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from shutil import copyfile, copytree

import wheels as own_wheels
from airgap import fips, gather, licences, model, pins, sbom, sums, wheel
from airgap.errors import OutputRefused, WheelMissing
from airgap.licences import Licensed
from airgap.target import Target, is_here
from airgap.wheel import Wheel

FORMAT = 1
"""Of a kit; `shipped/verify.py` and `shipped/install.py` read this one."""
SHIPPED = Path(__file__).parent / "shipped"
HUB = Path(__file__).parents[1] / "hub"
LICENCE, APACHE = Path(__file__).parents[2] / "LICENSE", "Apache-2.0"
OLD_TAGS = {"manylinux1": 5, "manylinux2010": 12, "manylinux2014": 17}
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What kit somebody wants. `native` is a wheel built on the target's kind of machine.

    `model` is a folder, None the packaged one; `with_model` False leaves it out.
    """

    target: Target
    extras: tuple[str, ...] = ()
    native: Path | None = None
    model: Path | None = None
    with_model: bool = True
    with_fips: bool = False
    cache: Path
    fips_cache: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """What a kit became; `notes` are what somebody should know who hands it on."""

    files: int
    bytes: int
    notes: tuple[str, ...]


def build(asked: Asked, out: Path, sign: Callable[[Path], None] | None, say: Say) -> Built:
    """Build the kit into `out`, which is not there yet or is empty; it appears whole or not at all.

    Raises KitError, CryptoError, SatchelError, OSError.
    """
    _require_free(out)
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{out.name}-", dir=out.parent) as work:
        kit = Path(work) / "kit"
        (kit / "wheels").mkdir(parents=True)
        (kit / "installer").mkdir()
        notes = _fill(asked, kit, say)
        files = sums.write(kit)
        if sign is not None:
            say("signing")
            sign(kit / sums.FILE)
        _make_readable(kit)
        if out.exists():
            out.rmdir()
        kit.rename(out)
    size = sum(path.stat().st_size for path in out.rglob("*") if path.is_file())
    return Built(files=files, bytes=size, notes=tuple(notes))


def _fill(asked: Asked, kit: Path, say: Say) -> list[str]:
    """All but the sums; what has to be told."""
    made_at_s = int(os.environ.get("SOURCE_DATE_EPOCH") or time.time())
    say("building the wheels of satchel")
    notes = _own(asked, kit / "wheels")
    say("bringing the wheels of its libraries")
    wanted = pins.pins_for(asked.target, asked.extras)
    gather.gather(wanted, asked.target, asked.cache, kit / "wheels")
    installer = pins.read(pins.REQUIREMENTS / f"{pins.INSTALLER}.txt", asked.target)
    gather.gather(installer, asked.target, asked.cache, kit / "installer")
    packed = None
    if asked.with_model:
        say("packing the model")
        packed = model.lay(asked.model, asked.target, asked.cache, kit / "wheels")
    fips_part = fips.lay(asked.target, asked.fips_cache, kit, say) if asked.with_fips else None
    say("licences, bill of materials, sums")
    installed = [wheel.read(path) for path in sorted((kit / "wheels").glob("*.whl"))]
    tools = [wheel.read(path) for path in sorted((kit / "installer").glob("*.whl"))]
    missing = licences.write(_licensed([*installed, *tools], with_fips=asked.with_fips), kit)
    notes += [f"no licence text: {title}; look for it" for title in missing]
    bill = sbom.bill([*installed, *tools], asked.target, made_at_s=made_at_s, fips=fips_part)
    _write(kit / sbom.FILE, bill)
    _write(kit / "requirements.txt", _requirements(installed))
    _ship(asked, kit)
    manifest = {
        "format": FORMAT,
        "satchel": next(one.version for one in installed if one.name == "satchel"),
        "platform": asked.target.name,
        "python": asked.target.python,
        "system_min": system_min(installed),
        "extras": sorted(asked.extras),
        "native": any(one.name == "satchel-native" for one in installed),
        "model": model.told(packed) if packed else None,
        "fips": {"version": fips_part[1], "sha256": fips_part[2]} if fips_part else None,
        "made_at": time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime(made_at_s)),
        "unpacked_bytes": sum(one.unpacked_bytes for one in installed),
        "longest_name": max(one.longest_name for one in installed),
        "licence_text_missing": missing,
    }
    _write(kit / "kit.json", json.dumps(manifest, indent=1) + "\n")
    return notes


# ---- parts --------------------------------------------------------------------------------------


def _own(asked: Asked, out: Path) -> list[str]:
    """The wheels of satchel and of its Rust core, where that can be had."""
    why_not = "" if asked.native else own_wheels.why_not_native()
    if not asked.native and not is_here(asked.target):
        why_not = f"it is built on {asked.target.name} only: give its wheel by --native"
    try:
        own_wheels.build(out, native=not asked.native and not why_not)
    except own_wheels.WheelFailed as error:
        raise WheelMissing(str(error)) from error
    if asked.native:
        given = wheel.read(asked.native)
        if given.name != "satchel-native" or not any(map(asked.target.takes, given.tags)):
            raise WheelMissing(f"{asked.native} is no satchel-native for {asked.target.name}")
        copyfile(asked.native, out / asked.native.name)
    if not why_not:
        return []
    return [f"without the Rust core, so satchel searches by words, not by meaning: {why_not}"]


def _ship(asked: Asked, kit: Path) -> None:
    """What is laid into a kit as it is: the installer; and what keeps a hub, where that can run."""
    for path in sorted(SHIPPED.iterdir()):
        if path.is_file():
            copyfile(path, kit / path.name)
    if "warehouse" in asked.extras:
        copytree(HUB, kit / HUB.name, copy_function=copyfile)


def _requirements(wheels: Iterable[Wheel]) -> str:
    """Each distribution at its version, with the sum of the one file that the kit has of it."""
    return "".join(f"{one.name}=={one.version} --hash=sha256:{one.sha256}\n" for one in wheels)


def _licensed(wheels: Iterable[Wheel], *, with_fips: bool) -> list[Licensed]:
    """Every part with its texts; that of Apache-2.0 is the same for all who have it."""
    parts = [(one.title, one.licence, one.licence_files) for one in wheels]
    if with_fips:
        parts.append((f"openssl-fips-provider-{fips.VERSION}", APACHE, {}))
    standard = {LICENCE.name: LICENCE.read_bytes()}
    return [
        Licensed(
            title=title, licence=licence, texts=texts or (standard if licence == APACHE else {})
        )
        for title, licence, texts in parts
    ]


def system_min(wheels: Sequence[Wheel]) -> str:
    """The oldest glibc, or macOS, that every wheel runs on; empty where none asks for one."""
    needed = [
        min(versions)
        for one in wheels
        if (versions := [found for tag in one.tags if (found := _system_of(tag))])
    ]
    return ".".join(map(str, max(needed))) if needed else ""


def _system_of(tag: str) -> tuple[int, int] | None:
    """The version in a platform tag."""
    if found := re.match(r"(?:manylinux|macosx)_(\d+)_(\d+)_", tag):
        return int(found[1]), int(found[2])
    old = tag.partition("_")[0]
    return (2, OLD_TAGS[old]) if old in OLD_TAGS else None


def _require_free(out: Path) -> None:
    if out.is_symlink() or (out.exists() and (not out.is_dir() or any(out.iterdir()))):
        raise OutputRefused(
            f"{out} is there already", hint="name a folder that is empty or not there yet"
        )


def _make_readable(kit: Path) -> None:
    """A kit is copied and read by others than its maker; nobody but him writes."""
    for path in (kit, *kit.rglob("*")):
        path.chmod(0o755 if path.is_dir() or path.suffix == ".sh" else 0o644)


def _write(path: Path, text: str) -> None:
    path.write_text(text, "utf-8", newline="\n")
