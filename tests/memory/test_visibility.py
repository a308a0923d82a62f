"""Isolation: what another caller may not see is found by no path, and changed by none."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pytest
from fix_memory import StillClock, TrigramEmbedder, opened, seen_as

from satchel.errors import InvalidInput, NotFound, Refused, SatchelError
from satchel.memory import agents, change, chatlog, edges, history, read, spaces
from satchel.memory.lookup import can_see
from satchel.memory.messages import messages
from satchel.memory.search import search
from satchel.memory.sessions import sessions
from satchel.memory.tasks import tasks
from satchel.memory.visibility import RULES, SCOPES
from satchel.memory.write import write
from satchel.replica import Replica, open_replica
from satchel.store import journal, quarantine, rows
from satchel.syncing import conflicts, held_back
from satchel_sync.changes import Loser, Row
from satchel_sync.stamp import Stamp
from satchel_sync.tables import BY_NAME, Space

SECRET = "the zanzibar passphrase"


@dataclass(frozen=True)
class Hidden:
    """Rows of ada that bob must not find, one of each kind."""

    memory: str
    other: str
    edge: str
    task: str
    child: str
    turn: str
    session: str
    message: str
    deleted: str


@pytest.fixture
def ada(tmp_path: Any, clock: StillClock) -> Any:
    with opened(tmp_path, "ada", clock=clock, embedder=TrigramEmbedder()) as found:
        yield found


@pytest.fixture
def hidden(ada: Replica) -> Hidden:
    memory = write(ada, SECRET, title="zanzibar", aliases=["zanzibar"]).id
    other = write(ada, f"{SECRET} again").id
    deleted = write(ada, f"{SECRET} gone").id
    change.update(ada, memory, importance=0.9)
    change.delete(ada, deleted, confirm=True)
    task = tasks.create(ada, SECRET)["id"]
    return Hidden(
        memory=memory,
        other=other,
        edge=edges.link(ada, memory, other, "relates_to")["id"],
        task=task,
        child=tasks.create(ada, SECRET, parent=task)["id"],
        turn=chatlog.write(ada, "zanzibar-talk", SECRET, model="m", tokens_in=1)["id"],
        session=sessions.start(ada, title=SECRET)["id"],
        message=messages.send(ada, "cleo", SECRET)["id"],
        deleted=deleted,
    )


def bob_of(ada: Replica) -> Replica:
    return seen_as(ada, "bob")


HISTORIES = {"task": "task", "relationship": "edge", "chatlog": "turn", "session": "session"}
"""Kinds whose history has no tool of its own; all tools are asked in test_visibility_tools.py."""


def test_no_history_of_what_is_hidden(ada: Replica, hidden: Hidden) -> None:
    for kind, name in HISTORIES.items():
        key = getattr(hidden, name)
        assert history.history(ada, key, kind=kind)["items"]
        with pytest.raises(NotFound):
            history.history(bob_of(ada), key, kind=kind)


def test_no_trace_by_sql_in_any_kind(ada: Replica, hidden: Hidden) -> None:
    """The predicate of every kind, asked directly: bob sees agents and nothing else of ada."""
    agents.register(ada, "ada")
    bob = bob_of(ada).caller
    with ada.store.read() as db:
        seen = {
            kind: db.execute(
                f"SELECT count(*) FROM {kind} AS t WHERE {can_see(bob, kind)}", bob.params
            ).get
            for kind in BY_NAME
        }
        held = {kind: db.execute(f"SELECT count(*) FROM {kind}").get for kind in BY_NAME}
    assert {kind: count for kind, count in seen.items() if count} == {"agent": 1}
    assert [kind for kind, count in held.items() if not count] == ["space"]


def test_every_kind_has_a_rule() -> None:
    assert set(RULES) == set(BY_NAME)


@pytest.mark.parametrize("scope", SCOPES)
def test_who_sees_each_scope(ada: Replica, scope: str) -> None:
    session = sessions.start(ada, agents=["cleo"])["id"]
    place = {"session": {"session": session}, "space": {"space": "lab"}}.get(scope, {})
    with ada.store.write() as db:
        rows.insert(db, Space(name="lab", members='["ada", "cleo"]'))
    key = write(ada, SECRET, scope=scope, **place).id  # type: ignore[arg-type]
    callers = {
        "ada": ada,
        "cleo": seen_as(ada, "cleo"),
        "bob": seen_as(ada, "bob"),
        "ulf": seen_as(ada, "dan", user="ulf"),
        "boss": seen_as(ada, "boss", role="supervisor"),
        "boss of ulf": seen_as(ada, "boss", role="supervisor", user="ulf"),
        "operator": seen_as(ada, None),
    }
    seen = {name for name, one in callers.items() if read.get(one, [key])["items"]}
    expected = {
        "agent": {"ada", "boss", "boss of ulf", "operator"},
        "session": {"ada", "cleo", "boss", "boss of ulf", "operator"},
        "space": {"ada", "cleo", "boss", "boss of ulf", "operator"},
        "user": {"ada", "cleo", "bob", "boss", "operator"},
        "org": set(callers),
    }
    assert seen == expected[scope]


def test_space_grants(ada: Replica) -> None:
    with ada.store.write() as db:
        grants = '{"read": ["bob"], "write": ["cleo"]}'
        rows.insert(db, Space(name="lab", members='["ada"]', grants=grants))
        rows.insert(db, Space(name="wall", members='["ada"]', grants='{"read": ["*"]}'))
        rows.insert(db, Space(name="torn", members='["ada"]', grants="{oops"))
    bob, cleo, dan = (seen_as(ada, name) for name in ("bob", "cleo", "dan"))
    key = write(ada, SECRET, space="lab").id
    assert [len(read.get(one, [key])["items"]) for one in (bob, cleo, dan)] == [1, 1, 0]
    with pytest.raises(Refused):
        change.update(bob, key, title="mine")
    assert change.update(cleo, key, title="ours")["title"] == "ours"
    with pytest.raises(NotFound):
        write(bob, "mine", space="lab")
    assert read.get(dan, [write(ada, SECRET, space="wall").id])["items"]
    assert not read.get(dan, [write(ada, SECRET, space="torn").id])["items"]


def test_a_hand_off_shows_what_it_names_and_lets_nobody_change_it(
    ada: Replica, hidden: Hidden
) -> None:
    bob = bob_of(ada)
    messages.send(ada, "bob", "look", kind="handoff", context_ids=[hidden.memory])
    assert [one["id"] for one in read.get(bob, [hidden.memory, hidden.other])["items"]] == [
        hidden.memory
    ]
    assert [hit.id for hit in search.search(bob, "zanzibar", kind="memory").hits] == [hidden.memory]
    for forbidden in (
        lambda: change.update(bob, hidden.memory, text="mine"),
        lambda: change.delete(bob, hidden.memory, confirm=True),
        lambda: change.supersede(bob, hidden.memory, "mine"),
    ):
        with pytest.raises(Refused):
            forbidden()
    # Passing it on is not bob's right: the row stays ada's.
    messages.send(bob, "dan", "psst", context_ids=[hidden.memory])
    assert read.get(seen_as(ada, "dan"), [hidden.memory])["missing"] == [hidden.memory]


def test_a_task_is_seen_by_who_is_to_do_it(ada: Replica) -> None:
    key = tasks.create(ada, "paint", owner="bob")["id"]
    assert tasks.get(bob_of(ada), key)["owner_agent"] == "bob"
    with pytest.raises(NotFound):
        tasks.get(seen_as(ada, "cleo"), key)


def test_agents_speak_for_themselves(ada: Replica) -> None:
    agents.register(ada, "ada")
    for forbidden in (
        lambda: agents.offline(bob_of(ada), "ada"),
        lambda: agents.register(bob_of(ada), "ada"),
        lambda: messages.inbox(bob_of(ada), agent="ada"),
        lambda: tasks.claim(bob_of(ada), "deadbeef", agent="ada"),
        lambda: messages.send(bob_of(ada), "cleo", "hi", from_agent="ada"),
    ):
        with pytest.raises(Refused):
            forbidden()
    assert agents.list_agents(bob_of(ada))["items"][0]["alive"] is True


def test_the_cache_of_vectors_is_the_callers_own(ada: Replica, hidden: Hidden) -> None:
    assert search.search(ada, SECRET, kind="memory").mode == "hybrid"
    bob = bob_of(ada)
    bob.vectors = ada.vectors  # one process may serve several callers
    assert search.search(bob, SECRET, kind="memory").hits == []


def test_broken_json_in_a_row_hides_it_and_breaks_nothing(ada: Replica, hidden: Hidden) -> None:
    with ada.store.write() as db:
        db.execute("UPDATE session SET agent_ids = '{torn' WHERE id = ?", (hidden.session,))
        db.execute("UPDATE message SET context_ids = '[1, {}' WHERE id = ?", (hidden.message,))
    assert sessions.list_sessions(bob_of(ada))["items"] == []
    assert sessions.get(ada, hidden.session)["agent_ids"] == "{torn"


def test_not_found_has_the_same_words_for_hidden_and_absent(ada: Replica, hidden: Hidden) -> None:
    absent = hidden.memory[:-1] + ("0" if hidden.memory[-1] != "0" else "1")
    messages_seen = []
    for key in (hidden.memory, absent):
        with pytest.raises(SatchelError) as refusal:
            change.pin(bob_of(ada), key)
        messages_seen.append((type(refusal.value), str(refusal.value).replace(key, "ID")))
    assert messages_seen[0] == messages_seen[1]


def test_stats_count_what_is_seen(ada: Replica, hidden: Hidden) -> None:
    counts = read.stats(bob_of(ada))
    assert {name: one for name, one in counts.items() if one and name != "embedding_queue"} == {}
    assert read.stats(ada)["memories"] == 2


def test_a_hidden_turn_is_neither_betrayed_nor_in_the_way(ada: Replica) -> None:
    bob = bob_of(ada)
    held = chatlog.write(ada, "talk", SECRET, ordinal=7)
    asked = [chatlog.write(bob, "talk", SECRET, ordinal=7) for _ in range(2)]
    assert [one["outcome"] for one in asked] == ["created", "exists"]
    assert {one["ordinal"] for one in asked} == {7}
    assert asked[0]["id"] == asked[1]["id"] != held["id"]
    for caller, name in ((ada, "ada"), (bob, "bob")):
        (turn,) = chatlog.show(caller, "talk")["items"]
        assert (turn["content"], turn["agent_id"]) == (SECRET, name)
    # What the caller sees is kept once, whoever captured it.
    assert chatlog.write(seen_as(ada, None), "talk", SECRET, ordinal=7)["outcome"] == "exists"


def test_hidden_turns_are_not_counted_by_the_next_ordinal(ada: Replica) -> None:
    for number in range(3):
        chatlog.write(ada, "talk", f"{SECRET} {number}")
    assert chatlog.write(bob_of(ada), "talk", "hi")["ordinal"] == 0
    assert chatlog.write(ada, "talk", "well")["ordinal"] == 3


def test_an_empty_answer_says_where_it_looked_and_nothing_of_what_is_hidden(
    ada: Replica, hidden: Hidden
) -> None:
    answers = [
        search.search(bob_of(ada), query, kind="chatlog").notices
        for query in (SECRET, "no such thing")
    ]
    assert answers[0] == answers[1] != []
    assert "bob" in answers[0][-1]


def journal_of(ada: Replica, hidden: Hidden) -> list[Loser]:
    """A lost version of each of ada's rows, as a sync leaves them."""
    keys = {
        "memory": hidden.memory,
        "relationship": hidden.edge,
        "task": hidden.task,
        "chatlog": hidden.turn,
        "session": hidden.session,
        "message": hidden.message,
    }
    with ada.store.write() as db:
        for kind, key in keys.items():
            table = BY_NAME[kind]
            row = rows.get(db, table, key)
            values = (*(getattr(row, name) for name in table.names), None)
            lost = Row(key, Stamp(1 << 16, 1, bytes(16), bytes(8)), "", values)
            winner = Stamp(1 << 16, 2, bytes(16), bytes(8))
            journal.add(db, Loser(kind, lost, winner, "push", ada.now_ms()))
            quarantine.put(db, table, key, ("content", SECRET), ada.now_ms())
        return journal.listed(db)


