"""Where each host keeps its transcripts on this machine, and which ones belong together."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from satchel.transcripts import claude_code, codex, gemini_cli
from satchel.transcripts.pick import text
from satchel.transcripts.records import Faults, TranscriptUnreadable, lines, opened


class _Place(NamedTuple):
    """The folder of a host: named by a variable, else in the user's home; and what lies there."""

    variable: str
    folder: str
    parts: tuple[str, ...]
    is_one: Callable[[Path], bool]


def _is_chat(path: Path) -> bool:
    return "chats" in path.parts[-3:-1] and path.suffix in (".json", ".jsonl")


def _is_rollout(path: Path) -> bool:
    return path.name.startswith("rollout-") and path.suffix in (".json", ".jsonl")


PLACES: Final[dict[str, _Place]] = {
    claude_code.HOST: _Place(
        "CLAUDE_CONFIG_DIR", ".claude", ("projects",), lambda path: path.suffix == ".jsonl"
    ),
    codex.HOST: _Place("CODEX_HOME", ".codex", ("sessions", "archived_sessions"), _is_rollout),
    gemini_cli.HOST: _Place("", ".gemini", ("tmp",), _is_chat),
}


def found(host: str, environment: Mapping[str, str]) -> list[Path]:
    """The transcripts of a host, the oldest first; those of Codex by the time in their names.

    So a thread comes before its forks, which are compared with it. Links are not followed; what
    cannot be looked into is left out.
    """
    place = PLACES[host]
    named = environment.get(place.variable, "") if place.variable else ""
    top = Path(named).expanduser() if named.strip() else Path.home() / place.folder
    paths = [path for part in place.parts for path in _files(top / part) if place.is_one(path)]
    if host == codex.HOST:
        return sorted(paths, key=lambda path: (path.name, path))
    return sorted(paths, key=lambda path: (_changed_at(path), path))


def of_session(host: str, session: str, environment: Mapping[str, str]) -> list[Path]:
    """The transcripts whose files are named after this session."""
    return [path for path in found(host, environment) if path.stem.endswith(session)]


def beside(host: str, path: Path, session: str | None) -> list[Path]:
    """The transcripts of the sub-agents of the session that `path` is the transcript of."""
    if host == claude_code.HOST:
        inside = _files(path.with_suffix("") / "subagents")
        return sorted(one for one in (*inside, *_older_agents(path)) if one.suffix == ".jsonl")
    if host == gemini_cli.HOST and session:
        folder = path.parent / session
        inside = _files(folder) if folder.parent == path.parent else iter(())
        return sorted(one for one in inside if one.suffix == ".jsonl")
    return []


def _older_agents(path: Path) -> Iterator[Path]:
    """Before 2026 sub-agents of Claude Code lay beside the sessions of a folder."""
    for one in path.parent.glob("agent-*.jsonl"):
        try:
            with opened(one, follow=False) as file:
                first = next(lines(file, Faults()), None)
        except TranscriptUnreadable:
            continue
        if first is not None and text(first.said.get("sessionId")) == path.stem:
            yield one


def _files(folder: Path) -> Iterator[Path]:
    for place, _, names in os.walk(folder):
        yield from (Path(place, name) for name in names)


def _changed_at(path: Path) -> int:
    try:
        return path.lstat().st_mtime_ns
    except OSError:  # it was there a moment ago; to read it will tell
        return 0
