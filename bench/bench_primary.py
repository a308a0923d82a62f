"""What a machine whose store is Postgres would cost: statements a call, and SQL that it would take.

For docs/adr/0034: the primary mode that satchel has not.
"""

from __future__ import annotations

import re
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from statistics import median
from typing import Any

import apsw
import psycopg
from bench.corpus import Corpus
from bench.measure import COLUMNS, Samples, sampled
from bench.page import Section
from bench.stock import fill
from fix_hub import fresh_database
from fix_memory import opened, seen_as
from fix_steps import STEPS, filled
from psycopg import sql

from satchel.memory.search.search import search
from satchel.memory.write import write
from satchel.replica import Replica
from satchel.tools import catalog

HELD = 1_000
TIMES = 200
WAYS = (
    ("socket of this machine", 0.0),
    ("LAN", 0.5),
    ("site to site", 10.0),
    ("home office", 30.0),
)
"""Where a server may be, with a round trip in ms; the first is measured here."""
TELLING = ("memory_write", "memory_search", "memory_list", "task_create", "task_claim",
           "message_send", "message_inbox", "chatlog_write", "session_start")  # fmt: skip
METHOD = f"""
Every tool of the catalog is called once, in one process, on a replica of {HELD:,} memories (the
steps of tests/fix_steps.py); SQLite's own trace counts the statements that the store runs for it.
Beside it stands what these statements would take if each were a round trip to a server; nothing
else of such a store is counted. The round trip of the first column is measured: `SELECT 1` by
psycopg over a Unix socket of the same machine.
"""
SPEAKS = """
Each distinct statement that those calls ran is prepared in a Postgres that has the replica's tables
(same names, columns and types), with `?` written as `$1`: does it take the words of SQLite?
"""


def bench_primary(durable_cluster: str, tmp_path: Path) -> None:
    with opened(tmp_path / "home", "bob", role="operator", embedding="off") as replica:
        fill(replica.store, Corpus().memories(HELD))
        calls, statements = traced(replica)
        tables, made = columns_of(replica), made_of(replica)
    with fresh_database(durable_cluster) as dsn, psycopg.connect(dsn, autocommit=True) as db:
        trip = sampled(lambda: db.execute("SELECT 1").fetchall(), TIMES)
        told_calls(calls, trip)
        told_language(db, statements, tables, made)


def bench_beside(durable_cluster: str, tmp_path: Path) -> None:
    """A write and a read of each store, one client, durable."""
    section = Section("primary-beside", "One row, durable: SQLite and Postgres", f"""
    {TIMES} times each. memory.write and memory.search are the whole calls on a replica of {HELD:,}
    memories (durability full, audit included). Postgres is the embedded one over a Unix socket,
    fsync on: a plain INSERT with its commit into a table with the columns of memory and a GIN index
    on its words, then a SELECT of that row on another connection.
    """, ("what", *COLUMNS))  # fmt: skip
    texts, numbers = Corpus(3), count()
    with opened(tmp_path / "home", embedding="off") as replica:
        fill(replica.store, Corpus().memories(HELD))
        ours = sampled(lambda: write(replica, f"{texts.text()} {next(numbers)}"), TIMES)
        found = sampled(lambda: search(replica, texts.text()[:20]), TIMES)
    with fresh_database(durable_cluster) as dsn:
        theirs, seen = inserted(dsn, texts)
    section.add("memory.write", *ours.columns())
    section.add("memory.search", *found.columns())
    section.add("INSERT + COMMIT in Postgres", *theirs.columns())
    section.add("SELECT of it elsewhere", *seen.columns())
    section.write()


def inserted(dsn: str, texts: Corpus) -> tuple[Samples, Samples]:
    """Times of a durable insert, and of finding the row from another connection."""
    with (
        psycopg.connect(dsn, autocommit=True) as db,
        psycopg.connect(dsn, autocommit=True) as other,
    ):
        db.execute("CREATE TABLE memory (id bigint PRIMARY KEY, content text)")
        db.execute("CREATE INDEX ON memory USING gin (to_tsvector('simple', content))")
        numbers = count()
        into = "INSERT INTO memory VALUES (%s, %s)"
        wrote = sampled(lambda: db.execute(into, (next(numbers), texts.text())), TIMES)
        keys = count()
        read = "SELECT content FROM memory WHERE id = %s"
        found = sampled(lambda: other.execute(read, (next(keys),)).fetchall(), TIMES)
    return wrote, found


# ---- statements of a call ------------------------------------------------------------------------


def traced(replica: Replica) -> tuple[dict[str, tuple[int, float]], Counter[str]]:
    """Tool -> (statements, ms) of its first call, and how often each statement was run."""
    known: dict[str, str] = {}
    calls: dict[str, tuple[int, float]] = {}
    every: Counter[str] = Counter()
    for name, arguments, keep in STEPS:
        tool, _ = catalog.find(name)
        caller = seen_as(replica, "ann" if name == "session_join" else "bob", role="operator")
        given = tool.arguments(filled(arguments, known))
        with tracing(replica) as ran:
            began = time.perf_counter()
            answer = tool.call(caller, given)
            took = (time.perf_counter() - began) * 1000
        calls.setdefault(name, (len(ran), took))
        every.update(ran)
        if keep:
            known[f"${keep}"] = answer["id"]
    return calls, every


