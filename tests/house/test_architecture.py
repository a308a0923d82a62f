"""ARCHITECTURE.md is true today: what it names is there, and what is there it names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from fix_pages import FENCE, ROOT, SPAN

PAGE = FENCE.sub("", (ROOT / "ARCHITECTURE.md").read_text("utf-8"))
PACKAGES = (
    *("replica/satchel", "sync/satchel_sync", "warehouse/satchel_warehouse"),
    "crypto/satchel_crypto",
)
ROOTS = (
    *(ROOT, *(ROOT / package for package in PACKAGES)),
    *((ROOT / package).parent for package in PACKAGES),
)
AT_HOME = {"config.toml", "satchel.db", "activity.db", "keys/", "models/", "backups/"}
"""Files of a replica's home, not of the project."""


def paths(text: str) -> Iterator[str]:
    """What looks like a path: it has a slash, or ends as source files do."""
    for span in SPAN.findall(text):
        if re.fullmatch(r"[\w./-]+", span) and (
            "/" in span or re.search(r"\.(py|rs|sql|md)$", span)
        ):
            yield span


@pytest.mark.parametrize("line", [one for one in PAGE.splitlines() if "`" in one])
def test_every_path_that_it_names_is_there(line: str) -> None:
    # A short path is meant from a package, or from where the one before it in the line lies.
    near: list[Path] = []
    lost = []
    for path in paths(line):
        if path in AT_HOME:
            continue
        found = [base / path for base in (*ROOTS, *near) if (base / path).exists()]
        if not found:
            lost.append(path)
        else:
            near += [one for one in found[0].parents if ROOT in one.parents]
    assert lost == []


def test_a_path_that_is_gone_is_found() -> None:
    assert list(paths("see `cli/gone.py`, `gone.sql`, not `search --as-of` or `LSN`")) == [
        "cli/gone.py",
        "gone.sql",
    ]
    with pytest.raises(AssertionError):
        test_every_path_that_it_names_is_there("`replica/satchel/cli/main.py`, `gone.py`")


@pytest.mark.parametrize("package", PACKAGES)
def test_every_room_of_a_package_is_named(package: str) -> None:
    (row,) = re.findall(rf"^\| `{package}` \|(.*)\|$", PAGE, re.MULTILINE)
    rooms = {
        folder.name
        for folder in (ROOT / package).iterdir()
        if folder.is_dir() and any(folder.glob("*.py")) | any(folder.glob("*.sql"))
    }
    assert set(SPAN.findall(row)) == rooms


def test_every_part_of_the_house_is_named() -> None:
    parts = {
        folder.name
        for folder in ROOT.iterdir()
        if folder.is_dir() and any(folder.glob("*/*.py")) and not folder.name.startswith(".")
    }
    named = {part for span in SPAN.findall(PAGE) for part in Path(span).parts[:1]}
    assert parts - named == set()
