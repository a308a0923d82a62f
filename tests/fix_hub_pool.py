"""Hubs for one test each out of few databases, which are emptied while their schema is unchanged.

An `init` costs more than a second, a copy of a database that it has made a tenth, putting back the
rows of a fresh hub some milliseconds. What a test did to tables, functions or rights shows in the
catalogs: such a database is dropped.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

import psycopg
from fix_hub import HubWorld, copied_hub, drop_logins, fresh_hub
from fix_hub_copies import Copy, put_back, taken

CATALOGS = (
    "class", "attribute", "attrdef", "index", "constraint", "trigger", "proc", "rewrite", "policy",
    "sequence", "default_acl",
)  # fmt: skip
SIZE_MAX_BYTES = 64 << 20
"""A database that a test blew up is dropped: emptied, it would be slower than a new one."""
END_SESSIONS = """
SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'
"""
MARK = """
SELECT 'database', oid, xmin::text FROM pg_database WHERE datname = current_database()
UNION ALL SELECT nspname, oid, xmin::text FROM pg_namespace WHERE nspname ~ '^(satchel|public)'
UNION ALL SELECT 'setting', setrole, setconfig::text FROM pg_db_role_setting
  WHERE setdatabase = (SELECT oid FROM pg_database WHERE datname = current_database())
""" + "".join(
    f"UNION ALL SELECT '{name}', count(*), sum(xmin::text::bigint)::text FROM pg_{name}\n"
    for name in CATALOGS
)
"""What changes with every change of the schema: each row of a catalog names its transaction."""
ANEW = "UPDATE satchel.tenant SET id = DEFAULT, epoch = DEFAULT"


@dataclass(frozen=True, slots=True)
class Kept:
    """A database: its DSN, the rows of the fresh hub, the catalogs' marks, and what removes it."""

    dsn: str
    fresh: Copy
    mark: list[tuple[object, ...]]
    removal: ExitStack


@dataclass
class HubPool:
    """The databases of one server that nobody uses at the moment."""

    cluster_dsn: str
    partitions: int = 0
    spare: list[Kept] = field(default_factory=list)
    template: HubWorld | None = None
    removal: ExitStack = field(default_factory=ExitStack)

    @contextmanager
    def hub(self) -> Iterator[HubWorld]:
        """A fresh hub with an identity of its own, as `fresh_hub` makes it."""
        kept = self.spare.pop() if self.spare else self._made()
        with psycopg.connect(kept.dsn) as db:
            db.execute(ANEW)
        world = HubWorld(kept.dsn)
        try:
            yield world
        finally:
            world.close()
            world.drop_backups()
            if _emptied(kept):
                self.spare.append(kept)
            else:
                kept.removal.close()
            drop_logins(self.cluster_dsn, world.logins)

    def _made(self) -> Kept:
        if self.template is None:
            self.template = self.removal.enter_context(fresh_hub(self.cluster_dsn, self.partitions))
            self.template.close()
        removal = ExitStack()
        dsn = removal.enter_context(copied_hub(self.template))
        with psycopg.connect(dsn, autocommit=True) as db:
            return Kept(dsn, taken(db), db.execute(MARK.encode()).fetchall(), removal)


@contextmanager
def hub_pool(cluster_dsn: str, partitions: int = 0) -> Iterator[HubPool]:
    """A pool on a running server; its databases and roles are removed at the end."""
    pool = HubPool(cluster_dsn, partitions)
    try:
        yield pool
    finally:
        for kept in pool.spare:
            kept.removal.close()
        pool.removal.close()


def _emptied(kept: Kept) -> bool:
    """Whether the database is a fresh hub again."""
    with psycopg.connect(kept.dsn, autocommit=True) as db:
        db.execute(END_SESSIONS)
        mark = db.execute(MARK.encode()).fetchall()
        size = db.execute("SELECT pg_database_size(current_database())").fetchall()[0][0]
        if mark != kept.mark or size > SIZE_MAX_BYTES:
            return False
        put_back(db, kept.fresh)
    return True
