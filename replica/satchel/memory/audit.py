"""The trace of a read: who was given what, kept in the side database."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from satchel.memory.secrets import redact

if TYPE_CHECKING:
    from satchel.replica import Replica

QUERY_CHARS_KEPT = 1_000


def record(replica: Replica, tool: str, ids: Sequence[str], query: str | None = None) -> None:
    """Note that this caller was given these rows; a secret in the question is not kept."""
    caller = replica.caller
    who = f"{caller.role}:{caller.agent_id or caller.user_id or ''}"
    asked = None if query is None else redact(query[:QUERY_CHARS_KEPT])[0]
    replica.activity.record_read_soon(who, ids, replica.now_ms(), tool=tool, query=asked)
