"""An export that is imported elsewhere holds the same rows, to the last byte of each field."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from fix_importing import contents, silent, taken
from fix_memory import NOON_MS, opened, seen_as
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from satchel.errors import InvalidInput, Refused
from satchel.exporting import jsonl
from satchel.exporting.run import export
from satchel.memory import change
from satchel.memory.search.search import search
from satchel.memory.text import content_hash
from satchel.memory.write import write
from satchel.replica import Replica
from satchel.store import rows
from satchel.store.sql import alive
from satchel_sync.tables import BY_NAME, KINDS, MEMORY, Memory


def exported(replica: Replica, path: Path, **options: Any) -> dict[str, Any]:
    answer, code = export(replica, "jsonl", str(path), silent, overwrite=True, **options)
    assert code == 0, answer["left"]
    return answer


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().split(b"\n")[:-1]]


def told(replica: Replica) -> dict[str, list[tuple[Any, ...]]]:
    """What an export has to hold: living rows, and the history of such."""
    found = contents(replica)
    living = {(kind, row[0]) for kind in KINDS for row in found[kind]}
    found["history"] = [row for row in found["history"] if (row[1], row[2]) in living]
    return found


def test_every_field_of_every_kind(full: Replica, empty: Replica, tmp_path: Path) -> None:
    first, second = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
    answer = exported(full, first)
    assert {kind for kind, rows in told(full).items() if rows} == set(KINDS)
    assert answer["kinds"] == {kind: len(rows) for kind, rows in told(full).items()}
    taken(empty, "jsonl", first)
    assert told(empty) == told(full) == contents(empty)
    exported(empty, second)
    assert first.read_bytes() == second.read_bytes()
    again = taken(empty, "jsonl", first)
    assert {outcome for counts in again["kinds"].values() for outcome in counts} == {"exists"}


def test_a_line_has_every_column(full: Replica, tmp_path: Path) -> None:
    exported(full, tmp_path / "x.jsonl")
    for row in lines(tmp_path / "x.jsonl"):
        table = BY_NAME[row["kind"]]
        names = {f"{table.name}_kind" if name == "kind" else name for name in table.names}
        assert row.keys() == {"kind", table.key, "extra", *names}


def test_the_order_is_by_kind_and_key(full: Replica, tmp_path: Path) -> None:
    exported(full, tmp_path / "x.jsonl")
    order = [
        (KINDS.index(row["kind"]), row[BY_NAME[row["kind"]].key])
        for row in lines(tmp_path / "x.jsonl")
    ]
    assert order == sorted(order)


def test_vectors_may_be_left_out(full: Replica, empty: Replica, tmp_path: Path) -> None:
    exported(full, tmp_path / "x.jsonl", vectors=False)
    answer = taken(empty, "jsonl", tmp_path / "x.jsonl")
    assert "embedding" not in answer["kinds"]
    with empty.store.read() as db:
        waiting = db.execute("SELECT count(*) FROM embed_queue").get
    assert waiting == answer["kinds"]["memory"]["created"]


def test_what_came_with_its_vector_waits_for_none(
    full: Replica, empty: Replica, tmp_path: Path
) -> None:
    exported(full, tmp_path / "x.jsonl")
    taken(empty, "jsonl", tmp_path / "x.jsonl")
    with empty.store.read() as db:
        assert db.execute("SELECT count(*) FROM embed_queue").get == 0
    assert search(empty, "damp attic").hits[0].title == "attic"


def test_what_is_local_stays_local(full: Replica, empty: Replica, tmp_path: Path) -> None:
    exported(full, tmp_path / "x.jsonl")
    taken(empty, "jsonl", tmp_path / "x.jsonl")
    with empty.store.read() as db:
        local = db.execute("SELECT id FROM memory WHERE local").get
        of_it = "SELECT kind FROM outbox WHERE key = ? OR key IN (SELECT id FROM embedding"
        of_it += " WHERE memory_id = ?) OR key IN (SELECT id FROM relationship WHERE from_id = ?)"
        assert db.execute(of_it, (local, local, local)).fetchall() == []
        queued = {kind for (kind,) in db.execute("SELECT DISTINCT kind FROM outbox")}
    assert queued == set(KINDS)


def test_what_was_deleted_is_in_no_export(full: Replica, tmp_path: Path) -> None:
    exported(full, tmp_path / "x.jsonl")
    assert "to be deleted" in str(contents(full)["history"])
    assert "to be deleted" not in (tmp_path / "x.jsonl").read_text()


def test_a_row_that_is_here_in_another_version_stays_and_a_deleted_one_too(
    full: Replica, tmp_path: Path
) -> None:
    exported(full, tmp_path / "x.jsonl")
    key = write(full, "one more", scope="org").id
    changed, gone = [row[0] for row in contents(full)["memory"] if row[0] != key][:2]
    change.update(full, changed, title="changed since")
    change.delete(full, gone, confirm=True)
    before = contents(full)
    counts = taken(full, "jsonl", tmp_path / "x.jsonl")["kinds"]
    assert (counts["memory"]["kept"], counts["memory"]["deleted"]) == (1, 1)
    # The vector of a row that was deleted was deleted with it.
    assert contents(full) == before


def test_only_the_operator_takes_rows_as_they_are(full: Replica, tmp_path: Path) -> None:
    exported(full, tmp_path / "x.jsonl")
    for role in ("agent", "supervisor"):
        with pytest.raises(Refused):
            taken(seen_as(full, "ada", role=role), "jsonl", tmp_path / "x.jsonl")
    with pytest.raises(InvalidInput, match="leave the options out"):
        taken(full, "jsonl", tmp_path / "x.jsonl", scope="org")


def test_a_first_use_of_a_space_opens_none_that_another_machine_closed(
    full: Replica, empty: Replica, tmp_path: Path
) -> None:
    exported(full, tmp_path / "x.jsonl")
    taken(empty, "jsonl", tmp_path / "x.jsonl")
    with empty.store.read() as db:
        hlcs = dict(db.execute("SELECT name, hlc FROM space").fetchall())
    assert hlcs["cellar"] == rows.LOWEST_HLC  # as `write` made it
    assert hlcs["attic"] > rows.LOWEST_HLC


def test_columns_of_a_newer_satchel_come_through(empty: Replica, tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    with empty.store.write() as db:
        rows.insert(db, Memory(id=rows.new_id(NOON_MS), content="x", scope="org"))
    exported(empty, path)
    (row,) = lines(path)
    key = rows.new_id(NOON_MS)
    path.write_text(json.dumps({**row, "id": key, "mood": "glad", "weight": 2.5, "rank": 7}))
    taken(empty, "jsonl", path)
    exported(empty, path)
    (extra,) = [row["extra"] for row in lines(path) if row["id"] == key]
    assert {name: one[0] for name, one in json.loads(extra).items()} == {
        "mood": "t",
        "weight": "r",
        "rank": "i",
    }


TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=30)
SHARE = st.none() | st.floats(0, 1)
TIME = st.none() | st.integers(-(10**13), 10**13)


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    content=TEXT.filter(str.strip),
    title=st.none() | TEXT,
    metadata=st.none() | st.dictionaries(TEXT, TEXT | st.floats(-1, 1), max_size=2),
    numbers=st.tuples(SHARE, SHARE, TIME, TIME),
)
def test_any_values(
    empty: Replica, tmp_path: Path, content: str, title: str | None, metadata: Any, numbers: Any
) -> None:
    importance, confidence, since, until = numbers
    row = Memory(
        id=rows.new_id(NOON_MS),
        type="note",
        scope="org",
        content=content,
        title=title,
        metadata=None if metadata is None else json.dumps(metadata, indent=1),
        importance=importance,
        confidence=confidence,
        valid_from=since,
        valid_to=until,
    )
    values = (*(getattr(row, name) for name in MEMORY.names), None)
    path = tmp_path / "one.jsonl"
    path.write_bytes(jsonl.line(MEMORY, row.id, values))
    taken(empty, "jsonl", path)
    with empty.store.read() as db:
        sql = f"SELECT {', '.join(MEMORY.names)} FROM memory WHERE id = ? AND {alive()}"
        held = db.execute(sql, (row.id,)).fetchone()
    own = values[:-1]
    # The hash follows from the text: a file that lacks it, or has another one, gets it right.
    assert repr((*held[:-1], None)) == repr(own)  # repr: -0.0 must not come back as such


BAD: dict[str, tuple[str, dict[str, Any], str | None, str]] = {
    "no kind": ("", {}, "kind", "must be one of"),
    "an unknown kind": ("thing", {}, "kind", "must be one of"),
    "no id": ("memory", {"id": None}, "id", "no id"),
    "an id in capitals": ("memory", {"id": "0" * 35 + "A"}, "id", "no id"),
    "an id that is a path": ("memory", {"id": "../../etc/passwd"}, "id", "no id"),
    "no text": ("memory", {"content": ""}, "content", "empty"),
    "a scope that is none": ("memory", {"scope": "world"}, "scope", "must be one of"),
    "a share above 1": ("memory", {"importance": 1.5}, "importance", "0..1"),
    "a share that is text": ("memory", {"importance": "1"}, "importance", "0..1"),
    "a time that is a float": ("memory", {"valid_from": 1.5}, "valid_from", "milliseconds"),
    "a time that no year has": ("memory", {"valid_from": 2**62}, "valid_from", "9999"),
    "local that is true": ("memory", {"local": True}, "local", "bool"),
    "local that is 2": ("memory", {"local": 2}, "local", "1..1"),
    "metadata that is no JSON": ("memory", {"metadata": "{"}, "metadata", "JSON"),
    "metadata that is no text": ("memory", {"metadata": {"a": 1}}, "metadata", "dict"),
    "aliases that are no list": ("memory", {"aliases": "x"}, "aliases", "array"),
    "extra that is none": ("memory", {"extra": "x"}, "extra", ""),
    "text in a column of numbers": ("task", {"priority": "high"}, "priority", "int64"),
    "a vector that is no base64": ("embedding", {"vector": "%"}, "vector", "base64"),
    "a vector of another size": ("embedding", {"vector": "AAAA", "dims": 9}, "vector", ""),
    "an unknown column with a list": ("memory", {"mood": []}, "mood", "list"),
}


def test_bad_rows_are_told_and_the_rest_goes_in(empty: Replica, tmp_path: Path) -> None:
    good = {"kind": "memory", "content": "good", "scope": "org"}
    vector = {"dtype": "f16", "dims": 2, "model": "m"}
    rows_ = [{**good, "id": rows.new_id(NOON_MS)}]
    for kind, columns, _, _ in BAD.values():
        base = {"memory": good, "embedding": vector}.get(kind, {})
        rows_.append({**base, "id": rows.new_id(NOON_MS), **columns, "kind": kind})
    rows_.append({**good, "id": rows.new_id(NOON_MS), "content": "good too"})
    path = tmp_path / "x.jsonl"
    path.write_text("\n".join(map(json.dumps, rows_)))
    answer = taken(empty, "jsonl", path, code=1)
    told = sorted(answer["errors"], key=lambda error: error["line"])
    assert [(error["line"], error.get("field")) for error in told] == [
        (number, field) for number, (_, _, field, _) in enumerate(BAD.values(), start=2)
    ]
    for error, (_, _, _, word) in zip(told, BAD.values(), strict=True):
        assert word in error["message"]
    assert [row[3] for row in contents(empty)["memory"]] == ["good", "good too"]


def test_what_no_json_holds_is_left_out_and_told(empty: Replica, tmp_path: Path) -> None:
    """A write by hand can leave anything in a column."""
    write(empty, "good", scope="org")
    with empty.store.write() as db:
        db.execute("INSERT INTO memory(id, content) VALUES('bad', CAST(x'ff' AS TEXT))")
        db.execute("INSERT INTO memory(id, content, importance) VALUES('worse', 'x', 9e999)")
    path = tmp_path / "x.jsonl"
    answer, code = export(empty, "jsonl", str(path), silent, overwrite=False)
    assert (code, answer["ok"], answer["left_out"]) == (1, False, 2)
    assert {row["key"] for row in answer["left"]} == {"bad", "worse"}
    assert [row["content"] for row in lines(path) if row["kind"] == "memory"] == ["good"]


def test_a_file_that_was_written_by_hand(empty: Replica, tmp_path: Path) -> None:
    """Few columns, whole numbers where the column has broken ones, and a zero below zero."""
    row = {"kind": "memory", "id": rows.new_id(NOON_MS), "content": "x", "importance": 1}
    path = tmp_path / "x.jsonl"
    path.write_text(json.dumps({**row, "confidence": -0.0}))
    taken(empty, "jsonl", path)
    with empty.store.read() as db:
        sql = "SELECT importance, confidence, content_hash FROM memory"
        importance, confidence, hashed = db.execute(sql).fetchone()
    assert repr((importance, confidence)) == "(1.0, 0.0)"
    assert hashed == content_hash("x")


def test_an_export_is_of_one_moment(full: Replica, tmp_path: Path) -> None:
    """What is written meanwhile is in all of it, or, as here, in none."""
    before, path = told(full), tmp_path / "x.jsonl"
    with opened(full.store.home, "ada", embedding="off") as other:

        def meanwhile(phase: str, kind: str, done: int, of: int) -> None:
            late = write(other, f"said while {kind} was written", scope="org").id
            change.update(other, late, title="late")

        export(full, "jsonl", str(path), meanwhile, overwrite=False)
    assert told(full) != before
    assert "said while" not in path.read_text()
    held = {(row["kind"], row[BY_NAME[row["kind"]].key]) for row in lines(path)}
    assert held == {(kind, row[0]) for kind in KINDS for row in before[kind]}
