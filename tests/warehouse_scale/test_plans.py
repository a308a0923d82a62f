"""No view reads a big table from end to end, and every index is there for a query that uses it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime
from typing import Any

import psycopg
import pytest
from fix_hub import PREFIX, HubWorld
from fix_plans import Scan, as_large, indexes, scans, used
from psycopg import conninfo

from satchel_sync.tables import KINDS
from satchel_warehouse import roles
from satchel_warehouse.reports.catalog.knowledge import BY_DAY, LATEST
from satchel_warehouse.reports.report import Scope, Section
from satchel_warehouse.seeding.seed import seed
from satchel_warehouse.views.catalog import VIEWS

ROWS, MACHINES = 2_500, 8
READ_MAX = 10 * MACHINES
"""Rows of big tables that a view may read: the newest syncs of each machine, and no more."""
FILLER = """
INSERT INTO satchel.relayed (tenant, replica_id, attempt, kind, origin, rows, at)
SELECT 'seeded', '\\x01', 'a', 'memory', int8send(n), 1, 1 FROM generate_series(1, 50) AS n;
INSERT INTO satchel.searched (tenant, id, at, login, kinds, opened_in)
SELECT 'seeded', n, n, 'somebody', '{}', 1 FROM generate_series(1, 50) AS n;
INSERT INTO satchel.turn_vector (tenant, turn, model, view, chunk, dims, before, vector)
SELECT 'seeded', n, 'model-' || n, 0, 0, 1, n, '\\x00' FROM generate_series(1, 50) AS n
"""
"""Rows of tables that nobody seeds: of an empty one the planner knows that it is."""
A_DAY = Scope(
    since=date(2026, 6, 1), until=date(2026, 6, 1), at=datetime(2026, 6, 2, tzinfo=UTC),
    tenant="seeded", tenants=("seeded",),
).as_parameters()  # fmt: skip
"""What the queries of reports are asked with."""
WHY: dict[str, str] = {
    # A pull reads what is above its cursor, a digest check what is in its range.
    **{
        f"{kind}_change_seq": f"SELECT * FROM satchel.{kind} WHERE tenant = 'seeded'"
        " AND change_seq > 100 AND change_seq <= 200 ORDER BY change_seq"
        for kind in KINDS
    },
    # What is about a row that is forgotten goes with it.
    "embedding_memory_id": "SELECT id FROM satchel.embedding WHERE tenant = 'seeded'"
    " AND memory_id = ANY ('{a,b}')",
    "relationship_from_id": "SELECT id FROM satchel.relationship WHERE tenant = 'seeded'"
    " AND from_id = ANY ('{a,b}')",
    "relationship_to_id": "SELECT id FROM satchel.relationship WHERE tenant = 'seeded'"
    " AND to_id = ANY ('{a,b}')",
    "history_subject": "SELECT id FROM satchel.history WHERE tenant = 'seeded' AND key = 'a'",
    # Turns of an hour, asked for by hand or by a report of one's own.
    "chatlog_said_at": "SELECT sum(tokens_in) FROM satchel.chatlog WHERE tenant = 'seeded'"
    " AND said_at >= 1796000000000 AND said_at < 1796003600000",
    # What was said before and after a turn that a search found.
    "chatlog_conversation": "SELECT id FROM satchel.chatlog WHERE tenant = 'seeded'"
    " AND octet_length(conversation_id) <= 800 AND conversation_id = 'a'"
    " AND ordinal > 3 ORDER BY ordinal, id LIMIT 1",
    # Whether a row of an unknown origin was taken before.
    "relayed_origin": r"SELECT 1 FROM satchel.relayed WHERE tenant = 'seeded' AND origin = '\x01'",
    # The newest sync of a machine.
    "attempt_replica": "SELECT * FROM satchel.attempt WHERE replica_id = '\\x01'"
    " ORDER BY started_at DESC LIMIT 1",
    # A search: by words, by when, by who spoke, by the first word of a name; who searched when.
    "search_text_words": "SELECT id FROM satchel.search_text WHERE words @@ 'nowhere'::tsquery",
    "search_text_at": "SELECT id FROM satchel.search_text WHERE tenant = 'seeded'"
    " AND kind = 'memory' AND at >= 1796000000000 AND at < 1796003600000",
    "search_text_speaker": "SELECT id FROM satchel.search_text WHERE tenant = 'seeded'"
    " AND kind = 'chatlog' AND speaker = 'nobody'",
    "search_text_lead_name": "SELECT id FROM satchel.search_text WHERE tenant = 'seeded'"
    " AND kind = 'chatlog' AND lead_name = 'nobody'",
    # Vectors of turns: those that a page of a scan gives, those with what was said before them.
    "turn_vector_seq": "SELECT * FROM satchel.turn_vector WHERE tenant = 'seeded'"
    " AND model = 'm' AND seq > 3 ORDER BY seq LIMIT 10",
    "turn_vector_before": "SELECT * FROM satchel.turn_vector WHERE tenant = 'seeded'"
    " AND before = 'a'",
    "searched_at": "SELECT * FROM satchel.searched WHERE tenant = 'seeded' AND at >= 1 AND at < 9",
    # The report `knowledge`, of a period.
    "report_changes_at": LATEST.query,
}


@pytest.fixture(scope="module")
def large(world: HubWorld) -> HubWorld:
    """A warehouse that looks large to the planner, with two organisations."""
    seed(world.dsn, rows=ROWS, machines=MACHINES)
    seed(world.dsn, rows=300, machines=2, tenant="seeded-2")
    with world.psql() as db:
        db.execute("SELECT satchel.refresh_reports()")
        db.execute(FILLER)
        for kind in ("memory", "chatlog"):
            db.execute(f"SELECT satchel.index_{kind}('seeded', 10000, true)".encode())
        db.execute("ANALYZE")
    return world


@pytest.fixture(autouse=True)
def _looks_large(admin: psycopg.Connection[Any]) -> None:
    """Before each test, as autovacuum may count anew."""
    as_large(admin)


@pytest.fixture(scope="module")
def reporter(large: HubWorld) -> Iterator[psycopg.Connection[Any]]:
    """A session of somebody who reads the reports of one organisation."""
    name = f"{PREFIX}reporter"
    roles.grant(large.dsn, name, kind="reporter", tenant="seeded")
    large.logins.append(name)
    with psycopg.connect(conninfo.make_conninfo(large.dsn, user=name), autocommit=True) as db:
        yield db


@pytest.fixture(scope="module")
def admin(large: HubWorld) -> psycopg.Connection[Any]:
    """A session of the administrator, who sees all organisations."""
    return large.psql()


@pytest.mark.parametrize("view", [view.name for view in VIEWS])
def test_a_view_reads_hardly_anything(
    view: str, reporter: psycopg.Connection[Any], admin: psycopg.Connection[Any]
) -> None:
    for db in (reporter, admin):
        assert faults(scans(db, f"SELECT * FROM report.{view}")) == []


@pytest.mark.parametrize(
    "query",
    [
        "SELECT count(*) FROM satchel.memory",
        "SELECT count(*) FROM satchel.chatlog WHERE said_at IS NOT NULL",
        # By an index, yet all of it: what enable_seqscan = off would let pass.
        "SELECT max(hlc) FROM satchel.memory WHERE tenant = 'seeded'",
    ],
)
def test_such_a_view_would_be_found(query: str, admin: psycopg.Connection[Any]) -> None:
    assert faults(scans(admin, query)) != []


def test_every_index_is_used(admin: psycopg.Connection[Any]) -> None:
    assert sorted(WHY) == indexes(admin), "an index without a reason, or a reason without an index"
    admin.execute("SET enable_sort = off")  # of few rows it is cheap
    asked = psycopg.ClientCursor(admin).mogrify
    unused = {
        name: using
        for name, query in WHY.items()
        if name not in (using := used(admin, asked(query.encode(), A_DAY)))
    }
    assert unused == {}


@pytest.mark.parametrize("section", [BY_DAY, LATEST], ids=lambda one: one.name)
def test_a_period_is_a_condition_of_the_index(
    section: Section, reporter: psycopg.Connection[Any]
) -> None:
    query = psycopg.ClientCursor(reporter).mogrify(section.query.encode(), A_DAY)
    plan = "\n".join(line for (line,) in reporter.execute(f"EXPLAIN {query}".encode()))
    condition = next(line for line in plan.splitlines() if "Index Cond" in line)
    assert "(at >=" in condition.replace("c.at", "at"), plan
    assert "report_changes_at" in plan


def faults(found: list[Scan]) -> list[Scan]:
    """Nodes that read a big table from end to end, or many rows of it."""
    whole = [one for one in found if one.node == "Seq Scan"]
    return found if sum(one.rows for one in found) > READ_MAX else whole
