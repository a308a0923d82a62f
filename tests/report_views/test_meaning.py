"""What each view says of a story that two real machines wrote; every number was counted by hand."""

from __future__ import annotations

import platform
from datetime import UTC, date, datetime
from typing import Any

import psycopg
from fix_reported import DAY_MS, NOW_MS, Scene

HOST = platform.node()
HUB = "(warehouse)"
MODEL = "trigrams@000000000100"


def on(number: int) -> date:
    """The day of January 2027."""
    return date(2027, 1, number)


def at(number: int) -> datetime:
    """That day at the hour of the story."""
    return datetime(2027, 1, number, 8, tzinfo=UTC)


def lines(told: Scene, view: str, columns: str) -> set[tuple[Any, ...]]:
    """The lines of a view; ids and machines by their names in the story."""
    named = {one: name for name, one in told.ids.items()}
    named |= {told.laptop_id: "laptop", told.desk_id: "desk"}
    found = told.rows(f"SELECT {columns} FROM report.{view} WHERE tenant = 'default'")
    lines = {tuple(named.get(v, v) if isinstance(v, str) else v for v in row) for row in found}
    assert len(lines) == len(found), "a line is there twice"
    return lines


def test_totals(told: Scene) -> None:
    found = lines(told, "totals", "kind, alive, deleted, erased")
    assert {line for line in found if any(line[1:])} == {
        # 11 of ada and `plain`; without `forgotten`, `deleted` on the desk and `by hand`
        ("memory", 9, 2, 1),
        # one for each of ada's 11; `deleted` and `forgotten` lost theirs
        ("embedding", 9, 1, 1),
        ("relationship", 1, 0, 0),  # `new` supersedes `old`
        ("task", 6, 0, 0),
        ("message", 1, 0, 0),  # bob is told that `child` is his
        ("chatlog", 3, 0, 0),
        # old superseded; ended, deleted and both by bob; both by ada; root, left, cancelled by ada;
        # right by bob; bad on the desk
        ("history", 10, 0, 0),
    }
    assert len(found) == 10


def test_machines(told: Scene) -> None:
    columns = (
        "machine, host, last_exit, syncs_7d, failed_7d, rows, rows_behind, quarantined, status"
    )
    found = {line for line in lines(told, "machines", columns) if line[1] == HOST}
    assert found == {
        # Syncs of the last 7 days: days -3, -2 (twice), -6, -4 (twice), -1, 0. Rows: 7 memories
        # (stale, pinned, old, expired, forgotten, new, plain), 9 vectors (those but plain's, and
        # future's, ended's and by hand's), 1 edge, 1 message, 1 turn, 5 tasks, 5 of history.
        # Behind by bad's history and two writes by hand.
        ("laptop", HOST, 0, 8, 0, 29, 3, 0, "ok"),
        # Syncs: days -3 (twice), -2, -6, -4, 0 (twice). Rows: 3 memories (ended, deleted, both), 2
        # vectors (deleted's, both's), 2 turns, 1 task, 5 of history.
        ("desk", HOST, 11, 7, 0, 13, 2, 1, "ok"),
    }
    (times,) = told.rows(
        "SELECT first_seen::date, last_sync::date, version, login LIKE 'satchel_test_%%',"
        " lag_s BETWEEN 0 AND 3600, abs(clock_offset_ms) < 60000, oldest_unsent_s, revoked"
        " FROM report.machines WHERE machine = %s",
        told.laptop_id,
    )
    assert times == (on(6), on(15), None, True, True, True, None, False)


def test_quarantine(told: Scene) -> None:
    found = lines(told, "quarantine", "machine, host, kind, rows, reported_at::date")
    assert found == {("desk", HOST, "memory", 1, on(15))}


