"""Forgetting for good: rows become scrubbed, and with them all that is about them.

Inside a transaction; what is left of the old text in pages, logs and derived files is the work of
`wiping`. A pull that brings a forgotten row calls this, and so does the tool that forgets.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Sequence

import apsw

from satchel.store import journal, outbox, touched, wiping
from satchel.store.codec import upsert
from satchel_sync.row import Row
from satchel_sync.stamp import INT64_MAX, SCRUBBED
from satchel_sync.subjects import (
    PROVENANCE,
    SUBJECT_COLUMNS,
    mark,
    marked,
    memories_in,
    origins,
    origins_in,
    scrubbed,
    subjects,
)
from satchel_sync.tables import BY_NAME, HISTORY, KINDS, MEMORY, RELATIONSHIP, Table

FORGOTTEN = f"life = {INT64_MAX} AND hlc = {INT64_MAX}"
"""Whether a row is scrubbed."""


def scrub(
    db: apsw.Connection, rows: Iterable[tuple[str, str]], now_ms: int = 0, *, pulled: bool = False
) -> None:
    """Forget rows (kind, key) and all that is about them; needs a write transaction.

    What is scrubbed is queued: until the hub has scrubbed as well, no digest of these kinds may be
    compared. After a pull it has, so only what it never met is queued. Rows may be scrubbed
    already: what is about them still goes.
    """
    for kind, keys in _by_kind(rows).items():
        outbox.put(db, BY_NAME[kind], _scrub_rows(db, BY_NAME[kind], keys))
        for table, hanging in _hanging(db, kind, keys):
            gone = _scrub_rows(db, table, hanging)
            outbox.put(db, table, _unmet(db, table, gone) if pulled else gone)
            scrub(db, ((table.name, key) for key in hanging), now_ms, pulled=pulled)


def put_marks(db: apsw.Connection, keys: Iterable[str]) -> None:
    """Say for good, to every machine, that what is made of these rows goes with them.

    Whoever has not heard yet may make a version or a summary meanwhile: it is scrubbed where it
    meets the mark. Needs a write transaction; `scrub` of the marks does what is to do here.
    """
    marks = [mark(key) for key in keys]
    db.execute("UPDATE control SET applying = 1")
    upsert(db, RELATIONSHIP, (scrubbed(RELATIONSHIP, one) for one in marks))
    db.execute("UPDATE control SET applying = 0")
    outbox.put(db, RELATIONSHIP, marks)


def made_of(db: apsw.Connection, keys: Collection[str]) -> dict[str, tuple[str, ...]]:
    """Memory, not forgotten -> those of these rows that its metadata says it was made of.

    Reads the metadata of all memories that have any.
    """
    told = " OR ".join(f"instr(t.metadata, '\"{name}\"') > 0" for name in PROVENANCE)
    query = f"SELECT t.id, CAST(t.metadata AS BLOB) FROM memory AS t WHERE {told}"
    found = (
        (str(key), origins(bytes(metadata).decode(errors="replace")))
        for key, metadata in db.execute(query)
    )
    named = ((key, tuple(one for one in ids if one in keys)) for key, ids in found)
    return {key: ids for key, ids in named if ids}


def scrub_past(db: apsw.Connection, table: Table, keys: Sequence[str], now_ms: int = 0) -> None:
    """Forget what living rows said before: their history and lost versions; the rows stay.

    Of a change that waits to be history it stays that there was one, by whom and when.
    """
    for key in keys:
        pending = "SELECT seq FROM history_pending WHERE kind = ? AND key = ?"
        db.execute(f"DELETE FROM history_field WHERE seq IN ({pending})", (table.name, key))
        held = f"SELECT t.id FROM history AS t WHERE t.kind = ? AND t.key = ? AND NOT ({FORGOTTEN})"
        entries = db.execute(held, (table.name, key)).fetchall()
        scrub(db, [(HISTORY.name, str(one)) for (one,) in entries], now_ms)
    journal.scrub(db, table.name, keys)
    wiping.owe(db, keys)


def about(db: apsw.Connection, rows: Iterable[tuple[str, str]]) -> list[tuple[str, str, bytes]]:
    """(kind, key, digest) of every row that `scrub` would forget now."""
    found: dict[tuple[str, str], bytes] = {}
    for kind, keys in _by_kind(rows).items():
        found |= {(kind, key): digest for key, digest in _unforgotten(db, BY_NAME[kind], keys)}
        for table, hanging in _hanging(db, kind, keys):
            for name, key, digest in about(db, [(table.name, key) for key in hanging]):
                found[name, key] = digest
    return sorted((kind, key, digest) for (kind, key), digest in found.items())


def about_forgotten(db: apsw.Connection, table: Table, rows: Sequence[Row]) -> Sequence[Row]:
    """`rows` with each that is about a forgotten one replaced by its scrubbed version."""
    named = {row.key: subjects(table, row) for row in rows}
    gone = _forgotten(db, {subject for found in named.values() for subject in found})
    if not gone:
        return rows
    return [row if gone.isdisjoint(named[row.key]) else scrubbed(table, row.key) for row in rows]


def is_about_forgotten(db: apsw.Connection, table: Table, row: Row) -> bool:
    """Whether what a row is about is scrubbed here."""
    return about_forgotten(db, table, [row])[0] is not row


def is_forgotten(db: apsw.Connection, kind: str, key: str) -> bool:
    """Whether a row is scrubbed here."""
    return bool(_forgotten(db, {(kind, key)}))


def scrub_late(db: apsw.Connection, table: Table, rows: Sequence[Row]) -> None:
    """Scrub those of these rows that were written here about a row that was forgotten before."""
    kept = about_forgotten(db, table, rows)
    late = [row.key for row, one in zip(rows, kept, strict=True) if one is not row]
    scrub(db, ((table.name, key) for key in late))


def _forgotten(db: apsw.Connection, named: Collection[tuple[str, str]]) -> set[tuple[str, str]]:
    """Those of these (kind, key) that are scrubbed here."""
    found: set[tuple[str, str]] = set()
    for kind in {kind for kind, _ in named}.intersection(KINDS):
        query = (
            f"SELECT t.{BY_NAME[kind].key} FROM json_each(?) AS wanted JOIN {kind} AS t"
            f" ON t.{BY_NAME[kind].key} = wanted.value WHERE {FORGOTTEN}"
        )
        keys = json.dumps([key for name, key in named if name == kind])
        found |= {(kind, str(key)) for (key,) in db.execute(query, (keys,))}
    return found


def _by_kind(rows: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    found: dict[str, dict[str, None]] = {}
    for kind, key in rows:
        found.setdefault(kind, {})[key] = None
    return {kind: list(keys) for kind, keys in found.items()}


def _unforgotten(db: apsw.Connection, table: Table, keys: Sequence[str]) -> list[tuple[str, bytes]]:
    """(key, digest) of the rows of these keys that are held and not scrubbed."""
    query = (
        f"SELECT t.{table.key}, digest FROM json_each(?) AS wanted JOIN {table.name} AS t"
        f" ON t.{table.key} = wanted.value WHERE NOT ({FORGOTTEN})"
    )
    return [(str(key), bytes(digest)) for key, digest in db.execute(query, (json.dumps(keys),))]


def _hanging(
    db: apsw.Connection, kind: str, keys: Sequence[str]
) -> Iterator[tuple[Table, list[str]]]:
    """(table, keys) of rows that are about these and not scrubbed yet."""
    columns = [(BY_NAME[name], column) for name, some in SUBJECT_COLUMNS.items() for column in some]
    for table, column in [*(columns if kind == "memory" else ()), (HISTORY, "key")]:
        of_kind = "t.kind = ?2" if table is HISTORY else "?2 = 'memory'"
        query = (
            f"SELECT t.{table.key} FROM json_each(?1) AS wanted JOIN {table.name} AS t"
            f" ON t.{column} = wanted.value WHERE {of_kind} AND NOT ({FORGOTTEN})"
        )
        found = [str(key) for (key,) in db.execute(query, (json.dumps(keys), kind))]
        if found:
            yield table, found
    if kind == "memory" and (told := _told(db, keys)):
        yield HISTORY, told
    if kind == "relationship" and (marks := {one for key in keys if (one := marked(key))}):
        if made := list(made_of(db, marks)):
            yield MEMORY, made
        if told := _told_origins(db, marks):
            yield HISTORY, told


def _told(db: apsw.Connection, keys: Sequence[str]) -> list[str]:
    """History of edges that were of these memories: of deleted edges only this still tells it.

    Reads the history of all edges, by the index of its kind.
    """
    wanted = set(keys)
    kinds = ", ".join(f"'{kind}'" for kind in SUBJECT_COLUMNS)
    query = (
        f"SELECT t.{HISTORY.key}, t.kind, CAST(t.changes AS BLOB) FROM history AS t"
        f" WHERE t.kind IN ({kinds}) AND t.changes IS NOT NULL AND NOT ({FORGOTTEN})"
    )
    found = []
    for key, kind, changes in db.execute(query):
        if not wanted.isdisjoint(memories_in(kind, bytes(changes).decode(errors="replace"))):
            found.append(str(key))
    return found


def _told_origins(db: apsw.Connection, keys: Collection[str]) -> list[str]:
    """History of memories that were made of these rows, and may be no more: a summary made anew."""
    told = " OR ".join(f"instr(t.changes, '{name}') > 0" for name in PROVENANCE)
    query = (
        f"SELECT t.{HISTORY.key}, CAST(t.changes AS BLOB) FROM history AS t"
        f" WHERE t.kind = 'memory' AND ({told}) AND NOT ({FORGOTTEN})"
    )
    return [
        str(key)
        for key, changes in db.execute(query)
        if any(one in keys for one in origins_in("memory", bytes(changes).decode(errors="replace")))
    ]


def _scrub_rows(db: apsw.Connection, table: Table, keys: Sequence[str]) -> list[str]:
    """Empty these rows and what is kept beside them; the keys of those that were not scrubbed."""
    held = [key for key, _ in _unforgotten(db, table, keys)]
    if held:
        db.execute("UPDATE control SET applying = 1")
        upsert(db, table, (scrubbed(table, key) for key in held))
        db.execute("UPDATE control SET applying = 0")
        wiping.owe(db, held)
        touched.note("forgotten", table.name, held)
    _forget_traces(db, table, keys)
    return held


def _forget_traces(db: apsw.Connection, table: Table, keys: Sequence[str]) -> None:
    """Changes that wait, lost versions, reasons, queues, lineage."""
    pairs = [(table.name, key) for key in keys]
    journal.scrub(db, table.name, keys)
    if table is RELATIONSHIP and (marks := {one for key in keys if (one := marked(key))}):
        journal.scrub_made(db, marks)
    pending = "FROM history_pending WHERE kind = ? AND key = ?"
    db.executemany(f"DELETE FROM history_field WHERE seq IN (SELECT seq {pending})", pairs)
    db.executemany(f"DELETE {pending}", pairs)
    held_back = "FROM quarantine WHERE kind = ? AND key = ?"
    outbox.put(
        db, table, [pair[1] for pair in pairs if db.execute(f"SELECT 1 {held_back}", pair).get]
    )
    db.executemany(f"DELETE {held_back}", pairs)
    db.executemany(
        "UPDATE sync_base SET version = ? WHERE kind = ? AND key = ?",
        [(SCRUBBED.hex(), *pair) for pair in pairs],
    )
    if table.name == "memory":
        db.executemany("DELETE FROM embed_queue WHERE memory_id = ?", [(key,) for key in keys])


def _unmet(db: apsw.Connection, table: Table, keys: Sequence[str]) -> list[str]:
    """Those that were neither sent nor received: the hub may not know them."""
    met = "SELECT 1 FROM sync_base WHERE kind = ? AND key = ?"
    return [key for key in keys if not db.execute(met, (table.name, key)).get]
