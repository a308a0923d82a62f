"""The warehouse's indexes of words and vectors are brought up to date, composed from settings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from satchel.warehouse.dsns import admin_dsn
from satchel_sync.progress import Progress, silent

if TYPE_CHECKING:
    from satchel.config import Settings
    from satchel.embedding.contract import Embedder
    from satchel_warehouse.search.turns import HubTurn


def index(
    settings: Settings,
    tenant: str | None,
    progress: Progress = silent,
    embedder: Embedder | None = None,
) -> dict[str, Any]:
    """What was indexed of a tenant, or of all; `progress` gets how much was added.

    Without an embedder on this machine the vectors of turns are left out, and a notice says so.
    Raises ConfigInvalid without an administrator's DSN, WarehouseError's family.
    """
    dsn = admin_dsn(settings)
    from satchel.embedding import choose
    from satchel.embedding.library import embedder_in_use
    from satchel_warehouse.search import indexing

    embedder = embedder or embedder_in_use(settings)
    engine, reason = (embedder, "") if embedder else choose(settings)
    found = indexing.index(
        dsn,
        tenant=tenant,
        embedding=TurnMaker(engine) if engine else None,
        policy=settings.network_policy(),
        progress=progress,
    )
    notices = [] if engine else [f"no vectors of turns were made: {reason}"]
    return {"items": [asdict(one) for one in found], "notices": notices}


class TurnMaker:
    """Embeds turns as a replica does (`embedding/turn_vectors.py`)."""

    def __init__(self, embedder: Embedder) -> None:
        """With this engine."""
        self._embedder = embedder
        self.model_id, self.dims = embedder.model_id, embedder.dims

    def embed(self, turns: Sequence[HubTurn]) -> list[list[tuple[int, int, bytes]]]:
        """(view, chunk, vector) of each turn."""
        from satchel.embedding.turn_vectors import Turn, pieces

        cut = [
            pieces(
                self._embedder,
                Turn(0, turn.content or "", turn.role, turn.before, turn.before_role),
            )
            for turn in turns
        ]
        texts = [piece.text for some in cut for piece in some]
        rest = iter(self._embedder.embed_documents(texts) if texts else [])
        return [[(piece.view, piece.chunk, next(rest)) for piece in some] for some in cut]
