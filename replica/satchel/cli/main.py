"""`satchel`: what a process of it does, and what an exit looks like. Start reading at `run`."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, NoReturn, TextIO

from satchel.cli import hooked
from satchel.cli.door import ReaderGone
from satchel.cli.failures import is_abort, report
from satchel.cli.options import VERSION
from satchel.errors import OutputFailed
from satchel.terminal import is_terminal
from satchel_crypto.network import enforce

if TYPE_CHECKING:
    from satchel.cli import capture, quick, recall

INTERRUPTED = 130


def run(arguments: Sequence[str] | None = None) -> NoReturn:
    """The entry point of the command `satchel`."""
    in_a_hurry = arguments is None and hooked.is_hook(sys.argv[1:])
    if in_a_hurry:
        gc.disable()  # a short life makes little garbage
    try:
        exit_code = _run(arguments)
    except KeyboardInterrupt:  # also one that comes while another end is being told
        exit_code = INTERRUPTED
    if in_a_hurry:
        os._exit(exit_code)  # all is written and closed; Python's own end takes a tenth of the time
    sys.exit(exit_code)


def _run(arguments: Sequence[str] | None) -> int:
    """Do what the words say, and show how it ended; the exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    with hooked.watched(given):
        return _ended(given, is_process=arguments is None)


def _ended(given: Sequence[str], *, is_process: bool) -> int:
    _stand_in_for_closed()
    _speak_utf8()
    try:
        enforce()
        if is_process:
            _start_again_for_fips(given)
        exit_code = _done(given)
        _flush()
    except (ReaderGone, BrokenPipeError):
        exit_code = _quiet_pipe()
    except Exception as error:  # noqa: BLE001 (the last door: each error is shown with its code)
        exit_code = _failed(error, given)
    return exit_code if isinstance(exit_code, int) and not hooked.is_hook(given) else 0


def _done(given: Sequence[str]) -> object:
    """Do what the words say; the exit code, or anything else for 0."""
    if list(given) == ["--version"]:
        sys.stdout.write(VERSION)
        return 0
    if "--quiet" in given:
        _log_errors_only()
    call = _plain_call(given)
    if call is not None:
        return call.run()
    from satchel.cli.tree import root

    return root()(args=list(given), prog_name="satchel", standalone_mode=False)


def _plain_call(given: Sequence[str]) -> quick.Call | recall.Call | capture.Call | None:
    """The call that can be read without typer, which takes as long as all of a search."""
    if "recall" in given:
        from satchel.cli import recall  # before the catalog: a hook has no time for that

        unasked = recall.read(given)
        if unasked is not None:
            return unasked
    if "capture" in given:
        from satchel.cli import capture

        captured = capture.read(given)
        if captured is not None:
            return captured
    from satchel.cli import quick

    return quick.read(given)


def _start_again_for_fips(given: Sequence[str]) -> None:
    """FIPS mode needs an environment that is there before the process: become such a process."""
    from satchel import config, fips_start

    environment = fips_start.environment_for(given, config.environment())
    if environment is not None:
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], environment)


def _log_errors_only() -> None:
    """A warning in the log is a remark on stderr too."""
    import logging  # few commands have anything to log

    logging.getLogger("satchel").setLevel(logging.ERROR)


def _failed(error: Exception, given: Sequence[str]) -> int:
    if is_abort(error):
        return INTERRUPTED
    if hooked.is_hook(given):
        return hooked.keep(error, given)
    as_json = "--json" in given or not is_terminal(sys.stdout)
    return report(_drop_unwritten(error), as_json=as_json, verbose="--verbose" in given)


# ---- streams ------------------------------------------------------------------------------------


def _stand_in_for_closed() -> None:
    """A stream that the shell closed (`>&-`) fails when it is used, with an error that says so.

    Python has None in its place, and its number would go to the next file that is opened.
    """
    if sys.stdin is None:
        sys.stdin = os.fdopen(os.open(os.devnull, os.O_WRONLY), "r", encoding="utf-8")
    if sys.stdout is None:
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_RDONLY), "w", encoding="utf-8")
    if sys.stderr is None:
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8")


def _speak_utf8() -> None:
    """UTF-8 on every system: a Windows code page would break names and JSON."""
    if sys.platform == "win32":
        from satchel.cli import pipes_windows

        sys.stdout = pipes_windows.told(sys.stdout)
    for stream in (sys.stdout, sys.stderr):
        _reconfigure(stream)


def _reconfigure(stream: TextIO) -> None:
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(encoding="utf-8", errors="backslashreplace", newline="\n")


def _flush() -> None:
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputFailed(f"stdout could not be written to: {error.strerror}") from error


def _drop_unwritten(error: Exception) -> Exception:
    """What stdout does not take must not fail a second time, when Python ends."""
    try:
        _flush()
    except (OutputFailed, BrokenPipeError) as failed:
        _quiet_pipe()
        return failed if isinstance(error, OSError) else error
    return error


def _quiet_pipe() -> int:
    """The reader went away: nothing to say, and nothing may fail while Python flushes."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, sys.stdout.fileno())
    return 0
