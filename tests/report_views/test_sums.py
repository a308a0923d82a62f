"""What makes the sums: it agrees with replicas, and no wild row breaks it."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from typing import Any
from uuid import UUID

import psycopg
import pytest
from fix_hub import HubWorld, row_of, titled
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from satchel.memory.tasks.tree import Link, cut_links
from satchel.store.embedded_text import text_hash
from satchel_sync.stamp import SCRUBBED
from satchel_sync.tables import HISTORY, MEMORY, TASK
from satchel_warehouse.views.catalog import VIEWS

INT64 = 2**63
WILD_TIMES = (-INT64, INT64 - 1, -1, 0, 253_402_300_799_999, 253_402_300_800_000)
LONG = "".join(chr(0x10000 + n * 7919 % 0xFFFF) for n in range(5_000))
"""Longer than an index takes, and not to be made shorter."""
WILD_TEXTS = ("", "[", "[1]", '{"a": 1}', '"\\u0000"', '["\\ud800"]', "null", "'; DROP TABLE x; --",
              LONG, "[" * 20_000)  # fmt: skip
text = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0")
    | st.sampled_from("  \t\n\u2028\u00a0_e\u0301"),
    max_size=40,
)


@pytest.fixture(scope="module")
def db(world: HubWorld) -> psycopg.Connection[Any]:
    found = world.psql()
    found.execute("SET search_path = satchel, pg_catalog")
    return found


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(title=st.none() | text, aliases=st.none() | text | st.lists(text), content=st.none() | text)
@example(title="The_port", aliases=["door", "gate"], content="  5000\n\n is\u00a0it ")
@example(title="e", aliases=None, content="\u0301x")
@example(title=None, aliases=["a", 1], content=" ")
@example(title=" ", aliases="[", content="\x1c")
def test_the_text_of_a_memory_has_the_hash_that_a_replica_gives_it(
    db: psycopg.Connection[Any], title: str | None, aliases: Any, content: str | None
) -> None:
    stored = json.dumps(aliases) if isinstance(aliases, list) else aliases
    found = db.execute(
        "SELECT embedded_hash(%(t)s::text, %(a)s::text, %(c)s::text),"
        " is_embeddable(%(t)s::text, %(a)s::text, %(c)s::text)",
        {"t": title, "a": stored, "c": content},
    ).fetchone()
    wanted = text_hash(title, stored, content) or None
    assert found == (wanted, wanted is not None)


@pytest.mark.parametrize("ms", WILD_TIMES)
def test_days_and_times_are_those_of_the_calendar(db: psycopg.Connection[Any], ms: int) -> None:
    if not -62_135_596_800_000 <= ms < 253_402_300_800_000:
        assert db.execute("SELECT day_of(%s), moment(%s)", (ms, ms)).fetchone() == (None, None)
        return
    found = db.execute(
        "SELECT day_of(%s) = (to_timestamp(%s::numeric / 1000) AT TIME ZONE 'UTC')::date,"
        " abs(extract(epoch FROM moment(%s)) * 1000 - %s) < 0.01", (ms, ms, ms, ms),
    ).fetchone()  # fmt: skip
    assert found == (True, True)


def test_an_id_tells_when_it_was_drawn(db: psycopg.Connection[Any]) -> None:
    drawn = UUID(int=(1_800_000_000_000 << 80) | (7 << 76) | (2 << 62) | 5)
    query = "SELECT drawn_ms(%s), drawn_ms('x'), drawn_ms(%s)"
    other = str(drawn).replace("-7", "-8", 1)
    assert db.execute(query, (str(drawn), other)).fetchone() == (1_800_000_000_000, None, None)


@pytest.mark.parametrize("seed", range(4))
def test_trees_of_tasks_are_those_of_a_replica(hub_world: HubWorld, seed: int) -> None:
    """Parents at random: rings, chains into rings, parents that are missing or dead."""
    drawn = random.Random(seed)
    keys = [f"t{number}" for number in range(60)]
    ring = dict(zip(keys[:3], [*keys[1:3], keys[0]], strict=True))
    hub = hub_world.replica(1)
    rows = [
        row_of(
            TASK, key,
            titled(TASK, created_at=1, parent_id=ring.get(key) or drawn.choice([*keys, "gone"])),
            hlc=drawn.randrange(1 << 40, (1 << 40) + 20),
        )
        for key in keys
    ]  # fmt: skip
    hub.push(TASK, rows)
    db = hub_world.psql()
    for key in drawn.sample(keys[3:], 3):
        db.execute("DELETE FROM satchel.task WHERE id = %s", (key,))
    db.execute("SELECT satchel.refresh_reports()")
    held = db.execute(
        "SELECT id, parent_id, life, hlc, origin, digest FROM satchel.task"
        " WHERE satchel.is_alive(life)"
    )
    links = {key: Link(parent, tuple(version)) for key, parent, *version in held}  # type: ignore[arg-type]
    cut = cut_links(links)
    wanted = {key: None if key in cut else link.parent for key, link in links.items()}
    found = db.execute("SELECT task_id, parent_id, root_id, depth, children FROM report.tasks")
    placed = {key: rest for key, *rest in found}
    assert {key: parent for key, (parent, *_) in placed.items()} == wanted
    for key, (_, root, depth, children) in placed.items():
        above = [key]
        while (parent := wanted[above[-1]]) is not None:
            above.append(parent)
        assert (root, depth) == (above[-1], len(above) - 1)
        assert children == list(wanted.values()).count(key)
    assert "cycle" in cut.values()


def test_wild_rows_break_no_report(hub_world: HubWorld) -> None:
    """Whatever a machine pushed or a hand wrote, sums are made and every view can be read."""
    db = hub_world.psql()
    hub_world.replica(1)
    times = {
        "memory": "valid_from valid_to retired_at recorded_at expires_at pinned",
        "task": "created_at completed_at due_at lease_until",
        "chatlog": "said_at tokens_in tokens_out ordinal",
        "history": "at",
        "message": "created_at",
        "session": "opened_at",
    }
    for number, ms in enumerate(WILD_TIMES):
        for kind, columns in times.items():
            names = columns.split()
            db.execute(
                f"INSERT INTO satchel.{kind} (id, {', '.join(names)})"
                f" VALUES ('w{number}', {', '.join(['%s'] * len(names))})",
                [ms] * len(names),
            )
    for number, told in enumerate(WILD_TEXTS):
        db.execute(
            "INSERT INTO satchel.memory (id, title, aliases, content, type, scope, space)"
            " VALUES (%s, %s, %s, %s, %s, %s, %s)", [f"x{number}", *[told] * 6],
        )  # fmt: skip
        db.execute(
            "INSERT INTO satchel.history (id, kind, key, event, changes, actor, at)"
            " VALUES (%s, 'memory', %s, 'update', %s, %s, 1)",
            [f"x{number}", f"x{number}", told, told],
        )
        db.execute(
            "INSERT INTO satchel.embedding (id, memory_id, model, content_hash)"
            " VALUES (%s, %s, %s, %s)", [f"x{number}", f"x{number}", told, told],
        )  # fmt: skip
        db.execute(
            "INSERT INTO satchel.chatlog (id, conversation_id, provider, model, agent_id,"
            " host_agent) VALUES (%s, %s, %s, %s, %s, %s)", [f"x{number}", told[:500], *[told] * 4],
        )  # fmt: skip
        db.execute(
            "INSERT INTO satchel.task (id, title, status, scope, created_by, owner_agent,"
            " parent_id) VALUES (%s, %s, %s, %s, %s, %s, %s)", [f"x{number}", *[told] * 6],
        )  # fmt: skip
        db.execute(
            "INSERT INTO satchel.audit SELECT tenant, replica_id, 'reads', %s, %s, %s, '', '', 1"
            " FROM satchel.replica LIMIT 1", [number + 1, WILD_TIMES[number % 6], told],
        )  # fmt: skip
        db.execute(
            "INSERT INTO satchel.attempt (tenant, attempt, replica_id, started_at, finished_at,"
            " report) SELECT tenant, %s, replica_id, %s, 1, %s FROM satchel.replica",
            [f"x{number}", number, told],
        )
    for number, cost in enumerate((1e308, 1e308, -1e308, 0.5)):
        db.execute(
            "INSERT INTO satchel.chatlog (id, conversation_id, ordinal, model, said_at, tokens_in,"
            " cost) VALUES (%s, 'c', 0, 'm', 1, %s, %s)", [f"c{number}", INT64 - 1, cost],
        )  # fmt: skip
    db.execute(
        "INSERT INTO satchel.history (id, kind, key, event) VALUES ('e', 'memory', 'e', 'x')"
    )
    db.execute("SELECT satchel.refresh_reports()")
    assert db.execute(
        "SELECT event, count(*) FROM report.knowledge_changes GROUP BY event ORDER BY event"
    ).fetchall() == [("other", 1), ("update", len(WILD_TEXTS))]
    for view in VIEWS:
        db.execute(f"SELECT v::text FROM report.{view.name} v".encode()).fetchall()
    found = db.execute("SELECT turns, tokens_in, cost FROM report.usage WHERE model = 'm'")
    assert found.fetchall() == [(4, INT64 - 1, 0.5)]
    found = db.execute("SELECT sum(memories)::int FROM report.memories")
    assert found.fetchall() == [(len(WILD_TIMES) + len(WILD_TEXTS),)]


def test_searches_at_the_warehouse_are_reads_by_their_login(hub_world: HubWorld) -> None:
    db = hub_world.psql()
    for number, found in enumerate((["a", "b"], [], {})):
        db.execute(
            "INSERT INTO satchel.searched (tenant, id, at, login, kinds, given, opened_in)"
            " VALUES ('default', %s, 1800000000000, 'ann', '{memory}', %s, 0)",
            (str(number), json.dumps(found)),
        )
    db.execute("SELECT satchel.refresh_reports()")
    found = db.execute("SELECT day::text, host, actor, tool, action, records, rows_given"
                       " FROM report.reads")  # fmt: skip
    assert found.fetchall() == [
        ("2027-01-15", "(warehouse)", "ann", "warehouse search", "searched", 3, 2)
    ]


def test_of_a_wild_report_numbers_are_told_and_no_text(db: psycopg.Connection[Any]) -> None:
    cases: dict[str, Any] = {
        '{"exit": 11, "quarantined": 2, "ok": false}': {"exit": 11, "quarantined": 2},
        '{"exit": "11", "clock_offset_ms": 1e300, "oldest_unsent_s": 1.5}': {
            "oldest_unsent_s": 1.5
        },
        '{"held_back": {"task": 2, "Ta sk": 1, "memory": "x"}}': {"held_back.task": 2},
        '{"held_back": [1], "error": {"message": "secret"}}': {},
        '{"host": "\\u0000", "exit": 0}': {"exit": 0},
        "[]": None,
        "no JSON": None,
    }
    for report, told in cases.items():
        assert db.execute("SELECT report_said(%s)", (report,)).fetchone() == (told,), report


DAY_MS = 24 * 60 * 60 * 1000
STATES: dict[str, tuple[str, dict[str, int]]] = {
    "plain": ("current", {}),
    "since long, for ever": ("current", {"valid_from": -400}),
    "an end to come": ("current", {"valid_to": 1}),
    "expires later": ("current", {"expires_at": 1}),
    "written 179 days ago": ("current", {"written": -179}),
    "written 181 days ago": ("stale", {"written": -181}),
    "pinned long ago": ("current", {"written": -181, "pinned": 1}),
    "begins tomorrow": ("future", {"valid_from": 1}),
    "begins tomorrow, written long ago": ("future", {"valid_from": 1, "written": -181}),
    "expired": ("expired", {"expires_at": -1}),
    "expired, then superseded": ("expired", {"expires_at": -1, "valid_to": -1, "retired_at": -1}),
    "replaced": ("superseded", {"valid_to": -1, "retired_at": -1}),
    "replaced long ago": ("superseded", {"valid_to": -1, "retired_at": -1, "written": -181}),
    "its successor was deleted": ("retracted", {"valid_to": -1, "retired_at": -1}),
    "to be replaced tomorrow": ("current", {"valid_to": 1, "retired_at": -1}),
    "taken back": ("retracted", {"valid_from": -2, "valid_to": -2, "retired_at": -1}),
    "at its end": ("retracted", {"valid_from": -2, "valid_to": -1}),
}
"""What is said of a memory -> its state; times in days from now."""
REPLACED = [name for name in STATES if "replaced" in name or "superseded" in name]


def test_a_memory_has_the_first_state_that_holds(hub_world: HubWorld) -> None:
    hub, db = hub_world.replica(1), hub_world.psql()
    now = hub.now_ms()
    for name, (_, told) in STATES.items():
        days = dict(told)
        written = now + days.pop("written", 0) * DAY_MS
        pinned = days.pop("pinned", None)
        at = {column: now + value * DAY_MS for column, value in days.items()}
        values = titled(MEMORY, type=name, pinned=pinned, **at)
        hub.push(MEMORY, [row_of(MEMORY, name, values, hlc=written << 16)])
    for name in REPLACED:
        hub.push(MEMORY, [row_of(MEMORY, f"of {name}", titled(MEMORY, type="", supersedes=name))])
    db.execute("SELECT satchel.refresh_reports()")
    found = db.execute("SELECT type, state FROM report.memories WHERE type IS NOT NULL").fetchall()
    assert dict(found) == {name: state for name, (state, _) in STATES.items()}
    assert len(found) == len(STATES)


def test_what_is_forgotten_leaves_the_sums(hub_world: HubWorld) -> None:
    hub, db = hub_world.replica(1), hub_world.psql()
    hub.push(MEMORY, [row_of(MEMORY, "m", titled(MEMORY, title="x", type="fact", scope="org"))])
    told = titled(HISTORY, kind="memory", key="m", event="update", changes='{"title":["a","b"]}')
    hub.push(HISTORY, [row_of(HISTORY, "h", told)])
    db.execute("SELECT satchel.refresh_reports()")
    changes = "SELECT memory_id, fields FROM report.knowledge_changes"
    assert db.execute(changes).fetchall() == [("m", "title")]
    hub.push(MEMORY, [replace(row_of(MEMORY, "m", titled(MEMORY)), stamp=SCRUBBED)])
    db.execute("SELECT satchel.refresh_reports()")
    assert db.execute(changes).fetchall() == []
    assert db.execute("SELECT count(*) FROM report.memories").fetchall() == [(0,)]
    erased = "SELECT kind, erased FROM report.totals WHERE erased > 0 ORDER BY kind"
    assert db.execute(erased).fetchall() == [("history", 1), ("memory", 1)]


def test_a_ring_and_a_chain_of_any_length_are_placed_soon(hub_world: HubWorld) -> None:
    """What one machine can push takes no refresh longer than it takes to read it."""
    hub, db = hub_world.replica(1), hub_world.psql()
    size = 2_000

    def under(name: str, parent: int) -> tuple[Any, ...]:
        return titled(TASK, created_at=1, parent_id=f"{name}{parent}")

    ring = [row_of(TASK, f"r{n}", under("r", (n + 1) % size)) for n in range(size)]
    chain = [row_of(TASK, f"c{n}", under("c", n + 1)) for n in range(size)]
    for rows in (ring, chain):
        hub.push(TASK, rows)
    db.execute("SET statement_timeout = '10s'")
    db.execute("SELECT satchel.refresh_reports()")
    found = db.execute("SELECT count(*), count(*) FILTER (WHERE depth = 0), max(depth),"
                       " count(DISTINCT root_id) FROM report.tasks").fetchall()  # fmt: skip
    assert found == [(2 * size, 2, size - 1, 2)]


def test_a_clock_that_is_behind_makes_no_negative_number(hub_world: HubWorld) -> None:
    """One machine makes a task now, another completes it by a clock two days behind."""
    day, now = 86_400_000, hub_world.psql().execute("SELECT satchel.now_ms()").fetchone()
    assert now is not None
    at = now[0]
    told = {
        "done": {"status": "completed", "created_at": at, "completed_at": at - 2 * day},
        "tomorrow": {"status": "pending", "created_at": at + day},
    }
    rows = [row_of(TASK, key, titled(TASK, **columns)) for key, columns in told.items()]
    hub_world.replica(1).push(TASK, rows)
    db = hub_world.psql()
    db.execute("SELECT satchel.refresh_reports()")
    found = db.execute("SELECT task_id, cycle_s, age_s FROM report.tasks ORDER BY 1").fetchall()
    assert found == [("done", 0, None), ("tomorrow", None, 0)]
    flow = "SELECT created, done, cycle_s_median, open_at_end FROM report.task_flow ORDER BY day"
    assert db.execute(flow).fetchall() == [(1, 1, 0, 0), (1, 0, None, 1)]
