"""The doors put the hook on, and in all that satchel does every day it has nothing to refuse."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from fix_command import COMMAND, TIMEOUT_S, Run, environment, run
from fix_servers import free_port, owned_folder

from satchel import config
from satchel.doctor.network import network as network_check

COUNTED = """
import atexit, json, sys
from satchel_crypto import network
def told():
    count, kept = network.refusals()
    with open(sys.argv.pop(1), "w") as file:
        json.dump({"on": network.enforced(), "refused": [list(one) for one in kept]}, file)
atexit.register(told)
from satchel.cli.main import run
run(sys.argv[2:])
"""
"""A command, and at its end what the hook refused, in a file."""


@pytest.fixture
def counted(tmp_path: Path) -> Callable[..., Run]:
    """Run a command that the hook has to have watched, and refused nothing to."""

    def command(*words: str, **variables: str) -> Run:
        report = tmp_path / "report"
        variables = {"SATCHEL_HOME": str(tmp_path / "home")} | variables
        done = subprocess.run(
            [sys.executable, "-c", COUNTED, str(report), *words],
            capture_output=True, text=True, env=environment(**variables), timeout=TIMEOUT_S,
            check=False,
        )  # fmt: skip
        assert json.loads(report.read_text()) == {"on": True, "refused": []}, words
        return Run(done.returncode, done.stdout, done.stderr)

    return command


DAILY = [
    ["--version"],
    ["--help"],
    ["write", "a word"],
    ["search", "word"],
    ["memory", "list"],
    ["chatlog", "write", "talk", "a turn"],
    ["task", "add", "a task"],
    ["sync", "status"],
    ["doctor"],
    ["config", "show"],
    ["key", "list"],
    ["crypto", "status"],
    ["crypto", "selftest"],
    ["audit", "verify"],
    ["secret", "list"],
    ["model", "list"],
    ["demo", "--help"],
]


def test_daily_commands_are_refused_nothing(counted: Callable[..., Run]) -> None:
    for words in DAILY:
        done = counted(*words)
        assert done.code in (0, 2), f"{words}: {done.err}"


def test_with_a_model_neither(counted: Callable[..., Run]) -> None:
    """The engine that this machine has, whichever it is."""
    for words in (["write", "a word"], ["search", "what was said"], ["doctor"]):
        assert counted(*words, SATCHEL_EMBEDDING="auto").code == 0


MCP = """
import sys
from satchel_crypto import network
import satchel.memory.write as write
inner = write.write
def nosy(*a, **k):
    import socket
    for attempt in (lambda: socket.create_connection(("127.0.0.1", 9)),
                    lambda: socket.getaddrinfo("example.org", 80)):
        try: attempt()
        except Exception as error:
            print("refused:", error, file=sys.stderr)
    print("refused in all:", network.refusals()[0], file=sys.stderr)
    return inner(*a, **k)
write.write = nosy
from satchel.cli.main import run
run(["mcp"])
"""


def session(program: list[str], home: Path) -> tuple[dict[str, Any], str]:
    """One write through an MCP server: its result, and the server's stderr."""
    info = {"name": "tester", "version": "1"}
    opening = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info}
    write = {"name": "memory_write", "arguments": {"text": "a word"}}
    calls = [
        {"id": 1, "method": "initialize", "params": opening},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": write},
    ]
    lines = "".join(json.dumps({"jsonrpc": "2.0", **call}) + "\n" for call in calls)
    with subprocess.Popen(
        program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, env=environment(SATCHEL_HOME=str(home)),
    ) as server:  # fmt: skip
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write(lines)
        server.stdin.flush()
        answers = [json.loads(server.stdout.readline()) for _ in range(2)]
        _, err = server.communicate(timeout=TIMEOUT_S)
    return answers[-1]["result"], err


def test_an_mcp_server_is_watched_in_its_worker_threads_too(tmp_path: Path) -> None:
    result, err = session([sys.executable, "-c", MCP], tmp_path / "home")
    assert not result.get("isError"), result
    assert err.count("refused: no network path leads there") == 2
    assert "refused in all: 2" in err, "and nothing of the server's own"


def test_an_mcp_server_that_is_started_by_a_program(tmp_path: Path) -> None:
    code = (
        "import sys\nfrom satchel import config\nfrom satchel.mcp_server.server import serve\n"
        "serve(config.load())\nfrom satchel_crypto import network\n"
        "print('on:', network.enforced(), network.refusals()[0], file=sys.stderr)"
    )
    result, err = session([sys.executable, "-c", code], tmp_path / "home")
    assert not result.get("isError"), result
    assert "on: True 0" in err


# ---- a warehouse over TCP -----------------------------------------------------------------------


