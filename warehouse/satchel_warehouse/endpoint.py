"""The hub as a sync sees it: `satchel_sync.ports.Hub` over the doors of a Postgres warehouse."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

import psycopg
from psycopg import sql
from psycopg.copy import LibpqWriter

from satchel_crypto.network import Policy
from satchel_sync.changes import (
    Access,
    AuditAnswer,
    AuditPart,
    Digest,
    Fetched,
    Hello,
    Loser,
    Page,
    PushAnswer,
    Reconciling,
    Refusal,
    Row,
    Standing,
    Welcome,
)
from satchel_sync.digest import MASK
from satchel_sync.layout import Layout
from satchel_sync.limits import PULL_BYTES_MAX, PULL_ROWS_MAX
from satchel_sync.merge import newest
from satchel_sync.stamp import Stamp
from satchel_sync.tables import BY_NAME, VERSION_COLUMNS, Table
from satchel_sync.version import SCHEMA
from satchel_warehouse import wire
from satchel_warehouse.calls import door, door_of
from satchel_warehouse.database import NAMED, SYNC_PATH, Connection, connect, retried
from satchel_warehouse.errors import (
    WarehouseBatchRefused,
    WarehouseKindRefused,
    WarehouseNotMigrated,
    WarehouseRefused,
    is_data_error,
)
from satchel_warehouse.login import Dsn

_PG_TYPES = {"t": "text", "i": "int8", "r": "float8", "b": "bytea"}
_VERSION_TYPES = ("int8", "int8", "bytea", "bytea", "text")
DAMAGE_ROWS_MAX = 20_000
"""Rows whose content is looked at in one statement: about a second."""


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

    def __init__(self, dsn: Dsn, *, policy: Policy = NAMED) -> None:
        self._dsn = dsn
        self._policy = policy
        self._connection: Connection | None = None
        self._session: Session | None = None

    def __repr__(self) -> str:
        return "WarehouseHub()"

    def __enter__(self) -> Self:
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
        """Open an attempt and judge the file's past; binds a new replica id to this login."""
        query = "SELECT satchel_api.hello(%s), current_setting('transaction_read_only')"
        ((answer, read_only),) = self._rows(sql.SQL(query), json.dumps(wire.said(hello)))
        standing, access = Standing(answer["standing"]), Access(answer["access"])
        opened = access is not Access.UPGRADE_REQUIRED and standing is not Standing.RESTORED
        self._session = Session(hello.attempt, wire.layouts(answer["columns"])) if opened else None
        return Welcome(
            hub_id=bytes.fromhex(answer["hub_id"]),
            protocol=answer["protocol"],
            schema=answer["schema"],
            columns=answer["columns"],
            seqs=answer["seqs"],
            now_ms=answer["now_ms"],
            standby=read_only == "on",
            epoch=answer["epoch"],
            standing=standing,
            access=access,
            audit=wire.audit_held(answer["audit"]) if "audit" in answer else None,
        )

    def resume(self, other: WarehouseHub) -> None:
        """Go on in the attempt that `other` opened, on a connection of one's own."""
        self._session = other._session

    def reconcile(self) -> Reconciling:
        """Take rows of any origin from now on; opens a new epoch if this file found a rewind."""
        ((answer,),) = self._rows(door("reconcile", 1), self._attempt)
        return Reconciling(answer["epoch"], answer["seqs"])

    def reconciled(self, seqs: Mapping[str, int]) -> None:
        """Count all up to these cursors as delivered."""
        self._rows(door("reconciled", 2), self._attempt, json.dumps(dict(seqs)))

    def now_ms(self) -> int:
        """The hub's clock in UTC milliseconds; needs no attempt."""
        ((now_ms,),) = self._rows(door("now_ms", 0))
        return int(now_ms)

    def push(self, table: Table, rows: Sequence[Row]) -> PushAnswer:
        """Copy rows in and merge them, in one transaction.

        Rows that Postgres cannot store are refused as `invalid`, the others go on. Raises
        BatchRefused where the database says no to a row and only itself knows to which.
        """
        layout = self._layout(table)

        def once(rows: Sequence[Row], refused: tuple[Refusal, ...]) -> PushAnswer:
            arguments = (self._attempt, SCHEMA)
            said, bytes_out = self._copied(table, layout, rows, "push_end", *arguments)
            return wire.answer(rows, said, refused, bytes_out)

        with _door_of(table):
            try:
                return retried(lambda: once(newest(rows), ()))
            except WarehouseBatchRefused:
                fit, refused = wire.sorted_out(table, rows)
                if not refused:
                    raise
                return retried(lambda: once(newest(fit), refused))

    def pull(self, table: Table, after: int, upto: int) -> Page:
        """A page in hub order, bounded in rows and bytes."""
        if after >= upto:
            return Page((), upto)
        limits = (after, upto, PULL_ROWS_MAX, PULL_BYTES_MAX)
        found = self._select(table, "pull", ("change_seq",), *limits)
        if not found:
            return Page((), upto)
        layout = self._layout(table)
        rows = tuple(wire.row(layout, values) for values in found)
        bytes_in = wire.bytes_in(layout, found)
        # Keys and lineages are not counted, so only well below it can no limit have cut it short.
        ended = len(rows) < PULL_ROWS_MAX and 4 * bytes_in < PULL_BYTES_MAX
        return Page(rows, upto if ended else found[-1][-1], bytes_in)

    def bound(self) -> Mapping[str, int]:
        """Kind -> the highest change sequence now."""
        ((bound,),) = self._rows(door("bound", 1), self._attempt)
        return dict(bound)

    def digests(self, without: Mapping[str, Collection[str]]) -> Mapping[str, Digest]:
        """Buckets and highest sequence of the kinds asked for, from one snapshot."""
        query = door("digests", 4, ("kind", "bucket", "rows", "total", "seq"))
        for kind in without:
            self._layout(BY_NAME[kind])
        held = [(kind, key) for kind, keys in without.items() for key in wire.storable(keys)]
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
        self._layout(table)
        query = door_of(table, "manifest", 2, ("key", "version"))
        with _door_of(table):
            found = self._rows(query, self._attempt, list(buckets))
        return {key: Stamp.parse(version) for key, version in found}

    def fetch(self, table: Table, keys: Sequence[str]) -> Fetched:
        """Whole rows by key, in the order of keys, as many as fit a page."""
        limits = (PULL_ROWS_MAX, PULL_BYTES_MAX)
        found = self._select(table, "fetch", (), wire.storable(keys), *limits)
        layout = self._layout(table)
        whole = [values for values in found if values[-1] is not None]
        rest = tuple(values[0] for values in found[len(whole) :])
        rows = tuple(wire.row(layout, values) for values in whole)
        return Fetched(rows, rest, wire.bytes_in(layout, whole))

    def damaged(self, table: Table) -> Collection[str]:
        """Keys of rows whose content does not fit their digest; reads every row of the kind."""
        self._layout(table)
        found: list[str] = []
        after: str | None = ""
        while after is not None:
            query = door_of(table, "damaged", 3)
            with _door_of(table):
                ((said,),) = self._rows(query, self._attempt, after, DAMAGE_ROWS_MAX)
            found += said["keys"]
            after = said["next"]
        return found

    def heal(self, table: Table, rows: Sequence[Row]) -> int:
        """Put the content back into damaged rows held in just this version; how many."""
        layout = self._layout(table)
        fit, _ = wire.sorted_out(table, rows)
        with _door_of(table):
            healed, _ = retried(lambda: self._copied(table, layout, fit, "heal", self._attempt))
        return int(healed)

    def journal(self, losers: Sequence[Loser]) -> None:
        """Add to the hub's conflict journal; entries that are there stay."""
        for entries in wire.journal_pages(losers):
            self._rows(door("journal", 2), self._attempt, entries)

    def audit(self, parts: Sequence[AuditPart]) -> AuditAnswer:
        """Append records of this replica's chains; what does not follow is kept as evidence."""
        fit, refused = wire.audit_parts(parts)
        ((said,),) = self._rows(door("audit", 2), self._attempt, json.dumps(fit))
        return wire.audit_answer(said, refused)

    def bye(self, report: Mapping[str, Any], parts: Sequence[AuditPart] = ()) -> AuditAnswer:
        """Close the attempt with its report, and with the last audit records if there are any."""
        fit, refused = wire.audit_parts(parts)
        given = (self._attempt, json.dumps(report), *([json.dumps(fit)] if fit else []))
        ((said,),) = self._rows(door("bye", len(given)), *given)
        return wire.audit_answer(said or {}, refused)

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
            raise WarehouseKindRefused(
                f"the warehouse does not know the kind {table.name!r}", hint="upgrade the warehouse"
            )
        if layout.differing:
            raise WarehouseKindRefused(
                f"{table.name}: {', '.join(layout.differing)} has another type at the warehouse",
                hint="upgrade the older side",
            )
        return layout

    def _select(self, table: Table, name: str, more: Sequence[str], *given: object) -> list[Any]:
        columns = (table.key, *self._layout(table).columns, *VERSION_COLUMNS, *more)
        with _door_of(table):
            return self._rows(door_of(table, name, len(given) + 1, columns), self._attempt, *given)

    def _rows(self, query: sql.SQL | sql.Composed, *given: object) -> list[Any]:
        """The rows of one statement, which is a transaction of its own."""

        def run() -> list[Any]:
            with self._connected() as db, db.cursor(binary=True) as cursor:
                return cursor.execute(query, given).fetchall()

        return retried(run)

    def _copied(
        self, table: Table, layout: Layout, rows: Sequence[Row], name: str, *given: object
    ) -> tuple[Any, int]:
        """What a door says to rows that were copied in before it, in one transaction; bytes sent.

        Raises WarehouseBatchRefused for rows that cannot be sent or stored.
        """
        with self._connected() as db, db.transaction():
            db.execute(door_of(table, "push_begin", 1), (self._attempt,))
            try:
                bytes_out = _copy(db, table, layout, rows)
                query = door_of(table, name, len(given))
                row = db.execute(query, given, binary=True).fetchone()
            except (psycopg.Error, ValueError, TypeError, OverflowError) as error:
                if isinstance(error, psycopg.Error) and not is_data_error(error):
                    raise
                raise WarehouseBatchRefused.of(error) from error
        return (row[0] if row else {}), bytes_out

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


@contextmanager
def _door_of(table: Table) -> Iterator[None]:
    """A door that is missing is one of this kind only: the others go on."""
    try:
        yield
    except WarehouseNotMigrated as error:
        if isinstance(error.__cause__, psycopg.errors.UndefinedFunction):
            raise WarehouseKindRefused(
                f"the warehouse has no such door for {table.name}: {error}", hint=error.hint
            ) from error
        raise


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
