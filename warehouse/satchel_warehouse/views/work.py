"""Views of work and talk: tasks, their flow, conversations, tokens and cost."""

from __future__ import annotations

from satchel_warehouse.views.view import (
    DAY,
    HOST,
    MACHINE,
    TENANT,
    View,
    count,
    flag,
    moment,
    number,
    text,
)

STATUS = text("status", "pending, in_progress, blocked, completed, failed or cancelled")
COST = number("cost", "US dollars to six places, as the hosts told them; NULL: none was told of")
NEVER_NEGATIVE = "0 where a clock that was wrong put that before it was made"

TASKS = View(
    name="tasks",
    doc="One line a living task, with its place in the tree.",
    sum="tasks",
    columns=(
        TENANT,
        text("task_id", "the task"),
        text("title", "its title, of tasks with scope `org`; else NULL"),
        STATUS,
        text("owner", "agent that has it to do"),
        text("created_by", "who made it"),
        moment("created_at", "when it was made"),
        moment("completed_at", "when it was completed, failed or was cancelled; NULL: open"),
        number("cycle_s", f"seconds from created_at to completed_at; {NEVER_NEGATIVE}"),
        number("age_s", f"of an open one: seconds since created_at; {NEVER_NEGATIVE}"),
        moment("due_at", "when it is due"),
        flag("overdue", "open, and due before now"),
        text("claimed_by", "agent that works on it"),
        moment("lease_until", "until when that claim holds"),
        text(
            "parent_id",
            "its parent in the tree that holds: of a ring of parents the link with the highest"
            " version is cut, and every link to a parent that is deleted or has not come",
        ),
        text("root_id", "the task at the top of its tree; itself at the top"),
        count("depth", "steps down from there; 0 at the top"),
        count("children", "tasks right below it"),
    ),
)

TASK_FLOW = View(
    name="task_flow",
    doc="Living tasks that began and ended, by day; days on which nothing happened have no line.",
    sum="tasks",
    columns=(
        TENANT,
        DAY,
        count("created", "tasks made"),
        count("done", "tasks completed, by the day of that, though never before they were made"),
        count("failed", "tasks that failed"),
        count("cancelled", "tasks cancelled"),
        number("cycle_s_median", "median seconds from made to completed, of those of the day"),
        number("cycle_s_p90", "their 90th percentile, with interpolation"),
        count("open_at_end", "tasks open at the end of the day"),
    ),
)

TASKS_OPEN = View(
    name="tasks_open",
    doc="Open tasks by owner and age.",
    sum="tasks",
    columns=(
        TENANT,
        text("owner", "agent that has them to do; NULL: nobody"),
        text("age", "time since they were made: `<1d`, `1-7d`, `7-30d`, `>30d`"),
        STATUS,
        count("tasks", "tasks"),
    ),
)

CONVERSATIONS = View(
    name="conversations",
    doc="One line a conversation in the chat log.",
    sum="conversations",
    columns=(
        TENANT,
        text("conversation_id", "the conversation"),
        text("host_agent", "program that held it, by its first turn"),
        text("agent", "agent, by its first turn"),
        MACHINE,
        HOST,
        moment("first_at", "when its first turn was said"),
        moment("last_at", "when its last turn was said"),
        count("turns", "turns"),
        count("tokens_in", "tokens that models read"),
        count("tokens_out", "tokens that models wrote"),
        COST,
    ),
)

USAGE = View(
    name="usage",
    doc="Turns of models with their tokens and cost, by day, provider, model, machine and agent.",
    sum="usage",
    columns=(
        TENANT,
        DAY,
        text("provider", "provider of the model"),
        text("model", "model"),
        MACHINE,
        HOST,
        text("agent", "agent; where it is not told, the program that held the conversation"),
        count("turns", "chat turns that tell of a model, tokens or cost"),
        count("tokens_in", "tokens that models read"),
        count("tokens_out", "tokens that models wrote"),
        COST,
    ),
)
