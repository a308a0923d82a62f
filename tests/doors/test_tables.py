"""Lists at a terminal: a person sees what to copy, whole, and what is broken; programs see all."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest
from fix_command import run
from fix_terminal import typed
from rich.console import Console

from satchel.cli.render import render

MODEL = {"configured": True, "pinned": True, "model": "mine@53aa51172d14", "size_bytes": 90_000_000}
MODELS = [
    {"name": "mine", "in_use": True, "becoming": False, **MODEL, "usable": True}
    | {"folder": "/home/ann/models/mine", "embedded": 1234, "reason": ""},
    {"name": "other", "in_use": False, "becoming": True, **MODEL, "usable": False}
    | {"folder": None, "embedded": None, "reason": "weights.bin is pickled: " + "which runs " * 9},
]


def shown(answer: object, width: int) -> str:
    """What a terminal of this width is sent."""
    out = StringIO()
    render(Console(file=out, width=width, highlight=False), answer)
    return out.getvalue()


@pytest.mark.parametrize("width", [60, 80, 200])
def test_models(width: int) -> None:
    screen = shown({"items": MODELS}, width)
    assert screen.split("\n")[0].split() == ["name", "in_use", "becoming", "embedded", "usable"]
    assert screen.split("\n")[1].split() == ["mine", "yes", "no", "1234", "yes"]
    assert screen.split("\n")[2].split() == ["other", "no", "yes", "no"]
    assert f"other  {MODELS[1]['reason']}" in screen


def test_a_model_by_its_folder_is_never_cut_off() -> None:
    folder = "/home/ann/" + "models/" * 12 + "mine"
    screen = shown({"items": [{**MODELS[0], "name": folder}]}, 60)
    assert "".join(line.split(" ")[0] for line in screen.split("\n")[1:]) == folder


def test_files_of_a_setup_are_no_backups() -> None:
    """They have a `backup`, too."""
    assert shown({"items": [{"path": "a.json", "backup": "b.json"}]}, 80).split() == [
        *("path", "backup"),
        *("a.json", "b.json"),
    ]


def test_a_model_that_cannot_be_dropped_asks_nobody(tmp_path: Path) -> None:
    """It is refused at once: who said yes would think that it was done."""
    said = {"SATCHEL_HOME": str(tmp_path / "home")}
    run("write", "the attic is dry", **said)
    code, screen = typed("model", "drop", "gone", answers=(), NO_COLOR="1", **said)
    assert code == 3
    assert "there are no vectors of a model 'gone'" in screen
    assert "[y/N]" not in screen


def test_backups(tmp_path: Path) -> None:
    """Each by the name that `restore` takes; the damaged one with all that is said of it."""
    said = {"SATCHEL_HOME": str(tmp_path / "home")}
    run("write", "the attic is dry", **said)
    for _ in range(2):
        run("backup", **said)
    whole, broken = (Path(one["backup"]) for one in run("backup", "--list", **said).json["items"])
    (broken / "manifest.json").write_text("{")
    listed = run("backup", "--list", **said).json["items"]
    assert len(listed[0]) > 9, "programs see all"
    [problem] = [one["problem"] for one in listed if one["problem"]]
    code, screen = typed("backup", "--list", answers=(), COLUMNS="80", NO_COLOR="1", **said)
    lines = screen.replace("\r", "").splitlines()
    assert code == 0
    assert lines[0].split() == ["backup", "made_at", "reason", "memories"]
    assert {line.split()[0] for line in lines[1:3]} == {whole.name, broken.name}
    assert f"in  {whole.parent}" in lines
    assert f"{broken.name}  {problem}" in lines
    assert typed("restore", whole.name, "--yes", answers=(), **said)[0] == 0
