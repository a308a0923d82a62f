"""The rule of every hook: whatever happens in one, its host goes on.

A command that is given `--hook HOST` ends with exit code 0 (2 would stop the prompt), says nothing
on a failure, and leaves it to `satchel doctor` to tell.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from satchel.cli.options import GLOBAL_OPTIONS, flag
from satchel.errors import POINTER, SatchelError

if TYPE_CHECKING:
    from pathlib import Path

HOOK = "--hook"
COMMANDS = (("recall",), ("chatlog", "capture"))
LIMIT_MS = {"recall": 1_500, "chatlog capture": 10_000}
"""How long a hook may take; recall's own setting counts as soon as it is read."""
_LATE = {
    "recall": "no answer within {} ms (recall.timeout_ms)",
    "chatlog capture": "not all was kept within {} ms: the next call goes on",
}
_WITH_VALUE = frozenset(flag(name) for name, metavar, _ in GLOBAL_OPTIONS if metavar)


def is_hook(words: Sequence[str]) -> bool:
    """Whether a host runs this as a hook, however wrong the words may be otherwise."""
    asked = any(word == HOOK or word.startswith(f"{HOOK}=") for word in words)
    return asked and _command(words) is not None


@contextmanager
def watched(words: Sequence[str]) -> Iterator[None]:
    """A hook ends in time, whatever it waits for: a file, a lock, its stdin; nothing else is held.

    Its time begins before anything is read.
    """
    if not is_hook(words):
        yield
        return
    from satchel.hooks import watchdog

    command = " ".join(_command(words) or ())
    with watchdog.armed(LIMIT_MS[command], lambda limit_ms: _late(words, command, limit_ms)):
        yield


def _late(words: Sequence[str], command: str, limit_ms: int) -> None:
    from satchel.hooks import failures
    from satchel.hooks.call import HookLate

    host, message = _value(HOOK, words) or "", _LATE[command].format(limit_ms)
    failures.keep_as_it_is(_home(words), command, host, HookLate.code, message)


def keep(error: Exception, words: Sequence[str]) -> int:
    """Keep a failure of a hook where doctor finds it; the exit code."""
    from satchel.cli.failures import explained
    from satchel.hooks import failures

    shown, _ = explained(error)
    command = " ".join(_command(words) or ())
    host = _value(HOOK, words) or ""
    try:
        kept = failures.keep(_home(words), command, host, shown["code"], shown["message"])
    except SatchelError:  # no home: the failure may be just that
        kept = False
    if not kept:
        sys.stderr.write(f"satchel {command}: {shown['message']}; {POINTER}\n")
    return 0


def _command(words: Sequence[str]) -> tuple[str, ...] | None:
    """The command that the first words name, behind options; None where it is no hook's."""
    named = [
        word
        for before, word in zip(("", *words), words, strict=False)
        if not word.startswith("-") and before not in _WITH_VALUE
    ]
    return next((one for one in COMMANDS if tuple(named[: len(one)]) == one), None)


def _home(words: Sequence[str]) -> Path:
    """Raises ConfigInvalid."""
    from satchel import config

    home, _ = config.home_of(_value("--home", words), config.environment())
    return home


def _value(option: str, words: Sequence[str]) -> str | None:
    """What was said for an option, however wrong the rest of the words may be."""
    for place, word in enumerate(words):
        if word.startswith(f"{option}="):
            return word.partition("=")[2]
        if word == option and place + 1 < len(words):
            return words[place + 1]
    return None
