"""All checks, in the order of what builds on what."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from satchel.doctor.check import Check, failed
from satchel.doctor.program import has_apsw, program
from satchel.errors import SatchelError

if TYPE_CHECKING:
    from satchel.config import Settings

Looker = Callable[["Settings"], Check | Iterable[Check]]


def examine(read_settings: Callable[[], Settings], *, offline: bool = False) -> list[Check]:
    """Every check; `offline` leaves out what asks the warehouse. Never raises."""
    checks = list(program())
    try:
        settings = read_settings()
    except SatchelError as error:
        return [*checks, failed("config", error)]
    if not has_apsw():
        return checks
    for name, look in _lookers(offline=offline):
        checks += _looked(name, look, settings)
    return checks


def told(settings: Settings) -> dict[str, Any]:
    """{ok, checks}: what a door without a terminal answers."""
    return answer(examine(lambda: settings))


def answer(checks: Iterable[Check]) -> dict[str, Any]:
    """{ok, checks} as JSON has them."""
    shown = [check.as_dict() for check in checks]
    return {"ok": all(check["ok"] != "fail" for check in shown), "checks": shown}


def _lookers(*, offline: bool) -> Iterator[tuple[str, Looker]]:
    """(name of its first check, what makes it); imported here, behind the check of the packages."""
    from satchel.doctor.activity import activity
    from satchel.doctor.backups import backups
    from satchel.doctor.configuration import configuration
    from satchel.doctor.engines import embedding, ranking
    from satchel.doctor.files import files
    from satchel.doctor.home import home
    from satchel.doctor.hooks import hooks
    from satchel.doctor.keys import keys
    from satchel.doctor.locks import locks
    from satchel.doctor.network import network
    from satchel.doctor.replica import replica
    from satchel.doctor.warehouse import warehouse

    yield "config", configuration
    yield "home", home
    yield "files", files
    yield "locks", locks
    yield "replica", replica
    yield "activity", activity
    yield "backups", backups
    yield "ranking", ranking
    yield "embedding", embedding
    yield "keys", keys
    yield "hooks", lambda settings: hooks(settings.home)
    yield "network", network
    if not offline:
        yield "warehouse", warehouse


def _looked(name: str, look: Looker, settings: Settings) -> list[Check]:
    """What a part of the checks found, up to what it could not look at, which is told as well."""
    found: list[Check] = []
    try:
        looked = look(settings)
        for check in (looked,) if isinstance(looked, Check) else looked:
            found.append(check)
    except Exception as error:  # noqa: BLE001 (it becomes a failed check that names it)
        found = [check for check in found if check.name != name] + [failed(name, error)]
    return found
