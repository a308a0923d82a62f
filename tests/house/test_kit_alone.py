"""What travels in a kit runs on a bare Python: it imports the standard library and nothing else."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

SHIPPED = Path(__file__).parents[2] / "deploy/airgap/shipped"
FILES = sorted(SHIPPED.glob("*.py"))


def imported(source: str) -> set[str]:
    """The first word of every module that a file imports, wherever in it."""
    nodes = list(ast.walk(ast.parse(source)))
    whole = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    parts = {node.module or "." for node in nodes if isinstance(node, ast.ImportFrom)}
    return {name.partition(".")[0] for name in whole | parts}


def test_they_import_the_standard_library_and_each_other() -> None:
    assert {path.name for path in FILES} >= {"install.py", "verify.py"}
    own = {path.stem for path in FILES}
    for path in FILES:
        assert imported(path.read_text("utf-8")) <= sys.stdlib_module_names | own, path.name


@pytest.mark.parametrize("line", ["import yaml", "def f():\n    from packaging.tags import x"])
def test_another_import_is_seen(line: str) -> None:
    assert not imported(line) <= sys.stdlib_module_names


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_they_start_without_any_installed_package(path: Path) -> None:
    """`-I -S`: neither this environment's packages nor the user's."""
    words = [sys.executable, "-I", "-S", str(path), "--help"]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "usage:" in done.stdout
