"""Plain reads and writes of one row."""

from __future__ import annotations

import re
from typing import Any

import pytest

from satchel.errors import AmbiguousId, Conflict, InvalidInput, NotFound, UnknownArgument
from satchel.store import rows
from satchel.store.connection import Store
from satchel.store.sql import alive
from satchel_sync.tables import AGENT, MEMORY, SPACE, Agent, Memory, Space

UUID7 = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")


def test_ids_are_uuid7_and_only_go_up() -> None:
    fresh = rows._Ids()
    ids = [fresh.next(now) for now in (1_700_000_000_000,) * 500 + (1_600_000_000_000,) * 500]
    assert ids == sorted(set(ids))
    assert all(UUID7.fullmatch(made) for made in ids)
    later = fresh.next(1_800_000_000_123)
    assert int(later.replace("-", "")[:12], 16) == 1_800_000_000_123


def test_a_row_comes_back_as_it_was_put(store: Store) -> None:
    row = Memory(id="m1", content="é\U0001f600\n", importance=0.1, valid_from=-(2**63), pinned=1)
    with store.write() as db:
        rows.insert(db, row)
    with store.read() as db:
        assert rows.get(db, MEMORY, "m1") == row
        assert rows.get(db, MEMORY, "m2") is None


def test_update_says_whether_anything_changed(store: Store) -> None:
    with store.write() as db:
        rows.insert(db, Memory(id="m1", content="one"))
        assert rows.update(db, MEMORY, "m1", content="two", title=None)
        assert not rows.update(db, MEMORY, "m1", content="two")
        assert not rows.update(db, MEMORY, "m1")
        assert not rows.update(db, MEMORY, "m2", content="two")
        assert rows.delete(db, MEMORY, "m1")
        assert not rows.update(db, MEMORY, "m1", content="three")
        assert not rows.delete(db, MEMORY, "m1")
        assert not rows.delete(db, MEMORY, "m2")
        assert rows.get(db, MEMORY, "m1") is None
        assert rows.get(db, MEMORY, "m1", dead=True) == Memory(id="m1")


@pytest.mark.parametrize("name", ["colour", "id", "life", "extra", "content = 'x' --"])
def test_update_takes_data_columns_only(name: str, store: Store) -> None:
    with store.write() as db:
        rows.insert(db, Memory(id="m1"))
        columns: dict[str, Any] = {name: "x"}
        with pytest.raises(UnknownArgument, match="has no column"):
            rows.update(db, MEMORY, "m1", **columns)


def test_insert_restores_a_tombstone_and_refuses_a_living_row(store: Store) -> None:
    with store.write() as db:
        rows.insert(db, Space(name="lab"))
        with pytest.raises(Conflict, match="space lab"):
            rows.insert(db, Space(name="lab", description="again"))
        rows.delete(db, SPACE, "lab")
        rows.insert(db, Space(name="lab"))
        assert rows.get(db, SPACE, "lab") == Space(name="lab")
        assert db.execute(f"SELECT life >> 16 FROM space WHERE {alive()}").get == 3


@pytest.mark.parametrize(
    "columns", [{"valid_from": 2**63}, {"content": "\ud800"}, {"local": 1}], ids=str
)
def test_what_cannot_be_stored_is_a_wrong_input(columns: Any, store: Store) -> None:
    with store.write() as db:
        rows.insert(db, Memory(id="m1"))
        with pytest.raises(InvalidInput):
            rows.update(db, MEMORY, "m1", **columns)


def test_short_ids(store: Store) -> None:
    ids = [
        "01890000-aaaa-7bbb-8ccc-000011112222",
        "01890000-aaaa-7bbb-8ccc-999911113333",
        "01891111-aaaa-7bbb-8ccc-0000111144aa",
    ]
    with store.write() as db:
        for made in ids:
            rows.insert(db, Memory(id=made))
        rows.insert(db, Memory(id="01892222-aaaa-7bbb-8ccc-000000000000"))
        rows.delete(db, MEMORY, "01892222-aaaa-7bbb-8ccc-000000000000")
        rows.insert(db, Agent(agent_id="deadbeef-agent"))
    with store.read() as db:
        for given in (ids[0], ids[0].upper(), ids[0].replace("-", "")):
            assert rows.resolve(db, MEMORY, given) == ids[0]
        assert rows.resolve(db, MEMORY, "01891111") == ids[2]
        assert rows.resolve(db, MEMORY, "01891111-aa") == ids[2]
        assert rows.resolve(db, MEMORY, "11112222") == ids[0]
        assert rows.resolve(db, MEMORY, "8ccc999911113333") == ids[1]
        assert rows.resolve(db, AGENT, "deadbeef-agent") == "deadbeef-agent"
        with pytest.raises(AmbiguousId) as caught:
            rows.resolve(db, MEMORY, "01890000")
        assert ids[0] in caught.value.hint
        assert ids[1] in caught.value.hint
        for given in ("0189111", "01892222", "ffffffff", "", "%%%%%%%%", "zzzzzzzz"):
            with pytest.raises(NotFound):
                rows.resolve(db, MEMORY, given)
        with pytest.raises(NotFound):
            rows.resolve(db, AGENT, "deadbeef")
