"""satchel is on no package index: nothing of it tells anybody to ask one for its name."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LOOKED_AT = {".md", ".py", ".toml", ".sh", ".ps1", ".txt", ".yaml", ".yml", ".service", ""}
BY_NAME = re.compile(
    r"pip3? (?:install|download|wheel)\b(?!(?:(?!`;)[^|\n])*--no-index)[^|\n]*?"
    r"[ '\"](?:satchel|satchel-native)(?:\[|[\s'\"`,.)]|$)"
)
"""pip told to find satchel by its name, not by a file and not in a folder alone."""


def told(text: str) -> list[str]:
    """Every such command of a text; a command may go on in the next line."""
    joined = re.sub(r"\\\n\s*|(?<=install)\n\s*", " ", text)
    return [match[0] for match in BY_NAME.finditer(joined)]


@pytest.mark.parametrize(
    ("text", "is_by_name"),
    [
        ("pip install 'satchel[warehouse]'", True),
        ("pip install --upgrade satchel`", True),
        ("pip install\n'satchel[warehouse]'.", True),
        ("`pip install --force-reinstall satchel`, or", True),
        ("pip install satchel-native", True),
        ("pip install --no-index --find-links WHEELS 'satchel[warehouse]'", False),
        ("pip install dist/satchel-*.whl dist/satchel_native-*.whl", False),
        ("pip install pynacl", False),
    ],
)
def test_what_is_found(text: str, is_by_name: bool) -> None:
    assert bool(told(text)) == is_by_name


def test_no_text_asks_an_index_for_satchel() -> None:
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout.splitlines()  # fmt: skip
    paths = [ROOT / name for name in listed if Path(name).suffix in LOOKED_AT]
    found = {
        str(path.relative_to(ROOT)): lines
        for path in paths
        if path != Path(__file__) and path.is_file()
        if (lines := [one for line in _pieces(path) for one in told(line)])
    }
    assert not found


def _pieces(path: Path) -> list[str]:
    """Each line with the one that follows it: few commands are longer."""
    lines = path.read_text("utf-8", errors="replace").splitlines()
    return [
        "\n".join(pair) for pair in zip(lines, [*lines[1:], ""], strict=True) if "pip" in pair[0]
    ]
