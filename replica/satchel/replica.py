"""The handle of this machine's replica: its store, who asks, the engines it needs."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from types import TracebackType
from typing import TYPE_CHECKING, Self

from satchel.memory.visibility import Caller
from satchel.store.connection import Store

if TYPE_CHECKING:
    from pathlib import Path

    from apsw import Connection

    from satchel.audit.auditor import MachineAuditor
    from satchel.config import Settings
    from satchel.embedding.contract import Embedder
    from satchel.embedding.engines import Asked, EmbeddingState, Engines
    from satchel.embedding.standing import Standing
    from satchel.memory.search.corpus import Corpus
    from satchel.ranking.contract import Ranking
    from satchel.ranking.recipe import Recipe
    from satchel.store.activity import Activity
    from satchel.vectors.index import VectorIndex

DATABASE_FILE = "satchel.db"


@dataclass
class Replica:
    """An open replica, as one caller. `given_embedder` stands in place of all engines."""

    store: Store
    settings: Settings
    caller: Caller
    given_embedder: Embedder | None = None

    def now_ms(self) -> int:
        """UTC milliseconds of the store's clock."""
        return self.store.now_ms()

    @property
    def actor(self) -> str | None:
        """Who a change is written down to: the agent, else the user."""
        return self.caller.agent_id or self.caller.user_id

    @cached_property
    def ranking(self) -> Ranking:
        """The ranking engine. Raises RankingUnavailable when a demanded one can't be had."""
        from satchel.ranking import choose

        return choose(self.settings.ranking)

    @cached_property
    def recipe(self) -> Recipe:
        """What search weighs, and how much; an ablation sets another."""
        from satchel.ranking.weights import RECIPE

        return RECIPE

    @cached_property
    def corpus(self) -> Corpus:
        """All rows that a search's candidates are of: those of the store."""
        from satchel.memory.search.corpus import Held

        return Held()

    @cached_property
    def engines(self) -> Engines:
        """The engines that turn text into vectors, shared by all that this replica is seen as."""
        from satchel.embedding.engines import Engines

        return Engines(self.settings)

    @property
    def embedder(self) -> Embedder | None:
        """The engine that questions are asked with, or None: `embedder_reason` says why.

        Raises EngineUnavailable when an engine was asked for by name and can't be had.
        """
        return self.asked().embedder

    @property
    def embedder_reason(self) -> str:
        """Why there is no embedder; empty when there is one."""
        return self.asked().reason

    @property
    def embedding_state(self) -> EmbeddingState:
        """Of the engine that questions are asked with; see `Engines.state`."""
        if self._given:
            return "warm"
        return self.engines.state(self.standing())

    def asked(self, db: Connection | None = None) -> Asked:
        """The engine for questions, as this snapshot, or one of just now, remembers it."""
        from satchel.embedding.engines import Asked

        if self._given:
            return Asked(self._given)
        return self.engines.asked(self.standing(db))

    def makers(self, *, quick: bool = False) -> tuple[Embedder, ...]:
        """The engines whose vectors a text is to have; see `Engines.makers`."""
        if self._given:
            return (self._given,)
        return self.engines.makers(self.standing(), quick=quick)

    @property
    def _given(self) -> Embedder | None:
        return None if self.settings.embedding == "off" else self.given_embedder

    def standing(self, db: Connection | None = None) -> Standing:
        """Which model is in use, as this snapshot, or one of just now, remembers it."""
        from satchel.embedding import standing

        if self.given_embedder is not None or self.settings.embedding == "off":
            return standing.Standing()
        if db is not None:
            return standing.read(db)
        with self.store.read() as snapshot:
            return standing.read(snapshot)

    @cached_property
    def vectors(self) -> VectorIndex:
        """The vectors of this home, for nearest rows and exact cosines."""
        from satchel.vectors.index import VectorIndex

        return VectorIndex(self.store.home, self.ranking)

    @cached_property
    def auditor(self) -> MachineAuditor:
        """Who keeps the audit of this home."""
        from satchel.audit.auditor import MachineAuditor

        return MachineAuditor(self.settings)

    @cached_property
    def activity(self) -> Activity:
        """The side database of reads; opened with the first of them."""
        from satchel.store.activity import Activity

        return Activity(self.store.home, self.auditor, self.store.replica_id)

    def seen_as(self, settings: Settings) -> Replica:
        """The same store, engines and side database for another caller; close this one, not that.

        Any thread may use either.
        """
        shared = ("activity", "auditor", "engines", "ranking", "vectors")
        given = self.given_embedder
        made = Replica(self.store, settings, caller_of(settings), given_embedder=given)
        made.__dict__.update({name: getattr(self, name) for name in shared})
        return made

    def close(self) -> None:
        """Close the store and the side database."""
        if "activity" in self.__dict__:
            self.activity.close()
        self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def open_replica(settings: Settings, *, embedder: Embedder | None = None) -> Replica:
    """Open (and on first use make) the replica in `settings.home`.

    Raises StoreUnusable, StoreNewer, StoreBusy, or Refused for a setting that cannot be kept.
    """
    settings.require_built()
    store = open_store(settings)
    return Replica(store, settings, caller_of(settings), given_embedder=embedder)


def open_store(settings: Settings, path: Path | None = None) -> Store:
    """The store in `settings.home`, with its audit: what every door opens.

    A restore makes its draft at another `path`, audited with the keys of the same home.
    """
    from satchel.audit.auditor import MachineAuditor

    path = path or settings.home / DATABASE_FILE
    return Store.open(path, durability=settings.durability, auditor=MachineAuditor(settings))


def caller_of(settings: Settings) -> Caller:
    """Who asks. Advisory isolation gives everyone the operator's view."""
    role = "operator" if settings.isolation == "advisory" else settings.role
    return Caller(settings.agent_id, settings.user_id or login_name(), role)


def login_name() -> str | None:
    """The name of the account that this process runs as, where it has one."""
    try:
        import pwd

        return pwd.getpwuid(os.getuid()).pw_name
    except (ImportError, KeyError):
        pass  # no such database (Windows), or no entry in it (a container)
    import getpass  # with termios, for the few systems that get here

    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return None