def test_activity(told: Scene) -> None:
    columns = "day, machine, host, agent, kind, created, changed, deleted"
    found = lines(told, "activity", columns)
    hub = next(line for line in found if line[2] == HUB)
    long_ago = date(2026, 6, 29)
    assert found - {hub} == {
        (long_ago, "laptop", HOST, "ada", "memory", 2, 0, 0),  # stale, pinned
        (long_ago, "laptop", HOST, None, "embedding", 2, 0, 0),
        # old, expired, future, ended, both; `deleted` and `by hand` name nobody any more
        (on(5), "laptop", HOST, "ada", "memory", 5, 0, 0),
        (on(5), "laptop", HOST, None, "memory", 2, 0, 0),
        (on(5), "laptop", HOST, None, "embedding", 7, 0, 0),  # without forgotten's
        (on(6), "laptop", HOST, "ada", "memory", 1, 1, 0),  # new; old ended
        (on(6), "laptop", HOST, "ada", "relationship", 1, 0, 0),
        (on(6), "laptop", HOST, None, "embedding", 1, 0, 0),
        (on(9), "laptop", HOST, "ada", "task", 4, 0, 0),
        (on(9), "laptop", HOST, "ada", "message", 1, 0, 0),
        (on(11), "laptop", HOST, "ada", "task", 0, 2, 0),  # root completed, left moved
        (on(11), "desk", HOST, "bob", "task", 0, 1, 0),  # right moved
        (on(12), "desk", HOST, "bob", "memory", 0, 1, 1),  # ended; deleted
        (on(12), "desk", HOST, None, "embedding", 0, 0, 1),
        (on(12), "desk", HOST, "bob", "chatlog", 2, 0, 0),
        (on(13), "laptop", HOST, "ada", "memory", 0, 1, 0),  # both
        (on(13), "desk", HOST, "bob", "memory", 0, 1, 0),  # both
        (on(14), "laptop", HOST, "ada", "task", 1, 1, 0),  # made and cancelled
        (on(14), "laptop", HOST, None, "memory", 1, 0, 0),  # plain
        (on(14), "laptop", HOST, "ide", "chatlog", 1, 0, 0),
        (on(15), "laptop", HOST, "ada", "task", 1, 0, 0),
        (on(15), "desk", HOST, None, "memory", 0, 1, 0),  # bad, which cannot travel itself
    }
    assert hub[3:] == (None, "memory", 0, 0, 1)  # the UPDATE by hand left no history


def test_memories(told: Scene) -> None:
    columns = "state, type, scope, space, memories, pinned, oldest, newest"
    long_ago = datetime(2026, 6, 29, 8, tzinfo=UTC)
    assert lines(told, "memories", columns) == {
        ("current", "fact", "org", None, 2, 1, long_ago, at(5)),  # pinned (never stale), both
        ("current", "decision", "org", None, 1, 0, at(6), at(6)),  # new
        ("current", "note", "org", None, 1, 0, None, None),  # plain, written with no time
        ("stale", "fact", "org", None, 1, 0, long_ago, long_ago),
        ("superseded", "decision", "org", None, 1, 0, at(5), at(5)),
        ("expired", "note", "org", None, 1, 0, at(5), at(5)),
        ("future", "fact", "org", None, 1, 0, at(5), at(5)),
        ("retracted", "fact", "org", None, 1, 0, at(5), at(5)),  # ended
    }


def test_knowledge_changes(told: Scene) -> None:
    columns = "at, event, memory_id, successor_id, actor, machine, type, scope, fields"
    second = at(13).replace(second=1)
    assert lines(told, "knowledge_changes", columns) == {
        (at(6), "supersede", "old", "new", "ada", "laptop", "decision", "org",
         "retired_at, valid_to"),
        (at(12), "update", "ended", None, "bob", "desk", "fact", "org", "valid_to"),
        (at(12), "delete", "deleted", None, "bob", "desk", "fact", "org", None),
        (at(13), "update", "both", None, "ada", "laptop", "fact", "org", "content, content_hash"),
        (second, "update", "both", None, "bob", "desk", "fact", "org", "content, content_hash"),
        (at(15), "update", "bad", None, None, "desk", None, None, "content"),
    }  # fmt: skip
    days = told.rows("SELECT DISTINCT day FROM report.knowledge_changes ORDER BY day")
    assert days == [(on(6),), (on(12),), (on(13),), (on(15),)]


def test_days_are_those_of_utc_in_any_session(told: Scene) -> None:
    query = (
        "SELECT 'k', day FROM report.knowledge_changes UNION SELECT 't', day FROM report.task_flow"
        " UNION SELECT 'a', day FROM report.activity ORDER BY 1, 2"
    )
    with psycopg.connect(told.world.dsn) as db:
        db.execute("SET timezone = 'Pacific/Kiritimati'")  # 14 hours ahead
        assert db.execute(query).fetchall() == told.rows(query)


def test_conflicts(told: Scene) -> None:
    """Bob's edit met ada's when the desk pushed it: the one memory that the desk wrote that day."""
    columns = "day, machine, host, kind, path, conflicts, rows_written, rate"
    found = lines(told, "conflicts", columns)
    assert found == {(on(13), "desk", HOST, "memory", "push", 1, 1, 1.0)}


