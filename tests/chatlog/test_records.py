"""Files that mean harm or are damaged: each line that can be read is, the others are told."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from fix_transcripts import claude_code, codex, text
from hypothesis import given, settings
from hypothesis import strategies as st

from satchel.transcripts import records
from satchel.transcripts.reading import HOSTS, read
from satchel.transcripts.records import FAULTS_MAX, TranscriptUnreadable

GOOD = b'{"type":"user","sessionId":"s","uuid":"%d","message":{"content":"%s"}}\n'


def said_in(path: Path) -> tuple[list[str], list[tuple[int, str]]]:
    found = read(path, "claude-code")
    return [one.content for one in found.turns], [(one.line, one.code) for one in found.faults]


LINES: dict[str, tuple[bytes, str, str | None]] = {
    "cut in the middle": (b'{"type":"user","mess\n', "broken_json", None),
    "no JSON": (b"what?\n", "broken_json", None),
    "a list": (b"[1, 2]\n", "not_object", None),
    "a text": (b'"x"\n', "not_object", None),
    "a raw NUL": (b'{"type":"user","message":{"content":"a\0b"}}\n', "broken_json", None),
    "an escaped NUL": (GOOD % (7, rb"a\u0000b"), "bad_text", "a\ufffdb"),
    "half a surrogate pair": (GOOD % (7, rb"a\ud83d"), "bad_text", "a\ufffd"),
    "both halves the wrong way": (GOOD % (7, rb"\ude00\ud83d"), "bad_text", "\ufffd\ufffd"),
    "Latin-1": (GOOD % (7, b"gr\xfcn"), "not_utf8", "gr\ufffdn"),
    "a number of 5,000 digits": (b'{"type":' + b"9" * 5000 + b"}\n", "broken_json", None),
    "nested 100,000 deep": (b"[" * 100_000 + b"]" * 100_000 + b"\n", "broken_json", None),
}


@pytest.mark.parametrize("name", LINES)
def test_a_bad_line_is_told_and_its_neighbours_are_read(tmp_path: Path, name: str) -> None:
    line, code, kept = LINES[name]
    path = tmp_path / "log.jsonl"
    path.write_bytes(GOOD % (1, b"before") + line + GOOD % (2, b"after"))
    content, faults = said_in(path)
    assert content == ["before", *([kept] if kept else []), "after"]
    assert faults == [(2, code)]
    told = read(path, "claude-code").faults[0].message
    assert "content" not in told, "what a line holds is not for an error"


def test_a_pair_of_surrogates_is_a_character_and_needs_no_mending(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + GOOD % (1, rb"\ud83d\ude00") + b"\n \t\n\0\0\0\n")
    assert said_in(path) == (["😀"], [])


def test_a_last_line_that_is_still_written_comes_with_the_next_reading(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    whole = GOOD % (2, "grün".encode())
    for end in range(len(whole) - 1):
        path.write_bytes(GOOD % (1, b"one") + whole[:end])
        content, faults = said_in(path)
        assert content == ["one"]
        assert [code for _, code in faults] == (["unfinished"] if end else [])
    path.write_bytes(GOOD % (1, b"one") + whole[:-1])  # only the end of the line is missing
    assert said_in(path) == (["one", "grün"], [])


def test_a_huge_line_is_left_out_without_being_held(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(records, "LINE_BYTES_MAX", 1_000)
    monkeypatch.setattr(records, "_SKIP_BYTES", 256)
    path = tmp_path / "log.jsonl"
    huge = GOOD % (2, b"x" * 5_000)
    path.write_bytes(GOOD % (1, b"one") + huge + GOOD % (3, b"three") + huge[:-2])
    assert said_in(path) == (["one", "three"], [(2, "line_too_long"), (4, "line_too_long")])


def test_a_file_of_broken_lines_does_not_fill_the_memory(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(b"{\n" * (2 * FAULTS_MAX))
    assert len(read(path, "codex").faults) == FAULTS_MAX


def test_what_is_appended_while_we_read_is_for_the_next_time(tmp_path: Path) -> None:
    log = claude_code(tmp_path)
    log.user("one")
    with records.opened(log.path) as file:
        found = records.lines(file, records.Faults())
        assert next(found).said["message"]["content"] == "one"
        log.user("two")
        assert list(found) == []


# ---- what is no file of ours --------------------------------------------------------------------


def _pipe(path: Path) -> Path:
    os.mkfifo(path)
    return path


def _folder(path: Path) -> Path:
    path.mkdir()
    return path


STRANGE: dict[str, tuple[Callable[[Path], Path], str]] = {
    "absent": (lambda path: path, "No such file"),
    "a pipe": (_pipe, "it is no file"),
    "a folder": (_folder, "it is no file"),
    "a device": (lambda path: Path("/dev/zero"), "it is no file"),
    "a name with NUL": (lambda path: Path(f"{path}\0x"), "null"),
}


@pytest.mark.parametrize("name", STRANGE)
def test_what_is_no_file_of_ours_is_refused_at_once(tmp_path: Path, name: str) -> None:
    make, why = STRANGE[name]
    with pytest.raises(TranscriptUnreadable, match=why):
        read(make(tmp_path / "log.jsonl"), "claude-code")


def test_the_file_of_another_account_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = claude_code(tmp_path)
    log.user("planted")
    monkeypatch.setattr(records.os, "geteuid", lambda: 12_345)
    with pytest.raises(TranscriptUnreadable, match="another account"):
        read(log.path)


def test_a_link_is_followed_for_a_person_and_not_for_a_hook(tmp_path: Path) -> None:
    log = claude_code(tmp_path / "there")
    log.user("hello")
    link = tmp_path / "link.jsonl"
    link.symlink_to(log.path)
    assert said_in(link)[0] == ["hello"]
    with pytest.raises(TranscriptUnreadable, match="symbolic links"):
        read(link, "claude-code", follow=False)


def test_a_document_that_is_too_large_or_broken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "session-1.json"
    path.write_text('{"sessionId": "s", "messages": [')
    assert [one.code for one in read(path, "gemini-cli").faults] == ["unfinished"]
    path.write_text(json.dumps({"sessionId": "s", "messages": ["x", {"id": 1}, None]}))
    assert read(path, "gemini-cli").turns == ()
    monkeypatch.setattr(records, "WHOLE_BYTES_MAX", 10)
    with pytest.raises(TranscriptUnreadable, match="more than 10 bytes"):
        read(path, "gemini-cli")


def test_an_empty_file_has_no_turns_for_who_names_its_host(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(b"")
    assert read(path, "codex").turns == ()
    with pytest.raises(TranscriptUnreadable):
        read(path)


def test_times_and_counts_that_cannot_be_are_none(tmp_path: Path) -> None:
    log = claude_code(tmp_path)
    log.user("a", timestamp="yesterday")
    log.user("b", timestamp="9999-12-31T23:59:59.999-14:00")
    log.user("c", timestamp=17)
    log.user("d", timestamp="2026-11-02T09:00:00+02:00")
    log.answer(text("e"), tokens=(-5, 0, 2**60, 9))
    turns = read(log.path).turns
    assert [one.said_at for one in turns[:4]] == [None, None, None, 1793602800000]
    assert (turns[4].tokens_in, turns[4].tokens_out) == (0, 9)
    rollout = codex(tmp_path)
    rollout.meta(id="x" * 500)
    rollout.message("user", "hi")
    assert read(rollout.path).conversations == [rollout.path.stem]


@settings(max_examples=40, deadline=None)
@given(st.lists(st.binary(max_size=12), max_size=4), st.sampled_from(HOSTS))
def test_no_bytes_break_the_reading(
    tmp_path_factory: pytest.TempPathFactory, parts: list[bytes], host: str
) -> None:
    folder = tmp_path_factory.mktemp("log")
    for name in ("log.jsonl", "log.json"):
        path = folder / name
        path.write_bytes(GOOD.join(parts))
        read(path, host)
