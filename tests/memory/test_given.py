"""The recall loop: what a caller was just given is not stored again; what is new always is."""

from __future__ import annotations

from typing import Any

import pytest
from fix_memory import StillClock, opened, seen_as

from satchel.errors import InvalidInput
from satchel.hooks import recalling
from satchel.memory import change, chatlog, read
from satchel.memory.forget import forget
from satchel.memory.given import QUOTED_WORDS_MIN
from satchel.memory.search import search
from satchel.memory.write import Written, write
from satchel.replica import Replica
from satchel.store import rows
from satchel.store.activity import ACTIVITY_FILE, RECALL_KEPT_MS
from satchel_sync.tables import SPACE

FACT = "The deploy key of the shop lies in the vault of the office. Ask Una for it."
LONG = " ".join(f"Step {n} turns valve number {n} by hand." for n in range(1, 40))


@pytest.fixture
def shared(ada: Replica) -> Replica:
    """Bob's view of a store in which ada wrote two memories for all."""
    write(ada, FACT, scope="org")
    write(ada, LONG, scope="org", title="valves")
    return seen_as(ada, "bob")


def recalled(replica: Replica, query: str) -> str:
    """The id of what was found for it."""
    return search.search(replica, query, k=1).hits[0].id


def stored(replica: Replica) -> int:
    with replica.store.read() as db:
        return int(db.execute("SELECT count(*) FROM memory").get)


ECHOES = [
    FACT,
    f"  {FACT}\n",
    FACT.replace(".", "!"),
    f"- {FACT}",
    "The deploy key of shop lies in the vault of the office; ask Una for it",
    "…of the shop lies in the vault of the…",
    "The deploy key of the shop lies in the...",
]
NEW = [
    "The deploy key of the shop lies in the safe of the office. Ask Una for it.",
    "The deploy key of the shop does not lie in the vault of the office. Ask Una for it.",
    f"{FACT} She is in on Mondays.",
    "Ask Una for it.",
    "…in the vault…",
    "…the vault of the office lies in the shop…",
    f"{FACT}\nThe office is closed.",
]


@pytest.mark.parametrize("text", ECHOES)
def test_an_echo_is_not_stored(shared: Replica, text: str) -> None:
    key = recalled(shared, "deploy key vault")
    before = stored(shared)
    written = write(shared, text)
    assert (written.id, written.outcome) == (key, "exists")
    assert "given this text" in written.warnings[-1]
    assert stored(shared) == before


@pytest.mark.parametrize("text", NEW)
def test_what_says_something_else_is(shared: Replica, text: str) -> None:
    recalled(shared, "deploy key vault")
    assert write(shared, text).outcome == "created"


def test_nothing_is_guarded_that_was_not_given(shared: Replica) -> None:
    assert write(shared, FACT).outcome == "created"


def test_a_snippet_of_a_long_memory_and_a_list_of_hits_are_echoes(shared: Replica) -> None:
    hits = search.search(shared, "valve number 20 hand", k=1).hits
    assert hits[0].snippet.endswith("…")
    assert write(shared, hits[0].snippet).id == hits[0].id
    key = recalled(shared, "deploy key vault")
    written = write(shared, f"- {FACT}\n- {hits[0].snippet}\n")
    assert (written.id, written.outcome) == (key, "exists")
    assert stored(shared) == 2
    assert QUOTED_WORDS_MIN == 5
    order = write(shared, f"1. {FACT}\n2. {hits[0].snippet}\n")
    assert order.outcome == "created", "which of two known things comes first is news"


@pytest.mark.parametrize(
    "text",
    [
        FACT.replace(".", "?", 1),
        "the deploy key of the shop lies in the vault of the office. ask una for it.",
        "key of the shop lies in the vault of the office…",
    ],
)
def test_what_only_looks_like_an_echo_is_kept(shared: Replica, text: str) -> None:
    recalled(shared, "deploy key vault")
    assert write(shared, text).outcome == "created"


def test_a_piece_without_its_denial_is_no_echo(shared: Replica) -> None:
    write(shared, "We must never restart the worker of the shop during a migration")
    recalled(shared, "restart worker migration")
    assert write(shared, "…restart the worker of the shop during a migration").outcome == "created"


def test_what_came_with_an_echo_is_named(shared: Replica) -> None:
    recalled(shared, "deploy key vault")
    written = write(shared, f"- {FACT}", importance=0.9, pinned=True)
    assert written.outcome == "exists"
    assert {"importance", "pinned"} <= {
        one.split("`")[0].removeprefix("it keeps its ").split(":")[0]
        for one in written.warnings
    }  # fmt: skip


def test_get_counts_as_given(shared: Replica) -> None:
    (listed, _) = read.list_memories(shared)["items"]
    assert write(shared, listed["content"]).outcome == "created"  # a list is looked through
    read.get(shared, [listed["id"]])
    assert write(shared, listed["content"], space="lab").outcome == "exists"


