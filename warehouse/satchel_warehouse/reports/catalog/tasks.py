"""Report `tasks`: how work flows, what is open with whom, what is late."""

from __future__ import annotations

from satchel_warehouse.reports import charts, words
from satchel_warehouse.reports.catalog.where import (
    BEFORE,
    DAY,
    HERE,
    NOBODY,
    PERIOD,
    counted,
    named,
    of_tenant,
)
from satchel_warehouse.reports.report import Column, Report, Rows, Scope, Section, Spec, Tile

AGES = ("<1d", "1-7d", "7-30d", ">30d")
OWNER, STATUS = Column(name="owner", label="Owner"), Column(name="status", label="Status")
LISTED_MAX = 200
CLOSED = ("done", "failed", "cancelled")
CREATED = "created"
DONE_THEN = f"""{HERE} AND status = 'completed' AND completed_at >= %(since)s
              AND completed_at < %(until)s::date + 1"""
"""Of all tenants together: medians of each, as task_flow has them, make no median of all."""


def _flow_said(rows: Rows, scope: Scope) -> str:
    sums = {name: words.total(rows, name) for name in (CREATED, *CLOSED)}
    closed = sum(sums[name] for name in CLOSED)
    grown = sums[CREATED] - closed
    trend = (
        f"{words.count(grown)} more than were closed: the pile grows"
        if grown > 0
        else f"{words.count(-grown)} fewer than were closed: the pile shrinks"
        if grown
        else "as many as were closed"
    )
    return words.sentences(
        f"{words.plural(sums[CREATED], 'task')} came in, {trend}.",
        f"{words.count(sums['done'])} were done, {words.count(sums['failed'])} failed,"
        f" {words.count(sums['cancelled'])} cancelled.",
    )


def _flow_chart(rows: Rows, scope: Scope) -> Spec:
    long = [
        {"day": row["day"], "what": name, "tasks": row[name]}
        for row in rows
        for name in (CREATED, *CLOSED)
        if row[name]
    ]
    return charts.by_day(
        long, "tasks", "what", scope, "Tasks", order=(CREATED, *CLOSED), down=CLOSED
    )


FLOW = Section(
    name="task_flow",
    title="Tasks that came in and were closed",
    query=f"""
        SELECT day, sum(created)::bigint AS created, sum(done)::bigint AS done,
               sum(failed)::bigint AS failed, sum(cancelled)::bigint AS cancelled,
               sum(open_at_end)::bigint AS open_at_end
        FROM report.task_flow WHERE {PERIOD}
        GROUP BY day HAVING sum(created + done + failed + cancelled) > 0 ORDER BY day""",
    columns=(
        DAY,
        counted("created", "Created"),
        counted("done", "Done"),
        counted("failed", "Failed"),
        counted("cancelled", "Cancelled"),
        counted("open_at_end", "Open at its end"),
    ),
    say=_flow_said,
    chart=_flow_chart,
    empty="No task was created or closed in this period.",
)


