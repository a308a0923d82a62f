"""The hub as a sync sees it: `satchel_sync.ports.Hub` over the doors of a Postgres warehouse."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Any

import psycopg
from psycopg import sql
from psycopg.copy import LibpqWriter

from satchel_crypto.network import Policy
from satchel_sync.changes import (
    Digest,
    Hello,
    Loser,
    Page,
    PushAnswer,
    Refusal,
    Row,
    Version,
    Welcome,
)
from satchel_sync.digest import MASK
from satchel_sync.limits import PULL_BYTES_MAX, PULL_ROWS_MAX
from satchel_sync.merge import newest
from satchel_sync.stamp import Stamp
from satchel_sync.tables import BY_NAME, TABLES, VERSION_COLUMNS, Table
from satchel_sync.version import SCHEMA
from satchel_warehouse.database import SYNC_PATH, Connection, connect, retried
from satchel_warehouse.errors import WarehouseRefused, WarehouseVersionsDiffer
from satchel_warehouse.hostile import reason_unfit, reason_unfit_text
from satchel_warehouse.layout import Layout

_PG_TYPES = {"t": "text", "i": "int8", "r": "float8", "b": "bytea"}
_VERSION_TYPES = ("int8", "int8", "bytea", "bytea", "text")


@dataclass(frozen=True, slots=True)
class Session:
    """What hello settled: the attempt and how each kind lies at this hub."""

    attempt: str
    layouts: Mapping[str, Layout]


class WarehouseHub:
    """A warehouse behind a DSN; connects when first used, and again after a lost connection.

    Every call is committed when it returns and may be repeated. All raise WarehouseError's family,
    whose members a sync meets are also SyncErrors.
    """

    def __init__(self, dsn: str, *, policy: Policy | None = None) -> None:
        self._dsn = dsn
        self._policy = policy
        self._connection: Connection | None = None
        self._session: Session | None = None

    def __repr__(self) -> str:
        return "WarehouseHub()"

    def __enter__(self) -> WarehouseHub:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection; the next call opens another."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def hello(self, hello: Hello) -> Welcome:
        """Open an attempt; binds a new replica id to this login."""
        said = {
            "replica_id": hello.replica_id.hex(),
            "attempt": hello.attempt,
            "protocol": hello.protocol,
            "schema": hello.schema,
            "hub_id": hello.hub_id.hex() if hello.hub_id else None,
            "host": hello.host,
            "version": hello.version,
        }
        query = "SELECT satchel_api.hello(%s), current_setting('transaction_read_only')"
        ((answer, read_only),) = self._rows(sql.SQL(query), json.dumps(said))
        self._session = Session(hello.attempt, _layouts(answer["columns"]))
        return Welcome(
            hub_id=bytes.fromhex(answer["hub_id"]),
            protocol=answer["protocol"],
            schema=answer["schema"],
            columns=answer["columns"],
            seqs=answer["seqs"],
            now_ms=answer["now_ms"],
            read_only=read_only == "on",
        )

    def now_ms(self) -> int:
        """The hub's clock in UTC milliseconds; needs no attempt."""
        ((now_ms,),) = self._rows(sql.SQL("SELECT satchel_api.now_ms()"))
        return int(now_ms)

    def push(self, table: Table, rows: Sequence[Row]) -> PushAnswer:
        """Copy rows in and merge them, in one transaction.

        Rows that Postgres cannot store are refused as `invalid`, the others go on.
        """
        try:
            return retried(lambda: self._push_once(table, newest(rows), ()))
        except _Unfit:
            fit, refused = _sorted_out(table, rows)
            return retried(lambda: self._push_once(table, newest(fit), refused))

    def pull(self, table: Table, after: int, upto: int) -> Page:
        """A page in hub order, bounded in rows and bytes."""
        if after >= upto:
            return Page((), upto)
        limits = (after, upto, PULL_ROWS_MAX, PULL_BYTES_MAX)
        found = self._select(table, "pull", ("change_seq",), *limits)
        if not found:
            return Page((), upto)
        layout = self._layout(table)
        rows = tuple(_row(layout, values) for values in found)
        wide = [at for at, tag in enumerate(layout.tags, start=1) if tag in "tb"]
        bytes_in = sum(200 + sum(len(row[at] or "") for at in wide) for row in found)
        # A character has at most four bytes, so below that no limit can have cut the page short.
        ended = len(rows) < PULL_ROWS_MAX and 4 * bytes_in < PULL_BYTES_MAX
        return Page(rows, upto if ended else found[-1][-1], bytes_in)

    def bound(self) -> Mapping[str, int]:
        """Kind -> the highest change sequence now."""
        ((bound,),) = self._rows(sql.SQL("SELECT satchel_api.bound(%s)"), self._attempt)
        return dict(bound)

    def digests(self, without: Mapping[str, Collection[str]]) -> Mapping[str, Digest]:
        """Buckets and highest sequence of the kinds asked for, from one snapshot."""
        query = sql.SQL(
            "SELECT kind, bucket, rows, total, seq"
            " FROM satchel_api.digests(%s, %s::text[], %s::text[], %s::text[])"
        )
        held = [(kind, key) for kind, keys in without.items() for key in _storable(keys)]
        kinds, keys = [kind for kind, _ in held], [key for _, key in held]
        found = self._rows(query, self._attempt, list(without), kinds, keys) if without else []
        buckets: dict[str, dict[int, tuple[int, int]]] = {kind: {} for kind in without}
        seqs = dict.fromkeys(without, 0)
        for kind, bucket, rows, total, seq in found:
            seqs[kind] = max(seqs[kind], seq)
            if rows:
                buckets[kind][bucket] = (rows, int(total) & MASK)
        return {kind: Digest(seqs[kind], buckets[kind]) for kind in without}

    def manifest(self, table: Table, buckets: Collection[int]) -> Mapping[str, Stamp]:
        """Key -> stamp of every row in these buckets."""
        query = _call("manifest", table, ("key", "version"))
        found = self._rows(query, self._attempt, list(buckets))
        return {key: Stamp.parse(version) for key, version in found}

    def fetch(self, table: Table, keys: Collection[str]) -> Sequence[Row]:
        """Whole rows by key."""
        layout = self._layout(table)
        return [
            _row(layout, values) for values in self._select(table, "fetch", (), _storable(keys))
        ]

    def journal(self, losers: Sequence[Loser]) -> None:
        """Add to the hub's conflict journal; entries that are there stay."""
        entries = json.dumps([_entry(loser) for loser in losers])
        self._rows(sql.SQL("SELECT satchel_api.journal(%s, %s)"), self._attempt, entries)

    def bye(self, report: Mapping[str, Any]) -> None:
        """Close the attempt with its report."""
        self._rows(sql.SQL("SELECT satchel_api.bye(%s, %s)"), self._attempt, json.dumps(report))

    # ---- below: one statement, one push, one connection ----------------------------------------

    @property
    def _attempt(self) -> str:
        if self._session is None:
            raise WarehouseRefused("no attempt is open: hello comes first")
        return self._session.attempt

    def _layout(self, table: Table) -> Layout:
        if self._session is None:
            raise WarehouseRefused("no attempt is open: hello comes first")
        layout = self._session.layouts.get(table.name)
        if layout is None:
            raise WarehouseVersionsDiffer(
                f"the warehouse does not know the kind {table.name!r}", hint="upgrade the warehouse"
            )
        return layout

    def _select(self, table: Table, door: str, more: Sequence[str], *given: object) -> list[Any]:
        columns = (table.key, *self._layout(table).columns, *VERSION_COLUMNS, *more)
        return self._rows(_call(door, table, columns, len(given) + 1), self._attempt, *given)

    def _rows(self, query: sql.SQL | sql.Composed, *given: object) -> list[Any]:
        """The rows of one statement, which is a transaction of its own."""

        def run() -> list[Any]:
            with self._connected() as db, db.cursor(binary=True) as cursor:
                return cursor.execute(query, given).fetchall()

        return retried(run)

    def _push_once(
        self, table: Table, rows: Sequence[Row], refused: tuple[Refusal, ...]
    ) -> PushAnswer:
        layout = self._layout(table)
        with self._connected() as db, db.transaction():
            db.execute(_call("push_begin", table, ("*",), 1), (self._attempt,))
            try:
                bytes_out = _copy(db, table, layout, rows)
            except (psycopg.DataError, ValueError, TypeError, OverflowError) as error:
                if refused:
                    raise
                raise _Unfit from error
            query = _call("push_end", table, ("*",), 2)
            row = db.execute(query, (self._attempt, SCHEMA), binary=True).fetchone()
        return _answer(rows, row[0] if row else {}, refused, bytes_out)

    @contextmanager
    def _connected(self) -> Iterator[Connection]:
        """The open connection; dropped when it turns out to be lost."""
        if self._connection is None or self._connection.closed:
            self._connection = connect(self._dsn, path=SYNC_PATH, policy=self._policy)
        try:
            yield self._connection
        finally:
            if self._connection.broken:
                self.close()


