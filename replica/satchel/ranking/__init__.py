"""Ranking: one contract, a pure and a native engine with the same numbers, chosen once."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Literal

from satchel import __version__
from satchel.ranking.contract import (
    CONTRACT,
    EngineName,
    NativeMismatch,
    Ranking,
    RankingUnavailable,
)

if TYPE_CHECKING:
    from logging import Logger

__all__ = [
    "NativeMismatch",
    "Ranking",
    "RankingUnavailable",
    "choose",
    "engine_name",
    "native_refusal",
]


def choose(engine: Literal["auto", "pure", "native"]) -> Ranking:
    """Return the engine asked for; `auto` takes the native one where it is installed.

    Raises `RankingUnavailable` when `native` was demanded and is not there, and its kind
    `NativeMismatch` when one is there, but of another release: `auto` is no leave to go on slowly
    and without meaning after half of an upgrade.
    """
    if engine == "pure":
        return _load_pure()
    try:
        return _load_native()
    except ImportError as error:
        refusal = _absence(error)
    if engine == "native":
        raise RankingUnavailable(
            f"the native ranking was demanded but {refusal}; run `make native`, or set "
            "`ranking.engine` to `auto` or `pure`"
        )
    _log().info("the pure ranking is used: %s", refusal)
    return _load_pure()


def engine_name(ranking: Ranking) -> EngineName:
    """Name an engine that `choose` gave, for `satchel doctor` and test headers."""
    return "native" if ranking is sys.modules.get("satchel_native") else "pure"


def native_refusal() -> str | None:
    """Say why the native engine can't be used here; None where it can."""
    try:
        _load_native()
    except ImportError as error:
        return _absence(error)
    except NativeMismatch as error:
        return str(error)
    return None


def _load_pure() -> Ranking:
    # Not at the head of the module: a start with the native engine must not pay for its import.
    from satchel.ranking import pure

    return pure


def _load_native() -> Ranking:
    # Not at the head of the module: the engine is optional and `pure` must not pay for its import.
    import satchel_native

    theirs = (satchel_native.__version__, satchel_native.CONTRACT)
    if theirs != (__version__, CONTRACT):
        raise NativeMismatch(
            f"`satchel_native` {theirs[0]} with ranking contract {theirs[1]} is installed beside "
            f"satchel {__version__}, which needs the same version and contract {CONTRACT}"
        )
    return satchel_native


def _absence(error: ImportError) -> str:
    return f"the package `satchel_native` can't be imported ({error})"


def _log() -> Logger:
    # Not at the head of the module: its import takes longer than a search.
    from logging import getLogger

    return getLogger(__name__)
