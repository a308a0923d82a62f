"""Triggers that log changes of vectors, and queue chat turns whose vector a change made stale.

Like those of triggers.py they run under any SQLite from 3.35 on, whoever writes. A row gets its
version right after it is inserted (triggers.py), so `life` is NULL at first and becoming alive is
an update; rows that a sync stores come with their version. REPLACE deletes the old row without
firing a trigger: what hangs on its row number is settled before the insert.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from satchel.store.sql import alive

EMBEDDINGS, TURN_VECTORS = 0, 1
"""`vector_change.source`: rows of `embedding`, and of `turn_vector`."""
PAST = 2
"""Added to a source: numbers that it had lately."""
STEP_BITS = 20
"""A change moves `seq` by a random step of so many bits."""
PAST_KEPT = 1 << (STEP_BITS + 10)
"""How far back replaced numbers are kept: about two thousand changes."""

_ALIVE_CHANGES = f"{alive('NEW')} IS NOT {alive('OLD')}"
_OWNER = ("scope", "agent_id", "user_id", "space")
_TURN_COLUMNS = ("conversation_id", "ordinal", "role", "content", *_OWNER)
"""What the text that is embedded for a turn and for the turn behind it depends on."""


def statements() -> Iterator[str]:
    """Every CREATE statement."""
    yield _past()
    yield from _embedding()
    yield from _memory()
    yield from _turn_vector()
    yield from _chatlog()


def afterwards(kind: str) -> tuple[str, ...]:
    """What the triggers do for new rows from number `?1` on, for where none ran (bulk.py)."""
    if kind == "embedding":
        return (_log_all("SELECT row FROM embedding WHERE row >= ?1"),)
    if kind == "memory":
        having = "SELECT id FROM memory WHERE row >= ?1"
        return (_log_all(f"SELECT row FROM embedding WHERE memory_id IN ({having})"),)
    if kind == "chatlog":
        behind = f"SELECT ({_behind('made')}) AS row FROM chatlog AS made WHERE made.row >= ?1"
        return (*_renew("SELECT row FROM chatlog WHERE row >= ?1"), *_renew(behind))
    return ()


def _log_all(rows: str) -> str:
    """Give these many vectors numbers of their own, in the order of their rows."""
    newest = f"(SELECT coalesce(max(seq), 0) FROM vector_change WHERE source = {EMBEDDINGS})"
    half = 1 << (STEP_BITS - 1)
    return (
        f"INSERT INTO vector_change(source, row, seq) SELECT {EMBEDDINGS}, changed.row, {newest}"
        f" + (row_number() OVER (ORDER BY changed.row)) * {half} + (random() & {half - 1})"
        f" FROM ({rows}) AS changed WHERE true ON CONFLICT(source, row) DO UPDATE"
        " SET seq = excluded.seq"
    )


def _past() -> str:
    newest = f"(SELECT max(seq) FROM vector_change WHERE source = OLD.source) - {PAST_KEPT}"
    body = [
        (
            f"INSERT INTO vector_change(source, row, seq) SELECT OLD.source + {PAST}, OLD.seq,"
            f" OLD.seq WHERE NOT EXISTS (SELECT 1 FROM vector_change"
            f" WHERE source = OLD.source + {PAST} AND row = OLD.seq);"
        ),
        f"DELETE FROM vector_change WHERE source = OLD.source + {PAST} AND row < {newest};",
    ]
    return _trigger("vector_change", "past", "AFTER UPDATE OF seq", f"OLD.source < {PAST}", body)


def _embedding() -> Iterator[str]:
    columns = ("memory_id", "model", "content_hash", "dims", "dtype", "vector")
    changed = f"{_changed(columns)} OR {_ALIVE_CHANGES}"
    logged = [_log(EMBEDDINGS, "SELECT NEW.row AS row")]
    yield _trigger("embedding", "vector_insert", "AFTER INSERT", "NEW.life IS NOT NULL", logged)
    yield _trigger(
        "embedding", "vector_update", f"AFTER UPDATE OF {_listed(columns)}, life", changed, logged
    )
    held = "SELECT row FROM embedding WHERE id = NEW.id"
    yield _trigger(
        "embedding", "vector_over", "BEFORE INSERT", f"EXISTS ({held})", [_log(EMBEDDINGS, held)]
    )
    gone = [_log(EMBEDDINGS, "SELECT OLD.row AS row")]
    yield _trigger("embedding", "vector_delete", "AFTER DELETE", "true", gone)


def _memory() -> Iterator[str]:
    """What a memory says and who owns it decides about its vectors.

    A text that changed has no hash until sealing gives it one (embedded_text.py), and so no vector.
    """
    texts = ("title", "content", "aliases")
    unhashed = "UPDATE memory SET text_hash = NULL WHERE row = NEW.row AND text_hash IS NOT NULL;"
    yield _trigger(
        "memory", "vector_text", f"AFTER UPDATE OF {_listed(texts)}", _changed(texts), [unhashed]
    )
    columns = ("text_hash", "scope", "agent_id", "user_id", "session_id", "space")
    changed = f"{_changed(columns)} OR {_ALIVE_CHANGES}"
    logged = [_log(EMBEDDINGS, "SELECT row FROM embedding WHERE memory_id = NEW.id")]
    yield _trigger("memory", "vector_insert", "AFTER INSERT", "NEW.life IS NOT NULL", logged)
    yield _trigger(
        "memory", "vector_update", f"AFTER UPDATE OF {_listed(columns)}, life", changed, logged
    )
    gone = [_log(EMBEDDINGS, "SELECT row FROM embedding WHERE memory_id = OLD.id")]
    yield _trigger("memory", "vector_delete", "AFTER DELETE", "true", gone)


def _turn_vector() -> Iterator[str]:
    new = _log(TURN_VECTORS, "SELECT NEW.row AS row")
    old = _log(TURN_VECTORS, "SELECT OLD.row AS row")
    held = (
        "SELECT row FROM turn_vector"
        " WHERE row = NEW.row"
        " OR (turn, model, view, chunk) = (NEW.turn, NEW.model, NEW.view, NEW.chunk)"
    )
    replaced = [_log(TURN_VECTORS, held)]
    yield _trigger("turn_vector", "insert", "AFTER INSERT", "true", [new])
    yield _trigger("turn_vector", "update", "AFTER UPDATE", "true", [old, new])
    yield _trigger("turn_vector", "over", "BEFORE INSERT", f"EXISTS ({held})", replaced)
    yield _trigger("turn_vector", "delete", "AFTER DELETE", "true", [old])


def _chatlog() -> Iterator[str]:
    """A turn is embedded together with the turn before it: a change makes two vectors stale."""
    own, behind, was_behind = "SELECT NEW.row AS row", _behind("NEW"), _behind("OLD")
    made = [*_renew(own), *_renew(behind)]
    yield _trigger("chatlog", "vector_insert", "AFTER INSERT", "NEW.life IS NOT NULL", made)
    changed = f"{_changed(_TURN_COLUMNS)} OR {_ALIVE_CHANGES}"
    moment = f"AFTER UPDATE OF {_listed(_TURN_COLUMNS)}, life"
    moved = [*_renew(own), *_renew(was_behind), *_renew(behind)]
    yield _trigger("chatlog", "vector_update", moment, changed, moved)
    # A sync stores over a row by an upsert, under which the row keeps its number.
    held = "SELECT row FROM chatlog WHERE id = NEW.id"
    when = f"(SELECT applying FROM control) = 0 AND EXISTS ({held})"
    yield _trigger("chatlog", "vector_over", "BEFORE INSERT", when, _renew(held))
    # A later row may get the number.
    dropped = [
        "DELETE FROM turn_vector WHERE turn = OLD.row;",
        "DELETE FROM turn_queue WHERE turn = OLD.row;",
        *_renew(was_behind),
    ]
    yield _trigger("chatlog", "vector_delete", "AFTER DELETE", "true", dropped)


def _behind(turn: str) -> str:
    """The owner's living turn behind this one, in the order in which a conversation is shown."""
    owner, same = (", ".join(f"{row}.{name}" for name in _OWNER) for row in (turn, "n"))
    return (
        f"SELECT row FROM (SELECT row FROM chatlog AS n"
        f" WHERE n.conversation_id = {turn}.conversation_id AND ({same}) IS ({owner})"
        f" AND (n.ordinal, n.id) > ({turn}.ordinal, {turn}.id) AND {alive('n')}"
        " ORDER BY n.ordinal, n.id LIMIT 1)"
    )


