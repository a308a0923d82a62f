"""A folder of Markdown: files become memories, front matter their columns, links their edges."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from fix_importing import edges, memories, taken

from satchel.replica import Replica

FILES = {
    "index.md": "# The garden\n\nSee [[Shed|the shed]], [the well](water/well.md#depth), [[nobody]]"
    " and [out](../../etc/passwd.md), [[index]].\n",
    "Shed.md": "---\ntitle: The shed\ntype: fact\ntags: [wood, green]\nimportance: 0.5\n"
    "pinned: true\naliases: [hut, cabin]\ncreated: 2024-01-02T03:04:05Z\nowner: Ann\n---\n"
    "It is green.\n",
    "water/well.md": "Deep — «très profond» 🎈\r\n\r\nLinks to [[shed]] twice: [[Shed]].\r\n",
    "links.md": "To [[empty]], [[bad0]] and [[Shed]].\n",
    "water/empty.md": "---\ntitle: nothing\n---\n\n",
    ".obsidian/x.md": "a setting",
    "picture.png": "no text",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "notes"
    for name, text in FILES.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
    return root


def test_a_folder(replica: Replica, folder: Path) -> None:
    answer = taken(replica, "markdown", folder)
    assert answer["kinds"] == {"memory": {"created": 4}, "relationship": {"created": 4}}
    assert answer["left_out"] == {"empty files": 1}
    assert memories(replica, "title", "type", "importance", "pinned", "aliases") == [
        ("The garden", "note", None, None, None),
        ("The shed", "fact", 0.5, 1, '["hut","cabin"]'),
        ("links", "note", None, None, None),
        ("well", "note", None, None, None),
    ]
    assert memories(replica, "content")[1:] == [
        "It is green.",
        "To [[empty]], [[bad0]] and [[Shed]].",
        "Deep — «très profond» 🎈\r\n\r\nLinks to [[shed]] twice: [[Shed]].",
    ]
    assert memories(replica, "valid_from")[1] == 1_704_164_645_000
    kept = json.loads(memories(replica, "metadata")[1])
    assert kept["import"]["record"] == "Shed.md"
    assert {key: kept[key] for key in ("tags", "owner")} == {
        "tags": ["wood", "green"],
        "owner": "Ann",
    }
    assert edges(replica) == {
        ("The garden", "links_to", "The shed"),
        ("The garden", "links_to", "well"),
        ("well", "links_to", "The shed"),
        ("links", "links_to", "The shed"),
    }


def test_an_edited_file_is_updated_and_the_rest_is_left_alone(
    replica: Replica, folder: Path
) -> None:
    taken(replica, "markdown", folder)
    assert taken(replica, "markdown", folder)["kinds"]["memory"] == {"exists": 4}
    (folder / "water/well.md").write_text("Dry.")
    assert taken(replica, "markdown", folder)["kinds"]["memory"] == {"exists": 3, "updated": 1}
    assert memories(replica, "content")[3] == "Dry."


def test_one_file(replica: Replica, folder: Path) -> None:
    assert taken(replica, "markdown", folder / "Shed.md")["kinds"] == {"memory": {"created": 1}}
    assert taken(replica, "markdown", folder)["kinds"]["memory"] == {"created": 3, "exists": 1}


BAD: tuple[tuple[bytes, str], ...] = (
    (b"---\na: [1\n---\nbody", "no YAML (line 2 of the file)"),
    (b"---\na: &x [1]\nb: *x\n---\nbody", "alias"),
    (b"---\n" + b"a: b\n" * 20_000 + b"---\nbody", "longer than"),
    (b"---\na: " + b"[" * 5_000 + b"\n---\nbody", "front matter"),
    (b"---\na: !!python/object/apply:os.system [id]\n---\nbody", "no YAML"),
    (b"---\na: 9999-99-99\n---\nbody", "front matter"),
    (b"not utf-8: \xff", "byte 0xff at position 11"),
    (b"NUL: \x00", "NUL at position 5"),
    (b"x" * 1_200_000, "bytes"),
)


def test_bad_files_are_told_and_the_rest_goes_in(replica: Replica, folder: Path) -> None:
    for number, (text, _) in enumerate(BAD):
        (folder / f"bad{number}.md").write_bytes(text)
    answer = taken(replica, "markdown", folder, code=1)
    told = {error["file"]: error["message"] for error in answer["errors"]}
    assert len(told) == answer["failed"] == len(BAD)
    for number, (_, word) in enumerate(BAD):
        assert word in told[f"bad{number}.md"]
    assert len(memories(replica, "id")) == 4


HEADS: tuple[tuple[str, str, str], ...] = (
    ("---\nno mapping\n---\n1", "odd", "---\nno mapping\n---\n1"),
    ("---\nopen: only\n2", "odd", "---\nopen: only\n2"),
    ("---\n---\n3", "odd", "3"),
    ("\ufeff---\ntitle: marked\n---\n4", "marked", "4"),
    ("---\r\ntitle: windows\r\n---\r\n5\r\n", "windows", "5"),
    ("text 6\n\n# Heading #\n", "Heading", "text 6\n\n# Heading #"),
    ("---\ntitle: [1]\ntype: 7\nimportance: high\ndate: some day\n---\n7", "odd", "7"),
)


def test_what_looks_like_a_front_matter_and_what_is_none(replica: Replica, tmp_path: Path) -> None:
    (root := tmp_path / "odd").mkdir()
    for number, (text, _, _) in enumerate(HEADS):
        (root / str(number)).mkdir()
        (root / str(number) / "odd.md").write_bytes(text.encode())
    taken(replica, "markdown", root)
    expected = sorted((title, content) for _, title, content in HEADS)
    assert sorted(memories(replica, "title", "content")) == expected


def test_values_that_fit_no_column_stay_in_the_metadata(replica: Replica, tmp_path: Path) -> None:
    path = tmp_path / "odd.md"
    path.write_text("---\nimportance: high\ndate: some day\ndue: 2024-01-02\n1: a\nx: !!set {a}\n"
                    "---\nbody")  # fmt: skip
    taken(replica, "markdown", path)
    kept = json.loads(memories(replica, "metadata")[0])
    assert kept.pop("import")["format"] == "markdown"
    assert kept == {
        "importance": "high",
        "date": "some day",
        "due": "2024-01-02",
        "1": "a",
        "x": ["a"],
    }


@pytest.mark.skipif(os.name != "posix", reason="links need rights there")
def test_links_of_the_file_system_are_not_followed(
    replica: Replica, folder: Path, tmp_path: Path
) -> None:
    secret = tmp_path / "secret.md"
    secret.write_text("not of this folder")
    (folder / "link.md").symlink_to(secret)
    (folder / "loop").symlink_to(folder, target_is_directory=True)
    os.mkfifo(folder / "pipe.md")
    answer = taken(replica, "markdown", folder, code=1)
    assert answer["left_out"]["symbolic links"] == 1
    assert [error["file"] for error in answer["errors"]] == ["pipe.md"]
    assert len(memories(replica, "id")) == 4
