"""What is read is met as it is: too long, in another encoding, or not what it says it is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from fix_importing import memories, taken

from satchel.errors import InvalidInput
from satchel.importing import files
from satchel.replica import Replica
from satchel.store import rows

TEXT = "«très profond» 🎈"


def line(text: str) -> bytes:
    row = {"kind": "memory", "id": rows.new_id(1), "scope": "org", "content": text}
    return json.dumps(row).encode()


def test_lines_that_are_too_long_or_no_text(
    replica: Replica, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "LINE_BYTES_MAX", 1_000)
    path = tmp_path / "x.jsonl"
    lines = [
        b"\xef\xbb\xbf" + line("with a mark"),
        line("x" * 5_000),
        b"",
        b"  \t ",
        line("good").replace(b"good", b"\xff"),
        bytes(50),
        line("windows") + b"\r",
        line("two\u2028lines"),
        b"[" * 400,
        b'{"kind":"memory","kind":' + b"9" * 600,
        line("no end"),
    ]
    path.write_bytes(b"\n".join(lines))
    answer = taken(replica, "jsonl", path, code=1)
    assert [error["line"] for error in answer["errors"]] == [2, 5, 6, 9, 10]
    assert "longer than 1000 bytes" in answer["errors"][0]["message"]
    assert "UTF-8" in answer["errors"][1]["message"]
    assert memories(replica, "content") == ["no end", "two\u2028lines", "windows", "with a mark"]


@pytest.mark.parametrize("encoding", ["utf-16", "latin-1", "cp1252"])
@pytest.mark.parametrize("name", ["mem0", "server-memory"])
def test_a_document_in_another_encoding(
    replica: Replica, tmp_path: Path, name: str, encoding: str
) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(f'[{{"memory": "{TEXT[:14]}"}}]'.encode(encoding))
    with pytest.raises(InvalidInput, match=r"not UTF-8: byte 0x.. at position"):
        taken(replica, name, path)


def test_a_document_that_is_too_large(
    replica: Replica, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "DOCUMENT_BYTES_MAX", 100)
    monkeypatch.setattr(files.read_whole, "__defaults__", (100,))
    path = tmp_path / "x.json"
    path.write_text(json.dumps([{"memory": "x" * 200}]))
    with pytest.raises(InvalidInput, match="more than 100 bytes"):
        taken(replica, "mem0", path)


def test_any_text_comes_through(replica: Replica, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text("\ufeff" + json.dumps([{"memory": TEXT}], ensure_ascii=False), "utf-8")
    taken(replica, "mem0", path)
    assert memories(replica, "content") == [TEXT]
