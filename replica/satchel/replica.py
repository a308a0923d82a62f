"""The handle of this machine's replica: its store, who asks, the engines it needs."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from functools import cached_property
from types import TracebackType
from typing import TYPE_CHECKING, Literal, Self

from satchel.memory.visibility import Caller
from satchel.store.connection import Store

if TYPE_CHECKING:
    from satchel.audit.auditor import MachineAuditor
    from satchel.config import Settings
    from satchel.embedding.contract import Embedder
    from satchel.memory.search.corpus import Corpus
    from satchel.ranking.contract import Ranking
    from satchel.ranking.recipe import Recipe
    from satchel.store.activity import Activity
    from satchel.vectors.index import VectorIndex

DATABASE_FILE = "satchel.db"
EmbeddingState = Literal["warm", "cold", "absent", "off"]


@dataclass
class Replica:
    """An open replica, as one caller. `given_embedder` stands in place of the configured engine."""

    store: Store
    settings: Settings
    caller: Caller
    given_embedder: Embedder | None = None
    _chosen: list[tuple[Embedder | None, str]] = field(default_factory=list, repr=False)
    """The engine once it was looked for, shared by all that this replica is opened as."""

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

    @property
    def embedder(self) -> Embedder | None:
        """The embedding engine with its model, or None: `embedder_reason` says why.

        Raises EngineUnavailable when an engine was asked for by name and can't be had.
        """
        return self._embedding()[0]

    @property
    def embedder_reason(self) -> str:
        """Why there is no embedder; empty when there is one."""
        return self._embedding()[1]

    @property
    def embedding_state(self) -> EmbeddingState:
        """`warm` loaded, `cold` could be loaded, `absent` not on this machine, `off` configured.

        An engine that loads within the time of one search counts as warm, until that fails.
        """
        if self.settings.embedding == "off":
            return "off"
        if self.given_embedder or (self._chosen and self._chosen[0][0]):
            return "warm"
        if not self._chosen and self._engine_quick:
            return "warm"
        return "cold" if self._engine_here else "absent"

    @cached_property
    def _engine_here(self) -> bool:
        """Whether an engine could be loaded: looked up once, for it reads the disk."""
        from satchel.embedding import availability

        return availability(self.settings)[0]

    @cached_property
    def _engine_quick(self) -> bool:
        from satchel.embedding import is_quick

        return is_quick(self.settings)

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

    def _embedding(self) -> tuple[Embedder | None, str]:
        if self.given_embedder and self.settings.embedding != "off":
            return self.given_embedder, ""
        if not self._chosen:
            from satchel.embedding import choose

            self._chosen.append(choose(self.settings))
        return self._chosen[0]

    def seen_as(self, settings: Settings) -> Replica:
        """The same store, engines and side database for another caller; close this one, not that.

        Any thread may use either.
        """
        shared = ("activity", "auditor", "ranking", "vectors")
        made = Replica(
            self.store,
            settings,
            caller_of(settings),
            given_embedder=self.given_embedder,
            _chosen=self._chosen,
        )
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


def open_store(settings: Settings) -> Store:
    """The store in `settings.home`, with its audit: what every door opens."""
    from satchel.audit.auditor import MachineAuditor

    path = settings.home / DATABASE_FILE
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