PUT_ASIDE = {"conflicts": conflicts.listed, "quarantine": held_back.listed}


@pytest.mark.parametrize("path", PUT_ASIDE)
def test_what_sync_put_aside_is_shown_to_who_may_see_it(
    ada: Replica, hidden: Hidden, path: str
) -> None:
    kinds = {loser.kind for loser in journal_of(ada, hidden)}
    seen = {}
    for name, role in (("ada", "agent"), ("bob", "agent"), (None, "operator")):
        settings = replace(ada.settings, agent_id=name, role=role)
        with open_replica(settings) as asking:
            seen[name] = PUT_ASIDE[path](asking)
    assert {one["kind"] for one in seen[None]} == {one["kind"] for one in seen["ada"]} == kinds
    assert seen["bob"] == []


def test_an_agent_lets_another_into_what_it_keeps_for_itself(ada: Replica, hidden: Hidden) -> None:
    """`agent:ada` is a space that only ada, and who is above her, gives rights in."""
    bob, cleo = bob_of(ada), seen_as(ada, "cleo")
    boss = seen_as(ada, "boss", role="supervisor")
    told = search.search(bob, "zanzibar", agents=["ada"]).notices
    assert [one for one in told if "agent:ada" in one]
    spaces.grant(ada, "agent:ada", ["bob"])
    found = search.search(bob, "zanzibar", agents=["ada"], kind="memory")
    assert {hit.id for hit in found.hits} == {hidden.memory, hidden.other}
    assert not any("agent:ada" in one for one in found.notices)
    assert tasks.get(bob, hidden.task)["title"] == SECRET
    assert chatlog.show(bob, "zanzibar-talk")["items"]
    assert [one["event"] for one in history.history(bob, hidden.memory)["items"]] == [
        "update",
        "created",
    ]
    for forbidden in (
        lambda: change.update(bob, hidden.memory, text="mine"),
        lambda: spaces.revoke(bob, "agent:ada", ["ada"]),
        lambda: spaces.grant(bob, "agent:ada", ["cleo"]),
        lambda: spaces.grant(bob, "agent:dan", ["bob"]),
    ):
        with pytest.raises((Refused, NotFound)):
            forbidden()
    assert read.get(cleo, [hidden.memory])["missing"] == [hidden.memory]
    # Messages and sessions are for those who take part, whatever else one is let into.
    assert messages.inbox(bob, acked=True)["items"] == []
    with pytest.raises(NotFound):
        sessions.get(bob, hidden.session)
    spaces.grant(boss, "agent:ada", ["cleo"], right="write")
    assert change.update(cleo, hidden.memory, title="ours")["agent_id"] == "ada"
    spaces.revoke(ada, "agent:ada", ["bob", "cleo"])
    for caller in (bob, cleo):
        assert read.get(caller, [hidden.memory])["missing"] == [hidden.memory]


@pytest.mark.parametrize("name", ["agent:ada", "agent:bob", "agent:"])
def test_nothing_is_written_into_a_private_space(ada: Replica, name: str) -> None:
    for caller in (ada, bob_of(ada), seen_as(ada, None)):
        for write_there in (
            lambda one=caller: write(one, "mine", space=name),
            lambda one=caller: tasks.create(one, "mine", space=name),
            lambda one=caller: sessions.start(one, space=name),
            lambda one=caller: chatlog.write(one, "talk", "mine", space=name),
        ):
            with pytest.raises(InvalidInput) as refusal:
                write_there()
            assert refusal.value.field == "space"
    with ada.store.write() as db:  # by hand: nobody is in it unless named
        rows.insert(db, Space(name=name))
    key = write(ada, SECRET).id
    assert read.get(bob_of(ada), [key])["missing"] == [key]
