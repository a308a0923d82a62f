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

SUMS_KEPT_MS = 24 * 60 * 60 * 1000
"""After a day every row is hashed again, whether anything seems to have changed or not."""


def cursor(db: apsw.Connection, table: Table) -> int:
    """How far this kind was pulled."""
    return int(db.execute("SELECT seq FROM cursor WHERE kind = ?", (table.name,)).get or 0)


def digest(
    db: apsw.Connection, table: Table, now_ms: int, *, settled: bool = True
) -> Digest | None:
    """Buckets of this kind; None while its outbox is not empty, unless `settled` is False.

    Hashing every row takes time, so the sums are kept with the local sequence at which they hold:
    every change of a row, of the outbox or of the quarantine draws one. A write past the triggers
    draws none, so no sum is older than `SUMS_KEPT_MS`.
    """
    if settled and outbox.count(db, table):
        return None
    seq, name = outbox.end(db), f"digest:{table.name}"
    kept = json.loads(attempts.meta(db, name) or "{}")
    if kept.get("seq") != seq or not 0 <= now_ms - kept.get("at_ms", 0) < SUMS_KEPT_MS:
        buckets = sums(table.name, _versions(db, table))
        listed = [(at, *buckets[at]) for at in sorted(buckets)]
        kept = {"seq": seq, "at_ms": now_ms, "buckets": listed}
        attempts.set_meta(db, name, json.dumps(kept))
    return Digest(cursor(db, table), {at: (rows, total) for at, rows, total in kept["buckets"]})


def forget_sums(db: apsw.Connection, table: Table) -> None:
    """Let the next digest hash every row: a write past the triggers draws no local sequence."""
    attempts.set_meta(db, f"digest:{table.name}", None)


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
