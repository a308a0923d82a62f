"""Agents, messages, sessions and chat logs: small rooms, each with its promises."""

from __future__ import annotations

from typing import Any

import pytest
from fix_memory import StillClock, seen_as

from satchel.errors import Conflict, InvalidInput, NotFound, Refused
from satchel.memory import agents, chatlog
from satchel.memory.limits import ALIVE_MS, LAST_SEEN_STEP_MS
from satchel.memory.messages import messages
from satchel.memory.sessions import sessions
from satchel.memory.tasks import tasks
from satchel.memory.write import write
from satchel.replica import Replica
from satchel_sync.digest import derived_id


def test_an_agent_is_alive_while_it_says_so(ada: Replica, clock: StillClock) -> None:
    made = agents.register(ada, "ada", description="plans", capabilities=["plan", "write"])
    assert (made["outcome"], made["alive"]) == ("created", True)
    again = agents.register(ada, "ada", description="plans more")
    assert (again["outcome"], again["capabilities"]) == ("exists", '["plan","write"]')
    clock.at_ms += ALIVE_MS
    assert agents.get(ada, "ada")["alive"] is False
    assert agents.heartbeat(ada, "ada")["alive"] is True
    assert agents.offline(ada, "ada")["alive"] is False
    assert agents.heartbeat(ada, "ada")["status"] == "active"


def test_last_seen_moves_in_steps(ada: Replica, clock: StillClock) -> None:
    agents.register(ada, "ada")
    with ada.store.read() as db:
        before = db.execute("SELECT hlc FROM agent").get
    clock.at_ms += LAST_SEEN_STEP_MS - 1
    agents.heartbeat(ada, "ada")
    with ada.store.read() as db:
        assert db.execute("SELECT hlc FROM agent").get == before
    clock.at_ms += 1
    assert agents.heartbeat(ada, "ada")["last_seen"] == clock.at_ms


def test_a_lease_is_exact_here_and_is_kept(ada: Replica, clock: StillClock) -> None:
    made = agents.register(ada, "ada", lease_ms=2000)
    assert (made["state"], made["lease_s"]) == ("alive", 2.0)
    with ada.store.read() as db:
        before = db.execute("SELECT hlc FROM agent").get
    for _ in range(3):
        clock.at_ms += 1999
        assert agents.heartbeat(ada, "ada")["alive_until"] == clock.at_ms + 2000
    assert agents.get(ada, "ada")["last_seen"] == clock.at_ms
    with ada.store.read() as db:
        assert db.execute("SELECT hlc FROM agent").get == before, "no sign of life travelled"
    clock.at_ms += 2000
    assert agents.get(ada, "ada")["state"] == "stale"
    longer = agents.heartbeat(ada, "ada", lease_ms=86_400_000)
    assert longer["alive_until"] == clock.at_ms + 86_400_000
    clock.at_ms += 86_399_999
    assert agents.get(ada, "ada")["alive"] is True
    assert agents.offline(ada, "ada")["state"] == "offline"
    assert agents.register(ada, "ada")["lease_s"] == 86_400


def test_a_sign_of_life_from_elsewhere_counts_when_it_is_later(
    ada: Replica, clock: StillClock
) -> None:
    agents.register(ada, "ada", lease_ms=1000)
    clock.at_ms += 60_000
    assert agents.get(ada, "ada")["state"] == "stale"
    with ada.store.write() as db:  # as a pull leaves it
        db.execute("UPDATE agent SET last_seen = ?", (clock.at_ms,))
    shown = agents.get(ada, "ada")
    assert (shown["state"], shown["alive_until"]) == ("alive", clock.at_ms + ALIVE_MS)


def test_lists_by_state_and_by_what_they_can(ada: Replica, clock: StillClock) -> None:
    operator = seen_as(ada, None)
    agents.register(operator, "quick", capabilities=["paint"], lease_ms=1000)
    agents.register(operator, "slow", capabilities=["paint", "sing"], lease_ms=60_000)
    agents.register(operator, "gone")
    agents.offline(operator, "gone")
    clock.at_ms += 1000

    def names(**asked: str) -> list[str]:
        return [one["agent_id"] for one in agents.list_agents(ada, **asked)["items"]]

    assert names() == ["slow", "gone", "quick"]
    found = {state: names(state=state) for state in ("alive", "stale", "offline")}
    assert found == {"alive": ["slow"], "stale": ["quick"], "offline": ["gone"]}
    assert (names(capability="paint"), names(capability="sing")) == (["slow", "quick"], ["slow"])
    with pytest.raises(InvalidInput, match="state"):
        names(state="dead")


def test_no_agent_says_how_far_it_is_to_be_trusted(ada: Replica) -> None:
    with pytest.raises(Refused):
        agents.register(ada, "ada", trust=1)
    assert agents.register(seen_as(ada, None), "ada", trust=0.5)["trust"] == 0.5
    assert agents.register(ada, "ada")["trust"] == 0.5


def test_unknown_agents(ada: Replica) -> None:
    for verb in (agents.heartbeat, agents.offline, agents.get):
        with pytest.raises(NotFound):
            verb(seen_as(ada, None), "nobody")


def test_messages_arrive_in_order_and_are_read_once(ada: Replica, clock: StillClock) -> None:
    bob = seen_as(ada, "bob")
    keys = []
    for text in ("one", "two", "three"):
        keys.append(messages.send(ada, "bob", text)["id"])
        clock.at_ms += 1
    assert [one["content"] for one in messages.inbox(bob)["items"]] == ["one", "two", "three"]
    first = messages.ack(bob, [keys[1]])["items"][0]
    clock.at_ms += 1
    assert messages.ack(bob, [keys[1]])["items"][0] == first
    assert [one["id"] for one in messages.inbox(bob)["items"]] == [keys[0], keys[2]]
    everything = messages.inbox(bob, acked=True)
    assert [one["id"] for one in everything["items"]] == [keys[0], keys[2], keys[1]]
    assert everything["unread"] == 2
    with pytest.raises(Refused):
        messages.ack(ada, [keys[0]])  # the sender sees it and cannot read it for bob


