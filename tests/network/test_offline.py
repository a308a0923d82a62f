"""`satchel doctor --offline`: nothing of satchel wants a network, and the proof can fail."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from fix_command import COMMAND, TIMEOUT_S, Run, environment, run
from fix_fips import built_module, fips_home

from satchel.offline.namespace import WAYS, without_network

STEPS = "write, search, keys, export, import, search elsewhere, inspect, verify"
ISOLATED = "in a network namespace without routes"
NEEDS_NAMESPACE = pytest.mark.skipif(not without_network()[0], reason=without_network()[1])
NEEDS_STRACE = pytest.mark.skipif(
    shutil.which("strace") is None, reason="needs the system package strace"
)
INET = re.compile(
    r"^.*\b(?:socket\(AF_INET|(?:connect|bind|send\w*)\(.*sa_family=AF_INET).*$", re.M
)
"""What strace prints of a call that has to do with IP."""


def offline(done: Run) -> dict[str, Any]:
    """The check of that name."""
    found: dict[str, Any] = next(one for one in done.json["checks"] if one["name"] == "offline")
    return found


@NEEDS_NAMESPACE
def test_it_proves_that_nothing_wants_a_network(tmp_path: Path) -> None:
    home = tmp_path / "home"
    assert run("write", "mine", SATCHEL_HOME=str(home)).code == 0
    before = {path: path.read_bytes() for path in home.rglob("*") if path.is_file()}
    done = run("doctor", "--offline", SATCHEL_HOME=str(home), TMPDIR=str(tmp_path))
    assert done.code == 0, done.out
    check = offline(done)
    assert check["ok"] == "ok"
    assert check["found"] == f"done: {STEPS}; 0 attempts to open a socket; {ISOLATED}"
    assert [path.name for path in tmp_path.iterdir()] == ["home"], "its folder is gone"
    kept = {path: path.read_bytes() for path in home.rglob("*") if path.suffix in (".db", ".key")}
    assert kept
    assert {path: before[path] for path in kept if path in before} == {
        path: data for path, data in kept.items() if path in before
    }, "the user's own data was not touched"


@NEEDS_NAMESPACE
@pytest.mark.parametrize("way", WAYS, ids=" ".join)
def test_each_way_leads_to_a_place_without_a_network(way: tuple[str, ...]) -> None:
    code = "from satchel.offline.namespace import interfaces; print(interfaces())"
    command = ["unshare", *way, sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(done.stderr)
    assert done.stdout == "['lo']\n"


def test_where_no_namespace_is_allowed_it_says_so(tmp_path: Path) -> None:
    """A `unshare` that is refused, as in many containers: the hook alone watches."""
    refuses = tmp_path / "bin" / "unshare"
    refuses.parent.mkdir()
    refuses.write_text("#!/bin/sh\necho 'unshare: Operation not permitted' >&2\nexit 1\n")
    refuses.chmod(0o755)
    path = f"{refuses.parent}:{os.environ['PATH']}"
    done = run("doctor", "--offline", SATCHEL_HOME=str(tmp_path / "home"), PATH=path)
    assert done.code == 0, done.out
    found = offline(done)["found"]
    assert f"done: {STEPS}; 0 attempts" in found
    if sys.platform.startswith("linux"):
        assert "audit hook alone, for this system does not let this user make one" in found
        assert "Operation not permitted" in found


@NEEDS_NAMESPACE
def test_it_walks_in_fips_mode_where_that_is_on(tmp_path: Path) -> None:
    """With the FIPS module of this home."""
    home = fips_home(tmp_path / "home", built_module())
    found = offline(home.satchel("doctor", "--offline"))
    assert found["found"] == f"done: {STEPS}; 0 attempts to open a socket; {ISOLATED}"
    shutil.rmtree(home.folder)
    without = offline(home.satchel("doctor", "--offline"))
    assert without["ok"] == "fail", "the walk was in FIPS mode: without the module there is none"
    assert without["found"].startswith("done: nothing; 0 attempts")
    assert "crypto.fips_mode" in without["why"]


PLANTS = {
    "a library that reports home": "import urllib.request\n"
    "try: urllib.request.urlopen('http://192.0.2.1/')\nexcept Exception: pass\n",
    "one that looks a name up": "import socket\n"
    "try: socket.gethostbyname('example.org')\nexcept Exception: pass\n",
}


@pytest.mark.parametrize("plant", PLANTS)
def test_a_library_that_wants_a_network_is_found(tmp_path: Path, plant: str) -> None:
    """fasteners is imported by an export; this one does more, and hides its failure."""
    planted = tmp_path / "lib" / "fasteners"
    planted.mkdir(parents=True)
    real = subprocess.run(
        [sys.executable, "-c", "import fasteners; print(fasteners.__path__[0])"],
        capture_output=True, text=True, check=True,
    ).stdout.strip()  # fmt: skip
    planted.rmdir()
    shutil.copytree(real, planted)
    with (planted / "__init__.py").open("a") as file:
        file.write(f"\n{PLANTS[plant]}\n")
    done = run(
        "doctor", "--offline", SATCHEL_HOME=str(tmp_path / "home"),
        PYTHONPATH=str(planted.parent),
    )  # fmt: skip
    assert done.code == 1, done.out
    check = offline(done)
    assert check["ok"] == "fail"
    assert not check["found"].startswith("done: nothing"), "the commands went on"
    assert "something wants a network" in check["why"]


def test_a_step_that_fails_is_told(tmp_path: Path) -> None:
    (tmp_path / "fasteners.py").write_text("raise ImportError('no fasteners here')")
    home = {"SATCHEL_HOME": str(tmp_path / "home"), "PYTHONPATH": str(tmp_path)}
    done = run("doctor", "--offline", **home)
    check = offline(done)
    assert (done.code, check["ok"]) == (1, "fail")
    assert check["found"].startswith("done: write, search; 0 attempts")
    assert check["why"].startswith("keys: Failed: `satchel key` ended with 1: ")


def test_a_broken_config_is_told_once(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text("[network]\nmode = 'nonne'\n")
    done = run("doctor", "--offline", SATCHEL_HOME=str(tmp_path))
    assert done.code == 1
    assert [one["name"] for one in done.json["checks"]] == ["program", "sqlite", "config"]


# ---- the system's own word ----------------------------------------------------------------------


def traced(tmp_path: Path, *command: str, **variables: str) -> str:
    """Every network call of a program and its children, as strace tells."""
    log = tmp_path / "trace"
    done = subprocess.run(
        ["strace", "-f", "-qq", "-e", "trace=network", "-o", str(log), *command],
        capture_output=True, text=True, timeout=TIMEOUT_S, check=False,
        env=environment(SATCHEL_HOME=str(tmp_path / "home"), **variables),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return log.read_text("utf-8", "replace")


@NEEDS_STRACE
def test_the_system_sees_no_socket_either(tmp_path: Path) -> None:
    """The whole walk, without a namespace; C libraries included, which no hook sees."""
    (tmp_path / "walk").mkdir()
    log = traced(tmp_path, sys.executable, "-m", "satchel.offline.walk", str(tmp_path / "walk"))
    assert INET.findall(log) == []


@NEEDS_STRACE
def test_strace_would_see_one(tmp_path: Path) -> None:
    code = "import socket; socket.socket(type=2).sendto(b'x', ('127.0.0.1', 9))"
    log = traced(tmp_path, sys.executable, "-c", code)
    assert len(INET.findall(log)) == 2


@NEEDS_STRACE
@pytest.mark.parametrize(
    "words", [["write", "a word"], ["search", "word"], ["doctor"], ["config", "show"]]
)
def test_daily_commands_make_no_socket(tmp_path: Path, words: list[str]) -> None:
    assert INET.findall(traced(tmp_path, *COMMAND, *words)) == []


@NEEDS_STRACE
def test_the_mcp_server_makes_no_socket(tmp_path: Path) -> None:
    """A whole session over stdio, traced from outside."""
    log = tmp_path / "trace"
    info = {"name": "tracer", "version": "1"}
    opening = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info}
    calls = [
        {"id": 1, "method": "initialize", "params": opening},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/list"},
        *(
            {"id": number, "method": "tools/call", "params": {"name": name, "arguments": given}}
            for number, (name, given) in enumerate(
                [("memory_write", {"text": "a word"}), ("memory_search", {"query": "word"})], 3
            )
        ),
    ]
    with subprocess.Popen(
        ["strace", "-f", "-qq", "-e", "trace=network", "-o", str(log), *COMMAND, "mcp"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=environment(SATCHEL_HOME=str(tmp_path / "home")),
    ) as server:  # fmt: skip
        assert server.stdin is not None
        assert server.stdout is not None
        answers = []
        for call in calls:
            server.stdin.write(json.dumps({"jsonrpc": "2.0", **call}) + "\n")
            server.stdin.flush()
            if "id" in call:
                answers.append(json.loads(server.stdout.readline()))
        server.stdin.close()
        assert server.wait(TIMEOUT_S) == 0
    assert [answer["result"].get("isError", False) for answer in answers] == [False] * 4
    assert "a word" in json.dumps(answers[-1])
    traced_calls = log.read_text("utf-8", "replace")
    assert INET.findall(traced_calls) == []
    assert "socketpair(AF_UNIX" in traced_calls, "asyncio's own: the trace has seen the server"
