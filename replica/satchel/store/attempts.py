"""Bookkeeping of sync attempts: their ids, the hub that we know, their reports."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import apsw

from satchel.store import outbox
from satchel_crypto import random_bytes
from satchel_sync.changes import Welcome
from satchel_sync.errors import NeedsReconcile
from satchel_sync.limits import REPORTS_KEPT_DAYS
from satchel_sync.tables import TABLES

DAY_MS = 24 * 60 * 60 * 1000


def begin(db: apsw.Connection) -> str:
    """The id of the open attempt; a new one if the last attempt was closed."""
    attempt = meta(db, "attempt")
    if attempt is None:
        attempt = random_bytes(16).hex()
        set_meta(db, "attempt", attempt)
    return str(attempt)


def hub_id(db: apsw.Connection) -> bytes | None:
    """The hub that this file belongs to, or None before its first sync."""
    found = meta(db, "hub_id")
    return None if found is None else bytes(found)


def meet(db: apsw.Connection, welcome: Welcome, *, adopt: bool) -> None:
    """Remember the hub at the first welcome. Raises NeedsReconcile unless `adopt`."""
    known = hub_id(db)
    if known == welcome.hub_id:
        _pull_again(db, welcome)
        return
    if known is not None and not adopt:
        raise NeedsReconcile(
            f"this replica belongs to the hub {known.hex()}, but {welcome.hub_id.hex()} answered",
            hint="check the DSN; to move this replica to the other hub, sync once with --adopt",
        )
    set_meta(db, "hub_id", welcome.hub_id)
    if known is not None:
        _start_over(db)


def end(db: apsw.Connection, report: Mapping[str, Any], now_ms: int) -> None:
    """Keep the report, close the attempt, drop reports that are too old."""
    attempt = begin(db)
    db.execute(
        "INSERT OR REPLACE INTO report(attempt, at_ms, body) VALUES(?, ?, ?)",
        (attempt, now_ms, json.dumps(dict(report), ensure_ascii=False)),
    )
    db.execute("DELETE FROM report WHERE at_ms < ?", (now_ms - REPORTS_KEPT_DAYS * DAY_MS,))
    set_meta(db, "attempt", None)


def reports(db: apsw.Connection, limit: int = 20) -> list[dict[str, Any]]:
    """Reports of the latest attempts, newest first, each with its `attempt` and `at_ms`."""
    found = db.execute(
        "SELECT attempt, at_ms, body FROM report ORDER BY at_ms DESC, attempt LIMIT ?", (limit,)
    )
    return [
        {"attempt": attempt, "at_ms": at_ms, **json.loads(str(body))}
        for attempt, at_ms, body in found
    ]


def meta(db: apsw.Connection, name: str) -> Any:
    """A value of the table `meta`, or None."""
    return db.execute("SELECT value FROM meta WHERE name = ?", (name,)).get


def set_meta(db: apsw.Connection, name: str, value: str | int | bytes | None) -> None:
    """Keep a value in the table `meta`; None removes it."""
    db.execute("DELETE FROM meta WHERE name = ?", (name,))
    if value is not None:
        db.execute("INSERT INTO meta(name, value) VALUES(?, ?)", (name, value))


def _pull_again(db: apsw.Connection, welcome: Welcome) -> None:
    """A hub that stands below a cursor was restored from a backup: that kind is pulled anew."""
    for kind, seq in db.execute("SELECT kind, seq FROM cursor").fetchall():
        if int(str(seq)) > welcome.seqs.get(str(kind), 0):
            db.execute("DELETE FROM cursor WHERE kind = ?", (kind,))


def _start_over(db: apsw.Connection) -> None:
    """Nothing that is known of the old hub holds: pull from the start, send everything."""
    db.execute("DELETE FROM cursor")
    db.execute("UPDATE conflict SET sent = 0")
    for table in TABLES:
        outbox.put_all(db, table)
