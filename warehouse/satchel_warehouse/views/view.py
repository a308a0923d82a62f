"""What a view of schema `report` is: its columns with their meaning, and its SQL in a file."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from typing import Literal

Type = Literal["text", "bigint", "double precision", "boolean", "date", "timestamp with time zone"]


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a view: its Postgres type and what it means, as the SQL comment says it."""

    name: str
    type: Type
    doc: str


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """A view: columns are only ever appended, their types never change: people build on them.

    `sum` is the name of the table `satchel.report_<sum>` that holds it since the last refresh; None
    for a view that is read live, `is_mixed` one of which some columns are.
    """

    name: str
    doc: str
    columns: tuple[Column, ...]
    sum: str | None
    is_mixed: bool = False

    @property
    def as_of(self) -> str:
        """Of when its lines tell, in words."""
        if self.is_mixed:
            return "live; syncs, failures and rows: last refresh"
        return "last refresh" if self.sum else "live"

    @property
    def sql(self) -> str:
        """Its SELECT, with `@parts@` to be filled (`making`)."""
        return read(f"{self.name}.sql")


def read(path: str) -> str:
    """A file of sql/report."""
    return files("satchel_warehouse.sql").joinpath("report", *path.split("/")).read_text("utf-8")


def text(name: str, doc: str) -> Column:
    """A column of text."""
    return Column(name, "text", doc)


def count(name: str, doc: str) -> Column:
    """A column of whole numbers."""
    return Column(name, "bigint", doc)


def number(name: str, doc: str) -> Column:
    """A column of floating-point numbers."""
    return Column(name, "double precision", doc)


def flag(name: str, doc: str) -> Column:
    """A column of true and false."""
    return Column(name, "boolean", doc)


def day(name: str, doc: str) -> Column:
    """A column of days."""
    return Column(name, "date", doc)


def moment(name: str, doc: str) -> Column:
    """A column of times."""
    return Column(name, "timestamp with time zone", doc)


TENANT = text("tenant", "tenant (organisation)")
DAY = day("day", "day in UTC")
MACHINE = text("machine", "machine: its replica id, 32 hex digits")
HOST = text("host", "the name that the machine gave itself; `(warehouse)` for SQL by hand there")
KIND = text("kind", "row kind: memory, task, chatlog, …")
