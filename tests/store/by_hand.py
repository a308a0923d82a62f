"""What a hand writes and what it finds: helpers of the trigger tests."""

from __future__ import annotations

from typing import Any

from hand import Hand

from satchel.store.connection import Store
from satchel_sync.stamp import Stamp
from satchel_sync.tables import BY_NAME


def add(db: Hand, key: str = "m1", **columns: Any) -> None:
    columns = {"id": key, "content": "the first text", **columns}
    marks = ", ".join("?" * len(columns))
    db.execute(f"INSERT INTO memory({', '.join(columns)}) VALUES({marks})", [*columns.values()])


def version(db: Hand, key: str = "m1", kind: str = "memory") -> dict[str, Any]:
    names = ("life", "hlc", "origin", "digest", "lineage")
    found = db.execute(
        f"SELECT {', '.join(names)} FROM {kind} WHERE {BY_NAME[kind].key} = ?", (key,)
    ).fetchone()
    return dict(zip(names, found, strict=True))


def seal(store: Store) -> None:
    with store.write():
        pass


def mark_received(store: Store, key: str = "m1", kind: str = "memory") -> str:
    """Seal, then say that this very version was sent; returns it as hex digits."""
    seal(store)
    with store.write() as db:
        found: Any = db.execute(
            f"SELECT life, hlc, origin, digest FROM {kind} WHERE id = ?", (key,)
        ).fetchone()
        text = Stamp(*found).hex()
        db.execute(
            "INSERT OR REPLACE INTO sync_base(kind, key, version) VALUES(?, ?, ?)",
            (kind, key, text),
        )
        db.execute("DELETE FROM outbox")
    return text


def history(store: Store, key: str = "m1") -> list[tuple[Any, ...]]:
    seal(store)
    with store.read() as db:
        return db.execute(
            "SELECT event, changes FROM history WHERE key = ? ORDER BY row", (key,)
        ).fetchall()


def found(db: Hand, words: str) -> list[str]:
    return [
        key
        for (key,) in db.execute(
            "SELECT id FROM memory_fts JOIN memory ON memory.row = memory_fts.rowid"
            " WHERE memory_fts MATCH ? ORDER BY id",
            (words,),
        )
    ]
