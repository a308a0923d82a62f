"""Capturing transcripts by their paths: one that somebody names, or all of a host."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from satchel.capture.keep import Captured, capture
from satchel.transcripts.reading import read
from satchel.transcripts.records import TranscriptUnreadable

if TYPE_CHECKING:
    from satchel.replica import Replica
    from satchel.transcripts.turn import Fault, Transcript

FAULTS_SHOWN_MAX = 20


class Target(NamedTuple):
    """Whose the captured turns are, as in `chatlog.write`; with what tools answered, or without."""

    scope: str | None = None
    space: str | None = None
    results: bool = False


@dataclass(slots=True)
class Answer:
    """What became of some files; those in which nothing was new are only counted."""

    files: int = 0
    captured: Captured = field(default_factory=Captured)
    items: list[dict[str, Any]] = field(default_factory=list)
    failed: list[dict[str, str]] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        """The answer at the door."""
        totals = {"files": self.files, **asdict(self.captured)}
        return {**totals, "items": self.items, "failed": self.failed}


def capture_file(replica: Replica, path: Path, host: str | None, target: Target) -> Answer:
    """Keep the turns of one file. Raises TranscriptUnreadable and what `capture` raises."""
    answer = Answer()
    _capture(replica, read(path, host, results=target.results), path, target, answer, always=True)
    return answer


def capture_all(
    replica: Replica,
    paths: Iterable[tuple[str, Path]],
    target: Target,
    step: Callable[[int], None] = lambda done: None,
) -> Answer:
    """Keep the turns of many files (host, path); one that cannot be read is told, not fatal."""
    answer = Answer()
    for number, (host, path) in enumerate(paths, 1):
        try:
            transcript = read(path, host, results=target.results, follow=False)
            _capture(replica, transcript, path, target, answer)
        except TranscriptUnreadable as error:
            answer.files += 1
            answer.failed.append({"file": str(path), **error.as_dict()})
        step(number)
    return answer


def _capture(
    replica: Replica,
    transcript: Transcript,
    path: Path,
    target: Target,
    answer: Answer,
    *,
    always: bool = False,
) -> None:
    captured = capture(replica, transcript.turns, scope=target.scope, space=target.space)
    answer.files += 1
    answer.captured.add(captured)
    if always or captured.created or captured.updated or captured.refused or transcript.faults:
        faults = [_fault(one) for one in transcript.faults[:FAULTS_SHOWN_MAX]]
        item = {"file": str(path), "host": transcript.host, **asdict(captured)}
        more = len(transcript.faults) - len(faults)
        answer.items.append(item | {"faults": faults} | ({"faults_more": more} if more else {}))


def _fault(one: Fault) -> dict[str, Any]:
    return {"line": one.line, "code": one.code, "message": one.message}


def require_turns(transcript: Transcript, path: Path) -> None:
    """Raise TranscriptUnreadable where a file has broken lines and not one turn.

    One broken line is the file's; nothing but them means that the host writes another format now.
    """
    if transcript.faults and not transcript.turns:
        raise TranscriptUnreadable(
            f"the transcript {str(path)!r} has no turn, and {len(transcript.faults)} lines of it "
            f"cannot be read ({transcript.faults[0].code} in line {transcript.faults[0].line})",
            hint="`satchel chatlog capture --file` shows them all",
            field="file",
        )
