"""Sealing: what the triggers could not do, done before a commit or a sync.

Changes that wait become history rows, and every row without a digest gets one.
"""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import apsw

from satchel.store import quarantine
from satchel.store.lenient import plain, read_row, read_value
from satchel.store.outbox import UNSENDABLE
from satchel_sync.digest import derived_id, row_digest
from satchel_sync.stamp import Stamp
from satchel_sync.tables import BY_NAME, KINDS, Table

PENDING = "history_pending"
"""The table of changes that are no history rows yet."""


def seal(db: apsw.Connection, now_ms: int) -> None:
    """Turn waiting changes into history and give every unsealed row its digest.

    Needs a write transaction with capture on.
    """
    waiting = [name for (name,) in db.execute(_waiting())]
    if not waiting:
        return
    for kind in waiting:
        if kind not in (PENDING, "history"):
            _seal_table(db, BY_NAME[kind], now_ms)
    if PENDING in waiting:
        _write_history(db)
    _seal_table(db, BY_NAME["history"], now_ms)


def waits(db: apsw.Connection) -> bool:
    """Whether there is anything to seal."""
    return db.execute(_waiting()).get is not None


@cache
def _waiting() -> str:
    """The kinds with unsealed rows, and `PENDING`."""
    unsealed = [f"EXISTS (SELECT 1 FROM {kind} WHERE digest IS NULL)" for kind in KINDS]
    pending = f"EXISTS (SELECT 1 FROM {PENDING})"
    wheres = zip((*KINDS, PENDING), (*unsealed, pending), strict=True)
    return " UNION ALL ".join(f"SELECT '{name}' WHERE {where}" for name, where in wheres)


def _seal_table(db: apsw.Connection, table: Table, now_ms: int) -> None:
    rows = [row for (row,) in db.execute(f"SELECT row FROM {table.name} WHERE digest IS NULL")]
    for row in rows:
        found = read_row(db, table, row)
        key, values = found[0], tuple(found[6:])
        db.execute(
            f"UPDATE {table.name} SET digest = ? WHERE row = ?",
            (digest_of(table, key, values), row),
        )
        if table.name == "memory":
            queue_embedding(db, key, now_ms)


def digest_of(table: Table, key: Any, values: tuple[Any, ...]) -> bytes:
    """The digest of a row, or `UNSENDABLE`."""
    if quarantine.inspect(table, key, values) is not None:
        return UNSENDABLE
    return row_digest(table, key, values)


def queue_embedding(db: apsw.Connection, memory_id: str, now_ms: int) -> None:
    """Ask for a vector of a living memory that has none of its present text."""
    db.execute(
        "INSERT INTO embed_queue(memory_id, since_ms)"
        " SELECT id, ? FROM memory WHERE id = ? AND content IS NOT NULL AND NOT EXISTS ("
        " SELECT 1 FROM embedding WHERE embedding.memory_id = memory.id"
        " AND embedding.content_hash IS memory.content_hash)"
        " ON CONFLICT(memory_id) DO NOTHING",
        (now_ms, memory_id),
    )


def _write_history(db: apsw.Connection) -> None:
    pending: list[Any] = db.execute(
        "SELECT seq, kind, CAST(key AS BLOB), event, life, hlc, origin, at, actor"
        " FROM history_pending"
        " ORDER BY seq"
    ).fetchall()
    for seq, kind, key_bytes, event, life, hlc, origin, at, actor in pending:
        key = bytes(key_bytes).decode(errors="backslashreplace")
        held = f"SELECT digest FROM {kind} WHERE {BY_NAME[kind].key} = ? AND hlc = ?"
        # A version that was overwritten before it was sealed has no digest and was never seen.
        version = Stamp(life, hlc, origin, db.execute(held, (key, hlc)).get or UNSENDABLE)
        entry = (derived_id(kind, key, version.hex()), kind, key, event, _changes(db, seq))
        db.execute(
            "INSERT INTO history(id, kind, key, event, changes, actor, at)"
            " VALUES(?, ?, ?, ?, ?, ?, ?) ON CONFLICT(id) DO NOTHING",
            (*entry, actor, at),
        )
    db.execute("DELETE FROM history_pending")
    db.execute("DELETE FROM history_field")


def _changes(db: apsw.Connection, seq: int) -> str:
    """{field: [old, new]} as JSON text, fields by name."""
    fields = db.execute("SELECT name FROM history_field WHERE seq = ?", (seq,)).fetchall()
    changes = {}
    for (name,) in fields:
        where = f"FROM history_field WHERE name = '{name}' AND seq = ?"
        changes[name] = [plain(read_value(db, side, where, seq)) for side in ("old", "new")]
    return json.dumps(changes, ensure_ascii=False, separators=(",", ":"))
