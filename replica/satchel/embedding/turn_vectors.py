"""The vectors of chat turns: with the turn before, and alone; kept on this machine.

"Yes, last Tuesday" says nothing by itself, so a turn is embedded together with the one before it
(view 0), and by itself (view 1) where that is another text. The turn before is the last one of the
same owner: else who sees the one could tell by its vector what the other says, or that there is
another.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from satchel.embedding.chunks import Made, Piece, split
from satchel.memory.limits import SESSION_GAP_MS
from satchel.memory.search.names import GENERIC, said
from satchel.store.sql import alive

if TYPE_CHECKING:
    from apsw import Connection

    from satchel.embedding.contract import Embedder

WITHIN, ALONE = 0, 1
"""Values of `turn_vector.view`."""
OWNER = ("scope", "agent_id", "user_id", "space")
_SAME_OWNER = " AND ".join(f"b.{name} IS t.{name}" for name in OWNER)
COLUMNS = "t.row, t.content, t.role, b.content, b.role"
"""SQL: the fields of `Turn`."""
BEFORE = f"""LEFT JOIN chatlog AS b ON b.row = (
    SELECT b.row FROM chatlog AS b
    WHERE b.conversation_id = t.conversation_id AND (b.ordinal, b.id) < (t.ordinal, t.id)
      AND {_SAME_OWNER} AND {alive("b")} ORDER BY b.ordinal DESC, b.id DESC LIMIT 1)
  AND coalesce(t.said_at - b.said_at, 0) <= {SESSION_GAP_MS}"""
"""SQL: the turn before turn `t`, where it is of the same session."""


class Turn(NamedTuple):
    """A turn as it is embedded; `row` is that of `chatlog`."""

    row: int
    content: str
    role: str | None
    before: str | None
    before_role: str | None


def read(db: Connection, row: int) -> Turn | None:
    """A living turn that says something."""
    sql = f"SELECT {COLUMNS} FROM chatlog AS t {BEFORE} WHERE t.row = ? AND {alive('t')}"
    found = db.execute(sql, (row,)).fetchone()
    return Turn(*found) if found and isinstance(found[1], str) else None


def expected(db: Connection, turn: Turn, place: Mapping[str, Any]) -> Turn:
    """The turn that is about to be written, with what stands before it by all that is here.

    `place` has the columns of OWNER and conversation_id, ordinal (None: at the end), said_at.
    """
    same = " AND ".join(f"b.{name} IS :{name}" for name in OWNER)
    sql = f"""SELECT content, role FROM (
            SELECT b.content, b.role, b.said_at FROM chatlog AS b
            WHERE b.conversation_id = :conversation_id AND {same} AND {alive("b")}
              AND (:ordinal IS NULL OR b.ordinal < :ordinal)
            ORDER BY b.ordinal DESC, b.id DESC LIMIT 1)
        WHERE coalesce(:said_at - said_at, 0) <= {SESSION_GAP_MS}"""
    before, role = db.execute(sql, dict(place)).fetchone() or (None, None)
    return turn._replace(before=before, before_role=role)


def pieces(embedder: Embedder, turn: Turn) -> list[Piece]:
    """What to embed: both views, or the chunks of a turn that nothing can be added to."""
    alone = split(said(turn.content), embedder.window, embedder.count_tokens)
    within = _within(embedder, turn) if len(alone) == 1 else None
    if within is None or within == alone[0]:
        whole = split(turn.content, embedder.window, embedder.count_tokens)
        return [Piece(WITHIN, chunk, text) for chunk, text in enumerate(whole)]
    return [Piece(WITHIN, 0, within), Piece(ALONE, 0, alone[0])]


def _within(embedder: Embedder, turn: Turn) -> str | None:
    """Who said what, after who said what before; of that the end, if not all fits the window."""
    said = _named(turn.role, turn.content)
    before = turn.before.strip() if isinstance(turn.before, str) else ""
    while before:
        text = f"{_named(turn.before_role, before)}\n{said}"
        if embedder.count_tokens(text) <= embedder.window:
            return text
        before = before[len(before) // 2 + 1 :].strip()
    return said if embedder.count_tokens(said) <= embedder.window else None


def _named(role: str | None, text: str) -> str:
    is_name = isinstance(role, str) and role not in GENERIC
    return f"{role}: {text.strip()}" if is_name else text.strip()


def attach(db: Connection, turn: Turn, made: Sequence[Made]) -> None:
    """Store a turn's vectors in place of its older ones of the same models, and unqueue it."""
    for embedder, vectors in made:
        model_id, dims = embedder.model_id, embedder.dims
        db.execute("DELETE FROM turn_vector WHERE turn = ? AND model = ?", (turn.row, model_id))
        db.executemany(
            "INSERT INTO turn_vector(turn, model, view, chunk, dims, vector)"
            " VALUES (?, ?, ?, ?, ?, ?)",
            [
                (turn.row, model_id, piece.view, piece.chunk, dims, vector)
                for piece, vector in vectors
            ],
        )
    db.execute("DELETE FROM turn_queue WHERE turn = ?", (turn.row,))


def enqueue(db: Connection, turn: Turn) -> None:
    """Leave what is lacking to the next process that has the engine."""
    db.execute("INSERT INTO turn_queue(turn) VALUES (?) ON CONFLICT DO NOTHING", (turn.row,))
