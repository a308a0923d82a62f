"""The end of a session is whole or not at all, is once, and is made good by a sweep."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from pathlib import Path
from typing import Any

import pytest
from fix_memory import StillClock, opened, seen_as
from fix_sessions import content_of, sources_of, summary_of

from satchel.errors import InvalidInput
from satchel.memory import change, read
from satchel.memory.sessions import sessions
from satchel.memory.sessions.consolidation import DAY_MS
from satchel.memory.sessions.summary import Extract, render
from satchel.memory.write import write
from satchel.replica import Replica

MINUTE_MS = 60_000


# ---- expiry, idempotence, races -----------------------------------------------------------------


def test_working_memories_expire_and_others_stay(ada: Replica, clock: StillClock) -> None:
    key = sessions.start(ada)["id"]
    working = write(ada, "halfway through the list", type="working", session=key).id
    pinned = write(ada, "keep the list", type="working", session=key, pinned=True).id
    soon = clock.at_ms + DAY_MS
    short = write(ada, "gone tomorrow", type="working", session=key, expires_at=soon).id
    fact = write(ada, "the list has ten lines", type="fact", session=key).id
    other = write(ada, "another list", type="working").id
    ended = sessions.end(ada, key)
    items = {one["id"]: one["expires_at"] for one in read.list_memories(ada)["items"]}
    until = ended["closed_at"] + ada.settings.session_working_days * DAY_MS
    assert items == {
        working: until,
        pinned: None,
        short: soon,
        fact: None,
        other: None,
        ended["summary_memory_id"]: None,
    }
    clock.at_ms = until
    assert working not in {one["id"] for one in read.list_memories(ada)["items"]}
    # What has expired since was said all the same: nothing is to be brought up to date.
    assert sessions.sweep(ada) == {"ended": [], "refreshed": []}


def test_ending_twice_changes_nothing(ada: Replica, clock: StillClock) -> None:
    key = sessions.start(ada, agents=["bob"])["id"]
    write(ada, "one thing", session=key)
    ended = sessions.end(ada, key)
    before = everything(ada)
    clock.at_ms += DAY_MS
    assert sessions.end(seen_as(ada, "bob"), key) == ended
    assert everything(ada) == before


def everything(replica: Replica) -> dict[str, list[Any]]:
    kinds = ("memory", "session", "relationship", "history", "outbox")
    with replica.store.read() as db:
        return {kind: db.execute(f"SELECT * FROM {kind}").fetchall() for kind in kinds}


def test_threads_that_end_it_at_once_make_one_summary(ada: Replica) -> None:
    key = sessions.start(ada)["id"]
    write(ada, "one thing", session=key)
    gate, answers = threading.Barrier(4), list[Any]()

    def work() -> None:
        gate.wait()
        answers.append(sessions.end(ada, key))

    workers = [threading.Thread(target=work) for _ in range(4)]
    for one in workers:
        one.start()
    for one in workers:
        one.join()
    assert len(answers) == 4
    assert all(answer == answers[0] for answer in answers)
    assert len(read.list_memories(ada, type="episodic")["items"]) == 1


def test_what_is_written_while_it_is_summed_up_is_in_it(ada: Replica) -> None:
    key = sessions.start(ada)["id"]
    write(ada, "one thing", session=key)

    class Slow:
        name = "slow"

        def summarise(self, extract: Extract) -> str:
            write(ada, "said at the last moment", session=key)
            return render(extract)

    told = content_of(ada, sessions.end(ada, key, summarizer=Slow()))
    assert "said at the last moment" in told


def test_another_summarizer_writes_the_text_and_is_not_overruled(
    ada: Replica, clock: StillClock
) -> None:
    key = sessions.start(ada, title="talk")["id"]
    kept = write(ada, "We ship on Friday.", session=key).id

    class Model:
        name = "model-x"

        def __init__(self, answer: str | None) -> None:
            self.answer = answer
            self.told: Extract | None = None

        def summarise(self, extract: Extract) -> str:
            self.told = extract
            if self.answer is None:
                raise RuntimeError("no model here")
            return self.answer

    with pytest.raises(RuntimeError):
        sessions.end(ada, key, summarizer=Model(None))
    with pytest.raises(InvalidInput):
        sessions.end(ada, key, summarizer=Model("  "))
    assert sessions.get(ada, key)["closed_at"] is None
    model = Model("They ship on Friday.")
    ended = sessions.end(ada, key, summarizer=model)
    assert model.told is not None
    assert [quote.text for quote in model.told.quotes] == ["We ship on Friday."]
    assert content_of(ada, ended) == "They ship on Friday."
    assert sources_of(ada, ended) == {kept}
    late(ada, key, clock)
    sessions.sweep(ada)
    assert content_of(ada, ended) == "They ship on Friday."


# ---- sweep --------------------------------------------------------------------------------------


def late(replica: Replica, key: str, clock: StillClock) -> None:
    """A row of the session that comes after its end, as from a machine that did not know of it."""
    clock.at_ms += MINUTE_MS
    write(replica, "The late one says it rains.", session=key)


def test_session_sweep_ends_what_was_abandoned(ada: Replica, clock: StillClock) -> None:
    idle = sessions.start(ada, title="idle")["id"]
    write(ada, "left alone", session=idle)
    busy = sessions.start(ada, title="busy")["id"]
    others = sessions.start(seen_as(ada, "bob"))["id"]
    clock.at_ms += ada.settings.session_abandoned_days * DAY_MS
    write(ada, "still here", session=busy)
    assert sessions.sweep(ada) == {"ended": [idle], "refreshed": []}
    assert "left alone" in content_of(ada, sessions.get(ada, idle))
    assert sessions.sweep(ada) == {"ended": [], "refreshed": []}
    clock.at_ms += MINUTE_MS
    assert sessions.sweep(ada, idle_days=0) == {"ended": [busy], "refreshed": []}
    assert sessions.sweep(seen_as(ada, None)) == {"ended": [others], "refreshed": []}
    with pytest.raises(InvalidInput, match="idle_days"):
        sessions.sweep(ada, idle_days=-1)


def test_a_sweep_adds_what_came_later(ada: Replica, clock: StillClock) -> None:
    key = sessions.start(ada)["id"]
    write(ada, "The early one says it shines.", session=key)
    ended = sessions.end(ada, key)
    late(ada, key, clock)
    assert sessions.end(ada, key) == ended
    assert "rains" not in content_of(ada, ended)
    assert sessions.sweep(ada) == {"ended": [], "refreshed": [key]}
    assert "shines" in content_of(ada, ended)
    assert "rains" in content_of(ada, ended)
    assert len(sources_of(ada, ended)) == 2
    assert sessions.get(ada, key) == ended
    assert sessions.sweep(ada) == {"ended": [], "refreshed": []}


def test_a_sweep_leaves_alone_what_somebody_made_of_a_summary(
    ada: Replica, clock: StillClock
) -> None:
    def ended(text: str) -> dict[str, Any]:
        key = sessions.start(ada, title=text)["id"]
        write(ada, text, session=key)
        return sessions.end(ada, key)

    corrected, deleted, superseded = ended("one"), ended("two"), ended("three")
    change.update(ada, corrected["summary_memory_id"], text="what I say it was")
    change.delete(ada, deleted["summary_memory_id"], confirm=True)
    change.supersede(ada, superseded["summary_memory_id"], "what it means")
    for one in (corrected, deleted, superseded):
        late(ada, one["id"], clock)
    assert sessions.sweep(ada) == {"ended": [], "refreshed": []}
    assert content_of(ada, corrected) == "what I say it was"
    assert read.get(ada, [deleted["summary_memory_id"]])["items"] == []
    assert not summary_of(ada, superseded)["current"]


# ---- kill -9 ------------------------------------------------------------------------------------


def end_them(home: str, keys: list[str], started: Any) -> None:
    """End every session, again and again over the list; in a process of its own."""
    with opened(Path(home), "ada", embedding="off") as replica:
        started.set()
        for key in keys:
            sessions.end(replica, key)


def test_a_process_killed_at_the_end_leaves_it_open_or_ended(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    with opened(tmp_path, "ada", embedding="off") as replica:
        keys = [sessions.start(replica)["id"] for _ in range(30)]
        for key in keys:
            for n in range(2):
                write(replica, f"note {n} of {key}", type="working", session=key)
    killed = 0
    for delay_s in (0.0, 0.02, 0.06):
        started = context.Event()
        process = context.Process(target=end_them, args=(str(tmp_path), keys, started))
        process.start()
        assert started.wait(30)
        process.join(delay_s)
        if process.pid and process.is_alive():
            os.kill(process.pid, signal.SIGKILL)
        process.join()
        killed += process.exitcode == -signal.SIGKILL
        check_whole(tmp_path, keys)
    assert killed
    with opened(tmp_path, "ada", embedding="off") as replica:
        for key in keys:
            sessions.end(replica, key)
    assert check_whole(tmp_path, keys) == len(keys)


def check_whole(home: Path, keys: list[str]) -> int:
    """How many sessions have ended; each of them with all that belongs to an end."""
    ended = 0
    with opened(home, "ada", embedding="off") as replica:
        for key in keys:
            session = sessions.get(replica, key)
            items = read.list_memories(replica, session=key, superseded=True)["items"]
            made = [one for one in items if one["type"] == "episodic"]
            expiring = [one for one in items if one["expires_at"] is not None]
            if session["closed_at"] is None:
                assert (made, expiring) == ([], [])
                continue
            ended += 1
            assert [one["id"] for one in made] == [session["summary_memory_id"]]
            assert len(expiring) == len(sources_of(replica, session)) == 2
    return ended
