"""Every tool of the catalog: what a caller may not see, it cannot tell from what is not there.

`tests/fix_visibility.py` says what each tool is asked; a tool that is not entered there fails here.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from fix_hidden import SCOPES, TRACE, Twins, traces, twins
from fix_visibility import CASES, NOTHING_HIDDEN, Case

from satchel.memory.visibility import Role
from satchel.tools import catalog

ASKED: list[tuple[str, Role]] = [*((scope, "agent") for scope in SCOPES), ("user", "supervisor")]
"""A supervisor sees what agents keep for themselves, and not what is about another user."""


def test_every_tool_is_entered() -> None:
    missing = sorted(set(catalog.every()) - set(CASES))
    assert not missing, f"enter {', '.join(missing)} in tests/fix_visibility.py: it says how"
    assert sorted(set(CASES) - set(catalog.every())) == []
    assert [name for name, cases in CASES.items() if not cases] == []


@pytest.mark.parametrize(("scope", "role"), ASKED)
def test_no_tool_tells_hidden_rows_from_none(scope: str, role: Role, tmp_path: Path) -> None:
    """One answer in both worlds, no trace in it, and the hidden rows as they were.

    What reads is asked again in the end: a write may have left something to be told.
    """
    reads = [name for name, tool in catalog.every().items() if not tool.writes]
    with twins(tmp_path, scope, role=role) as worlds:
        before = worlds.hidden_rows()
        found = [
            problem
            for round_, names in (("", CASES), (" again", reads))
            for name in names
            for number, case in enumerate(CASES[name])
            for problem in problems(worlds, f"{name} [{number}]{round_}", name, case)
            if not (round_ and f"['{TRACE}']" in problem)  # bob has written the word meanwhile
        ]
        assert found == []
        assert worlds.hidden_rows() == before


def problems(worlds: Twins, label: str, name: str, case: Case) -> list[str]:
    """What is wrong with the answers to one case."""
    given = case(worlds.hidden, worlds.own)
    there, absent = worlds.asked(name, given)
    found = []
    if there != absent:
        found.append(f"{label}: {differences(there, absent)}")
    told = traces(there, worlds.hidden, given)
    if told:
        found.append(f"{label} tells of {told}: {there}")
    return found


def differences(there: Any, absent: Any) -> str:
    """Where two answers differ."""
    if isinstance(there, dict) and isinstance(absent, dict):
        names = sorted({*there, *absent})
        parts = {name: (there.get(name), absent.get(name)) for name in names}
        return str({name: pair for name, pair in parts.items() if pair[0] != pair[1]})
    return f"{there} with hidden rows, {absent} without"


def test_who_may_see_the_rows_is_told_of_them(tmp_path: Path) -> None:
    """Each case asks for something: the operator's answer is another than that of bob."""
    with twins(tmp_path, "agent") as worlds:
        given = {
            name: [case(worlds.hidden, worlds.own) for case in cases]
            for name, cases in CASES.items()
        }
        asked = {name: [worlds.asked(name, one)[0] for one in some] for name, some in given.items()}
        told = {
            name: [worlds.as_operator(name, one) for one in some] for name, some in given.items()
        }
        silent = {name for name in CASES if asked[name] == told[name]}
        assert silent <= set(NOTHING_HIDDEN), f"ask {silent} for something that ada has"
