"""What a tool answers meets the schema that it declares: every tool, by a JSON schema check."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fix_hub import HubWorld
from fix_shapes import check_schema, misfit
from fix_steps import STEPS, filled

from satchel import config
from satchel.replica import Replica, open_replica
from satchel.store import journal, outbox
from satchel.tools import catalog
from satchel.tools.schemas import Schema, schema, shallow
from satchel.tools.shapes import SHAPES
from satchel_sync.changes import Loser
from satchel_sync.tables import MEMORY

TOOLS = list(catalog.every().values())
OPEN = {"sync_run", "sync_verify"}
"""Reports: what a sync tells beside how it ended is said in docs/SYNC.md."""
BOB = {
    "SATCHEL_EMBEDDING": "off",
    "SATCHEL_AGENT": "bob",
    "SATCHEL_AGENT_ROLE": "operator",
    "SATCHEL_STORE_DURABILITY": "process",
}


@pytest.fixture
def replica(tmp_path: Path) -> Iterator[Replica]:
    with open_replica(config.load(environ={"SATCHEL_HOME": str(tmp_path / "h"), **BOB})) as made:
        yield made


def call(replica: Replica, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """The answer of a tool, held against both of its schemas."""
    tool, _ = catalog.find(name)
    answer = tool.call(replica, tool.arguments(arguments))
    declared = tool.output_schema()
    for one in (declared, shallow(declared)):
        assert misfit(one, answer) == ""
    if name not in OPEN:
        assert undeclared(declared, answer, name) == [], "enter these in tools/shapes.py"
    return answer


def undeclared(declared: Schema, answer: Any, path: str) -> list[str]:
    """Keys of an answer that its schema does not know, where it knows any."""
    if isinstance(answer, list):
        inner = declared.get("items", {})
        return [key for one in answer for key in undeclared(inner, one, f"{path}[]")]
    known = declared.get("properties")
    if not isinstance(answer, dict) or known is None:
        return []
    new = [f"{path}.{key}" for key in answer if key not in known]
    for key in sorted(set(answer) & set(known)):
        new += undeclared(known[key], answer[key], f"{path}.{key}")
    return new


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_each_tool_says_what_it_answers(tool: Any) -> None:
    declared = tool.output_schema()
    check_schema(declared)
    assert declared["properties"], f"enter {tool.name} in tools/shapes.py"
    assert declared["required"]


def test_no_shape_is_of_a_tool_that_is_gone() -> None:
    assert set(SHAPES) <= set(catalog.every())


def test_the_answers_of_all_tools_meet_their_schemas(replica: Replica) -> None:
    known: dict[str, str] = {}
    for name, arguments, keep in STEPS:
        answer = call(replica, name, filled(arguments, known))
        if keep:
            known[f"${keep}"] = answer["id"]
    call(replica, "memory_search", {"query": "shed", "explain": True})
    call(replica, "memory_search", {"query": "shed", "max_tokens": 1})
    call(replica, "chatlog_search", {"query": "hello", "explain": True})
    call(replica, "memory_get", {"ids": ["0" * 36]})


def test_those_of_the_operator_too(replica: Replica) -> None:
    key = call(replica, "memory_write", {"text": "held"})["id"]
    version = _lose(replica, key)
    for name, arguments in (
        ("sync_status", {}),
        ("sync_conflicts_list", {}),
        ("sync_conflicts_show", {"id": version}),
        ("sync_quarantine", {}),
        ("sync_explain", {"id": key}),
        ("sync_conflicts_restore", {"id": version}),
        ("admin_doctor", {}),
        ("admin_config", {}),
        ("audit_log", {}),
        ("audit_verify", {}),
    ):
        assert call(replica, name, arguments), name


def test_those_of_a_sync_too(tmp_path: Path, hub_world: HubWorld) -> None:
    environ = {"SATCHEL_HOME": str(tmp_path / "h"), "SATCHEL_WAREHOUSE_DSN": hub_world.login()}
    with open_replica(config.load(environ=environ | BOB)) as replica:
        call(replica, "memory_write", {"text": "travels"})
        assert call(replica, "sync_run", {})["kinds"]["memory"]["sent"] == 1
        assert call(replica, "sync_verify", {})["ok"]


def _lose(replica: Replica, key: str) -> str:
    """Put another version of a memory into the conflict journal; returns it."""
    with replica.store.write() as db:
        held = outbox.row(db, MEMORY, key)
        assert held is not None
        lost = replace(held, stamp=held.stamp._replace(digest=b"lostlost"))
        assert journal.add(db, Loser("memory", lost, held.stamp, "pull", replica.now_ms()))
    return lost.stamp.hex()


WRONG: list[tuple[Any, Any]] = [
    # a shape, an answer that does not meet it
    ({"id": "text"}, {}),
    ({"id": "text"}, {"id": None}),
    ({"id": "integer?"}, {"id": "1"}),
    ({"items": ["text"]}, {"items": [1]}),
    ({"items": [{"id": "text"}]}, {"items": [{}]}),
    ({"items?": ["text"]}, {"items": "x"}),
    ({"ok": "boolean"}, {"ok": 1}),
]


@pytest.mark.parametrize(("shape", "answer"), WRONG)
def test_a_schema_can_be_missed(shape: Any, answer: Any) -> None:
    made: Schema = schema(shape)
    assert misfit(made, answer)
