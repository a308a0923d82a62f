"""Nothing in the tree names a machine, a package host or unfinished work."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BINARY = {".png", ".gz", ".zip", ".xz", ".safetensors", ".f16", ".sqlite", ".db", ".whl"}

# Written in pieces, so that this file keeps its own rules.
MACHINE_PATH = re.compile(r"(?<![\w.])/" + r"(?:work|farm)/\w")
PACKAGE_HOST = re.compile(
    "|".join(
        left + r"\." + right
        for left, right in (
            ("pythonhosted", "org"),
            ("pypi", "org"),
            ("registry", "npmjs"),
            ("static", r"crates\.io"),
            ("index", r"crates\.io"),
            ("deb", r"debian\.org"),
        )
    )
)
UNFINISHED = re.compile(r"\b(?:TO" + r"DO|FIX" + r"ME)\b")


def text_files() -> list[Path]:
    """List what git holds or would take up."""
    git = shutil.which("git")
    if git is None or not (ROOT / ".git").exists():
        pytest.skip("this is no git work tree")
    command = [git, "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout.decode()
    paths = (ROOT / name for name in sorted(set(listed.split("\0"))) if name)
    return [path for path in paths if path.is_file() and path.suffix not in BINARY]


@pytest.mark.parametrize(
    "forbidden", [MACHINE_PATH, PACKAGE_HOST, UNFINISHED], ids=["machine", "host", "unfinished"]
)
def test_nothing_forbidden_is_written(forbidden: re.Pattern[str]) -> None:
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()[:80]}"
        for path in text_files()
        for number, line in enumerate(path.read_text("utf-8").split("\n"), start=1)
        if forbidden.search(line)
    ]
    assert found == []


@pytest.mark.parametrize(
    ("forbidden", "text"),
    [
        (MACHINE_PATH, "open('/" + "work/main/x')"),
        (PACKAGE_HOST, "https://files.pythonhosted" + ".org/x"),
        (PACKAGE_HOST, "--index-url https://pypi" + ".org/simple"),
        (UNFINISHED, "# TO" + "DO later"),
    ],
)
def test_each_pattern_finds_what_it_is_for(forbidden: re.Pattern[str], text: str) -> None:
    assert forbidden.search(text)
