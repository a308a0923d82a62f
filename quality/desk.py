"""A store of its own with the product's doors: every tool as the command line and MCP call it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from satchel.config import Settings
from satchel.embedding import Embedder, queue
from satchel.replica import Replica, open_replica
from satchel.tools import catalog
from satchel.tools.tool import Answer

OWNER = "una"


@dataclass
class Desk:
    """Replicas on one file, one a user. Without an embedder search goes by keyword."""

    home: Path
    embedder: Embedder | None
    stack: ExitStack
    replicas: dict[str, Replica] = field(default_factory=dict)

    def call(self, name: str, *, user: str = OWNER, **arguments: Any) -> Answer:
        """Call a tool by name, its arguments checked, its answer plain JSON. Raises its errors."""
        tool, _ = catalog.find(name)
        return tool.call(self.replica(user), tool.arguments(arguments))

    def replica(self, user: str) -> Replica:
        """The store as an agent of this user sees it."""
        if user not in self.replicas:
            settings = Settings(
                home=self.home,
                agent_id="assistant",
                user_id=user,
                role="agent",
                durability="process",
                embedding="auto" if self.embedder else "off",
            )
            opened = open_replica(settings, embedder=self.embedder)
            self.replicas[user] = self.stack.enter_context(opened)
        return self.replicas[user]

    def embed(self) -> None:
        """Make the vectors that writing has left to do, as the server does in idle moments."""
        if self.embedder:
            queue.drain(self.replica(OWNER))


@contextmanager
def opened(embedder: Embedder | None) -> Iterator[Desk]:
    """A desk in an empty folder that is removed at the end."""
    with tempfile.TemporaryDirectory(prefix="satchel-quality-") as folder, ExitStack() as stack:
        yield Desk(Path(folder), embedder, stack)
