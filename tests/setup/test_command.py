"""`satchel setup` from the shell: asks first, tells each file, undoes all of it."""

from __future__ import annotations

import json
import shlex
import subprocess
import tomllib
from pathlib import Path

import pytest
from fix_command import Run, run
from fix_hooks import call
from fix_hosts import CLAUDE_SETTINGS, CODEX_CONFIG
from fix_terminal import typed


@pytest.fixture
def user(tmp_path: Path) -> Path:
    """A user's folder with two hosts and a third whose settings are malformed."""
    for name, text in (
        (".claude/settings.json", CLAUDE_SETTINGS),
        (".codex/config.toml", CODEX_CONFIG),
        (".cursor/mcp.json", '{"mcpServers": '),
    ):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(text)
    return tmp_path


def setup(user: Path, *words: str) -> Run:
    return run("setup", *words, HOME=str(user), SATCHEL_HOME=str(user / "memory"), PATH="")


def files(folder: Path) -> dict[str, bytes]:
    found = (path for path in folder.rglob("*") if path.is_file())
    return {str(path): path.read_bytes() for path in found}


def test_from_asking_to_undoing(user: Path) -> None:
    before = files(user)
    asked = setup(user)
    assert (asked.code, asked.out) == (4, "")
    assert asked.error["code"] == "confirm_needed"
    shown = setup(user, "--dry-run")
    assert shown.json["dry_run"] is True
    assert files(user) == before

    done = setup(user, "--yes")
    assert done.code == 1  # one of them could not be read
    told = {one["host"]: one for one in done.json["hosts"]}
    assert set(told) == {"claude-code", "codex", "cursor"}
    assert told["cursor"]["error"]["code"] == "settings_malformed"
    assert [one["change"] for one in told["codex"]["files"]] == ["update", "create"]
    assert told["codex"]["files"][0]["backup"].endswith("config.toml.satchel-backup")
    assert (user / ".cursor/mcp.json").read_text() == '{"mcpServers": '

    undone = setup(user, "--remove", "--yes")
    assert [one["host"] for one in undone.json["hosts"]] == ["claude-code", "codex", "cursor"]
    assert files(user) == before


def test_at_a_terminal_the_difference_is_shown_and_each_file_told(user: Path) -> None:
    before = files(user)
    said = {"HOME": str(user), "SATCHEL_HOME": str(user / "memory"), "PATH": "", "COLUMNS": "200"}
    words = ("setup", "--host", "codex")
    code, screen = typed(*words, "--dry-run", answers=(), **said)
    assert code == 0
    assert "+[mcp_servers.satchel]" in screen
    assert "nothing was written" in screen
    code, screen = typed(*words, answers=(("Write 2 files?", "n"),), **said)
    assert code == 4
    assert "+[mcp_servers.satchel]" in screen
    assert files(user) == before
    code, screen = typed(*words, answers=(("Write 2 files?", "y"),), **said)
    assert code == 0
    assert "~/.codex/config.toml " in screen.split("Write 2 files?")[1]
    assert "mcp_servers.satchel" in (user / ".codex/config.toml").read_text()


def test_what_is_written_runs(user: Path) -> None:
    assert setup(user, "--host", "claude-code", "--yes").code == 0
    hooks = json.loads((user / ".claude/settings.json").read_text())["hooks"]
    command = shlex.split(hooks["SessionStart"][0]["hooks"][0]["command"])
    assert command[0].startswith("/")
    words = command[command.index("recall") :]
    ran = run(*words, stdin=call("claude-code", "session-start"), HOME=str(user))
    assert (ran.code, ran.out, ran.err) == (0, "", "")
    assert (user / "memory" / "satchel.db").exists()
    stop = shlex.split(hooks["Stop"][1]["hooks"][0]["command"])
    assert stop[stop.index("--scope") + 1] == "user"  # what one host hears others may find
    ran = run(*stop[stop.index("chatlog") :], stdin=call("claude-code", "stop"), HOME=str(user))
    assert (ran.code, ran.out) == (0, "")
    entry = json.loads((user / ".claude.json").read_text())["mcpServers"]["satchel"]
    assert entry["args"] == ["mcp", "--home", str(user / "memory"), "--agent", "claude-code"]


def test_no_host_and_no_such_host(tmp_path: Path) -> None:
    none = setup(tmp_path, "--yes")
    assert (none.code, none.json["hosts"]) == (0, [])
    assert "--host" in none.json["notes"][0]
    wrong = setup(tmp_path, "--host", "codx", "--yes")
    assert (wrong.code, wrong.error["hint"]) == (2, "did you mean 'codex'?")


def test_the_server_that_is_written_answers(user: Path) -> None:
    """As Codex would start it: from its own config, with nothing of a shell around it."""
    assert setup(user, "--host", "codex", "--yes").code == 0
    entry = tomllib.loads((user / ".codex/config.toml").read_text())["mcp_servers"]["satchel"]
    hello = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "codex-mcp-client", "version": "1"},
        },
    }
    server = subprocess.Popen(
        [entry["command"], *entry["args"]],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={"HOME": str(user), "SATCHEL_EMBEDDING": "off"},
    )
    try:
        assert server.stdin
        assert server.stdout
        server.stdin.write(json.dumps(hello).encode() + b"\n")
        server.stdin.flush()
        answer = json.loads(server.stdout.readline())
        assert answer["result"]["serverInfo"]["name"] == "satchel"
    finally:
        server.kill()
        server.wait()
        for stream in (server.stdin, server.stdout):
            if stream:
                stream.close()
