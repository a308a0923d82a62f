"""Which folders can be a home on Windows: names, lengths, who may read them."""

from __future__ import annotations

from pathlib import Path, PurePosixPath, PureWindowsPath

import pytest
from fix_platforms import Seen, answers

from satchel.home_path import (
    BELOW_CHARS_MAX,
    PATH_CHARS_MAX,
    closing_command,
    outside_profile,
    refusal,
)

LONG = "C:\\" + "a" * (PATH_CHARS_MAX - BELOW_CHARS_MAX - 2)
REFUSED = {
    r"C:\data\con": "a device",
    r"C:\data\NUL.txt\x": "a device",
    r"C:\com1\satchel": "a device",
    "C:\\lpt¹\\x": "a device",
    r"C:\data\satchel.": "drops the end",
    "C:\\data \\satchel": "drops the end",
    'C:\\a"b': "no name on Windows",
    r"C:\a|b\c": "no name on Windows",
    "C:\\tab\there": "no name on Windows",
    LONG: "119 characters at most, this one 120",
}
FIT = (
    r"C:\Users\José Müller\AppData\Local\satchel",
    r"D:\con7\console\a.con",
    r"C:\.satchel",
    r"\\server\share\satchel",  # refused as a network file system, by another check
    LONG[:-1],
)


@pytest.mark.parametrize(("home", "said"), REFUSED.items(), ids=range(len(REFUSED)))
def test_what_windows_makes_something_else_of_is_refused(home: str, said: str) -> None:
    why, hint = refusal(PureWindowsPath(home), "win32", lambda: False)
    assert said in why
    assert hint
    assert refusal(PurePosixPath(home), "linux") == ("", "")


@pytest.mark.parametrize("home", FIT)
def test_what_can_be_a_home_is_one(home: str) -> None:
    assert refusal(PureWindowsPath(home), "win32", lambda: False) == ("", "")


def test_a_long_home_is_one_where_windows_allows_long_paths() -> None:
    assert refusal(PureWindowsPath(LONG), "win32", lambda: True) == ("", "")


def test_the_door_refuses_it(tmp_path: Path) -> None:
    """The path is of Linux, the rules are those of Windows; its registry says no long paths."""
    for name, said in (("aux", "device"), ("x" * 200, "characters at most")):
        [ran] = Seen("windows", tmp_path / name).run(["write", "x"])
        assert (ran.code, ran.error["code"]) == (2, "config_invalid")
        assert said in ran.error["message"]
        assert not (tmp_path / name).exists()


def test_nothing_below_a_home_has_a_longer_name_than_is_said(tmp_path: Path) -> None:
    """By what a used home has, and by the longest name of a vector file that is being made."""
    seen = Seen("windows", tmp_path / "home")
    answers(seen.run(["write", "x"], ["backup"], ["key", "init"], ["mcp", "token", "create", "a"]))
    below = [len(str(one)) - len(str(seen.home)) for one in seen.home.rglob("*")]
    model = "m" * 80 + "-00000000.chatlog.vec.4294967295.draft"
    assert max(below) <= len(f"/vectors/{model}") <= BELOW_CHARS_MAX


def test_a_home_outside_of_the_profile_is_told(tmp_path: Path) -> None:
    profile, outside = PureWindowsPath(r"C:\Users\ada"), PureWindowsPath(r"D:\satchel")
    assert outside_profile(profile / "AppData" / "satchel", profile, "win32") == ""
    assert "may read it" in outside_profile(outside, profile, "win32")
    assert outside_profile(tmp_path, Path("/root"), "linux") == ""
    assert closing_command(outside, "ada") == (
        'icacls "D:\\satchel" /inheritance:r /grant:r "ada:(OI)(CI)F"'
    )
