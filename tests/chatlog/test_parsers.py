"""Transcripts of the three hosts as turns: who said what when, with which model, at what cost."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from fix_transcripts import (
    CHAT,
    SESSION,
    THREAD,
    claude_code,
    codex,
    gemini_cli,
    stamp,
    stamp_ms,
    text,
    tool_result,
    tool_use,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from satchel.errors import InvalidInput
from satchel.hooks.block import wrap
from satchel.transcripts.reading import HOSTS, PARSERS, looks_like, read
from satchel.transcripts.records import Record, TranscriptUnreadable
from satchel.transcripts.turn import Transcript

RECALLED = "- the shed is green (note, 2026-11-30, id 004a8e6a52a3)"


def shown(transcript: Transcript) -> list[tuple[str, str]]:
    return [(one.role, one.content) for one in transcript.turns]


def spent(transcript: Transcript) -> list[tuple[int | None, int | None]]:
    return [(one.tokens_in, one.tokens_out) for one in transcript.turns]


# ---- Claude Code --------------------------------------------------------------------------------


def test_claude_code_tells_who_said_what_when(tmp_path: Path) -> None:
    log = claude_code(tmp_path)
    log.add({"type": "summary", "summary": "Painting", "leafUuid": "u9"})
    log.user("paint the shed green")
    thought = {"type": "thinking", "thinking": "which green?", "signature": "Eto"}
    log.answer(thought, text("I will."), tool_use("Bash", command="ls -la"))
    log.user([tool_result("a.txt")], toolUseResult={"stdout": "a.txt"})
    log.answer(text("Done."), message="msg_2", tokens=(5, 0, 2000, 7))
    found = read(log.path)
    assert (found.host, found.faults) == ("claude-code", ())
    assert shown(found) == [
        ("user", "paint the shed green"),
        ("assistant", "I will."),
        ("tool", 'Bash {"command":"ls -la"}'),
        ("assistant", "Done."),
    ]
    first, answer, call, last = found.turns
    assert {one.conversation_id for one in found.turns} == {SESSION}
    assert (first.said_at, answer.said_at) == (stamp_ms(1), stamp_ms(3))
    assert (first.model, answer.model) == (None, "claude-sonnet-4-5-20250929")
    assert (first.provider, answer.provider) == (None, "anthropic")
    # The three records of one answer repeat its usage: it is counted once.
    assert spent(found) == [(None, None), (1110, 50), (None, None), (2005, 7)]
    assert answer.metadata == {
        "cwd": "/home/una/shed",
        "branch": "main",
        "cached": 1000,
        "cache_written": 100,
    }
    assert (call.metadata["tool"], call.metadata["call"]) == ("Bash", "toolu_1")
    assert last.line == 7


def test_claude_code_with_results(tmp_path: Path) -> None:
    log = claude_code(tmp_path)
    log.answer(tool_use("Bash", command="false"))
    log.user([tool_result("exit 1", is_error=True)])
    log.user([{"type": "tool_result", "tool_use_id": "toolu_2", "content": [text("two")]}])
    assert shown(read(log.path)) == [("tool", 'Bash {"command":"false"}')]
    found = read(log.path, results=True)
    assert shown(found)[1:] == [("tool", "exit 1"), ("tool", "two")]
    assert (found.turns[1].metadata["error"], found.turns[1].metadata["result"]) == (True, True)


@pytest.mark.parametrize(
    ("content", "more", "kept"),
    [
        ("hello", {}, ("user", "hello")),
        ([text("one"), text("two")], {}, ("user", "one\n\ntwo")),
        ([{"type": "image", "source": {"data": "iVBO"}}, text("see")], {}, ("user", "see")),
        ("Caveat: the messages below", {"isMeta": True}, None),
        ("This session is continued", {"isCompactSummary": True}, ("system", "This session is…")),
        ("<command-name>/clear</command-name>\n<command-args></command-args>", {}, None),
        (
            "<command-name>/fix</command-name>\n<command-args>the door</command-args>",
            {},
            ("user", "/fix the door"),
        ),
        ("<local-command-stdout>ok</local-command-stdout>", {}, None),
        ("<bash-stdout>ok</bash-stdout>", {}, None),
        ("[Request interrupted by user for tool use]", {}, None),
        ("do it<system-reminder>be brief</system-reminder>", {}, ("user", "do it")),
        (f"{wrap(RECALLED)}\nwhich shed?", {}, ("user", "which shed?")),
        (wrap(RECALLED), {}, None),
        (wrap("what they said of the marks"), {}, ("user", wrap("what they said of the marks"))),
        ("", {}, None),
        (None, {}, None),
        (17, {}, None),
    ],
)
def test_what_a_user_said(
    tmp_path: Path, content: Any, more: dict[str, Any], kept: tuple[str, str] | None
) -> None:
    log = claude_code(tmp_path)
    log.user(content, **more)
    found = shown(read(log.path, "claude-code"))
    assert len(found) == (kept is not None)
    if kept is not None:
        assert found[0][0] == kept[0]
        assert found[0][1].startswith(kept[1].rstrip("…"))


def test_words_of_a_user_that_came_while_the_model_was_at_work(tmp_path: Path) -> None:
    log = claude_code(tmp_path)
    queued = {"type": "queued_command", "prompt": "and the door", "commandMode": "prompt"}
    log.add({"type": "queue-operation", "operation": "enqueue", "content": "and the door"})
    log.record("attachment", {}, attachment={**queued, "origin": {"kind": "human"}})
    log.record("attachment", {}, attachment={**queued, "commandMode": "task-notification"})
    log.record("attachment", {}, attachment={"type": "hook_success", "stdout": "x"})
    log.user("done", origin={"kind": "task-notification"})
    assert shown(read(log.path)) == [("user", "and the door")]


def test_answers_that_no_model_gave_are_left_out(tmp_path: Path) -> None:
    log = claude_code(tmp_path)
    log.answer(text("API Error: 529"), isApiErrorMessage=True)
    log.answer(text("No response requested."), model="<synthetic>")
    assert read(log.path).turns == ()


def test_a_record_that_is_repeated_counts_once_and_a_fork_is_the_first(tmp_path: Path) -> None:
    log = claude_code(tmp_path)
    first = log.user("one")
    log.add(first)
    fork = claude_code(tmp_path, "fork")
    fork.session = "11111111-2bb1-45cb-90bc-a28ce44da090"
    copied = first | {"sessionId": fork.session, "forkedFrom": {"sessionId": SESSION}}
    fork.add(copied)
    fork.user("two")
    assert shown(read(log.path)) == [("user", "one")]
    assert [one.conversation_id for one in read(fork.path).turns] == [SESSION, fork.session]


def test_sub_agents_talk_beside_their_session(tmp_path: Path) -> None:
    log = claude_code(tmp_path, "agent-d296")
    log.agent = "d296"
    log.user("look for doors")
    log.answer(text("There are two."))
    inline = claude_code(tmp_path)
    inline.user("look", isSidechain=True)
    found = read(log.path)
    assert found.conversations == [f"{SESSION}:d296"]
    assert found.turns[0].metadata["parent"] == SESSION
    assert read(inline.path).conversations == [f"{SESSION}:sidechain"]


def test_the_cost_that_an_older_version_told(tmp_path: Path) -> None:
    log = claude_code(tmp_path)
    log.answer(text("hm"), tool_use("Read", file_path="a"), costUSD=0.25)
    assert [one.cost for one in read(log.path).turns] == [0.25, None]


# ---- Codex --------------------------------------------------------------------------------------


def test_codex_tells_who_said_what_when(tmp_path: Path) -> None:
    log = codex(tmp_path)
    log.meta()
    log.message("developer", "be brief")
    log.message("user", "<environment_context>\n  <cwd>/home</cwd>\n</environment_context>")
    log.message("user", "# AGENTS.md instructions for /home/una\n\n<INSTRUCTIONS>…")
    log.context()
    log.message("user", "paint the shed green")
    log.line("event_msg", {"type": "user_message", "message": "paint the shed green"})
    log.item("reasoning", summary=[], encrypted_content="gAAA")
    log.item("function_call", name="shell", arguments='{"command":["ls"]}', call_id="c1")
    log.tokens(1000, 600, 20)
    log.item("function_call_output", call_id="c1", output="a.txt")
    log.item("custom_tool_call", name="apply_patch", input="*** Begin Patch", call_id="c2")
    log.tokens(1500, 1000, 30)
    log.repeat_tokens({"input_tokens": 1500, "cached_input_tokens": 1000, "output_tokens": 30})
    log.message("assistant", "Done.")
    log.tokens(1600, 1500, 10)
    log.line("compacted", {"message": "They painted a shed."})
    found = read(log.path)
    assert (found.host, found.faults) == ("codex", ())
    assert shown(found) == [
        ("user", "paint the shed green"),
        ("tool", 'shell {"command":["ls"]}'),
        ("tool", "apply_patch *** Begin Patch"),
        ("assistant", "Done."),
        ("system", "They painted a shed."),
    ]
    # A count that is told again, as with each change of a rate limit, is no other one.
    assert spent(found) == [(None, None), (1000, 20), (1500, 30), (1600, 10), (None, None)]
    said, call, _, answer, summary = found.turns
    assert {one.conversation_id for one in found.turns} == {THREAD}
    assert (said.said_at, said.metadata["cwd"]) == (stamp_ms(6), "/home/una/shed")
    assert (call.provider, call.model, call.metadata["cached"]) == ("openai", "gpt-5.1-codex", 600)
    assert (answer.metadata["cached"], summary.metadata["compact"]) == (1500, True)
    assert shown(read(log.path, results=True))[2] == ("tool", "a.txt")


def test_a_request_out_of_an_editor_is_what_was_asked(tmp_path: Path) -> None:
    log = codex(tmp_path)
    log.meta()
    log.message("user", "# Context from my IDE setup:\n\n## Open tabs:\n- a.py\n\n"
                        "## My request for Codex:\nmend the door\n")  # fmt: skip
    assert shown(read(log.path)) == [("user", "mend the door")]


def test_only_sums_of_tokens_are_told(tmp_path: Path) -> None:
    log = codex(tmp_path)
    log.meta()
    for total in ((100, 10), (250, 15)):
        log.message("assistant", f"answer {total[0]}")
        sums = {"input_tokens": total[0], "output_tokens": total[1]}
        log.line("event_msg", {"type": "token_count", "info": {"total_token_usage": sums}})
    assert spent(read(log.path)) == [(100, 10), (150, 5)]


def test_forks_and_sub_agents_name_where_they_come_from(tmp_path: Path) -> None:
    log = codex(tmp_path)
    spawned = {"subagent": {"thread_spawn": {"parent_thread_id": "p-1", "depth": 1}}}
    log.meta(source=spawned, agent_role="explorer", forked_from_id="f-1")
    log.meta(id="f-1")  # a fork repeats what its origin began with
    log.message("assistant", "found")
    (turn,) = read(log.path).turns
    assert turn.conversation_id == THREAD
    wanted = {"parent": "p-1", "agent": "explorer", "forked_from": "f-1", "sidechain": True}
    assert wanted.items() <= turn.metadata.items()


def test_rollouts_of_2025_have_bare_items(tmp_path: Path) -> None:
    log = codex(tmp_path)
    log.add({"id": "old-1", "timestamp": stamp(0), "instructions": None})
    log.add({"record_type": "state"})
    said = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]}
    log.add(said)
    shell = {"type": "local_shell_call", "call_id": "c", "action": {"command": ["ls"]}}
    log.add(shell)
    wanted = [("user", "hi"), ("tool", 'shell ["ls"]')]
    found = read(log.path)
    assert (found.host, shown(found), found.conversations) == ("codex", wanted, ["old-1"])
    assert found.turns[0].said_at == stamp_ms(0)
    whole = tmp_path / "rollout-2025-04-17-old.json"
    whole.write_text(json.dumps({"session": {"id": "old-2"}, "items": [said, shell]}))
    assert (shown(read(whole, "codex")), read(whole, "codex").conversations) == (wanted, ["old-2"])


# ---- Gemini CLI ---------------------------------------------------------------------------------


def test_gemini_cli_tells_who_said_what_when(tmp_path: Path) -> None:
    log = gemini_cli(tmp_path)
    log.head()
    log.message("user", [{"text": "paint the shed"}, {"text": "green"}], "m1")
    log.message("info", "Update available", "m2")
    answer = log.message("gemini", "I will.", "m3", model="gemini-2.5-pro", tokens=None)
    call = {"id": "t1", "name": "run_shell_command", "args": {"command": "ls"}, "status": "error"}
    call["timestamp"] = stamp(30)
    output = {"functionResponse": {"id": "t1", "response": {"output": "a.txt"}}}
    tokens = {"input": 100, "output": 10, "cached": 60, "thoughts": 5, "tool": 2, "total": 117}
    log.again(answer, toolCalls=[call | {"result": [output]}], tokens=tokens)
    log.add({"$set": {"lastUpdated": stamp(40)}})
    log.message("user", "and the door", "m4")
    log.add({"$rewindTo": "m4"})
    log.message("user", "and the roof", "m5")
    found = read(log.path)
    assert (found.host, found.faults, found.conversations) == ("gemini-cli", (), [CHAT])
    wanted = [
        ("user", "paint the shed\n\ngreen"),
        ("assistant", "I will."),
        ("tool", 'run_shell_command {"command":"ls"}'),
        ("user", "and the door"),
        ("user", "and the roof"),
    ]
    assert shown(found) == wanted
    assert spent(found)[:3] == [(None, None), (102, 15), (None, None)]
    said, answered, called = found.turns[:3]
    assert (said.said_at, called.said_at) == (stamp_ms(1), stamp_ms(30))
    assert (answered.provider, answered.model) == ("google", "gemini-2.5-pro")
    assert (answered.metadata, called.metadata["error"]) == ({"cached": 60}, True)
    assert shown(read(log.path, results=True))[3] == ("tool", "a.txt")
    older = tmp_path / "session-2025.json"
    log.as_document(older)
    assert shown(read(older)) == wanted


def test_what_was_typed_stands_above_what_was_sent_and_a_summary_is_no_user(tmp_path: Path) -> None:
    log = gemini_cli(tmp_path)
    log.head(kind="subagent")
    log.message("user", "look\n--- context ---\n…", "m1", displayContent="look")
    log.message("user", "<state_snapshot>They look.</state_snapshot>", "m2")
    log.message("user", [{"functionResponse": {"name": "ls"}}], "m3")
    recalled = "<hook_context>&lt;satchel-recall&gt; the shed is green</hook_context>"
    log.message("user", recalled, "m4")
    log.message("user", "<session_context>today</session_context>", "m5")
    log.message("user", [{"text": "which shed?"}, {"text": recalled}], "m6")
    found = read(log.path)
    assert shown(found) == [
        ("user", "look"),
        ("system", "<state_snapshot>They look.</state_snapshot>"),
        ("user", "which shed?"),
    ]
    assert found.turns[0].metadata == {"sidechain": True}


def test_what_our_own_tools_answered_is_not_kept_again(tmp_path: Path) -> None:
    log = claude_code(tmp_path / "a")
    log.answer(tool_use("mcp__satchel__memory_search", "toolu_1", query="shed"))
    log.user([tool_result("the shed is green", "toolu_1")])
    rollout = codex(tmp_path / "b")
    rollout.meta()
    rollout.item("function_call", name="memory_search", namespace="mcp__satchel__", call_id="c")
    rollout.item("function_call_output", call_id="c", output="the shed is green")
    chat = gemini_cli(tmp_path / "c")
    chat.head()
    result = [{"functionResponse": {"response": {"output": "the shed is green"}}}]
    call = {"id": "t", "name": "mcp_satchel_memory_search", "args": {}, "result": result}
    chat.message("gemini", "", "m1", toolCalls=[call])
    for path in (log.path, rollout.path, chat.path):
        assert [role for role, _ in shown(read(path, results=True))] == ["tool"]


# ---- all ----------------------------------------------------------------------------------------


def test_a_file_of_no_host_is_refused(tmp_path: Path) -> None:
    other = tmp_path / "other.jsonl"
    other.write_text('{"a": 1}\n{"type": "thing"}\n')
    with pytest.raises(TranscriptUnreadable, match="looks like no transcript"):
        read(other)
    with pytest.raises(InvalidInput, match="claude-coed"):
        read(other, "claude-coed")
    assert read(other, "claude-code").turns == ()


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=6,
)
_FIELDS = (
    "type", "message", "payload", "content", "role", "text", "id", "uuid", "sessionId", "model",
    "timestamp", "usage", "info", "toolCalls", "tokens", "messages", "$set", "isSidechain",
    "agentId", "name", "input", "arguments", "args", "source", "git", "forkedFrom", "action",
    "last_token_usage", "total_token_usage", "result", "output", "displayContent", "cwd",
)  # fmt: skip
_WORDS = st.sampled_from(
    ("user", "assistant", "gemini", "message", "text", "tool_use", "tool_result", "response_item",
     "session_meta", "event_msg", "token_count", "function_call", "turn_context", "compacted")
)  # fmt: skip
_VALUES = st.deferred(lambda: _WORDS | _JSON | _RECORDS | st.lists(_RECORDS, max_size=2))
_RECORDS = st.dictionaries(st.sampled_from(_FIELDS), _VALUES, max_size=6)


@settings(max_examples=40, deadline=None)
@given(st.lists(_RECORDS, max_size=4), st.booleans())
def test_no_record_of_whatever_kind_breaks_a_parser(
    records: list[dict[str, Any]], results: bool
) -> None:
    looks_like(records)
    for host in HOSTS:
        lines = [Record(number, json.loads(json.dumps(one))) for number, one in enumerate(records)]
        for draft in PARSERS[host](lines, "file", results=results):
            turn = draft.turn(host)
            assert turn.content.strip() == turn.content != ""
            assert 0 < len(turn.conversation_id) <= 200
            json.dumps(dict(turn.metadata), allow_nan=False)
