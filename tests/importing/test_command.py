"""The command at a terminal: a bar while it works, tables at the end, and what failed in them."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

if os.name != "posix":
    pytest.skip("there is no such terminal", allow_module_level=True)

from fix_terminal import typed


def test_a_bar_and_a_table(tmp_path: Path) -> None:
    path = tmp_path / "export.json"
    path.write_text(json.dumps([*({"memory": f"text {n}"} for n in range(300)), {"id": "x"}]))
    said = {"SATCHEL_HOME": str(tmp_path / "home"), "TERM": "xterm", "COLUMNS": "200"}
    code, screen = typed("import", "mem0", str(path), answers=(), **said)
    assert code == 1
    assert "import mem0" in screen
    assert "301/301" in screen
    assert "no text is in it" in screen
    code, screen = typed("import", "mem0", str(path), "--quiet", answers=(), **said)
    assert "301/301" not in screen
    out = str(tmp_path / "x.jsonl")
    code, screen = typed("export", out, answers=(), **said)
    assert (code, "export memory" in screen) == (0, True)
    code, screen = typed("export", out, answers=(("write over", "n"),), **said)
    assert (code, "is there already" in screen) == (4, True)
    code, screen = typed("export", out, answers=(("write over", "y"),), **said)
    assert code == 0
