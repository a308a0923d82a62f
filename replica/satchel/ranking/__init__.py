"""Ranking: one contract, a pure and a native engine with the same numbers, chosen once."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Literal

from satchel.ranking.contract import CONTRACT, EngineName, Ranking, RankingUnavailable

if TYPE_CHECKING:
    from logging import Logger

__all__ = ["Ranking", "RankingUnavailable", "choose", "engine_name", "native_refusal"]


def choose(engine: Literal["auto", "pure", "native"]) -> Ranking:
    """Return the engine asked for; `auto` takes the native one where it can be used.

    Raises `RankingUnavailable` when `native` was demanded and can't be used.
    """
    if engine == "pure":
        return _load_pure()
    native, refusal = _load_native()
    if native is not None:
        return native
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
    return _load_native()[1]


def _load_pure() -> Ranking:
    # Not at the head of the module: a start with the native engine must not pay for its import.
    from satchel.ranking import pure

    return pure


def _load_native() -> tuple[Ranking, None] | tuple[None, str]:
    # Not at the head of the module: the engine is optional and `pure` must not pay for its import.
    try:
        import satchel_native
    except ImportError as error:
        return None, f"the package `satchel_native` can't be imported ({error})"
    if satchel_native.CONTRACT != CONTRACT:
        _log().warning(
            "satchel_native %s keeps ranking contract %d, this satchel needs %d: run `make native`",
            satchel_native.__version__,
            satchel_native.CONTRACT,
            CONTRACT,
        )
        return None, (
            f"`satchel_native` {satchel_native.__version__} keeps ranking contract "
            f"{satchel_native.CONTRACT} and this satchel needs {CONTRACT}"
        )
    return satchel_native, None


def _log() -> Logger:
    # Not at the head of the module: its import takes longer than a search.
    from logging import getLogger

    return getLogger(__name__)
