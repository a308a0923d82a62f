"""A change of the model: the old one answers until the new one is whole, then it is gone."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from fix_model_change import (
    LATER,
    PAIRS,
    best,
    change,
    drained,
    filled,
    finds_all,
    machine,
    vectors,
)
from fix_two_models import turned_model

from satchel.embedding import change as changing
from satchel.embedding import library, queue
from satchel.errors import Conflict, NotFound
from satchel.memory.change import update
from satchel.memory.chatlog import write as say
from satchel.memory.search.search import search
from satchel.memory.write import write
from satchel.replica import Replica
from satchel.store import rows
from satchel_sync.tables import Chatlog

OLD = "all-MiniLM-L6-v2"
MEMORIES = len(PAIRS) + 4


@pytest.fixture
def old(tmp_path: Path) -> Iterator[Replica]:
    """A home with texts, embedded with the packaged model."""
    with machine(tmp_path / "home") as replica:
        filled(replica)
        queue.drain(replica)
        yield replica


def used(replica: Replica) -> tuple[str | None, str | None]:
    """Names of the model in use and of the one that is becoming that."""
    standing = replica.standing()
    return _name(standing.in_use), _name(standing.becoming)


def _name(model_id: str | None) -> str | None:
    return model_id and model_id.partition("@")[0]


def test_the_old_model_answers_until_the_new_one_is_whole(old: Replica, turned: Path) -> None:
    finds_all(old)
    # Just put here: its hash is not remembered yet, its place is.
    (turned / "model.safetensors").touch()
    with change(old, turned) as new:
        assert used(new) == (OLD, "turned")
        assert vectors(new) == {OLD: (MEMORIES, 1)}
        drained(new, limit=2)
        finds_all(new)
        finds_all(old)  # a process that was there before
        # What is written meanwhile has vectors of both, whoever writes it.
        assert write(old, LATER[0]).embedding == "done"
        say(new, "c1", "He likes trout", ordinal=9)
        assert vectors(new) == {OLD: (MEMORIES + 1, 2 + 1), "turned": (3, 2)}
        assert best(new, LATER[1]) == LATER[0]
        drained(new)
        assert used(new) == used(old) == ("turned", None)
        for replica in (new, old):
            finds_all(replica)
            assert best(replica, LATER[1]) == LATER[0]
        assert vectors(new) == {"turned": (MEMORIES + 1, 3)}
        assert [path.name[:7] for path in (old.store.home / "vectors").glob("*.vec")] == [
            "turned@"
        ] * 2


def test_a_text_that_changes_meanwhile(old: Replica, turned: Path) -> None:
    with change(old, turned) as new:
        key = write(old, "xx").id
        update(old, key, title=LATER[0])
        assert best(old, LATER[1]) == "xx"
        assert not drained(new).left
        assert best(old, LATER[1]) == "xx"
        assert used(old) == ("turned", None)


def test_the_switch_waits_for_a_text_that_came_behind_the_last_batch(
    old: Replica, turned: Path
) -> None:
    with change(old, turned) as new, machine(old.store.home, embedding="off") as silent:
        queue.drain(new, limit=MEMORIES)
        assert queue.drain_batch(new, new.makers(), queue.Turns(), 9) == 1
        assert queue.waiting(new) == 0
        write(silent, "nobody embeds this now")
        assert changing.settle(new, new.makers()[-1]) is False
        assert used(new) == (OLD, "turned")
        assert drained(new).done == 1
        assert used(new) == ("turned", None)


def test_changed_back_half_way(old: Replica, turned: Path) -> None:
    with change(old, turned) as new:
        drained(new, limit=3)
        with change(new, OLD) as back:
            assert used(back) == (OLD, None)
            finds_all(back)
            assert drained(back).done == 0
            assert vectors(back) == {OLD: (MEMORIES, 1)}, "what was begun is dropped"
            finds_all(back)


def test_a_third_model_half_way(old: Replica, turned: Path, tmp_path: Path) -> None:
    third = turned_model(tmp_path, "third", 3)
    with change(old, turned) as new:
        drained(new, limit=3)
        with change(new, third) as newest:
            assert used(newest) == (OLD, "third")
            finds_all(newest)
            drained(newest)
            assert used(newest) == ("third", None)
            assert vectors(newest) == {"third": (MEMORIES, 1)}
            finds_all(newest)


def test_there_and_back(old: Replica, turned: Path) -> None:
    with change(old, turned) as new:
        drained(new)
        with change(new, OLD) as back:
            drained(back)
            assert vectors(back) == {OLD: (MEMORIES, 1)}
            finds_all(back)


def test_the_old_model_is_gone_from_the_machine(old: Replica, turned: Path, tmp_path: Path) -> None:
    mine = Path(shutil.copytree(turned, tmp_path / "mine"))
    with change(old, mine) as new:
        drained(new)
        finds_all(new)
    shutil.rmtree(mine)
    home = old.store.home
    # The packaged model is what is left: it is asked with, and takes over by itself.
    with machine(home) as left:
        answer = search(left, LATER[1])
        assert (answer.mode, answer.hits) == ("hybrid", [])
        assert "mine@" in answer.notices[0]
        assert "not on this machine" in answer.notices[0]
        queue.drain(left, limit=1)
        assert used(left) == ("mine", OLD)
        queue.drain(left)
        assert used(left) == (OLD, None)
        finds_all(left)
        assert vectors(left) == {OLD: (MEMORIES, 1)}


def test_the_new_model_is_gone_from_the_machine(old: Replica, turned: Path, tmp_path: Path) -> None:
    mine = Path(shutil.copytree(turned, tmp_path / "mine"))
    with change(old, mine) as new:
        queue.drain(new, limit=MEMORIES)
        assert queue.drain_batch(new, new.makers(), queue.Turns(), 9) == 1
    shutil.rmtree(mine)
    with machine(old.store.home, mine) as new:
        queue.drain(new)
        assert used(new) == (OLD, "mine"), "whole, but who should ask with it?"
        finds_all(new)
        assert "configured model cannot be used" in search(new, "cats").notices[0]
        assert write(new, LATER[0]).embedding == "done"
        assert best(new, LATER[1]) == LATER[0]
        queue.drain(new)  # embeds what it can, and does not wait for what it has not
        assert used(new) == (OLD, "mine")
        told = {one.model: one for one in library.entries(new.settings)}
        gone = next(one for name, one in told.items() if name and name.startswith("mine@"))
        assert (gone.usable, gone.becoming) == (False, True)
    with change(old, OLD) as back:
        assert used(back) == (OLD, None)


def test_first_use_waits_for_nothing(turned: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    with machine(home) as replica, change(replica, turned) as new:
        assert used(new) == ("turned", None)
        filled(new)
        finds_all(new)
        assert set(vectors(new)) == {"turned"}


def test_texts_without_any_vector_are_no_reason_to_wait(turned: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    with machine(home, embedding="off") as silent:
        filled(silent)
    with machine(home) as replica, change(replica, turned) as new:
        assert used(new) == ("turned", None)
        drained(new)
        finds_all(new)


def test_an_environment_that_names_another_model_changes_nothing(
    old: Replica, turned: Path
) -> None:
    """`SATCHEL_MODEL` in one shell only: without this two processes would change to and fro."""
    with machine(old.store.home, turned) as other:
        finds_all(other)
        told = search(other, "cats").notices[0]
        assert told.startswith(f"asked with {OLD}@")
        assert "`satchel model reembed` changes over" in told
        write(other, LATER[0])
        assert queue.drain(other).model.startswith(f"{OLD}@")
        assert set(vectors(other)) == {OLD}
        assert search(old, "cats").notices == []
        drained(other)
        assert used(old) == ("turned", None)
        assert best(old, LATER[1]) == LATER[0]


def test_a_turn_of_white_space_is_waited_for_by_nobody(old: Replica, turned: Path) -> None:
    with old.store.write() as db:
        rows.insert(db, Chatlog(id="0" * 36, conversation_id="c9", ordinal=0, content="\u2003\n"))
    assert queue.drain(old).done == 0
    with change(old, turned) as new:
        drained(new)
        assert used(new) == ("turned", None)


def test_two_at_once_embed_no_text_twice(old: Replica, turned: Path) -> None:
    """Threads here; processes in test_load.py."""
    import threading

    with ExitStack() as stack:
        new = stack.enter_context(change(old, turned))
        made = [queue.Drained(done=0, left=0, model="")] * 2

        def embed(place: int) -> None:
            with machine(old.store.home, turned) as replica:
                made[place] = queue.drain(replica)

        threads = [threading.Thread(target=embed, args=(place,)) for place in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert sum(one.done for one in made) == MEMORIES + 1
        assert used(new) == ("turned", None)


def test_what_is_told_of_both(old: Replica, turned: Path) -> None:
    with change(old, turned) as new:
        drained(new, limit=1)
        told = {one.model: one for one in library.entries(new.settings) if one.model}
        by_name = {name.partition("@")[0]: one for name, one in told.items()}
        assert [by_name[OLD].in_use, by_name[OLD].becoming, by_name[OLD].configured] == [
            True,
            False,
            False,
        ]
        assert by_name[OLD].embedded == MEMORIES + 1
        assert by_name["turned"].becoming
        assert by_name["turned"].configured
        assert by_name["turned"].embedded == 1
        found = library.progress(new)
        assert (found.texts, found.left) == (MEMORIES + 1, MEMORIES)
        # What asks the warehouse from this machine has the model in use, too.
        asker = library.embedder_in_use(new.settings)
        assert asker is not None
        assert asker.model_id.startswith(f"{OLD}@")
        assert library.embedder_in_use(old.settings) is None, "the configured one will do"
        # None of the two may be dropped.
        for given in (OLD, "turned", new.standing().in_use or ""):
            with pytest.raises(Conflict, match="in use"):
                library.drop(new, given)
        with pytest.raises(NotFound, match="no vectors of a model 'other'"):
            library.drop(new, "other")
