"""Two real machines with memories and turns at a hub, searched there and in a machine's replica."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
from fix_hub import PREFIX, HubWorld
from fix_memory import TrigramEmbedder, settings
from psycopg import conninfo

from satchel.embedding.queue import drain
from satchel.memory import chatlog, write
from satchel.memory.search.search import search as in_replica
from satchel.replica import Replica, open_replica
from satchel.store.connection import SYSTEM_CLOCK
from satchel.store.endpoint import SqliteReplica
from satchel.warehouse import indexing, searching
from satchel.warehouse.searching import Wanted
from satchel_sync.session import sync
from satchel_warehouse import roles
from satchel_warehouse.endpoint import WarehouseHub

DAY_MS = 24 * 60 * 60 * 1000
MEMORIES: tuple[dict[str, Any], ...] = (
    {"content": "The deploy-key of the staging server lies in the vault under ops/staging."},
    {
        "content": "Postgres backups run at three in the morning, kept for thirty days.",
        "type": "fact",
    },
    {"content": "Anna: I prefer tea to coffee, and never after six.", "agent": "anna"},
    {
        "content": "The kernel panic on host seven came from a bad memory module.",
        "title": "host seven",
    },
    {"content": "Release 2.4 was cut on 8 May 2026.", "type": "decision", "space": "releases"},
    {"content": "Jörg moved the Élan project to Göteborg.", "aliases": ["Projekt Élan"]},
    {"content": "東京の会議は来週の月曜日です。", "title": "meeting"},
    {"content": "write_timeout_ms is 250 in deploy/prod.toml; see https://example.org/a_b?c=d."},
    {"content": "Rotate the deploy key each quarter. " * 300, "title": "long text"},
    {"content": "Backups of the vault are encrypted with the key of ops.", "importance": 0.9},
)
TURNS: tuple[tuple[str, str, str], ...] = (
    ("monday", "user", "Where does the staging deploy key lie?"),
    ("monday", "assistant", "In the vault, under ops/staging."),
    ("monday", "Anna", "I had tea with Jörg in Göteborg yesterday, it was lovely."),
    ("monday", "Jörg", "When do you come again?"),
    ("monday", "Anna", "Perhaps in May, after the release."),
    ("tuesday", "user", "The backups failed twice last week, why?"),
    ("tuesday", "assistant", "The disk of host seven was full at three in the morning."),
    ("tuesday", "user", "Then move them to another host."),
)


@dataclass
class Machines:
    """Two machines, their hub, and an embedder that all of them use."""

    world: HubWorld
    folder: Path
    embedder: TrigramEmbedder
    dsns: list[str]

    @contextmanager
    def on(self, machine: int) -> Iterator[Replica]:
        """A machine as its operator."""
        told = settings(self.home(machine), durability="process")
        with open_replica(told, embedder=self.embedder) as replica:
            yield replica

    def home(self, machine: int) -> Path:
        """A machine's folder."""
        return self.folder / f"machine-{machine}"

    def sync(self, *machines: int) -> None:
        """These machines sync, in turn."""
        for machine in machines:
            with self.on(machine) as replica, WarehouseHub(self.dsns[machine]) as hub:
                report = sync(SqliteReplica(replica.store), hub, SYSTEM_CLOCK)
                assert report["exit"] == 0

    def embed(self, machine: int) -> None:
        """All vectors of a machine are made."""
        with self.on(machine) as replica:
            assert drain(replica).left == 0

    def here(self, machine: int, query: str, **given: Any) -> list[tuple[str, float]]:
        """Hits of a machine's own replica: (id, score)."""
        mode = given.pop("mode", "hybrid")
        with self.on(machine) as replica:
            if mode == "keyword":
                replica.settings = settings(self.home(machine), embedding="off")
            return [(hit.id, hit.score) for hit in in_replica(replica, query, **given).hits]

    def search(self, query: str, *, dsn: str | None = None, **given: Any) -> dict[str, Any]:
        """The warehouse's whole answer, asked as its administrator or by another DSN."""
        tenant = given.pop("tenant", None)
        told = settings(self.folder, warehouse_report_dsn=dsn or self.world.dsn)
        wanted = Wanted(query, **given)
        return searching.search(told, wanted, tenant=tenant, embedder=self.embedder)

    def there(self, query: str, **given: Any) -> list[tuple[str, float]]:
        """Hits of the warehouse: (id, score)."""
        return [(hit["id"], hit["score"]) for hit in self.search(query, **given)["hits"]]

    def index(self) -> dict[str, Any]:
        """`warehouse index`, as the administrator."""
        told = settings(self.folder, warehouse_admin_dsn=self.world.dsn)
        return indexing.index(told, None, embedder=self.embedder)

    def rows(self, query: str, *given: Any) -> list[Any]:
        """Rows of a plain statement at the hub, as its superuser."""
        with psycopg.connect(self.world.dsn) as db:
            return db.execute(query.encode(), given).fetchall()

    def login(self, kind: str, *, tenant: str = "default", search: bool = False) -> str:
        """The DSN of a new login."""
        name = PREFIX + uuid4().hex[:12]
        roles.grant(self.world.dsn, name, kind=kind, tenant=tenant, search=search)
        self.world.logins.append(name)
        return conninfo.make_conninfo(self.world.dsn, user=name)


def machines(world: HubWorld, folder: Path) -> Machines:
    """Two machines that wrote all of it, with all vectors, and synced until both have all."""
    made = Machines(world, folder, TrigramEmbedder(), [world.login(), world.login()])
    for machine in (0, 1):
        with made.on(machine) as replica:
            for number, columns in enumerate(MEMORIES):
                if number % 2 == machine:
                    write.write(replica, **({"scope": "org"} | columns))
    with made.on(1) as replica:
        said_at = replica.now_ms() - 30 * DAY_MS
        for place, (conversation, role, content) in enumerate(TURNS):
            at = said_at + place * 60_000
            chatlog.write(replica, conversation, content, role=role, said_at=at, scope="org")
    made.embed(0)
    made.embed(1)
    made.sync(0, 1, 0)
    made.embed(0)
    return made
