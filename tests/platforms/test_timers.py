"""Timers of other systems: one name for a home however it is written, no window, their words."""

from __future__ import annotations

import sys
from pathlib import Path, PureWindowsPath

import pytest

from satchel.schedule.job import job_of, name_of
from satchel.schedule.runner import Programs

SPEAKS = "import sys; sys.stdout.buffer.write(bytes.fromhex(sys.argv[1]))"


class Home(PureWindowsPath):
    """A path of Windows that leads to itself."""

    def resolve(self) -> PureWindowsPath:
        return self


def test_a_home_has_one_timer_however_it_is_written(tmp_path: Path) -> None:
    one, other = (Home(rf"{drive}:\Users\{user}") for drive, user in (("C", "Ada"), ("c", "ADA")))
    assert name_of(one, "win32") == name_of(other, "win32")  # type: ignore[arg-type]
    composed, apart = (tmp_path / name for name in ("jos\u00e9", "jose\u0301"))
    assert name_of(composed, "darwin") == name_of(apart, "darwin")
    assert name_of(composed, "linux") != name_of(apart, "linux")
    assert name_of(tmp_path / "a", "linux") != name_of(tmp_path / "A", "linux")


@pytest.mark.parametrize(
    ("platform", "files", "program"),
    [
        ("win32", ("python.exe", "pythonw.exe"), "pythonw.exe"),
        ("win32", ("python.exe",), "python.exe"),
        ("linux", ("python.exe", "pythonw.exe"), "python.exe"),
    ],
)
def test_a_task_of_windows_opens_no_window(
    platform: str, files: tuple[str, ...], program: str, tmp_path: Path
) -> None:
    for name in files:
        (tmp_path / name).touch()
    job = job_of(tmp_path, 3600, python=str(tmp_path / "python.exe"), platform=platform)
    assert job.command[0] == str(tmp_path / program)


@pytest.mark.parametrize(
    ("code_page", "said", "expected"),
    [
        ("cp850", "Zugriff verweigert: Schlüssel".encode("cp850"), "Schlüssel"),
        ("cp850", "déjà vu".encode(), "déjà vu"),
        ("utf-8", b"\xff\xfe!", "!"),
    ],
)
def test_the_words_of_a_program_are_read_in_its_code_page(
    code_page: str, said: bytes, expected: str
) -> None:
    ran = Programs(code_page).run((sys.executable, "-c", SPEAKS, said.hex()))
    assert (ran.code, expected in ran.out) == (0, True)


def test_a_program_that_is_not_there_is_told() -> None:
    ran = Programs().run(("there is no such program",))
    assert ran.code == 127
    assert "there is no such program" in ran.words
