"""What a warehouse holds, so that a dump of it can be held against it: a few numbers a kind."""

from __future__ import annotations

from dataclasses import dataclass

from psycopg import sql

from satchel_sync.tables import BY_NAME, TABLES, Table
from satchel_warehouse.database import Connection

_TIMES = (
    ("attempt", "greatest(started_at, coalesce(finished_at, started_at))"),
    ("audit", "received_at"),
    ("conflict", "received_at"),
    ("operation", "at"),
    *((table.name, "received_at") for table in TABLES),
)
"""Where the hub writes its own clock down: (table, expression)."""
KEPT = {
    "attempt": "started_at",
    "audit": "received_at",
    "audit_cut": "at",
    "audit_head": "received_at",
    "audit_key": "pinned_at",
    "audit_trouble": "at",
    "conflict": "received_at",
    "login": "granted_at",
    "operation": "at",
    "relayed": "at",
    "replica": "first_seen",
    "searched": "at",
    "token": "at",
}
"""Tables of the hub's own -> when a row of it came, by the hub's clock."""
_GIVEN = """
SELECT d.key, max(d.value::bigint) FROM satchel.replica r
JOIN satchel.login l ON l.role_name = r.login, jsonb_each_text(r.delivered) AS d
WHERE l.tenant = %s GROUP BY 1
"""
_NAMED = {
    "attempt": """
SELECT count(*) FROM satchel.replica r WHERE r.last_attempt <> '' AND NOT EXISTS (
    SELECT FROM satchel.attempt a
    WHERE a.attempt = r.last_attempt AND a.replica_id = r.replica_id)""",
    "token": """
SELECT count(*) FROM satchel.replica r WHERE r.token_number > 0 AND NOT EXISTS (
    SELECT FROM satchel.token t WHERE t.number = r.token_number)""",
    "audit": """
SELECT count(*) FROM satchel.audit_head h WHERE NOT EXISTS (
    SELECT FROM satchel.audit a WHERE (a.tenant, a.replica_id, a.chain, a.seq)
        = (h.tenant, h.replica_id, h.chain, h.seq)) AND NOT EXISTS (
    SELECT FROM satchel.audit_cut c WHERE (c.tenant, c.replica_id, c.chain)
        = (h.tenant, h.replica_id, h.chain) AND c.why = 'expired' AND c.seq >= h.seq)""",
}
"""Table -> how many of its rows other rows name that are not there; no key makes sure of it."""
_SUMS = """
SELECT count(*), coalesce(sum(satchel.summand(convert_to({key}, 'UTF8'),
    satchel.packed(life, hlc, origin, digest))), 0)
FROM satchel.{kind} t WHERE tenant = %(tenant)s AND change_seq <= %(until)s
"""
_UNCHANGED = " AND NOT EXISTS (SELECT FROM pg_temp.changed c WHERE c.key = t.{key})"
_CHANGED = "SELECT {key} FROM satchel.{kind} WHERE tenant = %(tenant)s AND change_seq > %(until)s"


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """A kind of a tenant in a dump beside the warehouse: rows that stayed as they were since.

    `same` is whether all of them have their versions, `newer` how many changed or came since.
    """

    tenant: str
    kind: str
    rows: int
    newer: int
    same: bool


def reached(db: Connection) -> int | None:
    """The newest moment that a warehouse knows (UTC ms of its clock)."""
    one = "(SELECT max({}) FROM satchel.{})"
    every = ", ".join(one.format(expression, table) for table, expression in _TIMES)
    row = db.execute(f"SELECT greatest({every})".encode()).fetchone()
    return row[0] if row else None


def tenants(db: Connection) -> dict[str, bytes]:
    """Tenant -> the id that its machines know it by."""
    found = db.execute("SELECT name, id FROM satchel.tenant ORDER BY number").fetchall()
    return {name: bytes(known) for name, known in found}


def rows(db: Connection) -> dict[str, int]:
    """Kind -> its rows, tombstones too."""
    return {
        table.name: _number(db, "SELECT count(*) FROM satchel.{kind}", table) for table in TABLES
    }