def _renew(turns: str) -> tuple[str, str]:
    """Drop the vectors of these turns and queue them where they are alive and say something."""
    return (
        f"DELETE FROM turn_vector WHERE turn IN ({turns});",
        (
            f"INSERT INTO turn_queue(turn) SELECT row FROM chatlog AS q WHERE row IN ({turns})"
            f" AND {alive('q')} AND q.content IS NOT NULL"
            " AND NOT EXISTS (SELECT 1 FROM turn_queue WHERE turn = q.row);"
        ),
    )


def _log(source: int, rows: str) -> str:
    """Give these vectors a new number."""
    newest = f"(SELECT coalesce(max(seq), 0) FROM vector_change WHERE source = {source})"
    return (
        f"INSERT INTO vector_change(source, row, seq) SELECT {source}, changed.row,"
        f" {newest} + 1 + (random() & {(1 << STEP_BITS) - 1}) FROM ({rows}) AS changed WHERE true"
        " ON CONFLICT(source, row) DO UPDATE SET seq = excluded.seq;"
    )


def _changed(columns: Sequence[str]) -> str:
    new, old = (", ".join(f"{row}.{name}" for name in columns) for row in ("NEW", "OLD"))
    return f"({new}) IS NOT ({old})"


def _listed(columns: Sequence[str]) -> str:
    return ", ".join(columns)


def _trigger(table: str, suffix: str, moment: str, when: str, body: Sequence[str]) -> str:
    lines = "\n".join(body)
    return f"CREATE TRIGGER {table}_{suffix} {moment} ON {table} WHEN {when} BEGIN\n{lines}\nEND"
