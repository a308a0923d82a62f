"""The wheel holds the four packages whole: modules, SQL, type markers."""

import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDERS = ("replica", "sync", "warehouse", "crypto")


def test_the_wheel_holds_every_file_of_the_packages(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=100)
    [wheel] = tmp_path.glob("satchel-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        held = set(archive.namelist())
    expected = {
        file.relative_to(ROOT / folder).as_posix()
        for folder in FOLDERS
        for file in (ROOT / folder).glob("satchel*/**/*")
        if file.is_file() and "__pycache__" not in file.parts
    }
    assert expected - held == set()
    assert {name.split("/")[0] for name in held if ".dist-info" not in name} == {
        name.split("/")[0] for name in expected
    }