class _Unfit(Exception):
    """At least one row of a batch has a value that cannot be sent."""


def _layouts(columns: Mapping[str, Mapping[str, str]]) -> dict[str, Layout]:
    """Raises WarehouseVersionsDiffer when a column has two types."""
    found = {
        name: Layout.of(BY_NAME[name], theirs)
        for name, theirs in columns.items()
        if name in BY_NAME
    }
    for name, layout in found.items():
        if layout.differing:
            raise WarehouseVersionsDiffer(
                f"{name}: {', '.join(layout.differing)} has another type at the warehouse"
            )
    return found


def _call(door: str, table: Table, columns: Sequence[str], arguments: int = 2) -> sql.Composed:
    """`SELECT columns FROM satchel_api.door_kind(%s, …)`."""
    if table.name not in BY_NAME or BY_NAME[table.name] not in TABLES:
        raise ValueError(f"{table.name!r} is no synced kind")
    names = [sql.SQL("*") if name == "*" else sql.Identifier(name) for name in columns]
    return sql.SQL("SELECT {} FROM {}({})").format(
        sql.SQL(", ").join(names),
        sql.Identifier("satchel_api", f"{door}_{table.name}"),
        sql.SQL(", ").join([sql.SQL("%s")] * arguments),
    )


class _Counting(LibpqWriter):
    """Sends the data of a COPY and counts its bytes."""

    bytes_out = 0

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.bytes_out += len(data)
        super().write(data)


