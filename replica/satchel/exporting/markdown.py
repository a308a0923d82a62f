"""The export for people: what is true now, as a folder of Markdown files or as one document."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from satchel.exporting import page
from satchel.memory.interval import Moment, answers
from satchel.memory.lookup import can_see, select
from satchel.memory.moments import iso
from satchel_sync.tables import Memory, Relationship

if TYPE_CHECKING:
    from apsw import Connection

    from satchel.exporting.report import Report
    from satchel.replica import Replica
    from satchel_sync.progress import Progress

PAGE_ROWS = 500
Put = Callable[[str, str], None]
"""Called with the name of a file within the folder, and its text."""


def write_files(replica: Replica, put: Put, progress: Progress, report: Report) -> None:
    """A file for each memory, in a folder of its type."""
    for memory, links in _memories(replica, progress):
        put(page.name(memory), page.page(memory, links))
        report.count("memory", memory.id)


def document(replica: Replica, progress: Progress, report: Report) -> Iterator[str]:
    """One document: a heading for each type, below it each memory with who, when and where."""
    yield "# Memories\n"
    kind = None
    for memory, _ in _memories(replica, progress):
        if memory.type != kind:
            kind = memory.type
            yield f"\n## {_line(kind or 'note')}\n"
        report.count("memory", memory.id)
        yield f"\n### {_line(memory.title or memory.id)}\n\n{_facts(memory)}\n\n{memory.content}\n"


def _memories(
    replica: Replica, progress: Progress
) -> Iterator[tuple[Memory, list[tuple[str, str]]]]:
    """Current memories by type, then by when they became true; with the edges that leave them."""
    caller, moment = replica.caller, Moment(now=replica.now_ms())
    where = f"{can_see(caller, 'memory')} AND {answers('t')}"
    params = {**caller.params, **moment.params}
    with replica.store.read() as db:
        order = f"""SELECT t.row FROM memory AS t WHERE {where}
                    ORDER BY coalesce(t.type, ''), t.valid_from, t.id"""
        numbers = [int(str(row)) for (row,) in db.execute(order, params).fetchall()]
        for done, row in enumerate(numbers, start=1):
            for memory in select(db, Memory, "t.row = :row", {"row": row}):
                yield memory, _links(db, replica, memory.id)
            if done % PAGE_ROWS == 0 or done == len(numbers):
                progress("export", "memory", done, len(numbers))


def _links(db: Connection, replica: Replica, key: str) -> list[tuple[str, str]]:
    where = f"t.from_id = :key AND {can_see(replica.caller, 'relationship')}"
    params = {**replica.caller.params, "key": key}
    found = select(db, Relationship, where, params, "ORDER BY t.type, t.to_id")
    return [(str(one.type), str(one.to_id)) for one in found]


def _facts(memory: Memory) -> str:
    """Who said it, when, where, in one line of small print."""
    since = None if memory.valid_from is None else f"since {iso(memory.valid_from)[:10]}"
    by = None if memory.agent_id is None else f"by {_line(memory.agent_id)}"
    where = f"in {_line(memory.space)}" if memory.space else memory.scope
    return f"*{' · '.join(one for one in (since, by, where, memory.id) if one)}*"


def _line(text: str) -> str:
    """Text that stays on its line, whatever is in it."""
    return " ".join(text.split())
