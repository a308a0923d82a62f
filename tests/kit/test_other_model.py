"""A kit with another model than the packaged one: verified by its name, told how to use it.

Without building or installing a kit: a venv without pip, as the installer makes it, that sees this
environment's packages; the model's pack goes into it as docs/MODELS.md says for a kit's machine.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

import pytest
from fix_command import KEPT
from fix_kit import shipped
from fix_models import small_folder
from fix_pages import ROOT, blocks
from platformdirs import user_cache_path

from airgap import gather, model, pins
from airgap.target import target_of
from satchel.embedding.native import refusal

INSTALL = shipped("install")
HERE = target_of(None, None)
CACHE = user_cache_path("satchel", appauthor=False) / "kit"
BEGINS = "~/satchel/venv/bin/python"
WHY_NOT = refusal() or ("" if os.name == "posix" else "the page is for a POSIX shell")
pytestmark = pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT)


def installed_without_pip(target: Path) -> None:
    """What `fill` makes of a kit, but for its wheels: those of this environment are seen."""
    subprocess.run(
        [sys.executable, "-I", "-m", "venv", "--without-pip", target / "venv"], check=True
    )
    [site] = (target / "venv").glob("lib/*/site-packages")
    seen = f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})\n"
    (site / "environment.pth").write_text(seen, "utf-8")
    program = INSTALL.program(target, "satchel")
    python = INSTALL.program(target, "python")
    program.write_text(f"#!{python}\nfrom satchel.cli.main import run\nrun()\n", "utf-8")
    program.chmod(0o755)
    INSTALL.lay_links(target)


def typed(block: str, home: Path, stick: Path) -> str:
    """What a block of the page says, typed by the user of that installation."""
    kept = {name: os.environ[name] for name in KEPT if name in os.environ}
    path = f"{home}/satchel/bin{os.pathsep}{kept['PATH']}"
    done = subprocess.run(
        ["bash", "-ec", block.replace("/media/stick", str(stick))], cwd=stick,
        env=kept | {"HOME": str(home), "SATCHEL_HOME": str(home / "home"), "PATH": path},
        capture_output=True, text=True, encoding="utf-8", timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"{block}\n{done.stdout}{done.stderr}"
    return done.stdout


def test_it_is_verified_by_its_name_and_used_as_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target, stick = tmp_path / "satchel", tmp_path / "stick"
    mine = Path(shutil.copytree(small_folder("bert-mean"), tmp_path / "mine"))
    (mine / "LICENSE").write_text("do what you like")
    for folder in ("packs", "kit/installer"):
        (stick / folder).mkdir(parents=True)
    told = model.told(model.lay(mine, HERE, CACHE, stick / "packs"))
    pip = pins.read(pins.REQUIREMENTS / f"{pins.INSTALLER}.txt", HERE)
    gather.gather(pip, HERE, CACHE, stick / "kit/installer")
    installed_without_pip(target)
    satchel = INSTALL.program(target, "satchel")
    with pytest.raises(INSTALL.Refused, match="'mine' is neither"):
        INSTALL.check_model(satchel, told)
    [block] = [one.text for one in blocks(ROOT / "docs/MODELS.md") if one.text.startswith(BEGINS)]
    typed(block, tmp_path, stick)
    [row] = [one for one in models(tmp_path, stick) if one["name"] == "mine"]
    assert (row["in_use"], row["pinned"]) == (True, True), "no vector was made with another"

    INSTALL.check_model(satchel, told)
    with pytest.raises(INSTALL.Refused, match=str(told["sha256"])):
        INSTALL.check_model(satchel, told | {"sha256": "0" * 64})
    assert use_lines(told, capsys) == ["satchel model use mine"]
    typed(use_lines(told, capsys)[0], tmp_path, stick)


def models(home: Path, stick: Path) -> Any:
    return json.loads(typed("satchel model list --json", home, stick))["items"]


def use_lines(told: dict[str, str | bool] | None, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """The next steps that tell which model to use."""
    kit = {"satchel": "0.1.0", "native": True, "fips": None, "model": told}
    INSTALL.tell_next_steps(Path("target"), kit)
    lines = capsys.readouterr().out.splitlines()
    return [line[11:].partition("    ")[0] for line in lines if "satchel model use" in line]


def test_the_packaged_model_needs_no_step(capsys: pytest.CaptureFixture[str]) -> None:
    packaged: dict[str, str | bool] = {"name": "all-MiniLM-L6-v2", "packaged": True}
    assert use_lines(packaged, capsys) == []
    assert use_lines(None, capsys) == []
