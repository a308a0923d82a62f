"""`satchel recall` as hosts run it: whole processes, whatever goes wrong in them."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest
from fix_command import COMMAND, environment, run
from fix_hooks import call

from satchel.cli import hooked
from satchel.cli import recall as door
from satchel.cli.door import Globals
from satchel.config import Settings
from satchel.hooks.failures import listed
from satchel.memory.write import write
from satchel.replica import open_replica

KAMAL = "We deploy the billing service with Kamal"
ASKED = "deploy the billing service"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("home")
    told = Settings(home=made, agent_id="claude-code", role="agent", embedding="off")
    with open_replica(told) as replica:
        write(replica, KAMAL, scope="org")
    return made


def failures(home: Path) -> list[str]:
    return [f"{one.host} {one.code}" for one in listed(home)]


@pytest.mark.parametrize(
    ("host", "name"),
    [
        ("claude-code", "UserPromptSubmit"),
        ("codex", "UserPromptSubmit"),
        ("gemini-cli", "BeforeAgent"),
    ],
)
def test_a_host_is_answered_in_its_own_format(home: Path, host: str, name: str) -> None:
    raw = call(host, "prompt", prompt=ASKED)
    ran = run("recall", "--hook", host, stdin=raw, SATCHEL_HOME=str(home))
    assert (ran.code, ran.err) == (0, "")
    assert set(ran.json) == {"hookSpecificOutput"}
    output = ran.json["hookSpecificOutput"]
    assert set(output) == {"hookEventName", "additionalContext"}
    assert output["hookEventName"] == name
    assert KAMAL in output["additionalContext"]
    again = run("recall", "--hook", host, stdin=raw, SATCHEL_HOME=str(home))
    assert (again.code, again.out, again.err) == (0, "", "")


def test_without_a_hook_it_tells_hits_and_tokens(home: Path) -> None:
    ran = run("recall", "--prompt", ASKED, "--home", str(home))
    assert set(ran.json) == {"hits", "tokens"}
    assert ran.json["hits"][0]["snippet"] == KAMAL
    assert 0 < ran.json["tokens"] < 200
    silent = run("recall", "--prompt", "continue", "--home", str(home))
    assert (silent.code, silent.json) == (0, {"hits": [], "tokens": 0})


@pytest.mark.parametrize(
    ("words", "stdin", "failed"),
    [
        (["--hook", "clude-code"], call("codex", "prompt"), "clude-code hook_unreadable"),
        (["--hook", "codex"], b"not json", "codex hook_unreadable"),
        (["--hook", "codex", "--nonsense"], call("codex", "prompt"), "codex unknown_argument"),
        (["--hook", "codex", "--max-tokens", "x"], call("codex", "prompt"), "codex invalid_input"),
        (["--hook=codex", "extra"], call("codex", "prompt"), "codex usage"),
    ],
)
def test_whatever_is_wrong_the_host_goes_on(
    tmp_path: Path, words: list[str], stdin: bytes, failed: str
) -> None:
    ran = run("recall", *words, "--home", str(tmp_path), stdin=stdin)
    assert (ran.code, ran.out, ran.err) == (0, "", "")
    assert failures(tmp_path) == [failed]


@pytest.mark.parametrize("fault", ["config", "store", "newer"])
def test_a_home_that_cannot_be_used_does_not_stop_the_host(tmp_path: Path, fault: str) -> None:
    if fault == "config":
        (tmp_path / "config.toml").write_text("[recall]\nhits = 'many'\n")
    if fault == "store":
        (tmp_path / "satchel.db").write_bytes(b"no database at all" * 100)
    if fault == "newer":
        open_replica(Settings(home=tmp_path)).close()
        import apsw

        db = apsw.Connection(str(tmp_path / "satchel.db"))
        db.execute("PRAGMA user_version = 999")
        db.close()
    ran = run("recall", "--hook", "codex", "--home", str(tmp_path), stdin=call("codex", "prompt"))
    assert (ran.code, ran.out, ran.err) == (0, "", "")
    assert len(failures(tmp_path)) == 1


def test_no_home_at_all_does_not_stop_the_host(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    home = str(tmp_path / "file" / "home")
    ran = run("recall", "--hook", "codex", "--home", home, stdin=call("codex", "prompt"))
    assert (ran.code, ran.out) == (0, "")
    assert "satchel recall" in ran.err


def test_a_hook_gives_up_when_its_time_is_over(tmp_path: Path) -> None:
    """Its stdin is never closed: the process has to end by itself, well and in silence."""
    began = time.monotonic()
    process = subprocess.Popen(
        [*COMMAND, "recall", "--hook", "codex", "--home", str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(SATCHEL_RECALL_TIMEOUT_MS="300"),
    )
    assert process.stdin
    assert process.stdout
    assert process.stderr
    assert process.wait(timeout=30) == 0
    assert time.monotonic() - began < 20
    assert (process.stdout.read(), process.stderr.read()) == (b"", b"")
    for stream in (process.stdin, process.stdout, process.stderr):
        stream.close()
    (late,) = listed(tmp_path)
    assert (late.code, late.message) == (
        "hook_late",
        "no answer within 300 ms (recall.timeout_ms)",
    )


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["recall"], door.Call(Globals())),
        (["recall", "--hook", "codex"], door.Call(Globals(), hook="codex")),
        (
            ["--home", "x", "recall", "--prompt", "a b", "--max-tokens", "9", "--json"],
            door.Call(Globals(home="x", json=True), prompt="a b", max_tokens="9"),
        ),
        (["recall", "--help"], None),
        (["recall", "x"], None),
        (["recall", "--prompt"], None),
        (["recall", "--prompt", "--hook"], None),
        (["search", "recall"], None),
        (["--nonsense", "recall"], None),
    ],
)
def test_plain_words_are_read_without_typer(words: list[str], expected: door.Call | None) -> None:
    assert door.read(words) == expected


def test_a_hook_loads_little(home: Path) -> None:
    slow = (
        "typer", "click", "rich", "hashlib", "difflib", "logging", "mcp", "sqlalchemy", "tomlkit",
        "satchel.tools.catalog", "satchel.tools.tool", "satchel.store.migrate",
        "satchel.audit.recorder", "cryptography", "satchel.redaction", "satchel_sync.tables.task",
    )  # fmt: skip
    program = (
        "import sys\nfrom satchel.cli.main import run\n"
        f"try: run(['recall', '--hook', 'codex', '--home', {str(home)!r}])\n"
        f"except SystemExit: print([name for name in {slow!r} if name in sys.modules])"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        input=call("codex", "prompt", prompt="what colour is the sky").decode(),
        text=True,
        env=environment(),
        check=True,
    )
    assert ran.stdout.splitlines() == ["[]"], ran.stderr
    assert not listed(home), json.dumps(listed(home))


def test_a_prompt_that_is_no_text_is_refused(home: Path) -> None:
    ran = run("recall", "--prompt", b"a\xffb", "--home", str(home))
    assert (ran.code, ran.error["code"], ran.error["field"]) == (2, "invalid_input", "prompt")


@pytest.mark.parametrize(
    ("words", "is_one"),
    [
        ("recall --hook codex", True),
        ("--home /x --json recall --hook=codex", True),
        ("--nonsense recall extra --hook codex", True),
        ("chatlog capture --hook gemini-cli", True),
        ("chatlog --hook x capture", False),
        ("recall --prompt x", False),
        ("search recall --hook codex", False),
        ("--home recall search x --hook codex", False),
        ("chatlog search --hook codex", False),
        ("--hook", False),
        ("", False),
    ],
)
def test_only_hooks_go_on_whatever_happens(words: str, is_one: bool) -> None:
    assert hooked.is_hook(words.split()) is is_one


def test_another_command_is_told_of_its_mistake() -> None:
    ran = run("search", "x", "--hook", "codex")
    assert (ran.code, ran.error["code"]) == (2, "unknown_argument")


def test_what_was_given_is_audited_once_and_silence_is_not(tmp_path: Path) -> None:
    told = Settings(home=tmp_path, agent_id="codex", role="agent", embedding="off")
    with open_replica(told) as replica:
        kept = write(replica, KAMAL)
    for asked in (ASKED, "continue", ASKED):
        run(
            "recall",
            "--hook",
            "codex",
            "--home",
            str(tmp_path),
            stdin=call("codex", "prompt", prompt=asked),
        )
    items = run("audit", "log", "--home", str(tmp_path)).json["items"]
    reads = [one for one in items if one["chain"] == "reads" and one["action"] == "read"]
    assert [(one["tool"], one["actor"], one["rows"]) for one in reads] == [
        ("recall", "codex", [f"memory {kept.id}"])
    ]
