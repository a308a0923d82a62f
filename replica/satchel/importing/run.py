"""An import from its beginning to its answer. Start reading here."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from satchel.errors import EngineUnavailable, InvalidInput, Refused
from satchel.importing.drafts import Origin
from satchel.importing.files import STDIN
from satchel.importing.formats import LOGS, Format, format_of
from satchel.importing.notes import Notes
from satchel.importing.records import Place
from satchel.importing.report import Report
from satchel.importing.taking import Taking
from satchel.importing.target import Target, placed
from satchel.store.touched import TOOL

if TYPE_CHECKING:
    from satchel.replica import Replica
    from satchel_sync.progress import Progress

NAME = "import"
EMBED_S_MAX = 10.0
"""So long a command goes on to make vectors: some thousand short texts."""


def import_(
    replica: Replica, format_name: str, path: str, target: Target, progress: Progress
) -> tuple[dict[str, Any], int]:
    """Take in what is new in a source: the answer, and the exit code (1: not all of it went in).

    To import the same again changes nothing; what changed in the source since is updated. What went
    in stays in where the rest fails. Raises InvalidInput, Refused, NotFound.
    """
    chosen = format_of(format_name)
    _require(chosen, replica, target)
    with replica.store.read() as db:
        target = placed(db, replica.caller, target)
    where = None if path == STDIN else Path(path).expanduser()
    report = Report()
    source = chosen.open(where)
    notes = Notes(replica, _origin(chosen, where, target), target, report)

    def moved() -> None:
        progress(NAME, chosen.name, report.records, max(source.total or 0, report.records))

    token = TOOL.set(NAME)
    try:
        taking = Taking(notes, report, exact_rows=replica.caller.sees_all)
        taking.take(source.records, moved)
        if not report.records and not report.failed:
            report.warn(Place(file=path), [f"nothing of {chosen.name} was found there"])
        answer = {"format": chosen.name, "path": path, **report.as_dict()}
        answer |= {"left_out": source.left_out, "embedding": _embedded(replica, progress)}
    finally:
        TOOL.reset(token)
    return answer, report.exit_code


def _require(chosen: Format, replica: Replica, target: Target) -> None:
    """Raise Refused or InvalidInput where the caller, or an option, does not go with the format."""
    if chosen.module == LOGS and target != Target(scope=target.scope, space=target.space):
        raise InvalidInput(
            f"turns of {chosen.name} take --scope and --space only",
            hint="leave the other options out",
            field="session",
        )
    if not chosen.exact:
        return
    if not replica.caller.sees_all:
        raise Refused(
            "rows as they are, with their ids and times, are taken in by the operator only",
            hint="run it without --agent and SATCHEL_AGENT",
            field="agent",
        )
    if target != Target():
        raise InvalidInput(
            f"rows of {chosen.name} say all of that themselves: leave the options out",
            field="scope",
        )


def _origin(chosen: Format, where: Path | None, target: Target) -> Origin:
    """Two folders may have a file of one name: a source that nobody named is told by its path."""
    if target.source is not None:
        return Origin(chosen.name, target.source)
    if chosen.unique or where is None:
        return Origin(chosen.name, "")
    return Origin(chosen.name, str(where.resolve()))


def _embedded(replica: Replica, progress: Progress) -> str:
    """Make vectors for some seconds where the model is warm; the rest is for who drains the queue.

    `done`, `queued` or `off`, as a write tells it.
    """
    if replica.embedding_state == "off":
        return "off"
    if replica.embedding_state != "warm":
        return "queued"
    from satchel.embedding.queue import drain

    def made(done: int, left: int) -> None:
        progress("embed", "texts", done, done + left)

    try:
        drained = drain(replica, limit_s=EMBED_S_MAX, quick=True, progress=made)
    except EngineUnavailable:
        return "queued"
    return "queued" if drained.left else "done"