def test_a_dedup_key_is_kept_once_until_read(ada: Replica) -> None:
    bob = seen_as(ada, "bob")
    first = messages.send(ada, "bob", "build broke", dedup_key="build")
    assert messages.send(ada, "bob", "build broke", dedup_key="build")["outcome"] == "exists"
    messages.ack(bob, [first["id"]])
    assert messages.send(ada, "bob", "build broke", dedup_key="build")["outcome"] == "created"


def test_messages_expire(ada: Replica, clock: StillClock) -> None:
    messages.send(ada, "bob", "now or never", expires_at=clock.at_ms + 10)
    clock.at_ms += 10
    assert messages.inbox(seen_as(ada, "bob"))["items"] == []


def test_sessions_open_join_close(ada: Replica, clock: StillClock) -> None:
    made = sessions.start(ada, title="plan", agents=["bob"])
    assert (made["scope"], made["agent_ids"]) == ("session", '["ada","bob"]')
    bob = seen_as(ada, "bob")
    assert sessions.join(bob, made["id"][-8:])["agent_ids"] == '["ada","bob"]'
    write(bob, "said in session", session=made["id"])
    closed = sessions.end(ada, made["id"])
    clock.at_ms += 5
    assert sessions.end(ada, made["id"]) == closed
    with pytest.raises(Conflict):
        sessions.join(seen_as(ada, None), made["id"], agent="cleo")
    assert sessions.list_sessions(ada)["items"] == [closed]
    assert sessions.list_sessions(ada, open_only=True)["items"] == []
    assert sessions.get(bob, made["id"]) == closed


def test_a_session_of_a_space_can_be_joined_by_its_members(ada: Replica) -> None:
    made = sessions.start(ada, space="lab")
    joined = sessions.join(seen_as(ada, "bob"), made["id"])
    assert (joined["scope"], joined["agent_ids"]) == ("space", '["ada","bob"]')
    assert sessions.start(seen_as(ada, None))["scope"] == "user"


def test_a_turn_is_kept_once(ada: Replica) -> None:
    first = chatlog.write(ada, "c", "hello", role="user", ordinal=0)
    assert first["id"] == derived_id("c", 0, "user", "hello", "agent", "ada")
    assert chatlog.write(ada, "c", "hello", role="user", ordinal=0)["outcome"] == "exists"
    assert chatlog.write(ada, "c", "hello", role="user")["ordinal"] == 1
    assert chatlog.write(ada, "c", "hello", role="assistant", ordinal=0)["outcome"] == "created"
    shown = chatlog.show(ada, "c")["items"]
    assert [one["ordinal"] for one in shown] == [0, 0, 1]
    (listed,) = chatlog.list_conversations(ada)["items"]
    assert (listed["conversation_id"], listed["turns"]) == ("c", 3)


def test_conversations_page(ada: Replica, clock: StillClock) -> None:
    for number in range(7):
        chatlog.write(ada, f"c{number}", "x", said_at=clock.at_ms + number // 2)
    found, after = list[str](), None
    while True:
        page = chatlog.list_conversations(ada, limit=2, after=after)
        found += [one["conversation_id"] for one in page["items"]]
        after = page["next"]
        if after is None:
            break
    assert found == ["c6", "c4", "c5", "c2", "c3", "c0", "c1"]


BAD: list[tuple[Any, str]] = [
    (lambda r: chatlog.write(r, "", "x"), "conversation_id"),
    (lambda r: chatlog.write(r, "c", ""), "text"),
    (lambda r: chatlog.write(r, "c", "x", role=""), "role"),
    (lambda r: chatlog.write(r, "c", "x", ordinal=-1), "ordinal"),
    (lambda r: chatlog.write(r, "c", "x", cost=float("nan")), "cost"),
    (lambda r: agents.register(r, "a\nb"), "id"),
    (lambda r: agents.register(r, "a", trust=2), "trust"),
    (lambda r: agents.register(r, "a", capabilities="all"), "capabilities"),
    (lambda r: agents.register(r, "a", lease_ms=0), "lease"),
    (lambda r: agents.heartbeat(r, "a", lease_ms=2**40), "lease"),
    (lambda r: messages.inbox(r, wait_ms=-1), "wait"),
    (lambda r: tasks.claim_next(r, agent="a", wait_ms=2**40), "wait"),
    (lambda r: tasks.update(r, "deadbeef", clear=["title"]), "clear"),
    (lambda r: tasks.update(r, "deadbeef", owner="a", clear=["owner"]), "clear"),
    (lambda r: messages.send(r, "", "x"), "to"),
    (lambda r: messages.send(r, "bob", "x\0"), "content"),
    (lambda r: messages.send(r, "bob", "x", context_ids=["short"]), "id"),
    (lambda r: messages.inbox(r, limit=0), "limit"),
    (lambda r: sessions.start(r, scope="none"), "scope"),
    (lambda r: sessions.join(r, "deadbeef"), "agent"),
]


@pytest.mark.parametrize(("call", "field"), BAD)
def test_bad_input_is_named(replica: Replica, call: Any, field: str) -> None:
    with pytest.raises((InvalidInput, NotFound)) as refusal:
        call(replica)
    assert refusal.value.field == field
