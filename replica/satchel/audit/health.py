"""What `satchel doctor` says of the audit: are both chains whole, and can reads be recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import apsw

from satchel.audit import reads
from satchel.audit.checking import check, require_whole
from satchel_crypto.errors import AuditBroken

if TYPE_CHECKING:
    from satchel.config import Settings
    from satchel.store.connection import Store

Verdict = Literal["ok", "warn", "fail"]


def health(store: Store, settings: Settings) -> tuple[Verdict, str, str]:
    """(`ok`, `warn` or `fail`, what was found, how to mend it). Raises CryptoError."""
    found = check(store, settings)
    try:
        require_whole(found)
    except AuditBroken as error:
        return "fail", str(error), error.hint
    try:
        lost = _lost(store)
    except (apsw.Error, OSError) as error:
        return "warn", f"reads cannot be recorded: {error}", "check activity.db, its owner and mode"
    counts = ", ".join(f"{one.verdict.records} {one.verdict.chain}" for one in found if one.current)
    told = f"whole: {counts or 'nothing recorded yet'}"
    if lost:
        return "warn", f"{told}; some reads were not recorded: {lost} times", ""
    return "ok", told, ""


def _lost(store: Store) -> int:
    """How often a read told that others before it could not be recorded; the file takes writes."""
    if not (store.home / reads.ACTIVITY_FILE).exists():
        return 0
    with reads.connected(store.home) as db:
        db.execute("BEGIN IMMEDIATE")
        try:
            query = "SELECT count(*) FROM audit WHERE instr(body, '\"lost_before\":')"
            return int(db.execute(query).get)
        finally:
            db.execute("ROLLBACK")
