"""Replicas in a temporary home, as any caller; a clock that stands still; a small real embedder."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from satchel.config import Settings
from satchel.embedding.contract import Embedder
from satchel.memory.visibility import Caller, Role
from satchel.replica import DATABASE_FILE, Replica
from satchel.store.connection import Store
from satchel_sync.digest import text_hash

NOON_MS = 1_800_000_000_000


@dataclass
class StillClock:
    """A clock that moves when a test moves it."""

    at_ms: int = NOON_MS

    def now_ms(self) -> int:
        return self.at_ms


class TrigramEmbedder:
    """Signed hashes of character trigrams, weighed by square roots: small, real, deterministic."""

    def __init__(self, dims: int = 256, window: int = 40, name: str = "trigrams") -> None:
        self.dims = dims
        self.window = window
        self.model_id = f"{name}@{dims:012x}"

    def count_tokens(self, text: str) -> int:
        return len(text.split()) + 2

    def embed_documents(self, texts: Sequence[str]) -> list[bytes]:
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> bytes:
        sums = [0.0] * self.dims
        for word in text.casefold().split():
            padded = f"^{word}$"
            for n in range(len(padded) - 2):
                bits = int(text_hash(padded[n : n + 3])[:8], 16)
                sums[bits // 2 % self.dims] += 1 if bits % 2 else -1
        return struct.pack(f"<{self.dims}f", *(_root(total) for total in sums))


def _root(total: float) -> float:
    return math.copysign(math.sqrt(abs(total)), total)


def settings(home: Path, **columns: object) -> Settings:
    return replace(Settings(home=home, user_id="una"), **columns)  # type: ignore[arg-type]


def opened(
    home: Path,
    agent: str | None = None,
    *,
    user: str = "una",
    role: Role | None = None,
    clock: StillClock | None = None,
    embedder: Embedder | None = None,
    embedding: str = "auto",
) -> Replica:
    """A replica of its own on the file in `home`, as this caller. Durability is `process`: fast."""
    store = Store.open(
        home / DATABASE_FILE, durability="process", **({"clock": clock} if clock else {})
    )
    caller = Caller(agent, user, role or ("agent" if agent else "operator"))
    return Replica(store, settings(home, embedding=embedding), caller, given_embedder=embedder)


def seen_as(
    replica: Replica, agent: str | None, *, user: str = "una", role: Role = "agent"
) -> Replica:
    """The same store, asked by another caller."""
    return Replica(
        replica.store,
        replica.settings,
        Caller(agent, user, "operator" if agent is None else role),
        given_embedder=replica.given_embedder,
    )
