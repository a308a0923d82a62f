"""Programs in processes that are forked from one which has imported them already.

Importing is most of what a short command costs. What is forked is a process like any other, with
arguments, environment, streams and an exit code of its own; only what is decided before the first
import is shared, and what Python takes apart at its end is left. Run as a script this file serves.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import importlib.util
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import IO, NoReturn

MESSAGE_BYTES_MAX = 100_000
"""Longer arguments are for a process that is started with them."""
STATUS_BYTES = 16
READ_LATE = ("SATCHEL_", "PG", "XDG_", "HOME")
"""Variables that nothing reads while it is imported."""
PACKAGES = ("satchel.cli.main", "satchel.cli.tree", "satchel.replica", "satchel.tools.catalog")
LIBRARIES = ("apsw", "psycopg", "sqlalchemy", "alembic.command", "cryptography.x509", "cbor2")
COMMANDS = "replica/satchel/cli/*_command.py"


@dataclass(frozen=True, slots=True)
class Order:
    """What a process is to be: its words, all of its environment, its folder."""

    words: Sequence[str]
    environment: Mapping[str, str]
    folder: str


# ---- who asks -----------------------------------------------------------------------------------


def fits(words: Sequence[str | bytes], variables: Iterable[str] = ()) -> bool:
    """Whether these words with these variables can do without a start of their own."""
    return (
        sys.platform == "linux"
        and sum(map(len, words)) < MESSAGE_BYTES_MAX // 4
        and all(name.startswith(READ_LATE) for name in variables)
    )


@dataclass
class Child:
    """A forked process, with the ends of its pipes; to be used like a Popen."""

    pid: int
    stdin: IO[bytes]
    stdout: IO[bytes]
    status: IO[bytes]
    returncode: int | None = None

    def poll(self) -> int | None:
        """Its exit code, None while it runs."""
        return self.wait(0)

    def wait(self, timeout: float | None = None) -> int | None:
        """Its exit code; None when it still runs after `timeout` seconds."""
        if self.returncode is None and select.select([self.status], [], [], timeout)[0]:
            self.returncode = int(self.status.read(STATUS_BYTES))
            self.status.close()
        return self.returncode

    def kill(self) -> None:
        """kill -9, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, signal.SIGKILL)


@dataclass
class Server:
    """The process that forks, and the way to it."""

    process: subprocess.Popen[bytes]
    way: socket.socket
    lock: threading.Lock

    def start(
        self,
        words: Sequence[str | bytes],
        environment: Mapping[str, str],
        err: int | None,
        folder: str | None = None,
    ) -> Child:
        """A process whose stderr is the file `err`, or where its stdout is."""
        order = Order(list(map(os.fsdecode, words)), environment, folder or str(Path.cwd()))
        its_in, to_in = os.pipe()
        (out, its_out), (status, its_status) = os.pipe(), os.pipe()
        with self.lock:
            ends = [its_in, its_out, its_out if err is None else err, its_status]
            socket.send_fds(self.way, [json.dumps(asdict(order)).encode()], ends)
        for end in (its_in, its_out, its_status):
            os.close(end)
        telling = os.fdopen(status, "rb", 0)
        told = telling.read(STATUS_BYTES)
        assert told, self.close()
        return Child(int(told), os.fdopen(to_in, "wb"), os.fdopen(out, "rb"), telling)

    def close(self) -> str:
        """End it; what it had to say."""
        self.way.close()
        return self.process.communicate(timeout=30)[1].decode()


