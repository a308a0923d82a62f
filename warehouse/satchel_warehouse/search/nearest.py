"""Indexes of vectors: a table for each tenant, kind and model, in which HNSW finds the nearest.

They need the extension `vector` (pgvector). What changes or goes leaves them by triggers.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from sys import byteorder
from typing import Any, NamedTuple

from psycopg import sql
from psycopg.adapt import Dumper
from psycopg.pq import Format

from satchel_warehouse.database import Connection
from satchel_warehouse.functions import OWNER
from satchel_warehouse.search.reached import reached, set_reached
from satchel_warehouse.sessions import as_owner, one

ROWS_AT_ONCE = 500
"""Writers of the tenant wait for so many: what leaves `embedding` meanwhile would stay here."""
HNSW_DIMS_MAX = 2_000
"""Numbers of a `vector` that HNSW takes; longer ones are compared one by one in the server."""

_TABLE = """
CREATE TABLE IF NOT EXISTS satchel.{name} (
    tenant text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    of_id text COLLATE "C" NOT NULL,
    vector {type}({dims}) NOT NULL,
    PRIMARY KEY (tenant, id)
)
"""
_HNSW = "CREATE INDEX CONCURRENTLY {index} ON satchel.{name} USING hnsw (vector {operators})"
_HAS_HNSW = """
    SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass('satchel.' || %s)"""
_SOURCES = {
    "memory": """satchel.embedding e WHERE e.tenant = v.tenant AND e.id = v.id
        AND e.memory_id = v.of_id AND satchel.is_alive(e.life)""",
    "chatlog": """satchel.turn_vector e WHERE e.tenant = v.tenant AND e.turn = v.of_id
        AND e.turn || '/' || e.view || '/' || e.chunk = v.id""",
}
"""Kind -> where a vector `v` of the index must be found still."""
_NEXT = {
    "memory": """
        SELECT id, memory_id, vector, change_seq FROM satchel.embedding
        WHERE tenant = %s AND change_seq > %s AND model = %s AND dims = %s AND dtype = 'f32'
            AND octet_length(vector) = 4 * dims AND memory_id IS NOT NULL
            AND satchel.is_alive(life)
        ORDER BY change_seq LIMIT %s""",
    "chatlog": """
        SELECT turn || '/' || view || '/' || chunk, turn, vector, seq FROM satchel.turn_vector
        WHERE tenant = %s AND seq > %s AND model = %s AND dims = %s ORDER BY seq LIMIT %s""",
}
_MODELS = """
    SELECT DISTINCT 'memory', model, dims FROM satchel.embedding
    WHERE tenant = %(tenant)s AND dtype = 'f32' AND satchel.is_alive(life)
        AND dims BETWEEN 1 AND 16000
    UNION ALL
    SELECT DISTINCT 'chatlog', model, dims FROM satchel.turn_vector WHERE tenant = %(tenant)s
    ORDER BY 1, 2, 3"""


class Index(NamedTuple):
    """One of them; `name` is the table's."""

    tenant: str
    kind: str
    model: str
    dims: int
    name: str

    @property
    def table(self) -> sql.Identifier:
        """The table, for a statement."""
        return sql.Identifier("satchel", self.name)


def extension(db: Connection) -> str | None:
    """The schema that pgvector lies in; made where it can be, None where it cannot."""
    query = """SELECT n.nspname FROM pg_extension e JOIN pg_namespace n ON n.oid = extnamespace
        WHERE extname = 'vector'"""
    if (found := db.execute(query).fetchone()) is None:
        may = """SELECT FROM pg_available_extensions, pg_roles
            WHERE name = 'vector' AND rolname = current_user AND rolsuper"""
        if db.execute(may).fetchone() is None:
            return None
        db.execute("CREATE EXTENSION vector SCHEMA public")
        found = db.execute(query).fetchone()
    return None if found is None else str(found[0])


def wanted(db: Connection, tenant: str) -> list[Index]:
    """One for each kind and model that the tenant has vectors of."""
    query = "SELECT satchel.nearest_table(%s, %s, %s, %s)"
    found = db.execute(_MODELS.encode(), {"tenant": tenant}).fetchall()
    return [
        Index(tenant, kind, model, dims, one(db, query, tenant, kind, model, dims)[0])
        for kind, model, dims in found
    ]


