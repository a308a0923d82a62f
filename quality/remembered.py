"""An embedder that makes each vector once: worlds share texts, and an ablation asks them again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import apsw

from satchel.embedding import Embedder

BUSY_MS = 60_000


class RememberedEmbedder:
    """The given engine behind a table (model id, side, text) -> vector; in memory, or in a file."""

    def __init__(self, engine: Embedder, file: Path | None = None) -> None:
        """`file` outlives the process, so that the next run need not embed the same again."""
        self._engine = engine
        self.model_id, self.dims, self.window = engine.model_id, engine.dims, engine.window
        self._db = apsw.Connection(str(file) if file else ":memory:")
        self._db.set_busy_timeout(BUSY_MS)
        self._db.execute("PRAGMA synchronous = OFF")
        self._db.execute(
            "CREATE TABLE IF NOT EXISTS vector(model TEXT, side TEXT, text TEXT, vector BLOB,"
            " PRIMARY KEY(model, side, text)) WITHOUT ROWID"
        )

    def count_tokens(self, text: str) -> int:
        """See `contract.Embedder`."""
        return self._engine.count_tokens(text)

    def embed_documents(self, texts: Sequence[str]) -> list[bytes]:
        """See `contract.Embedder`."""
        return self._vectors("document", texts, self._engine.embed_documents)

    def embed_query(self, text: str) -> bytes:
        """See `contract.Embedder`."""
        return self._vectors("query", [text], lambda texts: [self._engine.embed_query(texts[0])])[0]

    def _vectors(
        self, side: str, texts: Sequence[str], make: Callable[[list[str]], list[bytes]]
    ) -> list[bytes]:
        known = {text: self._known(side, text) for text in texts}
        missing = [text for text, vector in known.items() if vector is None]
        if missing:
            made = dict(zip(missing, make(missing), strict=True))
            known |= made
            rows = [(self.model_id, side, text, vector) for text, vector in made.items()]
            with self._db:
                self._db.executemany("INSERT OR IGNORE INTO vector VALUES(?, ?, ?, ?)", rows)
        return [vector for text in texts if (vector := known[text]) is not None]

    def _known(self, side: str, text: str) -> bytes | None:
        sql = "SELECT vector FROM vector WHERE model = ? AND side = ? AND text = ?"
        found: bytes | None = self._db.execute(sql, (self.model_id, side, text)).get
        return found
