"""Any history of sticks converges in three quiet rounds, and not without its rules."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from bundles.histories import History

from satchel_sync.bundles import leveling
from satchel_sync.bundles.peer import weigh
from satchel_sync.changes import Standing
from satchel_sync.in_memory import depot

SEEDS = 200
MUTANT_SEEDS = 200
WORLDS = {
    "sticks alone": {"rewinds": False},
    "the hub set back": {},
    "files put back too": {"restores": True},
    "all of it, and a network": {"restores": True, "online": True},
}


@pytest.mark.parametrize("world", WORLDS)
def test_any_history_converges_in_three_quiet_rounds(world: str) -> None:
    for seed in range(SEEDS):
        history = History(seed, **WORLDS[world])  # type: ignore[arg-type]
        assert history.fault() == "", f"seed {seed}:\n" + "\n".join(history.log)


def _weigh(**changed: Any) -> Callable[..., Any]:
    return lambda *given: replace(weigh(*given), **changed)


MUTANTS: dict[str, tuple[object, str, object]] = {
    "nothing is evidence": (depot, "weigh", _weigh(standing=Standing.KNOWN)),
    "a manifest never lowers a cursor": (leveling.Lacking, "note", lambda *_: None),
    "nobody is ever done reconciling": (depot, "weigh", _weigh(levels=False)),
}


@pytest.mark.parametrize("mutant", MUTANTS)
def test_without_this_rule_some_history_goes_wrong(
    mutant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(*MUTANTS[mutant])
    assert any(History(seed).fault() for seed in range(MUTANT_SEEDS))
