"""A real air-gap kit, built once a session, and copies of it that somebody did something to."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

import fasteners
import pytest
from fix_command import KEPT
from fix_kit_guide import typed
from platformdirs import user_cache_path

from airgap import sums
from satchel_crypto.fips import build as fips_build

ROOT = Path(__file__).parents[1]
DEPLOY = ROOT / "deploy"
SHIPPED = DEPLOY / "airgap" / "shipped"
TIMEOUT_S = 300
SMALL_BYTES = 20_000
"""Wheels above this are left out of a small kit."""
MADE_AT_S = "1790000000"


def kit_program(*words: str | Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """`python deploy/kit.py WORDS`; wheels come from the cache, or by pip the first time."""
    return subprocess.run(
        [sys.executable, DEPLOY / "kit.py", *words],
        env=os.environ | {"SOURCE_DATE_EPOCH": MADE_AT_S} | variables,
        capture_output=True, text=True, encoding="utf-8", timeout=TIMEOUT_S, check=False,
    )  # fmt: skip


def built_kit(folder: Path) -> Path:
    """The kit of this session, made by the first who asks as the guide makes it; `maker` signs."""
    out, home = folder / "kit", folder / "maker"
    with fasteners.InterProcessLock(folder / "kit.lock"):
        if not out.exists():
            home.mkdir(exist_ok=True)
            cache = user_cache_path("satchel", appauthor=False).parent
            before = [
                f"export XDG_CACHE_HOME={cache} SATCHEL_HOME={home} SOURCE_DATE_EPOCH={MADE_AT_S}",
                f"cd {ROOT}",
            ]
            typed("maker", home, before, folder, _as_here)
    return out


@contextmanager
def shared(folder: Path) -> Iterator[Path]:
    """The kit in a folder that all workers of a session use; the last of them removes it."""
    users = folder / "users"
    users.mkdir(parents=True, exist_ok=True)
    (users / str(os.getpid())).touch()
    try:
        yield built_kit(folder)
    finally:
        with fasteners.InterProcessLock(folder / "kit.lock"):
            (users / str(os.getpid())).unlink()
            if not any(users.iterdir()):
                for one in (folder / "kit", folder / "maker"):
                    shutil.rmtree(one, ignore_errors=True)


def _as_here(command: str) -> str:
    """Without a module where none can be built, and with the Rust core that is built already."""
    if " build " in command:
        command = command if can_build_fips() else command.replace(" --with-fips", "")
        command += "".join(f" {word}" for word in given_native())
    return command


def can_build_fips() -> bool:
    """Whether the tools for a FIPS module are here."""
    return sys.platform == "linux" and not fips_build.missing_tools()


def given_native() -> list[str | Path]:
    """The Rust core's wheel as `make setup` built it, so that no test waits for a compiler."""
    wheels = sorted((ROOT / "native" / "target" / "wheels").glob("*.whl"))
    return ["--native", wheels[-1]] if wheels else []


def shipped(name: str) -> ModuleType:
    """`install` or `verify` of the sources, as a module; nothing of how they start is left over."""
    before, path = sys.dont_write_bytecode, list(sys.path)
    spec = importlib.util.spec_from_file_location(f"kit_{name}", SHIPPED / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    try:
        sys.path.insert(0, str(SHIPPED))
        spec.loader.exec_module(module)
    finally:
        sys.dont_write_bytecode, sys.path[:] = before, path
    return module


def small_kit(kit: Path, to: Path) -> Path:
    """The kit without its large wheels, summed anew: all that it says is true, and it is quick.

    satchel is not in it, so it verifies and does not install.
    """
    shutil.copytree(kit, to, ignore=lambda _, names: [n for n in names if n.endswith(".whl")])
    for folder in ("wheels", "installer"):
        (to / folder).mkdir(exist_ok=True)
    small = [one for one in (kit / "wheels").iterdir() if one.stat().st_size < SMALL_BYTES]
    for one in [*small, *(kit / "installer").iterdir()]:
        shutil.copyfile(one, to / one.relative_to(kit))
    kept = {
        line.split("  ")[1]: line[:64] for line in (kit / "SHA256SUMS").read_text().splitlines()
    }
    digests = {kept[f"wheels/{one.name}"] for one in small}
    lines = (kit / "requirements.txt").read_text("utf-8").splitlines()
    said = [line for line in lines if line.rpartition(":")[2] in digests]
    (to / "requirements.txt").write_text("\n".join(said) + "\n", "utf-8")
    resum(to)
    return to


def resum(kit: Path) -> None:
    """Write the sums anew, as who changed a kit would; the signature is what it was."""
    kept = {name: (kit / name).read_bytes() for name in ("SHA256SUMS.sig", "signer.pem")}
    for name in ("SHA256SUMS", *kept):
        (kit / name).unlink()
    sums.write(kit)
    for name, data in kept.items():
        (kit / name).write_bytes(data)


def start(
    kit: Path, *words: str | Path, prefix: tuple[str, ...] = (), **variables: str
) -> subprocess.CompletedProcess[str]:
    """`python install.py WORDS` of a kit, in a clean environment."""
    kept = {name: os.environ[name] for name in KEPT if name in os.environ}
    return subprocess.run(
        [*prefix, sys.executable, kit / "install.py", *words], env=kept | variables,
        capture_output=True, text=True, encoding="utf-8", timeout=TIMEOUT_S, check=False,
    )  # fmt: skip


def code_of(done: subprocess.CompletedProcess[str]) -> str:
    """The code in brackets that a refusal ends with, or what was said instead."""
    found = re.search(r"\[(\w+)\]$", done.stderr, re.MULTILINE)
    return found[1] if found else f"{done.returncode}: {done.stdout}{done.stderr}"


@contextmanager
def changed(path: Path, data: bytes) -> Iterator[None]:
    """The file with other bytes for a while."""
    before = path.read_bytes()
    path.write_bytes(data)
    try:
        yield
    finally:
        path.write_bytes(before)


def needs_openssl() -> None:
    """Skip where there is no program openssl."""
    if shutil.which("openssl") is None:
        pytest.skip("there is no program openssl here")