@cache
def server_of(program: str, environment: tuple[tuple[str, str], ...] = ()) -> Server:
    """The server of this process for `satchel`, or for the `main` of a file; ends with it."""
    ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 2 * MESSAGE_BYTES_MAX)
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "HOME") if name in os.environ}
    process = subprocess.Popen(
        [sys.executable, __file__, str(its.fileno()), program],
        env=kept | dict(environment),
        cwd=Path(__file__).parent.parent,
        pass_fds=[its.fileno()],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    its.close()
    server = Server(process, ours, threading.Lock())
    atexit.register(server.close)
    return server


def forked(
    words: Sequence[str | bytes],
    environment: Mapping[str, str],
    stdin: bytes,
    timeout_s: float,
    *,
    folder: str | None = None,
    merged: bool = False,
) -> subprocess.CompletedProcess[bytes]:
    """`satchel WORDS` to its end; `merged` brings its stderr into its stdout, in order of time.

    Raises subprocess.TimeoutExpired when it was killed for time.
    """
    err, its_err = os.pipe()
    try:
        child = server_of("satchel").start(words, environment, None if merged else its_err, folder)
    finally:
        os.close(its_err)
    late, said = threading.Timer(timeout_s, child.kill), [b""]
    with child.stdout, os.fdopen(err, "rb") as errors:
        reader = threading.Thread(target=lambda: said.append(errors.read()))
        feeder = threading.Thread(target=_feed, args=(child.stdin, stdin))
        for thread in (late, reader, feeder):
            thread.start()
        printed, code = child.stdout.read(), child.wait()
        timed_out = not late.is_alive()
        late.cancel()
        for thread in (late, reader, feeder):
            thread.join()
    if timed_out or code is None:
        raise subprocess.TimeoutExpired(list(words), timeout_s, printed, said[-1])
    return subprocess.CompletedProcess(list(words), code, printed, said[-1])


def _feed(pipe: IO[bytes], data: bytes) -> None:
    with suppress(BrokenPipeError), pipe:
        pipe.write(data)


# ---- who serves ---------------------------------------------------------------------------------


def serve(way: socket.socket) -> bool:
    """Fork for every order; True in a process that has become what was ordered."""
    while True:
        message, ends, _, _ = socket.recv_fds(way, MESSAGE_BYTES_MAX, 4)
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG) != (0, 0):
                pass
        if not message:
            return False
        if os.fork() == 0:
            way.close()
            return _watched(Order(**json.loads(message)), ends)
        for end in ends:
            os.close(end)


def _watched(order: Order, ends: list[int]) -> bool:
    """Fork what was ordered, and tell of its number and of its end."""
    *streams, status = ends
    pid = os.fork()
    if pid == 0:
        os.close(status)
        _become(order, streams)
        return True
    for end in streams:
        os.close(end)
    with suppress(BrokenPipeError):
        os.write(status, b"%*d" % (STATUS_BYTES, pid))
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        os.write(status, b"%*d" % (STATUS_BYTES, code))
    os._exit(0)


def _become(order: Order, streams: list[int]) -> None:
    """Take on what a new process would have been given."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.environ.clear()
    os.environ.update(order.environment)
    os.chdir(order.folder)
    sys.argv[1:] = order.words


def satchel() -> Callable[[], object]:
    """The command, with all that its parts import."""
    commands = [f"satchel.cli.{file.stem}" for file in sorted(Path().glob(COMMANDS))]
    for name in (*PACKAGES, *LIBRARIES, *commands):
        importlib.import_module(name)
    main = importlib.util.find_spec("satchel.__main__")
    assert main is not None

    def run() -> None:
        sys.argv[0] = str(main.origin)
        sys.orig_argv = [sys.executable, "-m", "satchel", *sys.argv[1:]]
        sys.path[0] = str(Path.cwd())
        sys.modules["satchel.cli.main"].run()

    return run


def script(file: str) -> Callable[[], object]:
    """The `main` of a file, as it would find itself."""
    spec = importlib.util.spec_from_file_location("script", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.argv, sys.path[0] = [file], str(Path(file).parent)
    spec.loader.exec_module(module)
    run: Callable[[], object] = module.main
    return run


def main() -> None:
    """Import, serve, and in what was forked be the program."""
    way, program = socket.socket(fileno=int(sys.argv[1])), sys.argv[2]
    run = satchel() if program == "satchel" else script(program)
    gc.freeze()
    if serve(way):
        try:
            run()
        except SystemExit as end:
            _leave(end.code)
        _leave(None)


def _leave(code: object) -> NoReturn:
    """End as Python does, up to where it would take every module apart."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(code if isinstance(code, int) else int(code is not None))


if __name__ == "__main__":
    main()
