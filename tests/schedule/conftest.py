"""A home that names a warehouse, and satchel in a clean environment of its own."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from fix_schedule import COMMAND, DSN, Run, configure


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A replica's home whose config.toml names a warehouse."""
    folder = tmp_path / "a home"
    folder.mkdir()
    configure(folder, DSN)
    return folder


@pytest.fixture
def environment(tmp_path: Path) -> Callable[..., dict[str, str]]:
    """A clean environment whose HOME is a temporary folder, with what is given beside."""

    def made(more: Mapping[str, str] | None = None) -> dict[str, str]:
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(tmp_path / "user"),
            "SATCHEL_EMBEDDING": "off",
            **(more or {}),
        }

    return made


@pytest.fixture
def satchel(environment: Callable[..., dict[str, str]]) -> Callable[..., Run]:
    """Run `satchel ARGUMENTS` to its end; keywords are variables."""

    def run(*arguments: str, **variables: str) -> Run:
        done = subprocess.run(
            [*COMMAND, *arguments], capture_output=True, text=True, timeout=60, check=False,
            env=environment(variables), stdin=subprocess.DEVNULL,
        )  # fmt: skip
        return Run(done.returncode, done.stdout, done.stderr)

    return run