def filled(db: Connection, schema: str, index: Index) -> Iterator[int]:
    """Copy what came since into the table, some hundred vectors a step; then index it."""
    _make(db, schema, index)
    _drop_strays(db, index)
    oid = one(db, "SELECT to_regtype(%s)::oid", f'"{schema}".vector')[0]
    db.adapters.register_dumper(_Vector, type("_OfServer", (_VectorDumper,), {"oid": oid}))
    while added := _step(db, index):
        yield added
    _make_hnsw(db, schema, index)


def _step(db: Connection, index: Index) -> int:
    with as_owner(db):
        db.execute("SELECT satchel.lock_tenant(%s)", (index.tenant,))
        rows = _next(db, index)
        if rows:
            gone = sql.SQL("DELETE FROM {} WHERE tenant = %s AND id = ANY (%s)")
            db.execute(gone.format(index.table), (index.tenant, [row[0] for row in rows]))
            _insert(db, index, rows)
            set_reached(db, index.tenant, index.name, rows[-1][3])
        return len(rows)


def _next(db: Connection, index: Index) -> list[Any]:
    upto = reached(db, index.tenant, index.name)
    with db.cursor(binary=True) as cursor:
        given = (index.tenant, upto, index.model, index.dims, ROWS_AT_ONCE)
        return cursor.execute(_NEXT[index.kind].encode(), given).fetchall()


def _insert(db: Connection, index: Index, rows: Sequence[Any]) -> None:
    """No COPY: it is refused where row-level security is forced."""
    query = sql.SQL("INSERT INTO {} (tenant, id, of_id, vector) VALUES (%s, %s, %s, %s)")
    given = [(index.tenant, key, of_id, _Vector(vector)) for key, of_id, vector, _ in rows]
    with db.cursor() as cursor:
        cursor.executemany(query.format(index.table), given)


def _make(db: Connection, schema: str, index: Index) -> None:
    with as_owner(db):
        db.execute("SET LOCAL client_min_messages = warning")
        db.execute(
            sql.SQL(_TABLE).format(
                name=sql.Identifier(index.name),
                type=sql.Identifier(schema, "vector"),
                dims=sql.Literal(index.dims),
            )
        )
        db.execute("SELECT satchel.guard_tenants()")
        known = "INSERT INTO satchel.search_reached VALUES (%s, %s, 0, 0) ON CONFLICT DO NOTHING"
        db.execute(known, (index.tenant, index.name))  # by this the triggers know of it


def _drop_strays(db: Connection, index: Index) -> None:
    """What is in the table and in no source: nothing of that stays, whatever happened before."""
    query = f"DELETE FROM {{}} v WHERE NOT EXISTS (SELECT FROM {_SOURCES[index.kind]})"
    with as_owner(db):
        db.execute("SELECT satchel.lock_tenant(%s)", (index.tenant,))
        db.execute(sql.SQL(query).format(index.table))


def _make_hnsw(db: Connection, schema: str, index: Index) -> None:
    """After the first rows: built at once it is made ten times as fast as row by row.

    Concurrently, as pushes take vectors out of the table: they do not wait for it. What an attempt
    that was stopped left is made anew.
    """
    name = f"{index.name}_hnsw"
    found = db.execute(_HAS_HNSW, (name,)).fetchone()
    if index.dims > HNSW_DIMS_MAX or found == (True,):
        return
    made = sql.SQL(_HNSW).format(
        index=sql.Identifier(name),
        name=sql.Identifier(index.name),
        operators=sql.Identifier(schema, "vector_cosine_ops"),
    )
    db.execute(f"SET ROLE {OWNER}".encode())
    try:
        db.execute("SET maintenance_work_mem = '512MB'")
        db.execute("SET statement_timeout = 0")
        if found:
            db.execute(sql.SQL("DROP INDEX {}").format(sql.Identifier("satchel", name)))
        db.execute(made)
        db.execute(sql.SQL("ANALYZE {}").format(index.table))
    finally:
        for setting in ("ROLE", "maintenance_work_mem", "statement_timeout"):
            db.execute(f"RESET {setting}".encode())


class _Vector(NamedTuple):
    """A vector as it is stored: little-endian float32 numbers."""

    numbers: bytes


class _VectorDumper(Dumper):
    """As pgvector receives it: how many numbers, an unused number, the numbers; big-endian."""

    format = Format.BINARY

    def dump(self, obj: _Vector) -> bytes:
        numbers = array("f", obj.numbers)
        if byteorder == "little":
            numbers.byteswap()
        return len(numbers).to_bytes(2, "big") + b"\0\0" + numbers.tobytes()
