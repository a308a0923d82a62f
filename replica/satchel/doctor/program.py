"""The program itself: Python, the packages that satchel needs, the SQLite inside apsw.

Nothing here needs one of those packages: a doctor that cannot start tells nobody what is missing.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from importlib import import_module, metadata
from importlib.util import find_spec
from itertools import takewhile

from satchel import __version__
from satchel.doctor.check import Check, failed

DISTRIBUTION = "satchel"
PYTHON_SAFE = (3, 11)
SQLITE_SAFE = (3, 51, 3)
"""The first SQLite without the bug that could corrupt a database when its WAL was reset."""
_NAMED = re.compile(r"(?P<name>[A-Za-z0-9][A-Za-z0-9._-]*)(?:>=(?P<least>[0-9.]+))?")
_SLOW = frozenset({"keyring", "mcp", "mcp_types", "starlette", "uvicorn"})
"""Looked for, not imported: together they would take as long as all other checks."""


def program() -> Iterator[Check]:
    """The packages, and SQLite where apsw can be imported."""
    yield _packages()
    yield _sqlite()


def _packages() -> Check:
    python = ".".join(map(str, sys.version_info[:3]))
    found = f"satchel {__version__}, Python {python} on {sys.platform}"
    faults = list(_faults())
    if faults:
        found += f"; not usable: {', '.join(faults)}"
    wrong = sys.version_info < PYTHON_SAFE or bool(faults)
    return Check(name="program", ok="fail" if wrong else "ok", found=found)


def _faults() -> Iterator[str]:
    """Packages that satchel needs whatever it does, and cannot have."""
    try:
        wanted = metadata.requires(DISTRIBUTION) or []
    except metadata.PackageNotFoundError:  # run from its sources
        return
    for one in wanted:
        named = _NAMED.match(one)
        if named and "extra ==" not in one and (fault := _fault(named["name"], named["least"])):
            yield f"{named['name']} ({fault})"


def _fault(name: str, least: str | None) -> str:
    """Why a package cannot be used; "" where it can."""
    try:
        here = metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return "not installed"
    if least and _numbers(here.version) < _numbers(least):
        return f"{here.version}, and {least} is needed"
    named = (here.read_text("top_level.txt") or name.replace("-", "_")).split()
    modules = [one for one in named if not one.startswith("_")]
    for module in modules:
        try:
            there = find_spec(module) if module in _SLOW else import_module(module)
        except Exception as error:  # noqa: BLE001 (whatever a broken package raises is its fault)
            return str(error) or type(error).__name__
        if there is None:
            return "its files are gone"
    return ""


def _numbers(version: str) -> tuple[int, ...]:
    """The numbers of a version, up to the first part that is none."""
    parts = list(takewhile(str.isdecimal, version.split(".")))
    return tuple(map(int, parts))


def has_apsw() -> bool:
    """Whether there is an apsw that the store can work with: all else needs one."""
    try:
        import apsw
    except ImportError:
        return False
    return hasattr(apsw, "sqlite_lib_version")  # since 3.42


def _sqlite() -> Check:
    try:
        import apsw
    except ImportError as error:
        return failed("sqlite", error)
    if not has_apsw():
        found = f"{apsw.__file__} is older than any that satchel knows"
        return Check(name="sqlite", ok="fail", found=found)
    version = apsw.sqlite_lib_version()
    safe = tuple(int(part) for part in version.split(".")) >= SQLITE_SAFE
    place = "" if safe else f", from {apsw.__file__}"
    return Check(
        name="sqlite",
        ok="ok" if safe else "fail",
        found=f"SQLite {version} (apsw {apsw.apsw_version()}){place}",
    )
