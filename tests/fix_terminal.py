"""satchel at a terminal of its own, with somebody who types: what is on the screen is seen."""

from __future__ import annotations

import os
import pty
import select
from time import monotonic

from fix_command import COMMAND, environment

TIMEOUT_S = 60


def typed(
    *arguments: str, answers: tuple[tuple[str, str], ...], stdin: bytes | None = None, **said: str
) -> tuple[int, str]:
    """Run satchel at a terminal; each answer is typed once its prompt is shown.

    Returns the exit code and all that the screen has shown. With `stdin` that is a pipe, while the
    terminal is still there to be asked at.
    """
    piped = _pipe(stdin) if stdin is not None else None
    child, terminal = pty.fork()
    if child == 0:
        if piped is not None:
            os.dup2(piped, 0)
        os.execve(COMMAND[0], [*COMMAND, *arguments], environment(**{"TERM": "dumb", **said}))
    screen, due = b"", list(answers)
    deadline = monotonic() + TIMEOUT_S
    seen = 0
    while True:
        assert monotonic() < deadline, screen
        if due and due[0][0].encode() in screen[seen:]:
            seen = len(screen)
            os.write(terminal, due.pop(0)[1].encode() + b"\n")
        if not select.select([terminal], [], [], 0.1)[0]:
            continue
        try:
            found = os.read(terminal, 4096)
        except OSError:  # how Linux says that the other end is gone
            break
        if not found:
            break
        screen += found
    os.close(terminal)
    if piped is not None:
        os.close(piped)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert not due, (due, screen)
    return code, screen.decode("utf-8")


def _pipe(data: bytes) -> int:
    """The reading end of a pipe with this in it (≤ 64 KiB)."""
    reading, writing = os.pipe()
    os.write(writing, data)
    os.close(writing)
    return reading
