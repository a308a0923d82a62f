"""Races of undo, pin and correction: what one of them did is never lost, whoever was faster."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fix_memory import StillClock, opened

from satchel.errors import Conflict
from satchel.memory import change, edges, history, read
from satchel.memory.write import write
from satchel.replica import Replica
from satchel.store.endpoint import SqliteReplica
from satchel_sync.in_memory.hub import MemoryHub
from satchel_sync.session import sync

ROUNDS = 6


def at_once(home: Path, *acts: Callable[[Replica], Any]) -> list[Any]:
    """Each act in a thread with a connection of its own, all at one gate: answers or refusals."""
    gate = threading.Barrier(len(acts))
    answers: list[Any] = [None] * len(acts)

    def run(number: int) -> None:
        with opened(home, "ada", embedding="off") as replica:
            gate.wait(10)
            try:
                answers[number] = acts[number](replica)
            except Conflict as refusal:
                answers[number] = refusal

    threads = [threading.Thread(target=run, args=(number,)) for number in range(len(acts))]
    for one in threads:
        one.start()
    for one in threads:
        one.join(30)
    return answers


def current(replica: Replica) -> set[str]:
    return {one["content"] for one in read.list_memories(replica)["items"]}


def test_corrections_and_pins_at_once_lose_no_field(tmp_path: Path) -> None:
    with opened(tmp_path, "ada", embedding="off") as ada:
        key = write(ada, "the pier").id
        at_once(
            tmp_path,
            lambda r: change.pin(r, key),
            lambda r: change.alias(r, key, ["quay"]),
            lambda r: change.update(r, key, title="pier"),
            lambda r: change.update(r, key, importance=0.7),
            lambda r: change.update(r, key, text="the long pier"),
            lambda r: change.update(r, key, metadata={"a": 1}),
        )
        (item,) = read.get(ada, [key])["items"]
        assert (item["pinned"], item["aliases"], item["title"]) == (True, '["quay"]', "pier")
        assert (item["importance"], item["content"]) == (0.7, "the long pier")
        assert item["metadata"] == '{"a":1}'
        changed = [set(one["changes"]) for one in history.history(ada, key)["items"][:-1]]
        assert len(changed) == 6


def test_undo_against_a_later_supersession_ends_as_if_one_came_after_the_other(
    tmp_path: Path,
) -> None:
    with opened(tmp_path, "ada", embedding="off") as ada:
        for number in range(ROUNDS):
            first = write(ada, f"{number} first").id
            second = change.supersede(ada, first, f"{number} second").id
            _, superseding = at_once(
                tmp_path,
                lambda r, key=first: change.restore(r, key),  # type: ignore[misc]
                lambda r, key=second, n=number: change.supersede(r, key, f"{n} third"),  # type: ignore[misc]
            )
            # Undo retracts what came after, the third too; or it came first: then it is a Conflict.
            held = {one for one in current(ada) if one.startswith(f"{number} ")}
            assert held == {f"{number} first"}, superseding


def test_undo_against_another_supersession_of_the_same(tmp_path: Path) -> None:
    with opened(tmp_path, "ada", embedding="off") as ada:
        for number in range(ROUNDS):
            first = write(ada, f"{number} first").id
            change.supersede(ada, first, f"{number} second")
            _, superseding = at_once(
                tmp_path,
                lambda r, key=first: change.restore(r, key),  # type: ignore[misc]
                lambda r, key=first, n=number: change.supersede(r, key, f"{n} other"),  # type: ignore[misc]
            )
            held = {one for one in current(ada) if one.startswith(f"{number} ")}
            refused = isinstance(superseding, Conflict)
            assert held == ({f"{number} first"} if refused else {f"{number} other"})


def test_many_undos_at_once_are_one(tmp_path: Path) -> None:
    with opened(tmp_path, "ada", embedding="off") as ada:
        first = write(ada, "first").id
        change.supersede(ada, first, "second")
        answers = at_once(tmp_path, *[lambda r: change.restore(r, first)] * 5)
        assert {(one["content"], one["current"]) for one in answers} == {("first", True)}
        assert current(ada) == {"first"}
        events = [one["event"] for one in history.history(ada, first)["items"]]
        assert events == ["reopen", "supersede", "created"]
        assert edges.graph(ada, first)["edges"] == []


@pytest.mark.parametrize("undone_first", [True, False])
def test_undo_on_one_machine_against_a_supersession_on_another(
    tmp_path: Path, undone_first: bool
) -> None:
    """After a sync both hold the same, the loser is in the journal, and undo still works."""
    clock = StillClock()
    hub = MemoryHub(clock)
    homes = [tmp_path / name for name in ("desk", "lap")]
    for home in homes:
        home.mkdir()
    with (
        opened(homes[0], "ada", clock=clock, embedding="off") as desk,
        opened(homes[1], "ada", clock=clock, embedding="off") as lap,
    ):

        def meet() -> None:
            for one in (desk, lap, desk):
                clock.at_ms += 10
                report = sync(SqliteReplica(one.store), hub.connect(), clock)
                assert (report["exit"], report["digest"]) == (0, "equal")

        first = write(desk, "first").id
        second = change.supersede(desk, first, "second").id
        meet()
        acts = [
            lambda: change.restore(desk, first),
            lambda: change.supersede(lap, second, "third"),
        ]
        for act in acts if undone_first else reversed(acts):
            clock.at_ms += 10
            act()
        meet()
        assert current(desk) == current(lap) >= {"first", "third"}
        # Both said so; who looks at it now decides, and that holds everywhere.
        change.restore(lap, first)
        third = next(one for one in read.list_memories(lap)["items"] if one["content"] == "third")
        change.delete(lap, third["id"], confirm=True)
        meet()
        assert current(desk) == current(lap) == {"first"}
