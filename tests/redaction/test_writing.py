"""What is written is searched for secrets: told of, replaced or refused, as the settings say."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fix_command import run
from fix_memory import opened
from fix_secrets import Maker, fakes

from satchel.errors import Refused
from satchel.memory import change, chatlog, read
from satchel.memory.supersede import supersede
from satchel.memory.write import write
from satchel.replica import DATABASE_FILE, Replica

TOKEN = "ghp_" + Maker(1).of("abcXYZ123", 36)
MARK = "[redacted: GitHub token]"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path


@pytest.fixture
def ada(home: Path) -> Iterator[Replica]:
    with opened(home, "ada", embedding="off") as found:
        yield found


def with_secrets(replica: Replica, mode: str) -> Replica:
    modes: dict[str, Any] = {"memory_secrets": mode, "chatlog_secrets": mode}
    settings = replace(replica.settings, **modes)
    return replace(replica, settings=settings)


def bytes_on_disk(home: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(home.glob(f"{DATABASE_FILE}*")))


# ---- memories -----------------------------------------------------------------------------------


def test_a_memory_with_a_secret_is_written_and_told_of(ada: Replica) -> None:
    made = write(ada, f"deploy with {TOKEN}", title=f"for {TOKEN}")
    assert made.outcome == "created"
    assert len(made.warnings) == 2
    for warning, field in zip(made.warnings, ("text", "title"), strict=True):
        assert f"`{field}` seems to hold a secret (GitHub token)" in warning
        assert "`memory.secrets`" in warning
        assert "forget" in warning
        assert TOKEN not in warning
    assert read.get(ada, [made.id])["items"][0]["content"] == f"deploy with {TOKEN}"


def test_a_plain_memory_is_not_warned_about(ada: Replica) -> None:
    assert write(ada, "the token is in the vault").warnings == []


def test_redacted_before_it_reaches_the_disk(ada: Replica, home: Path) -> None:
    one = with_secrets(ada, "redact")
    made = write(
        one, f"deploy with {TOKEN}", title=f"for {TOKEN}", source=TOKEN,
        metadata={"token": TOKEN, "n": 1}, aliases=[TOKEN],
    )  # fmt: skip
    assert len(made.warnings) == 5
    (row,) = read.get(ada, [made.id])["items"]
    assert row["content"] == f"deploy with {MARK}"
    assert row["title"] == f"for {MARK}"
    assert json.loads(row["metadata"])["n"] == 1
    assert TOKEN.encode() not in bytes_on_disk(home)
    again = write(one, f"deploy with {TOKEN}")
    assert (again.id, again.outcome) == (made.id, "exists")


@pytest.mark.parametrize("field", ["content", "title", "source", "metadata"])
def test_refused_and_nothing_written(ada: Replica, home: Path, field: str) -> None:
    one = with_secrets(ada, "refuse")
    given = {"content": "x", field: {"a": TOKEN} if field == "metadata" else f"a {TOKEN}"}
    with pytest.raises(Refused) as refused:
        write(one, **given)  # type: ignore[arg-type]
    assert refused.value.exit_code == 4
    assert refused.value.field == ("text" if field == "content" else field)
    assert "GitHub token" in str(refused.value)
    assert TOKEN not in str(refused.value) + str(refused.value.hint)
    with ada.store.read() as db:
        assert db.execute("SELECT count(*) FROM memory").get == 0
    assert TOKEN.encode() not in bytes_on_disk(home)


@pytest.mark.parametrize("mode", ["warn", "redact", "refuse"])
def test_supersede_and_update_do_the_same(ada: Replica, home: Path, mode: str) -> None:
    one = with_secrets(ada, mode)
    old = write(one, "plain").id
    if mode == "refuse":
        for call in (lambda: supersede(one, old, f"a {TOKEN}"),
                     lambda: supersede(one, old, "a", reason=TOKEN),
                     lambda: change.update(one, old, text=f"a {TOKEN}"),
                     lambda: change.alias(one, old, [TOKEN])):  # fmt: skip
            with pytest.raises(Refused):
                call()
        assert read.get(ada, [old])["items"][0]["content"] == "plain"
        assert TOKEN.encode() not in bytes_on_disk(home)
        return
    kept = f"b {MARK}" if mode == "redact" else f"b {TOKEN}"
    changed = change.update(one, old, text=f"b {TOKEN}")
    assert changed["content"] == kept
    assert len(changed["warnings"]) == 1
    new = supersede(one, old, f"c {TOKEN}", reason=f"d {TOKEN}")
    assert len(new.warnings) == 2
    assert (TOKEN.encode() in bytes_on_disk(home)) is (mode == "warn")
    assert "warnings" not in change.update(one, old, importance=0.5)


def test_an_updated_text_is_found_as_the_same_again(ada: Replica) -> None:
    one = with_secrets(ada, "redact")
    key = write(one, "plain").id
    change.update(one, key, text=f"b {TOKEN}")
    assert write(one, f"b {MARK}").id == key


def test_metadata_stays_json_when_a_secret_goes_across_values(ada: Replica) -> None:
    one = with_secrets(ada, "redact")
    head, *middle, tail = Maker(2).pem("PRIVATE KEY").split("\n")
    made = write(one, "x", metadata=json.dumps({"a": [head, *middle], "b": {"c": tail}}))
    stored = read.get(ada, [made.id])["items"][0]["metadata"]
    assert json.loads(stored) == {"redacted": ["[redacted: private key]"]}


# ---- chat logs ----------------------------------------------------------------------------------

SOME = fakes(21)


@pytest.mark.parametrize("number", range(0, len(SOME), 6))
def test_no_secret_reaches_the_chat_log(ada: Replica, home: Path, number: int) -> None:
    one = SOME[number]
    made = chatlog.write(ada, "c", f"see {one.text} there", metadata={"said": one.text})
    assert made["redactions"] >= 2
    (turn,) = chatlog.show(ada, "c")["items"]
    assert f"[redacted: {one.kind}]" in turn["content"]
    assert turn["redactions"] == made["redactions"]
    assert one.secret.encode() not in bytes_on_disk(home)


def test_a_turn_is_kept_once_though_it_was_redacted(ada: Replica) -> None:
    first = chatlog.write(ada, "c", f"a {TOKEN}", ordinal=0)
    assert chatlog.write(ada, "c", f"a {TOKEN}", ordinal=0)["id"] == first["id"]


def test_a_turn_can_be_refused(ada: Replica, home: Path) -> None:
    one = with_secrets(ada, "refuse")
    with pytest.raises(Refused, match=r"GitHub token.*nothing was written"):
        chatlog.write(one, "c", f"a {TOKEN}")
    assert chatlog.list_conversations(ada)["items"] == []
    assert TOKEN.encode() not in bytes_on_disk(home)


# ---- as commands --------------------------------------------------------------------------------


def test_the_command_line_does_the_same(home: Path) -> None:
    kept = run("write", f"deploy with {TOKEN}", SATCHEL_HOME=str(home))
    assert kept.code == 0
    assert "GitHub token" in kept.json["warnings"][0]
    refused = run(
        "write", f"once more {TOKEN}", SATCHEL_HOME=str(home), SATCHEL_MEMORY_SECRETS="refuse"
    )
    assert (refused.code, refused.error["code"], refused.error["field"]) == (4, "refused", "text")
    assert TOKEN not in refused.out + refused.err
    said = run("chatlog", "write", "c", f"use {TOKEN}", SATCHEL_HOME=str(home))
    assert (said.code, said.json["redactions"]) == (0, 1)
    shown = run("chatlog", "show", "c", SATCHEL_HOME=str(home))
    assert shown.json["items"][0]["content"] == f"use {MARK}"


@pytest.mark.parametrize(
    ("name", "value"), [("memory.secrets", "ask"), ("chatlog.secrets", "warn")]
)
def test_other_words_are_refused(home: Path, name: str, value: str) -> None:
    variable = f"SATCHEL_{name.replace('.', '_').upper()}"
    done = run("write", "plain", SATCHEL_HOME=str(home), **{variable: value})
    assert (done.code, done.error["code"]) == (2, "config_invalid")
    assert name in done.error["message"]
