"""`satchel doctor --fix`: what the checks can mend themselves, done in their order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from satchel.doctor.check import Check, Mend
from satchel.errors import describe, is_typed

Agreed = Callable[[str], bool]
"""Asks whether something may be removed."""


def mended(checks: Iterable[Check], agreed: Agreed) -> dict[str, str]:
    """Name of each check that can be mended -> what was done, or why it was not. Never raises."""
    return {
        check.name: "; ".join(_mended(mend, agreed) for mend in check.mends)
        for check in checks
        if check.mends
    }


def noted(checks: Iterable[Check], done: Mapping[str, str]) -> list[Check]:
    """Checks of after that, each with what was done about it."""
    return [replace(check, fixed=done.get(check.name)) for check in checks]


def _mended(mend: Mend, agreed: Agreed) -> str:
    if mend.removes and not agreed(f"{mend.does}?"):
        return f"not done: {mend.does}: confirm it with --yes"
    try:
        return mend.run()
    except Exception as error:  # noqa: BLE001 (it is told, and the check says what is left)
        said = describe(error)["message"] if is_typed(error) else f"{type(error).__name__}: {error}"
        return f"not done: {mend.does}: {said}"
