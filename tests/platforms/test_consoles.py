"""Consoles and pipes that are of no UTF-8: what we say is UTF-8 all the same, and what we read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from fix_command import run

TEXT = "Grüße: 東京 🧭 ñandú"
CONSOLES = {
    "Western Windows": {"PYTHONIOENCODING": "cp1252"},
    "a console of DOS": {"PYTHONIOENCODING": "cp437:strict"},
    "a timer without a language": {"LC_ALL": "C", "LANG": "C"},
}


@pytest.mark.parametrize("console", CONSOLES.values(), ids=CONSOLES)
def test_text_goes_in_and_out_whole(console: dict[str, str], tmp_path: Path) -> None:
    """`run` decodes both streams as UTF-8, or fails."""
    home = {"SATCHEL_HOME": str(tmp_path), **console}
    written = run("memory", "write", "--json-file", "-", stdin=json.dumps({"text": TEXT}), **home)
    assert written.code == 0, written.err
    found = run("search", "東京", **home)
    assert found.json["hits"][0]["snippet"] == TEXT
    failed = run("memory", "get", "東京東京東京東京", **home)
    assert (failed.code, failed.err) != (0, "")
    assert "東京東京東京東京" in failed.out + failed.err


def test_an_argument_of_another_encoding_is_refused_with_its_position(tmp_path: Path) -> None:
    """A script in cp1252 hands over bytes that are no UTF-8."""
    ran = run("write", "Grüße".encode("cp1252"), SATCHEL_HOME=str(tmp_path))
    assert (ran.code, ran.error["code"]) == (2, "invalid_input")
    assert "position 2" in ran.error["message"]
