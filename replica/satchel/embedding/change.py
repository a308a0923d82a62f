"""Changing the model: begun by somebody, carried on by whoever embeds, done in one transaction.

Until the last text has vectors of the new model the old one is asked with. Each step is one
transaction and reads what the one before left, so that it may be ended anywhere and be carried on
by another process.
"""

from __future__ import annotations

import dataclasses
from contextlib import suppress
from typing import TYPE_CHECKING

from satchel.embedding import lacking, standing
from satchel.store import identity, rows
from satchel.store.seal import hash_texts
from satchel.store.sql import alive
from satchel_sync.tables import EMBEDDING

if TYPE_CHECKING:
    from apsw import Connection

    from satchel.embedding.contract import Embedder
    from satchel.embedding.standing import Standing
    from satchel.replica import Replica
    from satchel.vectors.source import Kind

DROPPED_AT_ONCE = 500
"""Vectors that one transaction drops: others want to write meanwhile."""


def begin(db: Connection, wanted: str, configured: str | None) -> Standing:
    """Inside a write: change to this model from now on; at once where there is nothing to wait for.

    `configured` is the model that was in use where the database remembers none.
    """
    held = standing.read(db)
    if held.in_use is None and configured is not None:
        held = standing.Standing(in_use=configured)
    found = held.towards(wanted)
    if found.becoming and (not lacking.has_vectors(db, held.in_use) or _is_whole(db, wanted)):
        found = found.arrived()
    standing.keep(db, found)
    return found


def adopt(replica: Replica) -> None:
    """Note the model of the first vectors; change to the configured one where the old is gone."""
    if replica.given_embedder is not None:
        return
    held, engines = replica.standing(), replica.engines
    embedder = engines.asked(held).embedder
    if embedder and (held.in_use is None or engines.wanted(held) is not None):
        with replica.store.write() as db:
            if standing.read(db) == held:
                standing.keep(db, held.towards(embedder.model_id))


def settle(replica: Replica, embedder: Embedder) -> bool:
    """Make the new model the one in use if every text has vectors of it. False: some are lacking.

    No text can come between the count and the change: both are one transaction. `embedder` is the
    new model's; one who cannot open that leaves the change to others.
    """
    with replica.store.read() as db:
        if standing.read(db).becoming != embedder.model_id:
            return True
    _index(replica, embedder)
    with replica.store.write() as db:
        held = standing.read(db)
        if held.becoming != embedder.model_id:
            return True
        hash_texts(db)
        if not _is_whole(db, held.becoming):
            return False
        standing.keep(db, held.arrived())
    return True


def _index(replica: Replica, embedder: Embedder) -> None:
    """Make the files of the new vectors beforehand: the first question would wait for them."""
    model_id, dims, vector = embedder.model_id, embedder.dims, embedder.embed_query("index")
    kinds: tuple[Kind, ...] = ("memory", "chatlog")
    with replica.store.read() as db:
        for kind in kinds:
            replica.vectors.nearest(db, replica.caller, kind, model_id, dims, vector, 1, "1", {})


def clear(replica: Replica) -> None:
    """Drop vectors of models that are no longer used, where no other machine has them.

    What has travelled stays: another machine may ask with that model, and a deletion would travel
    too.
    """
    with replica.store.read() as db:
        held = standing.read(db)
    if held.dropped:
        return
    for model_id in held.left:
        while _drop_some(replica, model_id):
            pass
    with replica.store.write() as db:
        if standing.read(db) == held:
            standing.keep(db, dataclasses.replace(held, dropped=True))


def drop_all(replica: Replica, model_id: str) -> int:
    """Delete all vectors of a model, on other machines too; how many rows that were.

    Raises Conflict for a model that is in use.
    """
    dropped = 0
    while some := _drop_some(replica, model_id, travelled=True):
        dropped += some
    return dropped


def _is_whole(db: Connection, model_id: str) -> bool:
    return not lacking.count(db, model_id)


def _drop_some(replica: Replica, model_id: str, *, travelled: bool = False) -> int:
    """How many vectors were dropped; 0 also where the model is used again."""
    with replica.store.write() as db:
        held = standing.read(db)
        if model_id in (held.in_use, held.becoming):
            return 0
        dropped = _drop_turns(db, model_id) or _drop_memories(db, model_id, travelled)
    if not dropped:
        _remove_files(replica, model_id)
    return dropped


def _drop_turns(db: Connection, model_id: str) -> int:
    db.execute(
        "DELETE FROM turn_vector"
        " WHERE row IN (SELECT row FROM turn_vector WHERE model = ? LIMIT ?)",
        (model_id, DROPPED_AT_ONCE),
    )
    return db.changes()


def _drop_memories(db: Connection, model_id: str, travelled: bool) -> int:
    met = "SELECT 1 FROM sync_base AS b WHERE b.kind = 'embedding' AND b.key = e.id"
    found = db.execute(
        f"""SELECT e.id FROM embedding AS e WHERE e.model = ? AND {alive("e")}
            AND (? OR NOT EXISTS ({met})) LIMIT ?""",
        (model_id, travelled, DROPPED_AT_ONCE),
    ).fetchall()
    for (key,) in found:
        rows.delete(db, EMBEDDING, str(key))
    return len(found)


def _remove_files(replica: Replica, model_id: str) -> None:
    """The derived files; one that another process holds open may stay, it is made of nothing."""
    from satchel.vectors.place import Place
    from satchel.vectors.source import SOURCES

    with replica.store.read() as db:
        replica_id = identity.load(db)
    for kind in SOURCES:
        place = Place(replica.store.home, replica_id, kind, model_id, 0)
        with suppress(OSError):
            place.path.unlink(missing_ok=True)
