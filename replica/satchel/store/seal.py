"""Sealing: what the triggers could not do, done before a commit or a sync.

Changes that wait become history rows, every row without a digest gets one, and every memory whose
text is new the hash of that text.
"""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import apsw

from satchel.store import quarantine, scrubbing, touched
from satchel.store.embedded_text import UNHASHED, content_hash, text_hash
from satchel.store.lenient import plain, read_columns, read_row, read_value
from satchel.store.outbox import UNSENDABLE
from satchel.store.sql import HISTORY_KINDS
from satchel_sync.digest import derived_id, row_digest
from satchel_sync.row import Row
from satchel_sync.stamp import SCRUBBED, Stamp
from satchel_sync.subjects import SUBJECT_COLUMNS, subjects
from satchel_sync.tables import BY_NAME, KINDS, MEMORY, Table

PENDING = "history_pending"
"""The table of changes that are no history rows yet."""
ABOUT = frozenset({"history", *SUBJECT_COLUMNS})
"""Kinds that are about rows of others."""
TEXTS = "memory_unhashed"
"""The index of memories whose text is not hashed."""


def seal(db: apsw.Connection, now_ms: int) -> None:
    """Turn waiting changes into history and give every unsealed row its digest.

    Needs a write transaction with capture on.
    """
    waiting = [name for (name,) in db.execute(_waiting())]
    if not waiting:
        return
    if TEXTS in waiting:
        hash_texts(db)
    events = _events(db) if PENDING in waiting else {}
    for kind in waiting:
        if kind not in (PENDING, TEXTS):
            _seal_table(db, BY_NAME[kind], now_ms, events)
    for (kind, key), event in events.items():  # of rows that are gone, or sealed already
        touched.note(event, kind, [key])
    if PENDING in waiting:
        _write_history(db)
    _seal_table(db, BY_NAME["history"], now_ms, None)  # made here: nobody's act


def waits(db: apsw.Connection) -> bool:
    """Whether there is anything to seal."""
    return db.execute(_waiting()).get is not None


@cache
def _waiting() -> str:
    """The kinds with unsealed rows, `PENDING` and `TEXTS`."""
    unsealed = [f"EXISTS (SELECT 1 FROM {kind} WHERE digest IS NULL)" for kind in KINDS]
    pending = f"EXISTS (SELECT 1 FROM {PENDING})"
    texts = f"EXISTS (SELECT 1 FROM memory WHERE {UNHASHED})"
    wheres = zip((*KINDS, PENDING, TEXTS), (*unsealed, pending, texts), strict=True)
    return " UNION ALL ".join(f"SELECT '{name}' WHERE {where}" for name, where in wheres)


def hash_texts(db: apsw.Connection) -> None:
    """Hash every memory's text that is not yet; inside a write transaction with capture on.

    Where the text was written here and is not sealed, `content_hash` is put right too: a write by
    hand leaves the old one. A version that others may have seen keeps what it has.
    """
    rows = [row for (row,) in db.execute(f"SELECT row FROM memory WHERE {UNHASHED}")]
    for row in rows:
        columns = ("title", "aliases", "content", "content_hash", "digest")
        title, aliases, content, held, digest = read_columns(db, MEMORY, columns, row)
        hashed = text_hash(title, aliases, content)
        db.execute("UPDATE memory SET text_hash = ? WHERE row = ?", (hashed, row))
        if digest is None and held is not None and isinstance(content, str):
            _put_right(db, row, held, content_hash(content))


def _put_right(db: apsw.Connection, row: int, held: Any, own: str) -> None:
    """It belongs to the change that is being sealed, so it makes no version of its own."""
    if held == own:
        return
    db.execute("UPDATE control SET applying = 1")
    db.execute("UPDATE memory SET content_hash = ? WHERE row = ?", (own, row))
    db.execute("UPDATE control SET applying = 0")


def _seal_table(
    db: apsw.Connection, table: Table, now_ms: int, events: dict[tuple[str, str], str] | None
) -> None:
    """Give every unsealed row its digest, and note what became of it, unless `events` is None."""
    rows = [row for (row,) in db.execute(f"SELECT row FROM {table.name} WHERE digest IS NULL")]
    about: list[Row] = []
    stamps: list[int] = []
    for row in rows:
        found = read_row(db, table, row)
        key, values = found[0], tuple(found[6:])
        db.execute(
            f"UPDATE {table.name} SET digest = ? WHERE row = ?",
            (digest_of(table, key, values), row),
        )
        if isinstance(found[2], int) and found[3] != SCRUBBED.origin:
            stamps.append(found[2])
        if events is not None:
            event = events.pop((table.name, _name(key)), None)
            touched.note(_became(table, found[1], event), table.name, [_name(key)])
        if table.name == "memory":
            queue_embedding(db, key, now_ms)
        row_now = Row(key, SCRUBBED, "", values)
        if isinstance(key, str) and (table.name in ABOUT or subjects(table, row_now)):
            about.append(row_now)
    touched.note_stamps(stamps)
    if about:
        scrubbing.scrub_late(db, table, about)


def _events(db: apsw.Connection) -> dict[tuple[str, str], str]:
    """(kind, key) -> the last event that waits."""
    query = f"SELECT kind, CAST(key AS BLOB), event FROM {PENDING} ORDER BY seq"
    found: Any = db.execute(query)
    return {(kind, _name(bytes(key))): event for kind, key, event in found}


def _name(key: Any) -> str:
    """A key as text, whatever somebody wrote by hand."""
    return key.decode(errors="backslashreplace") if isinstance(key, bytes) else str(key)


def _became(table: Table, life: Any, event: str | None) -> str:
    """What became of a row; of a kind without history it is not known whether it was there."""
    if isinstance(life, int) and not (life >> 16) & 1:
        return "deleted"
    if event is None:
        return "created" if table.name in HISTORY_KINDS else "written"
    return {"update": "updated", "restore": "restored"}.get(event, event)


def digest_of(table: Table, key: Any, values: tuple[Any, ...]) -> bytes:
    """The digest of a row, or `UNSENDABLE`."""
    if quarantine.inspect(table, key, values) is not None:
        return UNSENDABLE
    return row_digest(table, key, values)


def queue_embedding(db: apsw.Connection, memory_id: str, now_ms: int) -> None:
    """Ask for a vector of a living memory that has none of its present text."""
    db.execute(
        "INSERT INTO embed_queue(memory_id, since_ms)"
        " SELECT id, ? FROM memory WHERE id = ? AND text_hash <> '' AND NOT EXISTS ("
        " SELECT 1 FROM embedding WHERE embedding.memory_id = memory.id"
        " AND embedding.content_hash = memory.text_hash)"
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
