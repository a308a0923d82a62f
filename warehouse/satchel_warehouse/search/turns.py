"""Vectors of chat turns, which machines keep to themselves, are made at the warehouse for searches.

Who embeds is given: the warehouse has no model. A turn is embedded with the turn before it, so one
that comes between two makes the vectors of the latter anew.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

from satchel_warehouse.database import Connection
from satchel_warehouse.search.reached import reached, set_reached
from satchel_warehouse.sessions import as_owner

TURNS_AT_ONCE = 64

_NEXT = """
    SELECT seq, id, version, content, role, before_id, before_version, before, before_role
    FROM satchel.turns_to_embed(%s, %s, %s, %s)"""
_NOW = "SELECT id, change_seq FROM satchel.chatlog WHERE tenant = %s AND id = ANY (%s)"
_WAITS = "INSERT INTO satchel.turn_waiting VALUES (%s, %s, %s) ON CONFLICT DO NOTHING"
_DONE = "DELETE FROM satchel.turn_waiting WHERE tenant = %s AND model = %s AND turn = ANY (%s)"
_GONE = """
    WITH dropped AS (
        DELETE FROM satchel.turn_vector WHERE tenant = %s AND model = %s AND turn = ANY (%s)
        RETURNING turn || '/' || view || '/' || chunk AS id)
    SELECT satchel.unindex_vectors(%s, array_agg(id)) FROM dropped HAVING count(*) > 0"""
_MADE = """
    INSERT INTO satchel.turn_vector (tenant, turn, model, view, chunk, dims, before, vector)
    VALUES (%s, %s, %s, %s, %s, %s, %s, %s)"""


class HubTurn(NamedTuple):
    """A turn as it is embedded; `content` is None where it is gone.

    `version` and `before_version` are the change sequences of what was read.
    """

    seq: int
    id: str
    version: int
    content: str | None
    role: str | None
    before_id: str | None
    before_version: int | None
    before: str | None
    before_role: str | None


class TurnEmbedding(Protocol):
    """Who makes the vectors of turns."""

    @property
    def model_id(self) -> str:
        """Of the model, as replicas name it."""
        ...

    @property
    def dims(self) -> int:
        """Numbers of a vector."""
        ...

    def embed(self, turns: Sequence[HubTurn]) -> list[list[tuple[int, int, bytes]]]:
        """(view, chunk, vector) of each turn."""
        ...


def embedded(db: Connection, tenant: str, embedding: TurnEmbedding) -> Iterator[int]:
    """Make the vectors of what came since, a batch a step: how many turns it had."""
    with as_owner(db):
        db.execute("SELECT satchel.lock_tenant(%s)", (tenant,))
        db.execute("SELECT satchel.drop_stray_turn_vectors(%s)", (tenant,))
    source = f"turns {embedding.model_id}"
    while found := _next(db, tenant, source, embedding.model_id):
        living = [turn for turn in found if turn.content is not None]
        made = embedding.embed(living)  # outside of a transaction: it takes its time
        with as_owner(db):
            # Nobody writes a turn now: what is stored is of what is there, and goes with it.
            db.execute("SELECT satchel.lock_tenant(%s)", (tenant,))
            _store(db, tenant, embedding, found, list(zip(living, made, strict=True)))
            if last := max(turn.seq for turn in found):
                set_reached(db, tenant, source, last)
        yield len(living)


def _next(db: Connection, tenant: str, source: str, model: str) -> list[HubTurn]:
    with as_owner(db):
        given = (tenant, model, reached(db, tenant, source), TURNS_AT_ONCE)
        return [HubTurn(*row) for row in db.execute(_NEXT.encode(), given)]


def _store(
    db: Connection,
    tenant: str,
    embedding: TurnEmbedding,
    found: Sequence[HubTurn],
    made: Sequence[tuple[HubTurn, Sequence[tuple[int, int, bytes]]]],
) -> None:
    """In place of older ones. Of what changed meanwhile, or stands behind that: it waits."""
    model, ids = embedding.model_id, [turn.id for turn in found]
    db.execute(_GONE.encode(), (tenant, model, ids, tenant))
    db.execute(_DONE, (tenant, model, ids))
    current = _unchanged(db, tenant, found)
    with db.cursor() as cursor:
        cursor.executemany(
            _MADE.encode(),
            [
                (tenant, turn.id, model, view, chunk, embedding.dims, turn.before_id, vector)
                for turn, some in made
                if turn.id in current
                for view, chunk, vector in some
            ],
        )
        waiting = [turn.id for turn in found if turn.id not in current]
        cursor.executemany(_WAITS, [(tenant, model, turn) for turn in waiting])


def _unchanged(db: Connection, tenant: str, found: Sequence[HubTurn]) -> set[str]:
    """Ids of the turns that are as they were read, and so is what stands before them."""
    read = [turn.id for turn in found] + [turn.before_id for turn in found if turn.before_id]
    now: dict[str, int] = dict(db.execute(_NOW, (tenant, read)).fetchall())
    return {
        turn.id
        for turn in found
        if now.get(turn.id) == turn.version
        and (turn.before_id is None or now.get(turn.before_id) == turn.before_version)
    }
