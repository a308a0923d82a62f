"""History: who changed what, when, word by word; also of what was undone, and of two machines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from fix_memory import StillClock, opened, seen_as

from satchel.errors import NotFound
from satchel.memory import change, history, read
from satchel.memory.messages import messages
from satchel.memory.word_diff import COMPARED_CHARS_MAX, word_diff
from satchel.memory.write import write
from satchel.replica import Replica
from satchel.store.endpoint import SqliteReplica
from satchel_sync.in_memory.hub import MemoryHub
from satchel_sync.session import sync


def told(replica: Replica, key: str) -> list[tuple[str, str | None]]:
    """Event and actor of each change, the newest first."""
    return [(one["event"], one["actor"]) for one in history.history(replica, key)["items"]]


@pytest.mark.parametrize(
    ("old", "new", "shown"),
    [
        ("the pier has 3 steps", "the pier has 4 steps", "the pier has [-3-]{+4+} steps"),
        ("red", "red and blue", "red{+ and blue+}"),
        ("a b c", "a c", "a [-b -]c"),
        ("naïve café", "naïve cafe", "naïve [-café-]{+cafe+}"),
        ("", "new", "{+new+}"),
        ("x" * COMPARED_CHARS_MAX, "y", None),
    ],
)
def test_what_changed_is_shown_word_by_word(old: str, new: str, shown: str | None) -> None:
    assert word_diff(old, new) == shown


def test_each_change_has_its_actor_its_values_and_its_words(
    ada: Replica, clock: StillClock
) -> None:
    key = write(ada, "the pier has 3 steps", scope="org", title="pier").id
    clock.at_ms += 1
    change.update(seen_as(ada, "bob"), key, text="the pier has 4 steps")
    clock.at_ms += 1
    change.pin(ada, key)
    pinned, updated, created = history.history(ada, key)["items"]
    assert (pinned["event"], pinned["actor"]) == ("update", "ada")
    assert (pinned["changes"], "diff" in pinned) == ({"pinned": [None, 1]}, False)
    assert (updated["actor"], updated["at"]) == ("bob", clock.at_ms - 1)
    assert updated["changes"]["content"] == ["the pier has 3 steps", "the pier has 4 steps"]
    assert updated["diff"] == {"content": "the pier has [-3-]{+4+} steps"}
    assert (created["event"], created["actor"], created["changes"]) == ("created", "ada", {})


def test_an_undone_supersession_is_told_on_both_sides(ada: Replica, clock: StillClock) -> None:
    old = write(ada, "the office is in Bonn", scope="org").id
    middle = change.supersede(ada, old, "the office is in Cologne").id
    clock.at_ms += 1
    new = change.supersede(ada, middle, "the office is in Mainz").id
    change.restore(seen_as(ada, "bob"), old)
    assert told(ada, old) == [("reopen", "bob"), ("supersede", "ada"), ("created", "ada")]
    assert told(ada, middle)[:2] == [("retract", "bob"), ("supersede", "ada")]
    assert told(ada, new)[0] == ("retract", "bob")
    change.restore(ada, new)
    assert told(ada, new)[0] == ("reopen", "ada")


def test_history_of_two_machines_is_one(tmp_path: Path) -> None:
    hub = MemoryHub(StillClock())
    homes = [tmp_path / name for name in ("desk", "lap")]
    for home in homes:
        home.mkdir()
    clocks = [StillClock(), StillClock()]
    with (
        opened(homes[0], "ada", clock=clocks[0], embedding="off") as desk,
        opened(homes[1], "bob", clock=clocks[1], embedding="off") as lap,
    ):

        def meet() -> None:
            for one, clock in ((desk, clocks[0]), (lap, clocks[1]), (desk, clocks[0])):
                clock.at_ms += 10
                sync(SqliteReplica(one.store), hub.connect(), clock)

        key = write(desk, "the pier has 3 steps", scope="org").id
        meet()
        change.update(lap, key, text="the pier has 4 steps")
        meet()
        new = change.supersede(desk, key, "the pier is closed", reason="winter").id
        meet()
        change.delete(lap, new, confirm=True)
        meet()
        seen = [history.history(one, key)["items"] for one in (desk, lap)]
        assert seen[0] == seen[1]
        assert [(one["event"], one["actor"]) for one in seen[0]] == [
            ("supersede", "ada"),
            ("update", "bob"),
            ("created", "ada"),
        ]
        assert seen[0][1]["diff"] == {"content": "the pier has [-3-]{+4+} steps"}
        assert told(desk, new) == told(lap, new) == [("delete", "bob"), ("created", "ada")]
        assert change.restore(desk, new)["content"] == "the pier is closed"
        meet()
        assert told(lap, new)[0] == ("restore", "ada")


def test_who_was_handed_a_memory_sees_it_as_it_is_and_not_as_it_was(ada: Replica) -> None:
    bob = seen_as(ada, "bob")
    key = write(ada, "the safe opens with 4711").id
    change.update(ada, key, text="the safe is in the cellar")
    newer = change.supersede(ada, key, "the safe is in the attic").id
    messages.send(ada, "bob", "look", context_ids=[newer, key])
    assert [one["content"] for one in read.get(bob, [key])["items"]] == [
        "the safe is in the cellar"
    ]
    for one in (key, newer):
        answer = history.history(bob, one)
        assert [item["event"] for item in answer["items"]] == ["created"]
        assert "4711" not in repr(answer)
    assert len(history.history(ada, key)["items"]) == 3
    boss = seen_as(ada, "boss", role="supervisor")
    assert history.history(boss, key) == history.history(ada, key)
    change.delete(ada, key, confirm=True)
    with pytest.raises(NotFound):
        history.history(bob, key)


def test_a_reader_of_a_space_sees_what_was(ada: Replica) -> None:
    """Whoever may read there reads also what stood there before: it was said to the space."""
    from satchel.store import rows
    from satchel_sync.tables import Space

    with ada.store.write() as db:
        rows.insert(db, Space(name="lab", members='["ada"]', grants='{"read": ["bob"]}'))
    key = write(ada, "the pier has 3 steps", space="lab").id
    change.update(ada, key, text="the pier has 4 steps")
    items: list[dict[str, Any]] = history.history(seen_as(ada, "bob"), key)["items"]
    assert items[0]["changes"]["content"][0] == "the pier has 3 steps"
