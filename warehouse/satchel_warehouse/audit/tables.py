"""The SQL of an auditor's look: rows of the views of `audit`, a chain or a machine at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from satchel_crypto.audit_record import Record
from satchel_warehouse.audit.found import ChainName
from satchel_warehouse.database import Connection

RECORDS_AT_ONCE = 2_000

_NAMES = """
SELECT r.tenant, r.machine, c.chain, r.host
FROM audit.machines r, unnest('{writes, reads}'::text[]) AS c (chain)
WHERE r.machine || c.chain = ANY (%s) OR EXISTS (
    SELECT replica_id, chain FROM audit.records a
        WHERE (a.tenant, a.replica_id, a.chain) = (r.tenant, r.replica_id, c.chain)
    UNION ALL SELECT replica_id, chain FROM audit.heads a
        WHERE (a.tenant, a.replica_id, a.chain) = (r.tenant, r.replica_id, c.chain)
    UNION ALL SELECT replica_id, chain FROM audit.cuts a
        WHERE (a.tenant, a.replica_id, a.chain) = (r.tenant, r.replica_id, c.chain)
    UNION ALL SELECT replica_id, chain FROM audit.troubles a
        WHERE (a.tenant, a.replica_id, a.chain) = (r.tenant, r.replica_id, c.chain))
ORDER BY r.first_seen, r.replica_id, c.chain DESC
"""
_RECORDS = """
SELECT seq, at_ms, body, link, mac FROM audit.records
WHERE (tenant, replica_id, chain) = (%s, %s, %s) ORDER BY seq
"""
_GAPS = """
SELECT before + 1, seq - 1 FROM (
    SELECT seq, coalesce(lag(seq) OVER (ORDER BY seq), 0) AS before FROM audit.records
    WHERE (tenant, replica_id, chain) = (%s, %s, %s)
) AS numbered WHERE seq > before + 1 ORDER BY seq
"""


def names(db: Connection, also: list[tuple[str, str]]) -> list[tuple[ChainName, str]]:
    """(chain, host) of every one that there is a trace of, and of those in `also` (id, chain)."""
    found = db.execute(_NAMES.encode(), ([replica_id + chain for replica_id, chain in also],))
    return [(ChainName(tenant=t, replica_id=r, chain=c), host) for t, r, c, host in found]


def records(db: Connection, name: ChainName) -> Iterator[Record]:
    """The records of a chain in order; some thousand are in memory. Inside a transaction."""
    with db.cursor("audit_records", binary=True) as cursor:
        cursor.itersize = RECORDS_AT_ONCE
        for seq, at, body, link, mac in cursor.execute(_RECORDS.encode(), _key(name)):
            yield Record(seq=seq, at=at, body=body, link=link, mac=mac)


def gaps(db: Connection, name: ChainName) -> list[tuple[int, int]]:
    """(first, last) of the numbers that are missing before the last record."""
    return [(int(a), int(b)) for a, b in db.execute(_GAPS.encode(), _key(name))]


def cuts(db: Connection, name: ChainName, *, expired: bool) -> dict[int, bytes]:
    """The last number that is gone -> its link: by retention here, or pruned before it came."""
    rows = of_chain(db, name, "cuts", "seq, link, why")
    return {seq: bytes(link) for seq, link, why in rows if (why == "expired") is expired}


def last(db: Connection, name: ChainName) -> int:
    """The number of the last record; 0 where there is none."""
    query = "SELECT max(seq) FROM audit.records WHERE (tenant, replica_id, chain) = (%s, %s, %s)"
    row = db.execute(query.encode(), _key(name)).fetchone()
    return int(row[0]) if row and row[0] else 0


def link_at(db: Connection, name: ChainName, seq: int) -> bytes | None:
    """The link of a record."""
    query = "SELECT link FROM audit.records WHERE (tenant, replica_id, chain, seq) = (%s,%s,%s,%s)"
    row = db.execute(query.encode(), (*_key(name), seq)).fetchone()
    return bytes(row[0]) if row else None


def first_body(db: Connection, name: ChainName) -> str:
    """What the first record of all says; "" where it is not there."""
    query = "SELECT body FROM audit.records WHERE (tenant, replica_id, chain, seq) = (%s,%s,%s,1)"
    row = db.execute(query.encode(), _key(name)).fetchone()
    return str(row[0]) if row else ""


def of_chain(db: Connection, name: ChainName, view: str, columns: str) -> list[Any]:
    """Rows of a view about a chain, in the order of their numbers."""
    query = (
        f"SELECT {columns} FROM audit.{view}"
        " WHERE (tenant, replica_id, chain) = (%s, %s, %s) ORDER BY seq"
    )
    return db.execute(query.encode(), _key(name)).fetchall()


def pinned(db: Connection, name: ChainName) -> set[tuple[str, str]]:
    """(algorithm, public key as base64) that this machine may sign with."""
    query = "SELECT algorithm, public_key FROM audit.keys WHERE (tenant, replica_id) = (%s, %s)"
    return {(str(a), str(key)) for a, key in db.execute(query.encode(), _key(name)[:2])}


def _key(name: ChainName) -> tuple[str, bytes, str]:
    return name.tenant, bytes.fromhex(name.replica_id), name.chain
