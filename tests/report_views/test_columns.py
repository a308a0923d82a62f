"""Names, types and comments of the views: what people build on, and what never changes."""

from __future__ import annotations

import platform
from pathlib import Path

import psycopg
import pytest
from fix_hub import HubWorld
from fix_reported import Scene

from satchel_warehouse import admin
from satchel_warehouse.views import document
from satchel_warehouse.views.catalog import BY_NAME, VIEWS
from satchel_warehouse.views.view import read

COLUMNS = {
    "machines": "tenant machine host login version first_seen@ last_seen@ last_sync@ last_exit#"
    " syncs_7d# failed_7d# lag_s. rows# rows_behind# oldest_unsent_s. clock_offset_ms# quarantined#"
    " revoked? status",
    "activity": "tenant day/ machine host agent kind created# changed# deleted#",
    "memories": "tenant state type scope space memories# pinned# oldest@ newest@",
    "knowledge_changes": "tenant at@ day/ event memory_id successor_id actor machine host type"
    " scope space fields",
    "conflicts": "tenant day/ machine host kind path conflicts# rows_written# rate.",
    "quarantine": "tenant machine host kind rows# reported_at@",
    "totals": "tenant kind alive# deleted# erased#",
    "tasks": "tenant task_id title status owner created_by created_at@ completed_at@ cycle_s."
    " age_s. due_at@ overdue? claimed_by lease_until@ parent_id root_id depth# children#",
    "task_flow": "tenant day/ created# done# failed# cancelled# cycle_s_median. cycle_s_p90."
    " open_at_end#",
    "tasks_open": "tenant owner age status tasks#",
    "conversations": "tenant conversation_id host_agent agent machine host first_at@ last_at@"
    " turns# tokens_in# tokens_out# cost.",
    "usage": "tenant day/ provider model machine host agent turns# tokens_in# tokens_out# cost.",
    "embedding_coverage": "tenant model memories# embedded# outdated# missing# share.",
    "deletions": "tenant day/ machine host kind deleted# erased#",
    "reads": "tenant day/ machine host actor tool action records# rows_given#",
    "freshness": "tenant name refreshed_at@ rows#",
}
"""A promise. A line may only grow at its end; a view may only be added."""
TYPES = {
    "@": "timestamp with time zone", "#": "bigint", ".": "double precision", "?": "boolean",
    "/": "date",
}  # fmt: skip
IN_DATABASE = """
SELECT attname, format_type(atttypid, atttypmod), col_description(attrelid, attnum)
FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0 ORDER BY attnum
"""


def test_views_are_those_that_were_promised(told: Scene) -> None:
    found = told.rows(
        "SELECT viewname, obj_description(format('report.%%I', viewname)::regclass)"
        " FROM pg_views WHERE schemaname = 'report'"
    )
    assert dict(found) == {view.name: view.doc for view in VIEWS}
    assert [view.name for view in VIEWS][: len(COLUMNS)] == list(COLUMNS)


@pytest.mark.parametrize("name", COLUMNS)
def test_a_view_has_its_columns_types_and_comments(told: Scene, name: str) -> None:
    found = told.rows(IN_DATABASE, f"report.{name}")
    promised = [
        (column.rstrip("@#.?/"), TYPES.get(column[-1], "text")) for column in COLUMNS[name].split()
    ]
    assert [(column, kind) for column, kind, _ in found][: len(promised)] == promised
    assert found == [(c.name, c.type, c.doc) for c in BY_NAME[name].columns]


def test_the_page_is_made_from_the_catalog() -> None:
    page = Path(__file__).parents[2] / "docs" / "REPORT_VIEWS.md"
    assert page.read_text("utf-8") == document.document()


def test_the_examples_of_the_page_answer(told: Scene) -> None:
    text = read("examples.sql").replace("'ID'", "'" + told.ids["root"] + "'")
    looked, cost, replaced, below = (
        told.rows(query) for query in text.split(";") if "SELECT" in query
    )
    assert [line[1:] for line in looked] == [
        ("failing", None, 44, None),  # a machine that never came to its end: all there is
        ("ok", looked[1][2], 2, 1),  # the desk holds a row back
    ]
    assert [line[2:] for line in cost] == [("m1", 0.25, 100, 30), ("m2", None, 0, 7)]
    assert [line[1:] for line in replaced] == [
        ("ada", platform.node(), told.ids["old"], told.ids["new"])
    ]
    assert below == [
        ("Move the archive", "completed", None),
        ("  Pack the boxes", "pending", "bob"),
    ]


def test_views_of_other_people_live_through_a_migration(hub_world: HubWorld) -> None:
    db = hub_world.psql()
    db.execute("CREATE VIEW public.mine AS SELECT host, status FROM report.machines")
    try:
        admin.migrate(hub_world.dsn)
        assert db.execute("SELECT count(*) FROM public.mine").fetchall() == [(1,)]
        with pytest.raises(psycopg.errors.DependentObjectsStillExist):
            db.execute("DROP VIEW report.machines")
    finally:
        db.execute("DROP VIEW public.mine")
