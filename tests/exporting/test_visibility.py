"""Whoever exports gets what it sees, of every kind, and no word of what others keep."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from fix_full import ODD
from fix_hidden import SCOPES, SECRET, TRACE, twins
from fix_importing import silent, taken
from fix_memory import seen_as

from satchel.exporting.run import export
from satchel.memory.lookup import can_see
from satchel.memory.visibility import Role
from satchel.replica import Replica
from satchel_sync.tables import BY_NAME, KINDS

BOBS = "a secret of bob's"


def exported(replica: Replica, format_name: str, path: Path) -> str:
    _, code = export(replica, format_name, str(path), silent, overwrite=True)
    assert code == 0
    return path.read_text("utf-8")


@pytest.mark.parametrize("role", ["agent", "supervisor"])
def test_each_kind_by_the_one_predicate(full: Replica, tmp_path: Path, role: Role) -> None:
    bob = seen_as(full, "bob", role=role)
    held = exported(bob, "jsonl", tmp_path / "x.jsonl")
    for kind in KINDS:
        table = BY_NAME[kind]
        with full.store.read() as db:
            sql = f"SELECT {table.key} FROM {kind} AS t WHERE {can_see(bob.caller, kind)}"
            seen = {key for (key,) in db.execute(sql, bob.caller.params)}
            every = {key for (key,) in db.execute(f"SELECT {table.key} FROM {kind}")}
        assert seen, "the test says nothing of a kind that there is nothing of"
        keys = {key for key in every if f'"{kind}", "{table.key}": "{key}"' in held}
        # A history entry may be about a row that was deleted.
        assert keys <= seen if kind == "history" else keys == seen, kind


@pytest.mark.parametrize("format_name", ["jsonl", "markdown"])
def test_no_word_of_anothers(full: Replica, tmp_path: Path, format_name: str) -> None:
    path = tmp_path / "x.md"
    assert BOBS in exported(full, format_name, path)
    assert BOBS in exported(seen_as(full, "bob"), format_name, path)
    cleo = exported(seen_as(full, "cleo"), format_name, path)
    ada = exported(seen_as(full, "ada"), format_name, path)
    assert BOBS not in ada + cleo
    assert "the attic is damp" in ada
    assert "attic is" not in cleo
    # A vector or a piece of history says as much as the text.
    assert ODD[:6] in ada
    assert '"history"' not in cleo


def test_an_export_of_nothing(full: Replica, tmp_path: Path) -> None:
    nobody = seen_as(full, "nobody", user="nobody")
    answer, code = export(
        nobody, "jsonl", str(tmp_path / "x.jsonl"), silent, overwrite=False, vectors=True
    )
    assert code == 0
    assert set(answer["kinds"]) <= {"agent", "space", "memory", "embedding"}  # open to all
    texts = (tmp_path / "x.jsonl").read_text()
    assert "cellar" in texts
    assert "attic" not in texts


@pytest.mark.parametrize(("scope", "role"), [*((scope, "agent") for scope in SCOPES),
                                             ("user", "supervisor")])  # fmt: skip
def test_hidden_rows_cannot_be_told_from_none(tmp_path: Path, scope: str, role: Role) -> None:
    """The same bytes in both worlds; and the same outcome where somebody guesses a hidden text."""
    guesses = tmp_path / "guesses.json"
    guesses.write_text(json.dumps([{"id": "1", "memory": SECRET}, {"memory": SECRET.upper()}]))
    with twins(tmp_path, scope, role=role) as worlds:
        agent, user, role = worlds.caller
        told = []
        for name, world in (("with", worlds.with_hidden), ("without", worlds.without)):
            caller = seen_as(world.replica, agent, user=user, role=role)
            out = [exported(caller, format_name, tmp_path / f"{name}.md")
                   for format_name in ("jsonl", "markdown")]  # fmt: skip
            answer = taken(caller, "mem0", guesses)
            told.append([*out, answer["kinds"], answer["errors"], answer["warnings"]])
        assert told[0] == told[1]
        assert worlds.own.memory in told[0][0]
        assert TRACE not in json.dumps(told)
