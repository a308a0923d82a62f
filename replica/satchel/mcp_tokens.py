"""Bearer tokens for MCP over HTTP: each lets somebody in as one agent, in one role."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from satchel.config import Role
from satchel.errors import Conflict
from satchel.memory.moments import iso
from satchel.memory.text import name as checked_name
from satchel.memory.text import one_of
from satchel.protection import KEYS_FOLDER, provider_of
from satchel.replica import login_name
from satchel.store.connection import SYSTEM_CLOCK
from satchel_crypto.bearer import Bearer, Bearers

if TYPE_CHECKING:
    from satchel.config import Settings

ROLES: tuple[Role, ...] = ("agent", "supervisor", "operator")
DAY_MS = 24 * 60 * 60 * 1000


def bearers_of(settings: Settings) -> Bearers:
    """The tokens of this home. Raises ProviderUnavailable, FipsRefused."""
    return Bearers(settings.home / KEYS_FOLDER, provider_of(settings))


def create(
    settings: Settings, agent: str, *, role: str, name: str | None, days: int | None
) -> dict[str, Any]:
    """A new token, told this once. Its user is the one of the settings, else the login's.

    Raises InvalidInput, Conflict for a name that is taken.
    """
    agent = checked_name(agent, "agent")
    name = checked_name(name or agent, "name")
    now = SYSTEM_CLOCK.now_ms()
    bearers = bearers_of(settings)
    if any(one.name == name for one in bearers.all()):
        raise Conflict(
            f"there is a token {name!r} already",
            hint="give --name, or revoke that one",
            field="name",
        )
    made, token = bearers.create(
        name,
        agent=agent,
        role=one_of(role, ROLES, "role"),
        user=settings.user_id or login_name(),
        created_at=now,
        expires_at=None if days is None else now + days * DAY_MS,
    )
    return {**_told(made), "token": token}


def listed(settings: Settings) -> list[dict[str, Any]]:
    """Every token's bearer and dates; never a token."""
    return [_told(one) for one in bearers_of(settings).all()]


def revoke(settings: Settings, name: str) -> dict[str, Any]:
    """Let a token in no more, from the next request on. Raises KeyMissing."""
    return {**_told(bearers_of(settings).revoke(name)), "revoked": True}


def _told(one: Bearer) -> dict[str, Any]:
    return {
        "name": one.name,
        "agent": one.agent,
        "role": one.role,
        "user": one.user,
        "created_at": iso(one.created_at),
        "expires_at": None if one.expires_at is None else iso(one.expires_at),
    }
