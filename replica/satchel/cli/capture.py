"""`satchel chatlog capture`: what hosts wrote of conversations, into the chat log."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from satchel.cli.door import Door, Globals
from satchel.cli.words import GLOBALS, Option, Other, take, take_globals
from satchel.errors import InvalidInput, UnknownArgument, did_you_mean

if TYPE_CHECKING:
    from satchel.capture.files import Answer
    from satchel.config import Settings
    from satchel.replica import Replica

_OPTIONS = {
    **GLOBALS,
    "--hook": Option("hook"),
    "--file": Option("file"),
    "--all": Option("everything", True),
    "--host": Option("host"),
    "--scope": Option("scope"),
    "--space": Option("space"),
    "--results": Option("results", True),
}
FAILED = 1


class Wanted(NamedTuple):
    """What was typed: one of hook, file and everything; whose turns they shall be."""

    hook: str | None = None
    file: str | None = None
    everything: bool = False
    host: str | None = None
    scope: str | None = None
    space: str | None = None
    results: bool = False
    notification: str | None = None


class Call(NamedTuple):
    """A call that was read without typer."""

    options: Globals
    wanted: Wanted

    def run(self) -> int:
        """The exit code."""
        return capture(Door(self.options), self.wanted)


def read(words: Sequence[str]) -> Call | None:
    """The call that these words are, read without typer: a hook has no time for it."""
    rest = list(words)
    try:
        before, _ = take(rest, GLOBALS, among_words=False)
        if rest[:2] != ["chatlog", "capture"]:
            return None
        said, others = take(rest[2:], _OPTIONS, among_words=True)
    except Other:
        return None
    if len(others) > 1:
        return None
    options = Globals(**before).overridden(take_globals(said))
    return Call(options, Wanted(**said, notification=others[0] if others else None))


def capture(door: Door, wanted: Wanted) -> int:
    """Capture for a host's hook, one file, or all that the hosts of this machine wrote."""
    if sum((wanted.hook is not None, wanted.file is not None, wanted.everything)) != 1:
        raise InvalidInput(
            "say what to capture: one of `--hook HOST`, `--file PATH` and `--all`",
            hint="satchel chatlog capture --all",
            field="file",
        )
    if wanted.notification is not None and wanted.hook is None:
        raise UnknownArgument(
            f"what is {wanted.notification[:60]!r} for?",
            hint="a file is given as `--file PATH`",
            field="notification",
        )
    if wanted.hook is not None:
        return _for_host(door, wanted, wanted.hook)
    from satchel.replica import open_replica

    hosts = _hosts(wanted.host)
    with open_replica(door.settings) as replica:
        answer = _answer(door, replica, wanted, hosts)
    door.answer(answer.as_dict(), changed=True)
    return FAILED if answer.failed else 0


def _answer(door: Door, replica: Replica, wanted: Wanted, hosts: Sequence[str]) -> Answer:
    from satchel import config
    from satchel.capture.files import Target, capture_all, capture_file
    from satchel.cli.progress import progress
    from satchel.transcripts.finding import found

    target = Target(_scope(door.settings, wanted), wanted.space, wanted.results)
    if wanted.file is not None:
        return capture_file(replica, Path(wanted.file).expanduser(), wanted.host, target)
    environment = config.environment()
    paths = [(host, path) for host in hosts for path in found(host, environment)]
    with progress(door) as step:
        return capture_all(
            replica, paths, target, lambda done: step("capture", "files", done, len(paths))
        )


def _for_host(door: Door, wanted: Wanted, host: str) -> int:
    """Nothing is told: to end is to say that all is kept, and to fail is for doctor to tell."""
    from satchel import config
    from satchel.capture.files import Target
    from satchel.capture.hook import capture_call, notified
    from satchel.hooks.call import CALL_BYTES_MAX, checked_host
    from satchel.hooks.call import read as read_call
    from satchel.replica import open_replica

    checked_host(host)
    if wanted.notification is not None:
        call = notified(host, wanted.notification)
    else:
        call = read_call(host, sys.stdin.buffer.read(CALL_BYTES_MAX + 1))
    target = Target(_scope(door.settings, wanted), wanted.space, wanted.results)
    with open_replica(door.settings.as_agent(host)) as replica:
        capture_call(replica, call, target, config.environment())
    return 0


def _scope(settings: Settings, wanted: Wanted) -> str | None:
    """What a person said to a host is the person's: all their agents may know it.

    Unless an agent was configured: then it is that agent's, by the rule of every write.
    """
    is_users = not (wanted.scope or wanted.space or settings.agent_id)
    return "user" if is_users else wanted.scope


def _hosts(host: str | None) -> Sequence[str]:
    from satchel.transcripts.reading import HOSTS

    if host is None:
        return HOSTS
    if host not in HOSTS:
        hint = did_you_mean(host, HOSTS) or f"one of: {', '.join(HOSTS)}"
        raise UnknownArgument(
            f"no transcripts of {host[:60]!r} can be read", hint=hint, field="host"
        )
    return (host,)
