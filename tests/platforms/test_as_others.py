"""satchel in real processes that are shown another system than Linux: it works all the same."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from fix_hub import HubWorld
from fix_platforms import Seen, answers
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

SYSTEMS = ("windows", "macos")
SECRET = "five words drawn at random"


@pytest.fixture(params=SYSTEMS)
def seen(request: pytest.FixtureRequest, tmp_path: Path) -> Seen:
    return Seen(request.param, tmp_path / "home")


def test_what_is_taken_away_is_missing_for_us_and_there_for_libraries(tmp_path: Path) -> None:
    """Else the tests below would show nothing."""
    asked = """
import os, sys, signal
from satchel.store import fingerprint
from satchel_crypto import file_system, private_file
print(sys.platform, hasattr(os, "geteuid"), hasattr(signal, "SIGHUP"))
print(fingerprint.sys.platform, hasattr(private_file.os, "geteuid"), private_file.os.name)
print(type(file_system.HERE).__name__, len(fingerprint.machine_id()))
source = "import fcntl"
try:
    exec(compile(source, "x", "exec"), {"__name__": "satchel.x", "__builtins__": __builtins__})
    print("fcntl is there")
except ModuleNotFoundError:
    print("fcntl is missing")
try:
    with open(private_file.__file__, "rb") as held:
        os.replace(held.name, held.name)
    print("replaced")
except PermissionError:
    print("refused")
from pathlib import Path
try:
    print(Path("/proc/locks").read_text("ascii"))
except FileNotFoundError:
    print("no /proc")
"""
    told = {
        "windows": "win32 False nt|Windows 36|fcntl is missing|refused|no /proc",
        "macos": "darwin True posix|MacOS 0|fcntl is there|replaced|no /proc",
    }
    for system, expected in told.items():
        ran = Seen(system, tmp_path).python("-c", asked)
        assert ran.out.replace("\n", "|") == f"linux True True|{expected}|", ran.err


def test_descriptors_of_windows_are_used_as_they_want_it(tmp_path: Path) -> None:
    """A log is flushed by one that may write; lines are written as they are."""
    asked = """
import sys
from pathlib import Path
from satchel.hooks import failures
from satchel_crypto.file_system import flush_file
home = Path(sys.argv[1])
for number in range(800):
    assert failures.keep_as_it_is(home, "recall", "codex", "x", f"failure {number} " + "y" * 40)
flush_file(home / failures.FAILURES_FILE)
print(failures.listed(home)[-1].message[:11])
"""
    ran = Seen("windows", tmp_path).python("-c", asked, str(tmp_path))
    assert (ran.out, ran.err) == ("failure 799\n", "")
    kept = (tmp_path / "hook_failures.jsonl").read_bytes()
    assert (kept.count(b"\r"), kept[:1]) == (0, b"{")


def test_the_daily_commands(seen: Seen, tmp_path: Path) -> None:
    exported, backup = str(tmp_path / "all.jsonl"), str(tmp_path / "kept")
    written, _, found, task, *_, health = answers(
        seen.run(
            ["write", "Der Schlüssel liegt unter der Fußmatte 鍵"],
            ["write", "second"],
            ["search", "Schlüssel"],
            ["task", "create", "fetch it"],
            ["config", "set", "agent.role", "operator"],
            ["config", "show", "--origin"],
            ["export", "--format", "jsonl", exported],
            ["key", "init"],
            ["audit", "verify"],
            ["backup", "--out", backup],
            ["doctor"],
        )
    )
    assert [hit["id"] for hit in found["hits"]][:1] == [written["id"]]
    assert task["status"] == "pending"
    assert {one["name"]: one["why"] for one in health["checks"] if one["ok"] == "fail"} == {}
    if seen.system == "macos":
        return  # what follows is about files that are replaced, and those are Linux' there
    twin = Seen(seen.system, tmp_path / "twin")
    taken, again = answers(twin.run(["import", "jsonl", exported], ["search", "Schlüssel"]))
    assert (taken["ok"], again["hits"][0]["id"]) == (True, written["id"])
    [made] = Path(backup).glob("satchel-*")
    [back] = answers(seen.run(["restore", str(made), "--yes"]))
    assert back["put"] == ["satchel.db"]


def test_secrets_schedule_and_hosts(seen: Seen, tmp_path: Path) -> None:
    passphrase, user = tmp_path / "passphrase", tmp_path / "user"
    passphrase.write_bytes(b"\xef\xbb\xbf" + SECRET.encode() + b"\r\n")
    passphrase.chmod(0o600)
    (user / ".claude").mkdir(parents=True)
    value = tmp_path / "value"
    value.write_bytes(b"hunter22\r\n")
    opens = ("--passphrase-file", str(passphrase))
    *_, shown, timer, _, hosts = seen.run(
        ["config", "set", "warehouse.dsn", "postgresql://somebody@127.0.0.1:1/nothing"],
        ["secret", "set", "token", "--from-file", str(value), *opens],
        ["secret", "get", "token", *opens],
        ["schedule", "install", "--every", "1h"],
        ["schedule", "status"],
        ["setup", "--yes"],
        HOME=str(user), SATCHEL_SECRETS_STORE="file",
    )  # fmt: skip
    assert (shown.code, shown.out.strip()) == (0, "hunter22"), shown.err
    [file] = timer.json["files"]
    assert Path(file).suffix == {"windows": ".xml", "macos": ".plist"}[seen.system]
    assert "satchel" in (user / ".claude.json").read_text("utf-8")
    assert hosts.code == 0


def test_the_server_over_stdio(tmp_path: Path) -> None:
    told = asyncio.run(_talk(Seen("windows", tmp_path)))
    assert json.loads(told)["hits"][0]["snippet"].startswith("naïve café")


async def _talk(seen: Seen) -> str:
    # A code page of Windows, which neither reading nor writing may go by.
    variables = {**seen.environment(), "PYTHONIOENCODING": "cp1252"}
    parameters = StdioServerParameters(
        command=sys.executable, args=["-m", "satchel", "mcp", "--agent", "a"], env=variables
    )
    async with stdio_client(parameters) as streams, ClientSession(*streams) as session:
        await session.initialize()
        await session.call_tool("memory_write", {"text": "naïve café 東京"})
        done: Any = await session.call_tool("memory_search", {"query": "naïve café"})
        return str(done.content[0].text)


def test_what_only_linux_has_is_refused_with_words(tmp_path: Path) -> None:
    hub = ["warehouse", "serve-embedded", str(tmp_path / "hub")]
    built, served = Seen("windows", tmp_path / "home").run(["crypto", "fips", "build"], hub)
    assert (built.code, built.error["code"]) == (4, "fips_refused")
    assert "not on win32" in built.error["message"]
    assert (served.code, served.error["code"]) == (1, "embedded_failed")
    assert "install PostgreSQL for Windows" in served.error["hint"]


def test_two_machines_of_two_systems_agree_by_a_warehouse(world: HubWorld, tmp_path: Path) -> None:
    """The row of each reaches the other, and nothing differs between their copies."""
    machines = [Seen(system, tmp_path / system) for system in SYSTEMS]
    variables = {"SATCHEL_WAREHOUSE_DSN": world.login()}
    for one in machines:
        answers(one.run(["write", f"of {one.system}", "--scope", "org"], ["sync"], **variables))
    later = (["sync"], ["memory", "list"], ["sync", "verify"])
    for one in machines:
        _, listed, checked = answers(one.run(*later, **variables))
        assert {item["content"] for item in listed["items"]} == {"of windows", "of macos"}
        assert checked["digest"] == "equal"
