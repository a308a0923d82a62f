"""Exports of mem0, in every shape that its versions have written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from fix_importing import memories, taken

from satchel.replica import Replica

OSS = {
    "id": "892db2ae-06d9-49e5-8b3e-585ef9b85b8e",
    "memory": "Name is Alex. Enjoys basketball and gaming.",
    "hash": "d83c2a9e38f5c41a1f5d7d6cb2f1d5b3",
    "metadata": {"category": "hobbies"},
    "created_at": "2024-07-26T08:44:41.039788-07:00",
    "updated_at": None,
    "user_id": "alex",
}
PLATFORM = {
    **OSS,
    "agent_id": None,
    "app_id": None,
    "run_id": "r1",
    "categories": ["sports"],
    "expiration_date": "2099-01-01",
    "updated_at": "2024-07-27T08:44:41Z",
}
POINT = {"id": OSS["id"], "payload": {"data": OSS["memory"], "user_id": "alex", "hash": "x"}}
OPENMEMORY = {
    "user": {"id": "6f4c", "user_id": "alex", "name": "Alex"},
    "apps": [{"id": "a1", "name": "cursor"}],
    "categories": [{"id": "c1", "name": "sports"}],
    "memories": [
        {
            "id": OSS["id"],
            "user_id": "6f4c",
            "app_id": "a1",
            "content": OSS["memory"],
            "metadata": {},
            "state": "active",
            "created_at": "2024-07-26T15:44:41+00:00",
            "deleted_at": None,
            "category_ids": ["c1"],
        },
        {"id": "gone", "content": "deleted there", "state": "deleted"},
    ],
    "export_meta": {"version": "1"},
}
LINE = {"id": OSS["id"], "content": OSS["memory"], "app": "cursor", "categories": ["sports"]}

SHAPES: dict[str, tuple[Any, dict[str, Any]]] = {
    "a bare list": ([OSS], {"category": "hobbies"}),
    "results": ({"results": [OSS]}, {"category": "hobbies"}),
    "a page of the platform": (
        {"count": 1, "next": None, "previous": None, "results": [PLATFORM]},
        {"categories": ["sports"], "run_id": "r1", "updated_at": PLATFORM["updated_at"]},
    ),
    "memories": ({"memories": [{**OSS, "memory": None, "text": OSS["memory"]}]}, {}),
    "one memory": (OSS, {"category": "hobbies"}),
    "points of a vector store": ({"points": [POINT]}, {}),
    "a backup of OpenMemory": (OPENMEMORY, {"app": "cursor", "categories": ["sports"]}),
}


def written(tmp_path: Path, document: Any) -> Path:
    path = tmp_path / "export.json"
    path.write_text(json.dumps(document, indent=2))
    return path


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape(replica: Replica, tmp_path: Path, shape: str) -> None:
    document, kept = SHAPES[shape]
    taken(replica, "mem0", written(tmp_path, document))
    ((content, scope, user, metadata),) = memories(
        replica, "content", "scope", "user_id", "metadata"
    )
    assert (content, scope, user) == (OSS["memory"], "user", "alex")
    found = json.loads(metadata)
    assert found.items() >= kept.items()
    assert "hash" not in found
    assert found["import"]["record"] == OSS["id"]


def test_json_lines(replica: Replica, tmp_path: Path) -> None:
    path = tmp_path / "memories.jsonl"
    path.write_text("".join(json.dumps({**LINE, "id": n, "content": f"text {n}"}) + "\n"
                            for n in range(3)))  # fmt: skip
    assert taken(replica, "mem0", path)["kinds"] == {"memory": {"created": 3}}
    assert memories(replica, "user_id") == ["una"] * 3  # nobody's: the caller's


def test_times_and_what_was_left_out(replica: Replica, tmp_path: Path) -> None:
    taken(replica, "mem0", written(tmp_path, [PLATFORM]))
    ((since, until, recorded),) = memories(replica, "valid_from", "expires_at", "recorded_at")
    assert since == 1_722_008_681_039  # 2024-07-26T15:44:41.039Z
    assert recorded == replica.now_ms()
    assert until is not None
    answer = taken(replica, "mem0", written(tmp_path, OPENMEMORY))
    assert answer["left_out"] == {"deleted memories": 1}


def test_relations_are_facts(replica: Replica, tmp_path: Path) -> None:
    relations = [
        {"source": "alex", "relationship": "lives_in", "target": "new_york"},
        {"source": "alex", "relationship": "likes", "destination": "pizza"},
        {"source": "alex"},
    ]
    document = {"results": [], "relations": relations}
    answer = taken(replica, "mem0", written(tmp_path, document), code=1)
    assert memories(replica, "content", "type") == [
        ("alex likes pizza", "fact"),
        ("alex lives in new york", "fact"),
    ]
    assert answer["failed"] == 1


def test_a_memory_that_changed_there_is_updated_and_one_edited_here_stays(
    replica: Replica, tmp_path: Path
) -> None:
    other = {**OSS, "id": "2", "memory": "Likes tea"}
    path = written(tmp_path, [OSS, other])
    taken(replica, "mem0", path)
    with replica.store.write() as db:
        db.execute("UPDATE memory SET title = 'mine' WHERE content = 'Likes tea'")
    written(tmp_path, [{**OSS, "memory": "Name is Alex. Gave up gaming."}, other])
    assert taken(replica, "mem0", path)["kinds"] == {"memory": {"updated": 1, "exists": 1}}
    assert memories(replica, "title", "content") == [
        (None, "Name is Alex. Gave up gaming."),
        ("mine", "Likes tea"),
    ]


BAD: tuple[tuple[Any, str | None, str], ...] = (
    ({"id": "1"}, None, "no text"),
    ({"id": "1", "memory": ""}, None, "no text"),
    ({"full_name": "Alex", "role": "engineer"}, None, "full_name, role"),
    (7, None, "not an object"),
    (None, None, "not an object"),
    ({**OSS, "id": "2", "created_at": "yesterday"}, "valid_from", "yesterday"),
    ({**OSS, "id": "3", "created_at": 1e300}, "valid_from", "no time"),
    ({**OSS, "id": "4", "user_id": "a\nb"}, "user_id", "control character"),
    ({**OSS, "id": "5", "metadata": {"a": "\0"}}, "metadata", "NUL"),
    ({**OSS, "id": "6", "metadata": {"a": "x" * 300_000}}, "metadata", "bytes"),
    ({**OSS, "id": "7", "memory": "x" * 1_100_000}, "text", "bytes"),
)


def test_bad_records_are_told_by_their_lines_and_the_rest_goes_in(
    replica: Replica, tmp_path: Path
) -> None:
    path = tmp_path / "export.json"
    items = [{"id": "8", "memory": "first"}, *(item for item, _, _ in BAD), {"memory": "last"}]
    path.write_text("[" + ",\n".join(json.dumps(item) for item in items) + "]")
    answer = taken(replica, "mem0", path, code=1)
    told = sorted(answer["errors"], key=lambda error: error["line"])
    assert [(error["line"], error.get("field")) for error in told] == [
        (number, field) for number, (_, field, _) in enumerate(BAD, start=2)
    ]
    for error, (_, _, word) in zip(told, BAD, strict=True):
        assert word in error["message"]
    assert memories(replica, "content") == ["first", "last"]


def test_one_absurd_number_refuses_its_record_only(replica: Replica, tmp_path: Path) -> None:
    good = [json.dumps({"memory": f"note {number}"}) for number in range(6)]
    bad = '{"memory": "late", "created_at": ' + "9" * 5_000 + "}"
    huge = '{"memory": "big", "created_at": 1e999, "metadata": {"n": ' + "9" * 600 + "}}"
    for path, lines in (
        (tmp_path / "list.json", "[" + ",\n".join([*good[:3], bad, huge, *good[3:]]) + "]"),
        (tmp_path / "lines.jsonl", "\n".join([*good[:3], bad, huge, *good[3:]])),
    ):
        path.write_text(lines)
        answer = taken(replica, "mem0", path, code=1)
        assert [error["line"] for error in answer["errors"]] == [4, 5]
        assert "5000 digits" in answer["errors"][0]["message"]
        assert "set_int_max_str_digits" not in json.dumps(answer)
    assert sorted(memories(replica, "content")) == [f"note {number}" for number in range(6)]