@contextmanager
def served(folder: Path, port: int, **variables: str) -> Iterator[dict[str, Any]]:
    """`satchel warehouse serve-embedded --port`."""
    variables = {"SATCHEL_HOME": str(folder / "serving")} | variables
    words = ["warehouse", "serve-embedded", str(folder / "hub"), "--port", str(port)]
    with subprocess.Popen(
        [*COMMAND, *words], stdout=subprocess.PIPE, text=True, env=environment(**variables)
    ) as server:
        try:
            assert server.stdout is not None
            yield json.loads(server.stdout.readline())
        finally:
            server.terminate()
            server.wait(60)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_sync_over_tcp_is_refused_nothing(counted: Callable[..., Run], host: str) -> None:
    """psycopg looks host names up in Python before libpq connects in C."""
    port = free_port()
    with owned_folder() as (folder, _), served(folder, port) as where:
        owner = {"SATCHEL_WAREHOUSE_ADMIN_DSN": str(where["dsn"])}
        assert counted("warehouse", "init", **owner).code == 0
        grant = counted("warehouse", "grant", "--replica", "desk", **owner).json
        dsn = f"postgresql://desk:{grant['password']}@{host}:{port}/satchel"
        assert counted("write", "a word", "--scope", "org").code == 0
        synced = counted("sync", SATCHEL_WAREHOUSE_DSN=dsn)
        assert synced.code == 0, synced.err
        assert synced.json["kinds"]["memory"]["sent"] == 1
        assert counted("doctor", SATCHEL_WAREHOUSE_DSN=dsn).code == 0
        assert counted("sync", "verify", SATCHEL_WAREHOUSE_DSN=dsn).code == 0
        for closed in ({"SATCHEL_NETWORK_MODE": "none"},
                       {"SATCHEL_NETWORK_SYNC_POSTGRES_ENABLED": "false"}):  # fmt: skip
            refused = counted("sync", SATCHEL_WAREHOUSE_DSN=dsn, **closed)
            assert (refused.code, refused.error["code"]) == (4, "network_refused")


@pytest.mark.parametrize(
    "closed",
    [
        {"SATCHEL_NETWORK_MODE": "none"},
        {"SATCHEL_NETWORK_WAREHOUSE_SERVE_ENABLED": "false"},
        {"SATCHEL_NETWORK_WAREHOUSE_ADMIN_ENABLED": "false"},
    ],
    ids=["mode none", "disabled", "admin disabled"],
)
def test_a_port_is_not_served_where_the_path_is_closed(
    tmp_path: Path, closed: dict[str, str]
) -> None:
    done = run("warehouse", "serve-embedded", str(tmp_path / "hub"), "--port", str(free_port()),
               SATCHEL_HOME=str(tmp_path), **closed)  # fmt: skip
    assert (done.code, done.error["code"]) == (4, "network_refused")
    assert not (tmp_path / "hub").exists()


def test_the_demo_speaks_to_its_own_unix_socket_whatever_the_mode(
    counted: Callable[..., Run],
) -> None:
    done = counted("demo", SATCHEL_NETWORK_MODE="none", SATCHEL_WAREHOUSE_DSN="host=192.0.2.7")
    assert done.code == 0, done.err
    for variable in ("PGHOSTADDR", "PGSERVICE"):  # libpq's, which could lead it away
        led = counted("demo", **{variable: "127.0.0.1"})
        assert (led.code, led.error["code"]) in ((4, "network_refused"), (2, "dsn_invalid"))


# ---- what doctor tells --------------------------------------------------------------------------


def network(done: Run) -> dict[str, Any]:
    found: dict[str, Any] = next(one for one in done.json["checks"] if one["name"] == "network")
    return found


def test_doctor_tells_of_each_path(tmp_path: Path) -> None:
    found = network(run("doctor", SATCHEL_HOME=str(tmp_path)))
    assert found["ok"] == "ok"
    for told in (
        "mode open",
        "sync.postgres closed: no warehouse.dsn is named",
        "warehouse.admin closed: no warehouse.admin_dsn is named",
        "warehouse.report closed: no warehouse.report_dsn is named",
        "warehouse.serve open: when `satchel warehouse serve-embedded --port` asks for it",
        "warehouse.metrics closed: not enabled",
        "fips.source open: when `satchel crypto fips build` asks for it",
        "embed.http closed: not enabled",
        "llm.http closed: not enabled",
        "mcp.http closed: not enabled",
        "dashboard.http closed: not enabled",
        "sockets are watched, 0 refused in this process",
    ):
        assert told in found["found"].split("; ")


@pytest.mark.parametrize(
    ("dsn", "variables", "verdict", "told"),
    [
        ("host=127.0.0.1 port=9", {}, "ok", "open: 127.0.0.1:9, this machine"),
        ("host=/run/none", {}, "ok", "open: the socket in /run/none, on this machine"),
        ("host=192.0.2.7", {}, "ok", "open: 192.0.2.7:5432, TLS verify-full"),
        ("host=192.0.2.7 sslmode=require", {}, "warn", "must be verified"),
        ("host=192.0.2.7 sslmode=require",
         {"SATCHEL_NETWORK_SYNC_POSTGRES_ATTESTED": "a tunnel"}, "ok",
         "open: 192.0.2.7:5432, TLS require"),
        ("host=127.0.0.1", {"SATCHEL_NETWORK_SYNC_POSTGRES_ENABLED": "0"}, "warn", "not enabled"),
        ("host=127.0.0.1", {"SATCHEL_NETWORK_MODE": "none"}, "ok", "the network mode is none"),
        ("postgresql://u:Zz-s3cret@192.0.2.7/db", {}, "warn", "for this machine only"),
        ("postgresql://u:Zz-s3cret@localhost/db", {}, "ok", "open: localhost:5432, this machine"),
        ("nonsense Zz-s3cret", {}, "warn", "cannot be read"),
    ],
)  # fmt: skip
def test_doctor_tells_where_a_dsn_leads(
    tmp_path: Path, dsn: str, variables: dict[str, str], verdict: str, told: str
) -> None:
    home = {"SATCHEL_HOME": str(tmp_path), "SATCHEL_WAREHOUSE_DSN": dsn}
    found = network_check(config.load(environ=home | variables))
    (line,) = (one for one in found.found.split("; ") if one.startswith("sync.postgres"))
    assert told in line
    assert found.ok == verdict
    assert bool(found.fix) == (verdict == "warn")
    assert "s3cret" not in repr(found)
