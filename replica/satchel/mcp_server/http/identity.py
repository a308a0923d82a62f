"""Who a request is from: its token says which agent, in which role, for which user."""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING, Any, get_args

from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.auth.provider import AccessToken

from satchel import mcp_tokens
from satchel.config import Role
from satchel.errors import Refused
from satchel.mcp_server.session import Session
from satchel.store.connection import SYSTEM_CLOCK
from satchel_crypto.errors import CryptoError

if TYPE_CHECKING:
    from satchel.config import Settings
    from satchel.mcp_server.household import Household

ROLES: tuple[Role, ...] = get_args(Role)
_log = logging.getLogger("satchel")


class Visitors:
    """Knows tokens (the SDK's `TokenVerifier`), and makes the session of who carries one."""

    def __init__(self, settings: Settings, household: Household) -> None:
        self._settings = settings
        self._household = household
        self._bearers = mcp_tokens.bearers_of(settings)

    async def verify_token(self, token: str) -> AccessToken | None:
        """Who carries the token, or None. The file of tokens is read anew for each request."""
        try:
            bearer = self._bearers.bearer(token, SYSTEM_CLOCK.now_ms())
        except CryptoError as error:
            _log.error("nobody is let in: %s", error)
            return None
        if bearer is None or bearer.role not in ROLES:
            return None
        # The SDK keeps what is given here beside the request: the token itself is not.
        claims = {
            "agent": bearer.agent,
            "role": bearer.role,
            "user": bearer.user,
            "digest": bearer.digest,
        }
        return AccessToken(token="", client_id=bearer.name, scopes=[], claims=claims)

    def session(self, context: Any) -> Session:
        """The session of who sent this request. Raises Refused where nobody was recognised."""
        known = get_access_token()
        claims = (known.claims if known else None) or {}
        agent, role, user = (claims.get(key) for key in ("agent", "role", "user"))
        if not isinstance(agent, str) or role not in ROLES:
            raise Refused("this request has no token", hint="send Authorization: Bearer TOKEN")
        settings = self._settings.as_caller(agent, role, user)
        still_allowed = partial(self._require, claims["digest"])
        return Session(settings, None, self._household, still_allowed)

    def _require(self, digest: str) -> None:
        """Raise Refused when the token with this digest lets nobody in any more.

        For calls that wait, which may have come in an hour ago. Raises CryptoError.
        """
        now = SYSTEM_CLOCK.now_ms()
        for one in self._bearers.all():
            if one.digest == digest and (one.expires_at is None or now < one.expires_at):
                return
        raise Refused(
            "the token of this call was revoked or has expired while it waited",
            hint="`satchel mcp token create` makes another",
        )