def test_deletions(told: Scene) -> None:
    found = lines(told, "deletions", "day, machine, host, kind, deleted, erased")
    hub = next(line for line in found if line[2] == HUB)
    assert (hub[0], *hub[3:]) == (on(15), "memory", 1, 0)
    assert found - {hub} == {
        (on(12), "desk", HOST, "memory", 1, 0),
        (on(12), "desk", HOST, "embedding", 1, 0),
        # forgotten on day -1, and brought with the laptop's sync of day 0
        (on(15), "laptop", HOST, "memory", 0, 1),
        (on(15), "laptop", HOST, "embedding", 0, 1),
    }


def test_tasks(told: Scene) -> None:
    columns = "task_id, title, status, owner, created_by, created_at, completed_at, cycle_s, due_at"
    two_days = 172_800.0
    assert lines(told, "tasks", columns) == {
        ("root", "Move the archive", "completed", None, "ada", at(9), at(11), two_days, None),
        ("child", "Pack the boxes", "pending", "bob", "ada", at(9), None, None, at(14)),
        ("left", "Left", "pending", None, "ada", at(9), None, None, None),
        ("right", "Right", "pending", None, "ada", at(9), None, None, None),
        ("cancelled", None, "cancelled", None, "ada", at(14), at(14), 0.0, None),  # ada's own
        ("today", "Water the plants", "pending", None, "ada", at(15), None, None, None),
    }
    columns = "task_id, overdue, parent_id, root_id, depth, children, floor(age_s / 86400)"
    assert lines(told, "tasks", columns) == {
        ("root", False, None, "root", 0, 1, None),
        ("child", True, "root", "root", 1, 0, 6),
        ("left", False, "right", "right", 1, 0, 6),
        ("right", False, None, "right", 0, 1, 6),  # bob's link was the later one: it is cut
        ("cancelled", False, None, "cancelled", 0, 0, None),
        ("today", False, None, "today", 0, 0, 0),
    }


def test_task_flow(told: Scene) -> None:
    columns = "day, created, done, failed, cancelled, cycle_s_median, cycle_s_p90, open_at_end"
    assert lines(told, "task_flow", columns) == {
        (on(9), 4, 0, 0, 0, None, None, 4),
        (on(11), 0, 1, 0, 0, 172_800.0, 172_800.0, 3),
        (on(14), 1, 0, 0, 1, None, None, 3),
        (on(15), 1, 0, 0, 0, None, None, 4),
    }


def test_tasks_open(told: Scene) -> None:
    assert lines(told, "tasks_open", "owner, age, status, tasks") == {
        ("bob", "1-7d", "pending", 1),
        (None, "1-7d", "pending", 2),
        (None, "<1d", "pending", 1),
    }


def test_conversations(told: Scene) -> None:
    columns = (
        "conversation_id, host_agent, agent, machine, host, first_at, last_at, turns, tokens_in,"
        " tokens_out, cost"
    )
    assert lines(told, "conversations", columns) == {
        ("talk", "shell", "bob", "desk", HOST, at(12), at(12), 2, 100, 30, 0.25),
        ("quick", "ide", None, "laptop", HOST, at(14), at(14), 1, 0, 7, None),
    }


def test_usage(told: Scene) -> None:
    columns = "day, provider, model, machine, host, agent, turns, tokens_in, tokens_out, cost"
    assert lines(told, "usage", columns) == {
        (on(12), "acme", "m1", "desk", HOST, "bob", 1, 100, 30, 0.25),
        (on(14), None, "m2", "laptop", HOST, "ide", 1, 0, 7, None),
    }


def test_embedding_coverage(told: Scene) -> None:
    """`future` got a title by hand, after its vector; `plain` never had one."""
    columns = "model, memories, embedded, outdated, missing, round(share::numeric, 4)::float8"
    assert lines(told, "embedding_coverage", columns) == {(MODEL, 9, 7, 1, 1, 0.7778)}


def test_reads(told: Scene) -> None:
    """One read gave two rows, one gave one."""
    columns = "day, machine, host, actor, tool, action, records, rows_given"
    assert lines(told, "reads", columns) == {
        (on(15), "laptop", HOST, "una", "memory_search", "read", 2, 3)
    }


def test_freshness(told: Scene) -> None:
    found = told.rows(
        "SELECT name, rows FROM report.freshness"
        " WHERE extract(epoch FROM refreshed_at) * 1000 BETWEEN %s AND %s",
        NOW_MS,
        NOW_MS + DAY_MS,
    )
    assert dict(found) == {
        "machines": 3, "activity": 23, "memories": 8, "knowledge_changes": 6, "conflicts": 1,
        "totals": 10, "tasks": 6, "task_flow": None, "tasks_open": None, "conversations": 2,
        "usage": 2, "embedding_coverage": 1, "deletions": 5, "reads": 1,
    }  # fmt: skip
