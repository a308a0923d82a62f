"""The indexes of search, brought up to date: words of rows, vectors of turns, nearest vectors.

An administrator runs it as often as wanted; a search indexes a few rows itself, and compares the
vectors that came since one by one. Each batch is a transaction: a stop loses at most one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from psycopg import sql

from satchel_crypto.network import Policy
from satchel_sync.progress import Progress, silent
from satchel_warehouse import tenants
from satchel_warehouse.database import NAMED, Connection
from satchel_warehouse.login import Dsn
from satchel_warehouse.search import nearest, turns
from satchel_warehouse.search.turns import TurnEmbedding
from satchel_warehouse.sessions import administered, as_owner, revision

ROWS_AT_ONCE = 2_000
KINDS = ("memory", "chatlog")


@dataclass(frozen=True, slots=True, kw_only=True)
class Indexed:
    """What was indexed of a tenant: `source` is words or vectors, of a kind and a model."""

    tenant: str
    source: str
    added: int


def index(
    admin_dsn: Dsn,
    *,
    tenant: str | None = None,
    embedding: TurnEmbedding | None = None,
    policy: Policy = NAMED,
    progress: Progress = silent,
) -> list[Indexed]:
    """Index what came, of every tenant or of one. `progress` gets how much was added.

    Without `embedding` no vectors of turns are made, without pgvector no index of vectors. Raises
    TenantUnknown, WarehouseError's family.
    """
    with administered(admin_dsn, policy) as db:
        revision(db)
        schema = nearest.extension(db)
        return [
            Indexed(tenant=name, source=source, added=added)
            for name in _tenants(db, tenant)
            for source, steps in _work(db, name, schema, embedding)
            if (added := _done(source, steps, progress)) or source in KINDS
        ]


def _tenants(db: Connection, tenant: str | None) -> list[str]:
    if tenant is not None:
        tenants.require(db, tenant)
        return [tenant]
    return [str(name) for (name,) in db.execute("SELECT name FROM satchel.tenant ORDER BY number")]


def _work(
    db: Connection, tenant: str, schema: str | None, embedding: TurnEmbedding | None
) -> Iterator[tuple[str, Iterator[int]]]:
    """What there is to index, each with its steps: how many a batch added."""
    for kind in KINDS:
        yield kind, _words(db, tenant, kind)
    if embedding is not None:
        yield f"turns {embedding.model_id}", turns.embedded(db, tenant, embedding)
    if schema is not None:
        for index in nearest.wanted(db, tenant):
            yield f"nearest {index.kind} {index.model}", nearest.filled(db, schema, index)


def _done(source: str, steps: Iterator[int], progress: Progress) -> int:
    added = 0
    for some in steps:
        added += some
        progress("index", source, added, added)
    return added


def _words(db: Connection, tenant: str, kind: str) -> Iterator[int]:
    query = sql.SQL("SELECT {}(%s, %s, true)").format(sql.Identifier("satchel", f"index_{kind}"))
    while True:
        with as_owner(db):
            found = db.execute(query, (tenant, ROWS_AT_ONCE)).fetchone()
        if found is None or not found[0]:
            return
        yield int(found[0])
