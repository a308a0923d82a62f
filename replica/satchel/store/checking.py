"""The digest check: counts and sums of what should be at the hub."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator

import apsw

from satchel.store import attempts, outbox
from satchel_sync.changes import Digest
from satchel_sync.digest import bucket_of, sums
from satchel_sync.stamp import Stamp
from satchel_sync.tables import Table


def cursor(db: apsw.Connection, table: Table) -> int:
    """How far this kind was pulled."""
    return int(db.execute("SELECT seq FROM cursor WHERE kind = ?", (table.name,)).get or 0)


def digest(db: apsw.Connection, table: Table) -> Digest | None:
    """Buckets of this kind, or None while its outbox is not empty.

    Hashing every row takes time, so the sums are kept with the local sequence at which they hold:
    every change of a row, of the outbox or of the quarantine draws one.
    """
    if outbox.count(db, table):
        return None
    seq, name = outbox.end(db), f"digest:{table.name}"
    kept = json.loads(attempts.meta(db, name) or "{}")
    if kept.get("seq") != seq:
        buckets = sums(table.name, _versions(db, table))
        kept = {"seq": seq, "buckets": [(at, *buckets[at]) for at in sorted(buckets)]}
        attempts.set_meta(db, name, json.dumps(kept))
    return Digest(cursor(db, table), {at: (rows, total) for at, rows, total in kept["buckets"]})


def manifest(db: apsw.Connection, table: Table, buckets: Collection[int]) -> dict[str, Stamp]:
    """Key -> stamp of every row in these buckets that should be at the hub."""
    wanted = frozenset(buckets)
    return {
        key: stamp for key, stamp in _versions(db, table) if bucket_of(table.name, key) in wanted
    }


def kept_from_hub(db: apsw.Connection, table: Table) -> frozenset[str]:
    """Keys of local rows under which the hub is known to hold a row of its own.

    A row was sent before it became local, or was met in a pull; no other key is ever named.
    """
    found = db.execute(
        "SELECT key FROM withheld JOIN sync_base USING (kind, key) WHERE kind = ?", (table.name,)
    )
    return frozenset(str(key) for (key,) in found)


def _versions(db: apsw.Connection, table: Table) -> Iterator[tuple[str, Stamp]]:
    """Every row but the local and the quarantined ones."""
    for key, life, hlc, origin, row_digest in db.execute(
        f"SELECT {table.key}, life, hlc, origin, digest FROM {table.name}"
        f" WHERE {table.key} NOT IN (SELECT key FROM withheld WHERE kind = ?1)"
        f" AND {table.key} NOT IN (SELECT key FROM quarantine WHERE kind = ?1)",
        (table.name,),
    ):
        yield str(key), Stamp(life, hlc, origin, row_digest)
