"""Whatever is in a source, an import ends with an answer or a typed error; the store is whole."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from fix_importing import silent
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from satchel.errors import SatchelError
from satchel.importing.run import import_
from satchel.importing.target import Target
from satchel.replica import Replica
from satchel_sync.tables import BY_NAME, KINDS

WORDS = (
    *("type", "entity", "relation", "name", "entityType", "observations", "from", "to"),
    *("relationType", "entities", "relations", "results", "memories", "memory", "content", "text"),
    *("data", "id", "user_id", "agent_id", "metadata", "created_at", "expiration_date", "payload"),
    *("categories", "category_ids", "apps", "user", "source", "relationship", "target", "items"),
    *("relationships", "to_id", "relationship_type", "metadata_json", "scope", "kind", "vector"),
    *("sessionId", "uuid", "message", "role", "timestamp", "payload", "session_meta", "messages"),
    *KINDS,
    *(name for kind in KINDS for name in BY_NAME[kind].names),
)
TEXT = st.sampled_from(["", " ", "a", "\0", "\ud800", "2024-01-01", "x" * 300, "{", "[]", *WORDS])
LEAF = st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False) | TEXT
VALUE = st.recursive(
    LEAF,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(WORDS) | TEXT, inner, max_size=5)
    ),
    max_leaves=15,
)
LINE = VALUE.map(json.dumps) | st.text(max_size=20)
FORMATS = ("mem0", "server-memory", "jsonl", "markdown", "m3-memory", "claude-code", "codex",
           "gemini-cli")  # fmt: skip


def ends(replica: Replica, name: str, path: Path) -> Any:
    try:
        answer, code = import_(replica, name, str(path), Target(), silent)
    except SatchelError as error:
        return error.code
    assert code == (1 if answer["failed"] else 0)
    json.dumps(answer)
    return answer


@pytest.mark.parametrize("name", FORMATS)
@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(lines=st.lists(LINE, max_size=4), glue=st.sampled_from(["\n", ",", ""]))
def test_any_json(replica: Replica, tmp_path: Path, name: str, lines: list[str], glue: str) -> None:
    path = tmp_path / ("x.md" if name == "markdown" else "x.jsonl")
    text = glue.join(lines)
    if name == "markdown":
        text = f"---\n{text}\n---\nbody"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    ends(replica, name, path)
    with replica.store.read() as db:
        assert db.execute("PRAGMA integrity_check").get == "ok"


@pytest.mark.parametrize("name", FORMATS)
@settings(
    max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(raw=st.binary(max_size=60))
def test_any_bytes(replica: Replica, tmp_path: Path, name: str, raw: bytes) -> None:
    path = tmp_path / ("x.md" if name == "markdown" else "x.json")
    for head in (b"", b"SQLite format 3\0", b"\xef\xbb\xbf---\n"):
        path.write_bytes(head + raw)
        ends(replica, name, path)
