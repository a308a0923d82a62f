"""A real FIPS module, built from source once a machine, and commands that run on it."""

from __future__ import annotations

import platform
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import textwrap
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import fasteners
import pytest
from fix_command import Run, environment, run
from platformdirs import user_cache_path

from satchel_crypto.errors import ProviderUnavailable
from satchel_crypto.fips import build, install, module

BUILD_TIMEOUT_S = 900
"""Of the first test on a machine: a build takes a minute, and other tests run beside it."""
PROGRAM_TIMEOUT_S = 100


def built_module() -> Path:
    """The folder with the built module; the test is skipped where the tools for it are missing."""
    if sys.platform != "linux":
        pytest.skip("FIPS mode works on Linux")
    try:
        return build.build(user_cache_path("satchel", appauthor=False) / "fips")
    except ProviderUnavailable as error:
        pytest.skip(f"needs the system package build-essential, and cargo: {error}")


@dataclass(frozen=True, slots=True)
class FipsHome:
    """A home with an installed module."""

    path: Path

    @property
    def folder(self) -> Path:
        """The module's."""
        return self.path / "fips"

    @property
    def variables(self) -> dict[str, str]:
        """What a process in FIPS mode needs, beside its own start again."""
        return {"SATCHEL_HOME": str(self.path), "SATCHEL_FIPS": "1"}

    def satchel(self, *words: str, stdin: str = "", **more: str) -> Run:
        """`satchel WORDS` in FIPS mode."""
        return run(*words, stdin=stdin, **{**self.variables, **more})

    def python(self, program: str, *words: str, **more: str) -> Run:
        """A program that uses the library, started with the module's environment."""
        given = {**module.environment(self.folder), "SATCHEL_HOME": str(self.path), **more}
        return python(program, *words, **given)


def python(program: str, *words: str, **variables: str) -> Run:
    """A Python program to its end, in an environment with these variables."""
    done = subprocess.run(
        [sys.executable, "-P", "-c", textwrap.dedent(program), *words], capture_output=True,
        text=True, env=environment(**variables), timeout=PROGRAM_TIMEOUT_S, check=False,
    )  # fmt: skip
    return Run(done.returncode, done.stdout, done.stderr)


def fips_home(path: Path, built: Path) -> FipsHome:
    """A home with the module installed."""
    install.install(built, path / "fips")
    return FipsHome(path)


def compiled(source: Path, to: Path, *options: str) -> Path:
    """A shared library of C."""
    subprocess.run(
        ["cc", "-shared", "-fPIC", "-O1", "-o", str(to), str(source), *options],
        check=True, capture_output=True,
    )  # fmt: skip
    return to


def system_psycopg() -> Path:
    """A folder with psycopg's C part built on the system's libpq, made once a machine.

    Skipped where Debian's libpq-dev or a C compiler is missing.
    """
    header = subprocess.run(
        ["pg_config", "--includedir"], capture_output=True, text=True, check=False
    ) if shutil.which("pg_config") else None  # fmt: skip
    if header is None or not (Path(header.stdout.strip()) / "libpq-fe.h").exists():
        pytest.skip("needs the system package libpq-dev")
    if not shutil.which("cc"):
        pytest.skip("needs the system package build-essential")
    if not (Path(sysconfig.get_path("include")) / "Python.h").exists():
        pytest.skip("needs the system package python3-dev")
    pins = Path(__file__).parents[1] / "requirements" / "fips.txt"
    recipe = f"{sys.version_info[:2]} {platform.machine()} {pins.read_text()}"
    cache = user_cache_path("satchel", appauthor=False) / "psycopg-c"
    folder = cache / sha256(recipe.encode()).hexdigest()[:16]
    cache.mkdir(mode=0o700, parents=True, exist_ok=True)
    with fasteners.InterProcessLock(cache / "build.lock"):
        if not folder.exists():
            with tempfile.TemporaryDirectory(dir=cache) as work:
                made = Path(work) / "made"
                pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
                more = ["--require-hashes", "--no-deps", "--target", str(made), "-r", str(pins)]
                subprocess.run([*pip, "install", *more], check=True, timeout=BUILD_TIMEOUT_S)
                made.rename(folder)
    return folder
