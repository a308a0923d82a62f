"""Doors that are no tools: export, import, recall. What is hidden is not told from what is not."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fix_command import run
from fix_hidden import TRACE, Hidden, Own, World, twins
from fix_memory import seen_as

from satchel.errors import NotFound
from satchel.exporting.run import export
from satchel.hooks import recalling
from satchel.importing.run import import_
from satchel.importing.target import Target
from satchel.memory import chatlog, read
from satchel.memory.write import write
from satchel.replica import Replica

NOTE = """---
title: a note
id: {id}
content_hash: {hash}
---
{text}
"""
TIMING = ("took_ms", "records_per_s", "path")
Door = Callable[[Replica, Path, Hidden, Own], Any]


def quiet(*_: object) -> None:
    """No progress is shown."""


def exported(format_: str, name: str) -> Door:
    def door(replica: Replica, folder: Path, hidden: Hidden, own: Own) -> Any:
        answer, code = export(replica, format_, str(folder / name), quiet, overwrite=True)
        return [{**answer, "path": ""}, code, (folder / name).read_text("utf-8")]

    return door


def imported(text: str, key: str) -> Door:
    """A file that says it is the memory `key` of the hidden ones, or was imported by ada too."""

    def door(replica: Replica, folder: Path, hidden: Hidden, own: Own) -> Any:
        notes = folder.parent / "notes"
        notes.mkdir(exist_ok=True)
        said = NOTE.format(id=hidden.ids[key], hash="0" * 64, text=text)
        (notes / "note.md").write_text(said, "utf-8")
        answer, code = import_(replica, "markdown", str(notes), Target(), quiet)
        return [{key: one for key, one in answer.items() if key not in TIMING}, code]

    return door


DOORS: dict[str, Door] = {
    "export jsonl": exported("jsonl", "out.jsonl"),
    "export markdown": exported("markdown", "out.md"),
    "recall": lambda r, f, h, o: recalling.for_text(
        r, "how does the vault of zanzibar open?", str(f), 800
    ),
    "recall by id": lambda r, f, h, o: recalling.for_text(r, f"what is {h.memory}?", str(f), 800),
    "recall at the start": lambda r, f, h, o: recalling.for_text(r, None, "/x/zanzibar-lab", 800),
    "import over a hidden one": imported("mine now", "memory"),
    "import over a deleted one": imported("mine now", "deleted"),
}


@pytest.mark.parametrize("scope", ["agent", "space"])
def test_no_other_door_tells_hidden_rows_from_none(scope: str, tmp_path: Path) -> None:
    with twins(tmp_path, scope) as worlds:
        before = worlds.hidden_rows()
        for name, door in DOORS.items():
            there, absent = (
                _through(door, world, world_folder, worlds.hidden, worlds.own)
                for world, world_folder in (
                    (worlds.with_hidden, tmp_path / "with"),
                    (worlds.without, tmp_path / "without"),
                )
            )
            assert there == absent, name
            assert TRACE not in there, name
            operator = door(
                seen_as(worlds.with_hidden.replica, None), tmp_path, worlds.hidden, worlds.own
            )
            assert TRACE in repr(operator) or name.startswith(("import", "recall")), name
        assert worlds.hidden_rows() == before


def _through(door: Door, world: World, folder: Path, hidden: Hidden, own: Own) -> str:
    """What bob gets, as text; what a row was at the time of writing is the same in both worlds."""
    world.clock.at_ms += 1
    answer = repr(door(seen_as(world.replica, "bob"), folder, hidden, own))
    return answer.replace(world.replica.store.replica_id.hex(), "this machine")


def test_the_same_file_by_two_agents_is_two_memories(ada: Replica, tmp_path: Path) -> None:
    """An id that follows from the file alone would tell bob that ada has read it."""
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "note.md").write_text("the vault opens with marzipan\n", "utf-8")
    answers = [
        import_(seen_as(ada, name), "markdown", str(notes), Target(scope="agent"), quiet)
        for name in ("ada", "bob", "bob")
    ]
    created = [answer["kinds"]["memory"].get("created", 0) for answer, _ in answers]
    assert created == [1, 1, 0]
    for name in ("ada", "bob"):
        listed = read.list_memories(seen_as(ada, name))["items"]
        assert [one["agent_id"] for one in listed] == [name]


FORGED = {
    "the hidden row with an owner of his": lambda h: {
        "kind": "memory", "id": h, "content": "mine", "scope": "agent", "agent_id": "bob"
    },
    "a hand-off that was never made": lambda h: {
        "kind": "message", "id": "0190a0a0-0000-7000-8000-000000000001", "to_agent": "bob",
        "from_agent": "ada", "content": "look", "context_ids": json.dumps([h]),
    },
    "a seat in the space": lambda h: {
        "kind": "space", "name": "zanzibar-lab", "members": '["bob"]'
    },
}  # fmt: skip


@pytest.mark.parametrize("what", FORGED)
def test_an_agent_imports_no_rows_as_they_are(ada: Replica, tmp_path: Path, what: str) -> None:
    key = write(ada, "the vault opens with marzipan").id
    bob = seen_as(ada, "bob")
    file = tmp_path / "forged.jsonl"
    file.write_text(json.dumps(FORGED[what](key)) + "\n", "utf-8")
    with pytest.raises(Exception, match="operator"):
        import_(bob, "jsonl", str(file), Target(), quiet)
    assert read.get(bob, [key])["missing"] == [key]
    with pytest.raises(NotFound):
        chatlog.show(bob, "zanzibar-talk")


def test_the_shell_tells_an_agent_how_a_sync_stands_and_counts_nothing(tmp_path: Path) -> None:
    for words, counted in ((("--agent", "bob"), False), ((), True)):
        done = run("sync", "status", *words, "--json", SATCHEL_HOME=str(tmp_path / "home"))
        said = json.loads(done.out)
        assert (done.code, "lag_s" in said, "pending" in said) == (0, True, counted)