@contextmanager
def tracing(replica: Replica) -> Iterator[list[str]]:
    """Every statement that this thread's connection runs."""
    ran: list[str] = []
    with replica.store.read() as db:
        connection: apsw.Connection = db

    def note(_: Any, statement: str, __: Any) -> bool:
        ran.append(" ".join(statement.split()))
        return True

    connection.set_exec_trace(note)
    try:
        yield ran
    finally:
        connection.set_exec_trace(None)


def told_calls(calls: dict[str, tuple[int, float]], trip: Samples) -> None:
    ways = [(name, ms or trip.p50) for name, ms in WAYS]
    columns = ("tool", "statements", "ms here", *(f"{name} ({ms:.2g} ms)" for name, ms in ways))
    section = Section("primary", "Statements of a tool call", METHOD, columns)
    for name in TELLING:
        statements, ms = calls[name]
        waits = (f"{statements * way:.1f}" for _, way in ways)
        section.add(name, statements, f"{ms:.1f}", *waits)
    middle = int(median(statements for statements, _ in calls.values()))
    section.add(
        f"median of {len(calls)} tools", middle, "", *(f"{middle * w:.0f}" for _, w in ways)
    )
    section.write()


# ---- whose SQL it is -----------------------------------------------------------------------------


def columns_of(replica: Replica) -> dict[str, list[tuple[str, str]]]:
    """Table -> its columns with their declared types."""
    with replica.store.read() as db:
        names = db.execute("SELECT name FROM sqlite_schema WHERE type IN ('table', 'view')")
        tables = [str(name) for (name,) in names.fetchall()]
        return {
            table: [
                (str(name), str(kind))
                for _, name, kind, *_ in db.execute(f'PRAGMA table_info("{table}")').fetchall()
            ]
            for table in tables
            if not table.startswith("sqlite_")
        }


TYPES = {"INTEGER": "bigint", "REAL": "double precision", "BLOB": "bytea"}


def made_of(replica: Replica) -> str:
    """What of the file is SQLite's own besides statements, in words."""
    with replica.store.read() as db:
        triggers = db.execute("SELECT count(*) FROM sqlite_schema WHERE type = 'trigger'").get
        lines = db.execute(
            "SELECT sum(length(sql) - length(replace(sql, char(10), '')) + 1) FROM sqlite_schema"
            " WHERE type = 'trigger'"
        ).get
        query = "SELECT count(*) FROM sqlite_schema WHERE sql LIKE 'CREATE VIRTUAL TABLE%'"
        virtual = db.execute(query).get
    return f"{triggers} triggers of {lines:,} lines, {virtual} virtual tables (full text)"


def told_language(
    db: psycopg.Connection[Any],
    statements: Counter[str],
    tables: dict[str, list[tuple[str, str]]],
    made: str,
) -> None:
    for table, columns in tables.items():
        shape = sql.SQL(", ").join(
            sql.SQL("{} " + TYPES.get(kind.upper(), "text")).format(sql.Identifier(name))
            for name, kind in columns
        )
        db.execute(sql.SQL("CREATE TABLE {} ({})").format(sql.Identifier(table), shape))
    verdicts: dict[str, list[str]] = defaultdict(list)
    for statement in sorted(statements):
        verdicts[verdict(db, statement)].append(statement)
    section = Section(
        "primary-language", "SQL of the tools, read by Postgres", SPEAKS,
        ("verdict of Postgres", "distinct statements", "runs", "for example"),
    )  # fmt: skip
    for said in sorted(verdicts, key=lambda said: -len(verdicts[said])):
        those = verdicts[said]
        example = those[len(those) // 2][:60].replace("|", "∣")
        section.add(said, len(those), sum(statements[one] for one in those), f"`{example}…`")
    refused = sum(len(those) for said, those in verdicts.items() if said != "taken")
    section.remarks.append(
        f"{refused} of {len(statements)} distinct statements are refused. Those that are taken may"
        " still mean something else there (order of text, place of NULL, LIKE that minds case)."
    )
    section.remarks.append(f"Not counted above: {made}.")
    section.write()


def verdict(db: psycopg.Connection[Any], statement: str) -> str:
    """What Postgres says to one statement: `taken`, or the name of its error."""
    if re.match("BEGIN|COMMIT|ROLLBACK|SAVEPOINT|RELEASE", statement):
        return "taken"
    number = count(1)
    written = re.sub(
        r"'(?:[^']|'')*'|\?[0-9]*",
        lambda m: m[0] if m[0][0] == "'" else f"${m[0][1:] or next(number)}",
        statement,
    )
    try:
        db.execute(f"PREPARE tried AS {written}".encode())
    except psycopg.Error as error:
        return str(type(error).__name__)
    db.execute("DEALLOCATE tried")
    return "taken"