def test_it_is_of_the_caller_and_for_a_day(shared: Replica, clock: StillClock) -> None:
    recalled(shared, "deploy key vault")
    assert write(seen_as(shared, "cleo"), FACT).outcome == "created"
    assert write(seen_as(shared, "bob", role="supervisor"), FACT).outcome == "created"
    clock.at_ms += RECALL_KEPT_MS
    assert write(shared, LONG[:-1] + "!").outcome == "created"
    recalled(shared, "deploy key vault")
    clock.at_ms += RECALL_KEPT_MS + 1
    assert write(seen_as(shared, "bob"), FACT.lower()).outcome == "created"


def test_a_row_that_more_readers_would_see_is_no_echo(ada: Replica) -> None:
    own = write(ada, FACT).id
    assert recalled(ada, "deploy key") == own
    shown = write(ada, FACT, space="lab")
    assert (shown.outcome, shown.id == own) == ("created", False)
    told = write(ada, FACT, scope="org")
    assert told.outcome == "created"
    # And what all may read is no news to a space.
    bob = seen_as(ada, "bob")
    read.get(bob, [told.id])
    assert write(bob, FACT, space="den").id == told.id


def test_a_local_memory_does_not_keep_one_from_travelling(ada: Replica) -> None:
    local = write(ada, FACT, local=True).id
    assert recalled(ada, "deploy key") == local
    assert write(ada, FACT).outcome == "created"


def test_what_ended_since_may_be_said_again(ada: Replica) -> None:
    old = write(ada, FACT, scope="org").id
    bob = seen_as(ada, "bob")
    assert recalled(bob, "deploy key") == old
    change.supersede(ada, old, "The shop has no deploy key.")
    assert write(bob, FACT).outcome == "created"


def test_what_was_closed_since_is_not_told_of(ada: Replica) -> None:
    key = write(ada, FACT, space="lab").id
    bob = seen_as(ada, "bob")
    assert recalled(bob, "deploy key") == key
    with ada.store.write() as db:
        rows.update(db, SPACE, "lab", members='["ada"]')
    written = write(bob, FACT)
    assert (written.outcome, written.id == key) == ("created", False)


def test_a_chat_turn_may_become_a_memory(ada: Replica) -> None:
    chatlog.write(ada, "talk", FACT)
    assert search.search(ada, "deploy key").hits[0].kind == "chatlog"
    assert write(ada, FACT).outcome == "created"


def test_a_recall_block_is_left_out(ada: Replica) -> None:
    write(ada, FACT)
    block = recalling.for_text(ada, "the deploy key of the shop in the vault", "/", 800).text
    assert FACT in block
    with pytest.raises(InvalidInput, match="recall") as refusal:
        write(ada, block)
    assert refusal.value.field == "text"
    written = write(ada, f"{block}\nThe shop moves in May.")
    assert content(ada, written) == "The shop moves in May."
    assert "was left out" in written.warnings[0]
    # Who writes about the mark itself is not cut.
    assert write(ada, "Recall stands between <satchel-recall> marks.").outcome == "created"


def test_what_only_stands_between_the_marks_is_kept(ada: Replica, clock: StillClock) -> None:
    old = write(ada, FACT).id
    block = recalling.for_text(ada, "the deploy key of the shop in the vault", "/", 800).text
    mine = (
        "How it looks:\n<satchel-recall>\nimportant part of my text\n</satchel-recall>\nend of it"
    )
    strange = block.replace(block[-30:-19], "0123456789a")
    assert strange != block
    for number, said in enumerate((mine, strange, block.replace(FACT, f"{FACT}\nand my own"))):
        written = write(ada, f"{number}. {said}\nand more")
        assert (written.outcome, written.warnings) == ("created", [])
        assert content(ada, written) == f"{number}. {said}\nand more"
    kept = write(ada, f"{mine}\n{block}\nand what is new")
    assert content(ada, kept) == f"{mine}\nand what is new"
    # What was forgotten since does not come back.
    forget(ada, [old], confirm=True)
    assert content(ada, write(ada, f"{block}\nmore")) == "more"
    write(ada, FACT)
    block = recalling.for_text(ada, "the deploy key of the shop in the vault", "/", 800).text
    # Nobody else was given it, and it is for a day.
    assert write(seen_as(ada, "bob"), block).outcome == "created"
    clock.at_ms += RECALL_KEPT_MS + 1
    assert write(ada, block).outcome == "created"


def content(replica: Replica, written: Written) -> str:
    (item,) = read.get(replica, [written.id])["items"]
    return str(item["content"])


def test_a_write_makes_no_activity_file(tmp_path: Any) -> None:
    with opened(tmp_path, "ada", embedding="off") as replica:
        first = write(replica, FACT)
        assert isinstance(first, Written)
        assert not (tmp_path / ACTIVITY_FILE).exists()
        search.search(replica, "vault")
        replica.activity.wait()
        assert (tmp_path / ACTIVITY_FILE).exists()