def _cycle_said(rows: Rows, scope: Scope) -> str:
    half = len(rows) // 2
    medians = sorted(row["cycle_s_median"] for row in rows)
    usual = medians[len(medians) // 2]
    slow = max(rows, key=lambda row: row["cycle_s_p90"] or 0)
    change = ""
    if half >= 3:
        first, last = (sum(row["cycle_s_median"] for row in part) / len(part)
                       for part in (rows[:half], rows[half:]))  # fmt: skip
        if first and abs(last / first - 1) >= 0.1:
            much = words.share(abs(last / first - 1))
            change = (
                f"In the second half it took {much} {'longer' if last > first else 'less long'}."
            )
    return words.sentences(
        f"On a usual day half of the tasks that were done had taken less than {words.span(usual)};"
        f" the slowest tenth took longest on {words.day(slow['day'])}"
        f" ({words.span(slow['cycle_s_p90'] or 0)} and more).",
        change,
    )


CYCLE = Section(
    name="cycle_time",
    title="From created to done",
    query=f"""
        SELECT (completed_at AT TIME ZONE 'UTC')::date AS day,
               percentile_cont(0.5) WITHIN GROUP (ORDER BY cycle_s) AS cycle_s_median,
               percentile_cont(0.9) WITHIN GROUP (ORDER BY cycle_s) AS cycle_s_p90,
               count(*) AS done
        FROM report.tasks WHERE {DONE_THEN} GROUP BY 1 ORDER BY 1""",
    columns=(
        DAY,
        Column(name="cycle_s_median", label="Half took less than", unit="seconds"),
        Column(name="cycle_s_p90", label="Nine of ten took less than", unit="seconds"),
        counted("done", "Done"),
    ),
    say=_cycle_said,
    chart=lambda rows, scope: charts.lines(
        rows, {"cycle_s_median": "half took less", "cycle_s_p90": "nine of ten took less"},
        scope, "seconds", "Time to done",
    ),
    empty="No task was done in this period.",
)  # fmt: skip


def _open_said(rows: Rows, scope: Scope) -> str:
    every = words.total(rows, "tasks")
    old = words.total([row for row in rows if row["age"] == AGES[-1]], "tasks")
    nobody = words.total([row for row in rows if not row["owner"]], "tasks")
    owned = [row for row in rows if row["owner"]]
    told = words.plural(every, "task is", "tasks are") + " open"
    if owned:
        name, most, _ = words.top(owned, "owner", "tasks")
        told += f"; {name} has {words.count(most)} of them ({words.share(most / every)})"
    return words.sentences(
        f"{told}.",
        f"{words.count(old)} ({words.share(old / every)}) are older than 30 days." if old else "",
        f"{words.count(nobody)} have no owner." if nobody else "",
    )


OPEN = Section(
    name="tasks_open",
    title="Open tasks by owner and age",
    query=f"""
        SELECT owner, age, sum(tasks)::bigint AS tasks
        FROM report.tasks_open WHERE {HERE}
        GROUP BY owner, age
        ORDER BY sum(sum(tasks)) OVER (PARTITION BY owner) DESC, owner,
                 array_position(ARRAY['<1d', '1-7d', '7-30d', '>30d'], age)""",
    columns=(OWNER, Column(name="age", label="Age"), counted("tasks", "Tasks")),
    say=_open_said,
    chart=lambda rows, scope: charts.bars(
        named(rows, "owner", NOBODY), "owner", "tasks", series="age", order=AGES
    ),
    empty="No task is open.",
)

LATE = Section(
    name="tasks_late",
    title="Tasks past their time",
    query=f"""
        SELECT task_id, title, status, owner, due_at,
               extract(epoch FROM now() - due_at)::double precision AS late_s, claimed_by
        FROM report.tasks WHERE {HERE} AND overdue
        ORDER BY due_at, task_id LIMIT {LISTED_MAX}""",
    columns=(
        Column(name="task_id", label="Task", unit="id"),
        Column(name="title", label="Title (scope org)"),
        STATUS,
        OWNER,
        Column(name="due_at", label="Due", unit="time"),
        Column(name="late_s", label="Late by", unit="seconds"),
        Column(name="claimed_by", label="Claimed by"),
    ),
    say=lambda rows, scope: (
        f"{words.plural(len(rows), 'task is', 'tasks are')} past due; the oldest by"
        f" {words.span(rows[0]['late_s'])}, with {words.name_of(rows[0]['owner'] or NOBODY)}."
    ),
    empty="No open task is past its time.",
)


def _trees_said(rows: Rows, scope: Scope) -> str:
    most = rows[0]
    return (
        f"{words.plural(len(rows), 'task')} with open tasks below; the largest has"
        f" {words.count(most['open'])} of {words.count(most['tasks'])} open,"
        f" {words.plural(most['levels'], 'level')} deep."
    )


TREES = Section(
    name="task_trees",
    title="Trees of tasks with something open",
    query=f"""
        SELECT root.task_id, root.title, root.status, root.owner,
               count(*) AS tasks, max(below.depth) - min(below.depth) + 1 AS levels,
               count(*) FILTER (WHERE below.completed_at IS NULL) AS open
        FROM report.tasks AS below
        JOIN report.tasks AS root
          ON root.tenant = below.tenant AND root.task_id = below.root_id AND root.children > 0
        WHERE {of_tenant("below.tenant")}
        GROUP BY root.tenant, root.task_id, root.title, root.status, root.owner
        HAVING count(*) FILTER (WHERE below.completed_at IS NULL) > 0
        ORDER BY open DESC, tasks DESC, root.task_id LIMIT {LISTED_MAX}""",
    columns=(
        Column(name="task_id", label="Task at the top", unit="id"),
        Column(name="title", label="Title (scope org)"),
        STATUS,
        OWNER,
        counted("tasks", "Tasks"),
        counted("levels", "Levels"),
        counted("open", "Open"),
    ),
    say=_trees_said,
    empty="No open task has others below it.",
)

FIGURES = f"""
    SELECT (SELECT coalesce(sum(tasks), 0)::bigint FROM report.tasks_open WHERE {HERE}) AS open,
           (SELECT coalesce(sum(tasks), 0)::bigint FROM report.tasks_open
            WHERE {HERE} AND age = '>30d') AS old,
           (SELECT coalesce(sum(done), 0)::bigint FROM report.task_flow WHERE {PERIOD}) AS done,
           (SELECT coalesce(sum(done), 0)::bigint FROM report.task_flow WHERE {BEFORE})
               AS done_before,
           (SELECT coalesce(sum(created), 0)::bigint FROM report.task_flow WHERE {PERIOD})
               AS created,
           (SELECT count(*) FROM report.tasks WHERE {HERE} AND overdue) AS late,
           (SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY cycle_s) FROM report.tasks
            WHERE {DONE_THEN}) AS cycle_s"""

REPORT = Report(
    name="tasks",
    title="Tasks",
    answers="How work flows, what is open with whom, what is late.",
    figures=FIGURES,
    tiles=(
        Tile(column=counted("open", "Open tasks"),
             note=lambda row: f"{words.count(row['old'])} older than 30 days"),
        Tile(column=counted("done", "Done"), before="done_before", better="up"),
        Tile(column=Column(name="cycle_s", label="Usual time to done", unit="seconds"),
             note=lambda row: "half of the tasks took less"),
        Tile(column=counted("late", "Past due"), better="down"),
    ),
    sections=(FLOW, CYCLE, OPEN, LATE, TREES),
)  # fmt: skip
