"""Isolation: what another caller may not see is found by no path, and changed by none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any

import pytest
from fix_memory import StillClock, TrigramEmbedder, opened, seen_as

from satchel.errors import NotFound, Refused, SatchelError
from satchel.memory import (
    agents,
    change,
    chatlog,
    edges,
    history,
    messages,
    read,
    search,
    sessions,
    tasks,
)
from satchel.memory.lookup import can_see
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
        turn=chatlog.write(ada, "zanzibar-talk", SECRET)["id"],
        session=sessions.start(ada, title=SECRET)["id"],
        message=messages.send(ada, "cleo", SECRET)["id"],
        deleted=deleted,
    )


def bob_of(ada: Replica) -> Replica:
    return seen_as(ada, "bob")


# Every path that reads; what it gives to bob must not hold a trace of the secret.
LISTS: dict[str, Callable[[Replica, Hidden], Any]] = {
    "search": lambda r, h: search.search(r, SECRET, explain=True),
    "search by keyword": lambda r, h: search.search(r, "zanzibar", kind="memory"),
    "search by id": lambda r, h: search.search(r, h.memory),
    "search by agent": lambda r, h: search.search(r, "zanzibar", agents=["ada"]),
    "search as it was": lambda r, h: search.search(r, "zanzibar", known_at=r.now_ms()),
    "chatlog search": lambda r, h: chatlog.search(r, SECRET),
    "chatlog search of one": lambda r, h: chatlog.search(
        r, SECRET, conversation_id="zanzibar-talk"
    ),
    "get": lambda r, h: read.get(r, [h.memory, h.other, h.turn, h.memory[-9:]])["items"],
    "list": lambda r, h: read.list_memories(r, superseded=True),
    "list by agent": lambda r, h: read.list_memories(r, agents=["ada"]),
    "stats": lambda r, h: {
        name: count for name, count in read.stats(r).items() if count and name != "embedding_queue"
    },
    "task list": lambda r, h: tasks.list_tasks(r)["items"],
    "chatlog list": lambda r, h: chatlog.list_conversations(r)["items"],
    "session list": lambda r, h: sessions.list_sessions(r)["items"],
    "inbox": lambda r, h: messages.inbox(r, acked=True)["items"],
}

# Every path by id; each answers as if there were no such row.
BY_ID: dict[str, Callable[[Replica, Hidden], Any]] = {
    "update": lambda r, h: change.update(r, h.memory, text="mine"),
    "pin": lambda r, h: change.pin(r, h.memory),
    "alias": lambda r, h: change.alias(r, h.memory, ["x"]),
    "delete": lambda r, h: change.delete(r, h.memory, confirm=True),
    "supersede": lambda r, h: change.supersede(r, h.memory, "mine"),
    "restore": lambda r, h: change.restore(r, h.memory),
    "restore a deleted one": lambda r, h: change.restore(r, h.deleted),
    "history": lambda r, h: history.history(r, h.memory),
    "history of a deleted one": lambda r, h: history.history(r, h.deleted),
    "history of a task": lambda r, h: history.history(r, h.task, kind="task"),
    "history of an edge": lambda r, h: history.history(r, h.edge, kind="relationship"),
    "history of a turn": lambda r, h: history.history(r, h.turn, kind="chatlog"),
    "graph": lambda r, h: edges.graph(r, h.memory),
    "link": lambda r, h: edges.link(r, h.memory, h.other, "mine"),
    "unlink": lambda r, h: edges.unlink(r, h.memory, h.other, "relates_to"),
    "task get": lambda r, h: tasks.get(r, h.task),
    "task tree": lambda r, h: tasks.tree(r, h.task),
    "task list of parts": lambda r, h: tasks.list_tasks(r, parent=h.task),
    "task claim": lambda r, h: tasks.claim(r, h.task),
    "task update": lambda r, h: tasks.update(r, h.task, title="mine"),
    "task complete": lambda r, h: tasks.complete(r, h.task),
    "task delete": lambda r, h: tasks.delete(r, h.task, confirm=True),
    "task part": lambda r, h: tasks.create(r, "mine", parent=h.task),
    "task need": lambda r, h: tasks.create(r, "mine", depends_on=[h.task]),
    "task result": lambda r, h: tasks.complete(
        r, tasks.create(r, "mine")["id"], result_memory=h.memory
    ),
    "chatlog show": lambda r, h: chatlog.show(r, "zanzibar-talk"),
    "session get": lambda r, h: sessions.get(r, h.session),
    "session join": lambda r, h: sessions.join(r, h.session),
    "session end": lambda r, h: sessions.end(r, h.session),
    "session filter": lambda r, h: search.search(r, "x", session=h.session),
    "write to a session": lambda r, h: write(r, "mine", session=h.session),
    "ack": lambda r, h: messages.ack(r, [h.message]),
    "hand over": lambda r, h: messages.send(r, "bob", "mine", context_ids=[h.memory]),
    "about a task": lambda r, h: messages.send(r, "bob", "mine", task_id=h.task),
    "in a thread": lambda r, h: messages.send(r, "bob", "mine", thread_id=h.message),
}


@pytest.mark.parametrize("path", LISTS)
def test_lists_and_searches_hold_no_trace(ada: Replica, hidden: Hidden, path: str) -> None:
    assert "zanzibar" in repr(LISTS[path](seen_as(ada, None), hidden)) or path in ("stats",)
    found = repr(LISTS[path](bob_of(ada), hidden))
    assert "zanzibar" not in found
    ids = {name: key for name, key in asdict(hidden).items() if path != "search by id"}
    assert [name for name, key in ids.items() if key in found] == []


@pytest.mark.parametrize("path", BY_ID)
def test_paths_by_id_find_nothing_and_change_nothing(
    ada: Replica, hidden: Hidden, path: str
) -> None:
    with pytest.raises(NotFound) as refusal:
        BY_ID[path](bob_of(ada), hidden)
    # The words are those of a row that never was.
    assert "zanzibar" not in str(refusal.value).replace("zanzibar-talk", "")
    (item,) = read.get(ada, [hidden.memory])["items"]
    assert (item["content"], item["current"], item["pinned"]) == (SECRET, True, False)
    assert tasks.get(ada, hidden.task)["status"] == "pending"


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
