"""`satchel recall`: the few memories that matter now; a host's hook, or a question of your own."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from satchel.cli.door import Door, Globals
from satchel.cli.words import GLOBALS, Option, Other, take, take_globals
from satchel.errors import InvalidInput

if TYPE_CHECKING:
    from satchel.config import Settings
    from satchel.hooks.call import HookCall

_OPTIONS = {
    **GLOBALS,
    "--hook": Option("hook"),
    "--prompt": Option("prompt"),
    "--max-tokens": Option("max_tokens"),
}


class Call(NamedTuple):
    """What was typed."""

    options: Globals
    hook: str | None = None
    prompt: str | None = None
    max_tokens: str | None = None

    def run(self) -> int:
        """The exit code."""
        return recall(Door(self.options), self.hook, self.prompt, self.max_tokens)


def read(words: Sequence[str]) -> Call | None:
    """The call that these words are, read without typer: a hook has no time for it."""
    rest = list(words)
    try:
        before, _ = take(rest, GLOBALS, among_words=False)
        if rest[:1] != ["recall"]:
            return None
        said, others = take(rest[1:], _OPTIONS, among_words=True)
    except Other:
        return None
    if others:
        return None
    return Call(Globals(**before).overridden(take_globals(said)), **said)


def recall(door: Door, hook: str | None, prompt: str | None, max_tokens: str | None) -> int:
    """Give what matters, in the host's format under --hook, else as {hits, tokens}."""
    if hook is not None:
        return _for_host(door, hook, max_tokens)
    from satchel.hooks import recalling
    from satchel.replica import open_replica
    from satchel.tools.answer import jsonable

    budget = _budget(max_tokens, door.settings)
    with open_replica(door.settings) as replica:
        told = recalling.for_text(replica, prompt, str(Path.cwd()), budget)
    door.answer({"hits": jsonable(told.hits), "tokens": told.tokens})
    return 0


def _for_host(door: Door, host: str, max_tokens: str | None) -> int:
    """Read the host's call, answer it in time or not at all."""
    from satchel.hooks import watchdog

    settings = door.settings.as_agent(host)
    watchdog.limit(settings.recall_timeout_ms)
    call = _call(host)
    from satchel.hooks import recalling
    from satchel.hooks.answer import context
    from satchel.replica import open_replica

    with open_replica(recalling.in_time(settings)) as replica:
        told = recalling.for_hook(replica, call, _budget(max_tokens, settings))
        with watchdog.answering():
            sys.stdout.write(context(call, told.text))
            sys.stdout.flush()
    return 0


def _call(host: str) -> HookCall:
    """What the host wrote to stdin."""
    from satchel.hooks.call import CALL_BYTES_MAX, checked_host
    from satchel.hooks.call import read as read_call

    checked_host(host)
    return read_call(host, sys.stdin.buffer.read(CALL_BYTES_MAX + 1))


def _budget(said: str | None, settings: Settings) -> int:
    if said is None:
        return settings.recall_max_tokens
    if not said.isascii() or not said.isdigit() or not 1 <= int(said[:9]) <= 1_000_000:
        raise InvalidInput(
            f"`max_tokens` is {said[:40]!r}, must be a whole number from 1 to 1000000",
            hint="say how many tokens the answer may take",
            field="max_tokens",
        )
    return int(said)