def damaged(db: Connection) -> dict[str, int]:
    """Kind -> rows whose content does not fit their version; those that have any."""
    query = "SELECT count(*) FROM satchel.{kind} t WHERE satchel.{damaged}(t)"
    found = {table.name: _number(db, query, table) for table in TABLES}
    return {kind: count for kind, count in found.items() if count}


def compared(dump: Connection, live: Connection, tenant: str) -> list[Compared]:
    """Every kind of a tenant; what changed in the warehouse since the dump counts as newer.

    All kinds of a tenant draw from one sequence, and who sees a number sees all below: so the
    highest that the dump has of any kind holds for each, also for one whose rows are missing.
    """
    until = max(number for bounds in (held(dump, tenant), given(dump, tenant))
                for number in (0, *bounds.values()))  # fmt: skip
    return [_compared(dump, live, tenant, table, until) for table in TABLES]


def held(db: Connection, tenant: str) -> dict[str, int]:
    """Kind -> the highest change sequence of a row."""
    row = db.execute("SELECT satchel.bound(%s)", (tenant,)).fetchone()
    return dict(row[0]) if row else {}


def given(db: Connection, tenant: str) -> dict[str, int]:
    """Kind -> the highest change sequence that a machine was given: there was a row with it.

    A row that changes goes up, and none is ever removed: so there is one with that or a higher one.
    """
    found = db.execute(_GIVEN.encode(), (tenant,)).fetchall()
    return {kind: int(number) for kind, number in found}


def unmet(db: Connection) -> dict[str, int]:
    """Table of the hub's own -> how many of its rows are named by others and missing."""
    found = {}
    for table, query in _NAMED.items():
        row = db.execute(query.encode()).fetchone()
        if row and row[0]:
            found[table] = int(row[0])
    return found


def missing(dump: Connection, live: Connection, until: int) -> dict[str, int]:
    """Table of the hub's own -> how many rows of before `until` the dump lacks.

    Some are pruned in time, so the dump may have more. Rows of the last minutes before the end of a
    dump may have been committed behind it: `until` is before these.
    """
    found = {}
    for table, column in KEPT.items():
        query = sql.SQL("SELECT count(*) FROM {} WHERE {} < %s").format(
            sql.Identifier("satchel", table), sql.Identifier(column)
        )
        here, there = (_count(side, query, until) for side in (live, dump))
        if here > there:
            found[table] = here - there
    return found


def left_out(db: Connection) -> list[str]:
    """Tables that nothing here looks at: caches, sums, indexes, what bundles wait for."""
    looked_at = {*KEPT, *BY_NAME, "hub", "tenant", "alembic_version"}
    query = (
        "SELECT c.relname FROM pg_class c WHERE c.relnamespace = 'satchel'::regnamespace"
        " AND c.relkind IN ('r', 'p') AND NOT c.relispartition ORDER BY 1"
    )
    return [name for (name,) in db.execute(query.encode()) if name not in looked_at]


def _count(db: Connection, query: sql.Composed, until: int) -> int:
    row = db.execute(query, (until,)).fetchone()
    return int(row[0]) if row else 0


def _compared(
    dump: Connection, live: Connection, tenant: str, table: Table, until: int
) -> Compared:
    given = {"tenant": tenant, "until": until}
    dump.execute("DROP TABLE IF EXISTS pg_temp.changed")
    dump.execute('CREATE TEMP TABLE changed (key text COLLATE "C" PRIMARY KEY)')
    newer = 0
    with live.cursor() as source, dump.cursor() as target:
        source.execute(_of(_CHANGED, table), given)
        while page := source.fetchmany(10_000):
            newer += len(page)
            target.executemany("INSERT INTO changed VALUES (%s)", page)
    here = live.execute(_of(_SUMS, table), given).fetchone()
    there = dump.execute(_of(_SUMS + _UNCHANGED, table), given).fetchone()
    return Compared(
        tenant=tenant, kind=table.name, rows=(there or (0,))[0], newer=newer, same=here == there
    )


def _number(db: Connection, query: str, table: Table) -> int:
    row = db.execute(_of(query, table)).fetchone()
    return int(row[0]) if row else 0


def _of(query: str, table: Table) -> sql.Composed:
    return sql.SQL(query).format(
        kind=sql.Identifier(table.name),
        key=sql.Identifier(table.key),
        damaged=sql.Identifier(f"is_damaged_{table.name}"),
    )
