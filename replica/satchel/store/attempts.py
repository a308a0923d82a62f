"""Bookkeeping of sync attempts: the hub that we know, the chain of links, what is due, reports."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import apsw

from satchel.store import quarantine, succession
from satchel.store.meta import meta as meta
from satchel.store.meta import set_meta as set_meta
from satchel.store.succession import predecessors as predecessors
from satchel_crypto import random_bytes
from satchel_sync.changes import Reconciling, Standing, Welcome
from satchel_sync.errors import NeedsReconcile
from satchel_sync.limits import REPORTS_KEPT_DAYS
from satchel_sync.stamp import NOBODY, SCRUBBED
from satchel_sync.tables import KINDS

DAY_MS = 24 * 60 * 60 * 1000
ADOPTED = "adopted"
"""Why a file that moved to another hub has to be reconciled."""
NO_REPLICAS = (NOBODY, SCRUBBED.origin)
"""Origins of rows that are the same on every machine (`rows.insert_lowest`, forgotten ones)."""


def begin(db: apsw.Connection) -> str:
    """The id of the pending attempt, drawn and kept before it is said for the first time."""
    attempt = meta(db, "attempt")
    if attempt is None:
        attempt = random_bytes(16).hex()
        set_meta(db, "attempt", attempt)
    return str(attempt)


def hub_id(db: apsw.Connection) -> bytes | None:
    """The hub that this file belongs to, or None before its first sync."""
    found = meta(db, "hub_id")
    return None if found is None else bytes(found)


def word(db: apsw.Connection, name: str) -> str:
    """`epoch`, `last_attempt` or `token`; "" where the file has none."""
    return str(meta(db, name) or "")


def due(db: apsw.Connection) -> str:
    """Why this file has to be reconciled with its hub; "" when it has not."""
    return str(meta(db, "due") or "")


def cursors(db: apsw.Connection) -> dict[str, int]:
    """Kind -> how far it was pulled."""
    found = db.execute("SELECT kind, seq FROM cursor")
    return {str(kind): int(str(seq)) for kind, seq in found}


def require_own(db: apsw.Connection) -> None:
    """Raise NeedsReconcile for rows of others in a file that never met a hub."""
    if hub_id(db) is not None or due(db):
        return
    known = (*succession.ours(db), *NO_REPLICAS)
    marks = ", ".join("?" * len(known))
    for kind in KINDS:
        query = f"SELECT 1 FROM {kind} WHERE origin NOT IN ({marks}) LIMIT 1"
        if db.execute(query, known).get is not None:
            raise NeedsReconcile(
                f"this file holds rows of kind {kind} that other machines wrote,"
                " but not from which warehouse they are",
                hint="if it may be joined to this warehouse, sync once with --adopt",
            )


def adopt(db: apsw.Connection) -> None:
    """Leave the hub of before, if any: the next one is reconciled with, under a new id."""
    succession.succeed(db, ADOPTED)
    for name in ("hub_id", "epoch", "last_attempt", "token"):
        set_meta(db, name, None)
    db.execute("DELETE FROM cursor")
    db.execute("UPDATE conflict SET sent = 0")
    set_meta(db, "due", ADOPTED)


def meet(db: apsw.Connection, welcome: Welcome) -> None:
    """Remember the hub and close the link. Raises NeedsReconcile for another hub than before."""
    known = hub_id(db)
    if known not in (None, welcome.hub_id):
        raise NeedsReconcile(
            f"this replica belongs to the hub {known.hex()}, but {welcome.hub_id.hex()} answered",
            hint="check the DSN; to move this replica to the other hub, sync once with --adopt",
        )
    set_meta(db, "hub_id", welcome.hub_id)
    if word(db, "succeeded_why"):  # the hub knows the new id only now: it refused rows of it before
        quarantine.retry_refused(db)
    set_meta(db, "succeeded_why", None)
    if (attempt := meta(db, "attempt")) is not None:
        set_meta(db, "last_attempt", attempt)
        set_meta(db, "attempt", None)
    if welcome.standing in (Standing.REWOUND, Standing.MOVED) and not due(db):
        set_meta(db, "due", welcome.standing.value)
    if due(db):
        quarantine.retry_refused(db)
    elif not word(db, "epoch"):
        set_meta(db, "epoch", welcome.epoch)


def reconciled(db: apsw.Connection, done: Reconciling) -> None:
    """Both sides are level up to these cursors: start from there, in the hub's epoch.

    The hub may not know the last token any more; the next push brings another.
    """
    db.execute("DELETE FROM cursor")
    db.executemany("INSERT INTO cursor(kind, seq) VALUES(?, ?)", list(done.seqs.items()))
    set_meta(db, "epoch", done.epoch)
    set_meta(db, "token", None)
    set_meta(db, "due", None)
    db.execute("UPDATE conflict SET sent = 0")  # a hub that was set back lost the latest of them


def end(db: apsw.Connection, report: Mapping[str, Any], now_ms: int) -> None:
    """Keep the report of an attempt, done or failed; drop reports that are too old."""
    attempt = meta(db, "attempt") or word(db, "last_attempt")
    db.execute(
        "INSERT INTO report(attempt, at_ms, body) VALUES(?, ?, ?)",
        (attempt, now_ms, json.dumps(dict(report), ensure_ascii=False)),
    )
    db.execute("DELETE FROM report WHERE at_ms < ?", (now_ms - REPORTS_KEPT_DAYS * DAY_MS,))


def reports(db: apsw.Connection, limit: int = 20) -> list[dict[str, Any]]:
    """The latest reports, newest first, each with its `attempt` and `at_ms`."""
    query = "SELECT attempt, at_ms, body FROM report ORDER BY row DESC LIMIT ?"
    return [
        {"attempt": attempt, "at_ms": at_ms, **json.loads(str(body))}
        for attempt, at_ms, body in db.execute(query, (limit,))
    ]


def ended_ms(db: apsw.Connection) -> int | None:
    """When an attempt last came to its end, in UTC milliseconds."""
    ended = "SELECT at_ms FROM report WHERE json_extract(body, '$.error') IS NULL"
    found = db.execute(f"{ended} ORDER BY row DESC LIMIT 1").get
    return None if found is None else int(found)
