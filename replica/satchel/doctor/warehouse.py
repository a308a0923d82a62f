"""The warehouse, really asked: it answers, lets this machine in, and what its clock says."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from satchel.doctor.check import Check, failed
from satchel.dsn import masked
from satchel_crypto.errors import CryptoError
from satchel_sync.clock import OFFSET_WARN_MS

if TYPE_CHECKING:
    from satchel.config import Settings

WAREHOUSE_TIMEOUT_S = 10


def warehouse(settings: Settings) -> list[Check]:
    """One check where none is named or it does not answer; its clock as well where it does."""
    try:
        named = _named(settings)
    except CryptoError as damaged:
        return [failed("warehouse", damaged)]
    if not named:
        found = "none configured: this machine keeps to itself"
        return [Check(name="warehouse", ok="ok", found=found)]
    offset_ms, error = _within(WAREHOUSE_TIMEOUT_S, lambda: _clock_offset_ms(settings))
    if error is not None:
        return [failed("warehouse", error)]
    if offset_ms is None:
        found = f"{named}: no answer within {WAREHOUSE_TIMEOUT_S} s"
        return [Check(name="warehouse", ok="fail", found=found)]
    found = f"{named} answers"
    return [Check(name="warehouse", ok="ok", found=found), _clock(offset_ms)]


def _named(settings: Settings) -> str:
    """What the warehouse's DSN may be shown as; "" where none is named."""
    from satchel.warehouse import dsns

    if settings.warehouse_dsn:
        return masked(settings.warehouse_dsn)
    return "the warehouse of the secret warehouse.dsn" if dsns.is_named(settings) else ""


def _clock(offset_ms: int) -> Check:
    near = abs(offset_ms) <= OFFSET_WARN_MS
    found = f"this machine's minus the warehouse's: {offset_ms} ms"
    return Check(name="clock", ok="ok" if near else "warn", found=found)


def _clock_offset_ms(settings: Settings) -> int:
    from satchel import peers

    return peers.clock_offset_ms(settings)


def _within(timeout_s: float, work: Callable[[], int]) -> tuple[int | None, Exception | None]:
    """(answer, error) of `work`, or (None, None) when it takes longer."""
    answers: list[int] = []
    errors: list[Exception] = []

    def run() -> None:
        try:
            answers.append(work())
        except Exception as error:  # noqa: BLE001 (it becomes a failed check that names it)
            errors.append(error)

    # A daemon: a hub that never answers must not keep the process from ending.
    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(timeout_s)
    return (answers[0] if answers else None), (errors[0] if errors else None)
