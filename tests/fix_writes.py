"""Writers in processes of their own; here, so that a new process finds them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from fix_memory import TrigramEmbedder, opened
from fix_processes import workers

from satchel.errors import Conflict
from satchel.memory.supersede import supersede
from satchel.memory.write import write

Answer = tuple[str, str]
"""Outcome and id, or `conflict` and its message."""


def write_in_process(home: str, agent: str, text: str, gate: Any, answers: Any) -> None:
    """Write into the space `lab` once all processes stand at the gate."""
    with opened(Path(home), agent, embedder=TrigramEmbedder()) as replica:
        gate.wait()
        written = write(replica, text, space="lab")
        answers.put((written.outcome, written.id))


def supersede_in_process(home: str, request: str, text: str, gate: Any, answers: Any) -> None:
    """Supersede the memory that `request` names: `KEY` or `KEY ID` with the id of a request."""
    key, _, request_id = request.partition(" ")
    with opened(Path(home), "ada", embedding="off") as replica:
        gate.wait()
        try:
            written = supersede(replica, key, text, request_id=request_id or None)
        except Conflict as refusal:
            answers.put(("conflict", str(refusal)))
        else:
            answers.put((written.outcome, written.id))


def at_once(
    home: Path, work: Callable[..., None], calls: Sequence[tuple[str, str]]
) -> list[Answer]:
    """What each call answered, all made at the same moment in a process each."""
    context = workers()
    gate, answers = context.Barrier(len(calls)), context.Queue()
    running = [
        context.Process(target=work, args=(str(home), *call, gate, answers)) for call in calls
    ]
    for process in running:
        process.start()
    found = [answers.get(timeout=60) for _ in calls]
    for process in running:
        process.join(timeout=60)
        assert process.exitcode == 0
    return sorted(found)
