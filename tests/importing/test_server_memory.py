"""The knowledge graph of the MCP memory server: entities become memories, relations edges."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from fix_importing import edges, memories, taken

from satchel.memory.search.search import search
from satchel.replica import Replica

GRAPH = """\
{"type":"entity","name":"David Barnett","entityType":"person","observations":["Speaks fluent \
Spanish","Prefers morning meetings"]}
{"type":"entity","name":"QuintoAndar","entityType":"organization","observations":[]}
{"type":"relation","from":"David Barnett","to":"QuintoAndar","relationType":"works_at"}
"""


@pytest.fixture
def graph(tmp_path: Path) -> Path:
    path = tmp_path / "memory.jsonl"
    path.write_text(GRAPH)
    return path


def test_entities_and_relations(replica: Replica, graph: Path) -> None:
    answer = taken(replica, "server-memory", graph)
    assert answer["kinds"] == {"memory": {"created": 2}, "relationship": {"created": 1}}
    assert memories(replica, "title", "type", "content", "source") == [
        (
            "David Barnett",
            "person",
            "David Barnett (person)\n- Speaks fluent Spanish\n- Prefers morning meetings",
            "server-memory",
        ),
        ("QuintoAndar", "organization", "QuintoAndar (organization)", "server-memory"),
    ]
    assert edges(replica) == {("David Barnett", "works_at", "QuintoAndar")}
    found = search(replica, "who speaks spanish?")
    assert [hit.title for hit in found.hits] == ["David Barnett"]


def test_the_same_again_changes_nothing_and_what_grew_is_updated(
    replica: Replica, graph: Path
) -> None:
    taken(replica, "server-memory", graph)
    again = taken(replica, "server-memory", graph)
    assert again["kinds"] == {"memory": {"exists": 2}, "relationship": {"exists": 1}}
    graph.write_text(GRAPH.replace('"observations":[]', '"observations":["Rents homes"]'))
    grown = taken(replica, "server-memory", graph)
    assert grown["kinds"]["memory"] == {"exists": 1, "updated": 1}
    assert memories(replica, "content")[1] == "QuintoAndar (organization)\n- Rents homes"


def test_two_files_may_name_their_entities_alike(replica: Replica, graph: Path) -> None:
    other = graph.with_name("other.jsonl")
    other.write_text(GRAPH.replace("Spanish", "Finnish"))
    taken(replica, "server-memory", graph)
    taken(replica, "server-memory", other)
    texts = memories(replica, "content")
    assert len(texts) == 3  # QuintoAndar is the same text of the same owner
    assert {"Spanish" in text for text in texts} == {True, False}


def test_a_source_with_a_name_may_move(replica: Replica, graph: Path) -> None:
    taken(replica, "server-memory", graph, source="work")
    moved = graph.with_name("moved.jsonl")
    moved.write_text(GRAPH.replace("Spanish", "Finnish"))
    assert taken(replica, "server-memory", moved, source="work")["kinds"]["memory"] == {
        "exists": 1,
        "updated": 1,
    }
    assert memories(replica, "source") == ["work", "work"]


def test_the_answer_of_read_graph_and_lines_that_name_an_entity_twice(
    replica: Replica, tmp_path: Path
) -> None:
    path = tmp_path / "graph.json"
    entity = {"name": "Ann", "entityType": "person", "observations": [{"content": "is tall"}]}
    more = {"name": "Ann", "entityType": "person", "observations": ["is tall", "is old"]}
    relation = {"from": "Ann", "to": "Ann", "relationType": "knows"}
    path.write_text(json.dumps({"entities": [entity, more], "relations": [relation, relation]}))
    answer = taken(replica, "server-memory", path)
    assert answer["kinds"]["relationship"] == {"created": 1, "exists": 1}
    assert memories(replica, "content") == ["Ann (person)\n- is tall\n- is old"]


ANN = '{"type":"entity","name":"Ann","entityType":"person","observations":[]}'
BAD: tuple[tuple[str, str | None, str], ...] = (
    ('{"type":"entity","name":7,"entityType":"x","observations":[]}', "name", "no text"),
    ('{"type":"entity","name":" ","entityType":"x","observations":[]}', "name", "missing"),
    ('{"type":"entity","name":"a","observations":"b"}', "observations", "list"),
    ('{"type":"entity","name":"b","observations":[null]}', "observations[0]", "not text"),
    ('{"type":"entity","name":"c\\u0000","observations":[]}', "text", "NUL"),
    ('{"type":"entity","name":"d\\ud800","observations":[]}', "text", "surrogate"),
    ('{"type":"entity","name":"e","entityType":"x\\ny","observations":[]}', "type", "control"),
    ('{"type":"relation","from":"Ann","to":"Ann"}', "relationType", "missing"),
    ('{"type":"relation","from":"Ann","to":"Bob","relationType":"knows"}', "to", "'Bob'"),
    ('{"type":"thing"}', "type", "entity or relation"),
    ('"text"', None, "not an object"),
    ("7", None, "not an object"),
    ("{", None, "not JSON"),
)


def test_bad_lines_are_told_and_the_rest_goes_in(replica: Replica, tmp_path: Path) -> None:
    path = tmp_path / "memory.jsonl"
    lines = [ANN, *(line for line, _, _ in BAD), "[]", "", ANN.replace("Ann", "Cid")]
    path.write_text("\n".join(lines))
    answer = taken(replica, "server-memory", path, code=1)
    assert memories(replica, "title") == ["Ann", "Cid"]
    told = sorted(answer["errors"], key=lambda error: error["line"])
    assert [(error["line"], error.get("field")) for error in told] == [
        (number, field) for number, (_, field, _) in enumerate(BAD, start=2)
    ]
    for error, (_, _, word) in zip(told, BAD, strict=True):
        assert word in error["message"]
