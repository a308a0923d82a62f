"""Agents that write and search one replica at once, each a process of its own.

By the library (this file is the worker) or through an MCP server each, as hosts run them.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from fix_command import COMMAND, environment

SPACE = "workshop"
TEXT = "the parser keeps a stack of open brackets and reports where the first of them stands; "
QUESTIONS = ("where is the first open bracket?", "what does the parser keep", "stack of {name}")
WARM: tuple[str, dict[str, Any]] = ("memory_search", {"query": "is anybody here?"})
"""The first call of a process loads what all others need: it is not counted."""
PROTOCOL = "2025-06-18"
Ask = Callable[[str, dict[str, Any]], dict[str, Any]]
"""Call a tool by name: its answer. Raises RuntimeError for one that failed."""


@dataclass
class Done:
    """What one agent did: ids acknowledged, the ids that each search gave, ms of each call."""

    name: str
    written: list[str] = field(default_factory=list)
    shared: list[str] = field(default_factory=list)
    found: list[list[str]] = field(default_factory=list)
    write_ms: list[float] = field(default_factory=list)
    search_ms: list[float] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    def timed(self, ms: list[float], ask: Ask, tool: str, arguments: dict[str, Any]) -> Any:
        """The answer of a call, or None where it failed."""
        began = time.perf_counter()
        try:
            return ask(tool, arguments)
        except Exception as error:  # noqa: BLE001 (whatever it is, it is counted and told)
            self.failures.append(f"{tool}: {type(error).__name__}: {error}")
            return None
        finally:
            ms.append((time.perf_counter() - began) * 1000)


def work(ask: Ask, name: str, times: int) -> Done:
    """So many writes, every other for all, and a search after each."""
    done = Done(name)
    for number in range(times):
        shared = number % 2 == 1
        given = {"text": f"{TEXT * 4} says {name}, for the time {number}", "title": name}
        wrote = done.timed(
            done.write_ms, ask, "memory_write", given | ({"space": SPACE} if shared else {})
        )
        if wrote is not None:
            (done.shared if shared else done.written).append(wrote["id"])
        question = QUESTIONS[number % len(QUESTIONS)].format(name=name)
        answer = done.timed(done.search_ms, ask, "memory_search", {"query": question})
        if answer is not None:
            done.found.append([hit["id"] for hit in answer["hits"]])
    return done


# ---- by the library -----------------------------------------------------------------------------


def by_library(home: Path, agents: Sequence[str], times: int, **variables: str) -> list[Done]:
    """A process for each, which opens the replica and waits for all others."""
    env = environment(SATCHEL_HOME=str(home), **variables)
    processes = [
        subprocess.Popen(
            [sys.executable, __file__, name, str(times)],
            env={**env, "PYTHONPATH": str(Path(__file__).parent), "SATCHEL_AGENT": name},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )
        for name in agents
    ]  # fmt: skip
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    told = [process.communicate(timeout=600)[0] for process in processes]
    assert [process.returncode for process in processes] == [0] * len(agents)
    return [Done(**json.loads(one)) for one in told]


def _worker(name: str, times: int) -> None:
    from satchel import config
    from satchel.replica import open_replica
    from satchel.tools import catalog

    tools = catalog.every()
    with open_replica(config.load(flags={})) as replica:

        def ask(tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
            one = tools[tool]
            found: dict[str, Any] = one.call(replica, one.arguments(arguments))
            return found

        ask(*WARM)
        print("ready", flush=True)
        sys.stdin.readline()

        print(json.dumps(asdict(work(ask, name, times))), flush=True)


# ---- over MCP -----------------------------------------------------------------------------------


def over_mcp(home: Path, agents: Sequence[str], times: int, **variables: str) -> list[Done]:
    """A server for each, and a thread here that is its host."""
    done: dict[str, Done] = {}
    gate = threading.Barrier(len(agents))
    with ExitStack() as stack:
        asks = {name: stack.enter_context(_server(home, name, variables)) for name in agents}

        def host(name: str) -> None:
            gate.wait()
            done[name] = work(asks[name], name, times)

        for ask in asks.values():
            ask(*WARM)
        threads = [threading.Thread(target=host, args=(name,)) for name in agents]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    return [done[name] for name in agents]


@contextmanager
def _server(home: Path, name: str, variables: dict[str, str]) -> Iterator[Ask]:
    """`satchel mcp` as this agent, after the handshake."""
    command = [*COMMAND, "--home", str(home), "--agent", name, "mcp"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment(**variables)
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        pipe, out = process.stdin, process.stdout

        def send(message: dict[str, Any]) -> None:
            pipe.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
            pipe.flush()

        def answer(number: int) -> dict[str, Any]:
            while line := out.readline():
                message = json.loads(line)
                if message.get("id") == number:
                    result: dict[str, Any] = message["result"]
                    return result
            raise RuntimeError("the server has gone")

        info = {"name": "load", "version": "1"}
        params = {"protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": info}
        send({"id": 0, "method": "initialize", "params": params})
        answer(0)
        send({"method": "notifications/initialized"})
        numbers = iter(range(1, 1_000_000))

        def ask(tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
            number = next(numbers)
            call = {"name": tool, "arguments": arguments}
            send({"id": number, "method": "tools/call", "params": call})
            result = answer(number)
            if result.get("isError"):
                raise RuntimeError(json.dumps(result["content"]))
            found: dict[str, Any] = result["structuredContent"]
            return found

        try:
            yield ask
        finally:
            pipe.close()


# ---- what must hold -----------------------------------------------------------------------------


def faults(home: Path, done: Sequence[Done]) -> list[str]:
    """What went wrong: failures, writes that were lost, rows of others that a search showed."""
    from fix_memory import opened

    with opened(home, embedding="off") as replica, replica.store.read() as db:
        held = {str(key) for (key,) in db.execute("SELECT id FROM memory")}
        check = db.execute("PRAGMA integrity_check").get
    shared = {key for one in done for key in one.shared}
    told = [f"{one.name}: {failure}" for one in done for failure in one.failures]
    told += [f"lost: {key}" for one in done for key in (*one.written, *one.shared)
             if key not in held]  # fmt: skip
    told += [
        f"{one.name} saw {key}"
        for one in done
        for ids in one.found
        for key in ids
        if key not in shared and key not in one.written
    ]
    told += [f"{one.name} found nothing" for one in done if not all(one.found)]
    return told if check == "ok" else [*told, f"integrity: {check}"]


if __name__ == "__main__":
    _worker(sys.argv[1], int(sys.argv[2]))
