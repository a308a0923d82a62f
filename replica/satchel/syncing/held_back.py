"""Rows that stay on this machine until they are changed, as its user sees them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from satchel.memory.lookup import sees
from satchel.memory.moments import iso
from satchel.store import quarantine

if TYPE_CHECKING:
    from satchel.replica import Replica


def listed(replica: Replica) -> list[dict[str, Any]]:
    """kind, key, column, reason, since when of every row that is held back.

    Only those that the caller may see; the operator is shown all, deleted ones too.
    """
    caller = replica.caller
    with replica.store.read() as db:
        return [
            {"kind": row.kind, "key": row.key, "column": row.column, "reason": row.reason,
             "at": iso(row.at_ms)}
            for row in quarantine.listed(db)
            if caller.sees_all or sees(db, caller, row.kind, row.key)
        ]  # fmt: skip
