"""A search at the warehouse: opened, asked for ids and rows of a tenant, closed with what it gave.

Each call is a door of `sql/search_doors.sql` or `sql/search_text_doors.sql`; who may call them are
members of `satchel_searcher`, and administrators.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg import sql

from satchel_crypto.network import Policy
from satchel_sync.layout import Layout
from satchel_sync.row import Row
from satchel_sync.tables import Table
from satchel_warehouse import wire
from satchel_warehouse.calls import door_in
from satchel_warehouse.database import NAMED, REPORT_PATH, Connection, connect
from satchel_warehouse.errors import translate
from satchel_warehouse.login import Dsn

API = "satchel_search"
VERSION_COLUMNS = ("life", "hlc", "origin", "digest", "lineage")
VECTORS_AT_ONCE = 2_000
"""Vectors of one answer: about three megabytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """Words to look for: as typed, whether as beginnings, and what each is worth."""

    raw: Sequence[str]
    beginnings: Sequence[bool]
    weights: Sequence[float]

    @property
    def arguments(self) -> tuple[list[str], list[bool], list[float]]:
        """As the doors take them."""
        return list(self.raw), list(self.beginnings), list(self.weights)


class Desk:
    """One open search. All calls raise WarehouseError's family."""

    def __init__(self, db: Connection, opened: Mapping[str, Any]) -> None:
        """Use `opened`."""
        self._db = db
        self.tenant: str = opened["tenant"]
        self.now_ms: int = opened["now_ms"]
        """The warehouse's clock, UTC ms."""
        self.unindexed: int = opened["unindexed"]
        """Rows that came and are not indexed yet: a search does not find them by their words."""
        self._search: str = opened["search"]

    def close(self, given: Sequence[tuple[str, str]]) -> None:
        """End the search; `given` are (kind, id) of the rows that were shown."""
        self._one("close", json.dumps([list(one) for one in given]))

    def size(self, kind: str) -> int:
        """Rows of a kind, from 100,000 on about."""
        return int(self._one("size", kind))

    def frequencies(self, kind: str, raw: Sequence[str], beginnings: Sequence[bool]) -> list[int]:
        """In how many rows each word is, from 20,000 on about."""
        return list(self._one("frequencies", kind, list(raw), list(beginnings)))

    def stems(self, kind: str, beginning: str, least: int, most: int) -> list[str]:
        """Stems that begin so, of so many characters."""
        return self._keys("stems", kind, beginning, least, most)

    def people(self, names: Sequence[str]) -> list[str]:
        """Those of some names that are people here."""
        return self._keys("people", list(names))

    def by_words(self, kind: str, given: str, words: Words, limit: int) -> list[str]:
        """Ids of rows that have any of the words, those with the rarest first.

        `given` is the filter of the kind as JSON.
        """
        return self._keys(f"by_words_{kind}", given, *words.arguments, limit)

    def newest(
        self,
        kind: str,
        given: str,
        words: Words,
        limit: int,
        *,
        all_of: bool,
        measure: int,
        span: tuple[int | None, int | None] = (None, None),
    ) -> list[str]:
        """The best of the newest `measure` rows with all or any of the words, within a time."""
        rest = (*words.arguments, limit, all_of, measure, *span)
        return self._keys(f"newest_{kind}", given, *rest)

    def by_literal(self, kind: str, given: str, literal: str, limit: int) -> list[str]:
        """Ids of the newest rows that hold this text; reads every row's."""
        return self._keys(f"by_literal_{kind}", given, literal, limit)

    def by_id(self, kind: str, start: str, end: str, limit: int) -> list[str]:
        """Ids that begin or end so."""
        return self._keys(f"by_id_{kind}", start, end, limit)

    def passing(self, kind: str, given: str, ids: Sequence[str]) -> list[str]:
        """Those of the ids whose rows pass the filter, in their order."""
        return self._keys(f"passing_{kind}", given, list(ids))

    def beside(self, ids: Sequence[str]) -> list[str]:
        """Ids of the turns next to these."""
        return self._keys("beside", list(ids))

    def indexed(self, kind: str, model: str, dims: int) -> int | None:
        """Up to which number an index holds the vectors of a model; None without one."""
        found = self._one("indexed", kind, model, dims)
        return None if found is None else int(found)

    def nearest(
        self,
        kind: str,
        given: str,
        model: str,
        vector: Sequence[float],
        limit: int,
        *,
        exact: bool = False,
    ) -> list[str]:
        """Ids of rows whose indexed vectors lie nearest; `exact` compares with all of them."""
        listed = "[" + ",".join(map(repr, vector)) + "]"
        return self._keys(f"nearest_{kind}", given, model, len(vector), listed, limit, exact)

    def turn_vectors(
        self, ids: Sequence[str], model: str, dims: int
    ) -> list[tuple[str, int, int, bytes]]:
        """(turn id, view, chunk, vector) of these turns, as far as they were made."""
        return self._rows("turn_vectors", ("*",), list(ids), model, dims) if ids else []

    def vectors(
        self, kind: str, model: str, dims: int, after: int
    ) -> Iterator[list[tuple[str, bytes]]]:
        """(row id, vector) of what came behind a number, some thousand at a time."""
        while True:
            found = self._rows("vectors", ("*",), kind, model, dims, after, VECTORS_AT_ONCE)
            if not found:
                return
            yield [(key, vector) for _, key, vector in found]
            after = found[-1][0]

    def rows(self, table: Table, ids: Sequence[str], model: str | None = None) -> list[Row]:
        """Whole living rows: of memories and turns by id, of vectors and edges by memory."""
        columns = (table.key, *table.names, "extra", *VERSION_COLUMNS)
        found = self._rows(f"rows_{table.name}", columns, list(ids), model) if ids else []
        layout = Layout.of(table, {column.name: column.tag for column in table.columns})
        return [wire.row(layout, values) for values in found]

    def machines(self) -> dict[str, str]:
        """Id of each machine as 32 hex digits -> its host."""
        return dict(self._rows("machines", ("*",)))

    def _one(self, name: str, *given: object) -> Any:
        return self._rows(name, ("*",), *given)[0][0]

    def _keys(self, name: str, *given: object) -> list[str]:
        return [key for (key,) in self._rows(name, ("*",), *given)]

    def _rows(self, name: str, columns: Sequence[str], *given: object) -> list[Any]:
        query = door_in(API, name, len(given) + 2, columns)
        with self._db.cursor(binary=True) as cursor:
            return cursor.execute(query, (self.tenant, self._search, *given)).fetchall()


@contextmanager
def opened(
    dsn: Dsn,
    *,
    tenant: str | None,
    machine: str | None,
    kinds: Sequence[str],
    policy: Policy = NAMED,
) -> Iterator[Desk]:
    """An open search; `machine` says which one asks. The connection is closed afterwards.

    Raises WarehouseRefused for who may not search, or not that tenant.
    """
    db = connect(dsn, path=REPORT_PATH, policy=policy)
    try:
        query = sql.SQL("SELECT satchel_search.open(%s, %s, %s)")
        row = db.execute(query, (tenant, machine, list(kinds))).fetchone()
        if row is None:
            raise AssertionError("unreachable: a function gives one row")
        yield Desk(db, row[0])
    except psycopg.Error as error:
        raise translate(error) from error
    finally:
        db.close()