def _copy(db: Connection, table: Table, layout: Layout, rows: Sequence[Row]) -> int:
    """Binary COPY into the table that push_begin made; returns the bytes sent."""
    columns = (table.key, *layout.columns, *VERSION_COLUMNS)
    types = ["text", *(_PG_TYPES[tag] for tag in layout.tags), *_VERSION_TYPES]
    query = sql.SQL("COPY {} ({}) FROM STDIN (FORMAT BINARY)").format(
        sql.Identifier("pg_temp", f"incoming_{table.name}"),
        sql.SQL(", ").join(map(sql.Identifier, columns)),
    )
    with db.cursor() as cursor:
        writer = _Counting(cursor)
        with cursor.copy(query, writer=writer) as copy:
            copy.set_types(types)
            for row in rows:
                copy.write_row((row.key, *layout.to_hub(row.values), *row.stamp, row.lineage))
    return writer.bytes_out


def _row(layout: Layout, found: Sequence[Any]) -> Row:
    """key, data, extra, life, hlc, origin, digest, lineage, … as a Row."""
    end = len(layout.columns) + 1
    life, hlc, origin, digest, lineage = found[end : end + 5]
    values = layout.from_hub(found[1:end])
    return Row(found[0], Stamp(life, hlc, origin, digest), lineage, values)


def _storable(keys: Iterable[str]) -> list[str]:
    """The keys that Postgres can hold; a row under another is not at the hub."""
    return [key for key in keys if not reason_unfit_text(key)]


def _sorted_out(table: Table, rows: Sequence[Row]) -> tuple[list[Row], tuple[Refusal, ...]]:
    """The rows that can be sent, and a refusal for each that cannot."""
    reasons = [(row, reason_unfit(table, row)) for row in rows]
    refused = tuple(Refusal(row.key, "invalid", reason) for row, reason in reasons if reason)
    return [row for row, reason in reasons if not reason], refused


def _answer(
    rows: Sequence[Row], said: Mapping[str, Any], refused: tuple[Refusal, ...], bytes_out: int
) -> PushAnswer:
    superseded = {
        key: Version(Stamp.parse(version), lineage) for key, version, lineage in said["superseded"]
    }
    refused += tuple(Refusal(*entry) for entry in said["refused"])
    left_out = superseded.keys() | {refusal.key for refusal in refused}
    return PushAnswer(
        accepted=tuple(row.key for row in rows if row.key not in left_out),
        superseded=superseded,
        refused=refused,
        conflicts=said["conflicts"],
        now_ms=said["now_ms"],
        bytes_out=bytes_out,
    )


def _entry(loser: Loser) -> dict[str, Any]:
    """A journal entry as the hub's `journal` door takes it; content as ASCII JSON text."""
    names = (*BY_NAME[loser.kind].names, "extra")
    content = {
        name: value.hex() if isinstance(value, bytes) else value
        for name, value in zip(names, loser.row.values, strict=True)
        if value is not None
    }
    return {
        "kind": loser.kind,
        "key": loser.row.key,
        "version": loser.row.stamp.hex(),
        "lineage": loser.row.lineage,
        "content": json.dumps(content),
        "winner": loser.winner.hex(),
        "path": loser.path,
        "at": loser.at_ms,
    }
