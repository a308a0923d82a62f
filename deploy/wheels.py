"""Build the wheels of satchel and satchel-native, byte for byte the same from the same sources.

`python deploy/wheels.py --out dist` is what `make wheels` runs; `build` is what a kit is made with.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from native_wheel import settle

ROOT = Path(__file__).resolve().parents[1]
NATIVE = ROOT / "native"
SOME_DAY = "1580601600"
"""2020-02-02: the time of every file in a wheel, where SOURCE_DATE_EPOCH says no other."""


class WheelFailed(Exception):
    """A wheel could not be built: the message says what to do."""

    code = "wheel_failed"


def build(out: Path, *, native: bool = True) -> list[Path]:
    """Build the wheel of satchel into `out` and, with `native`, that of satchel-native.

    Returns their paths in this order; a wheel of the same name is replaced. The native one fits
    this platform and Python 3.11 and newer. Raises WheelFailed where a tool is missing (then
    `why_not_native` says which) or fails.
    """
    return [build_pure(out), *([build_native(out)] if native else [])]


def why_not_native() -> str:
    """What is missing here to build satchel-native; empty where nothing is."""
    missing = [tool for tool in ("cargo", "rustc") if shutil.which(tool) is None]
    if not _maturin().is_file():
        missing.append("maturin")
    return f"there is no {' and no '.join(missing)}" if missing else ""


def flags() -> str:
    """What cargo hands to rustc: names of folders of this machine stay out of what is built.

    With other flags cargo builds every crate anew, so all of the Makefile takes these.
    """
    cargo_home = os.environ.get("CARGO_HOME") or Path.home() / ".cargo"
    renamed = {cargo_home: "cargo", ROOT: "satchel"}
    return "\x1f".join(f"--remap-path-prefix={here}={there}" for here, there in renamed.items())


def build_pure(out: Path) -> Path:
    """Build the wheel of satchel alone; see `build`."""
    return _built(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d"], ROOT, out, "satchel-"
    )


def build_native(out: Path) -> Path:
    """Build the wheel of satchel-native alone; see `build`."""
    reason = why_not_native()
    if reason:
        raise WheelFailed(f"{reason}: `make setup` installs maturin, https://rustup.rs the rest")
    _run(["cargo", "fetch", "--locked", "--quiet"], NATIVE)
    command = [str(_maturin()), "build", "--release", "--locked", "--quiet"]
    command += ["--interpreter", sys.executable, "--out"]
    wheel = _built(command, NATIVE, out, "satchel_native-")
    metadata = _run(["cargo", "metadata", "--locked", "--format-version", "1"], NATIVE)
    settle(wheel, NATIVE, json.loads(metadata))
    return wheel


def _built(command: Sequence[str], folder: Path, out: Path, prefix: str) -> Path:
    """Run a builder whose last word is the folder it writes to, and take the wheel from there."""
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out.resolve(), prefix=".building-") as room:
        _run([*command, room], folder)
        [wheel] = Path(room).glob(f"{prefix}*.whl")
        return wheel.replace(out / wheel.name)


def _run(command: Sequence[str], folder: Path) -> str:
    environment = {"SOURCE_DATE_EPOCH": SOME_DAY, "CARGO_ENCODED_RUSTFLAGS": flags()} | os.environ
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise WheelFailed(f"`{' '.join(command)}` failed in {folder}:\n{done.stderr.strip()}")
    return done.stdout


def _maturin() -> Path:
    return Path(sys.executable).with_name("maturin")


def main(arguments: Sequence[str] | None = None) -> int:
    """Build what the command line asks for, and tell path and size of each wheel."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="where the wheels go")
    parser.add_argument("--only", choices=BUILDERS, help="one of the two")
    parser.add_argument("--flags", action="store_true", help="tell what rustc is given, and end")
    asked = parser.parse_args(arguments)
    if asked.flags:
        print(flags(), end="")
        return 0
    try:
        wheels = [BUILDERS[name](asked.out) for name in ([asked.only] if asked.only else BUILDERS)]
    except WheelFailed as error:
        print(f"[wheels] {error}", file=sys.stderr)
        return 1
    for wheel in wheels:
        print(f"{wheel}  {wheel.stat().st_size / 1e6:.1f} MB")
    return 0


BUILDERS = {"satchel": build_pure, "satchel-native": build_native}

if __name__ == "__main__":
    sys.exit(main())
