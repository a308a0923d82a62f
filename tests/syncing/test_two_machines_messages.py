"""Messages between two machines through a warehouse: order, dedup keys, threads, waiting."""

from __future__ import annotations

import threading
from typing import Any

from fix_machines import Fleet, Machine
from fix_memory import seen_as

from satchel.memory import agents, read
from satchel.memory.limits import ALIVE_MS
from satchel.memory.messages import messages
from satchel.memory.write import write
from satchel.replica import Replica


def on(machine: Machine, agent: str | None) -> Replica:
    return seen_as(machine.replica, agent)


def meet(fleet: Fleet) -> None:
    """What either machine has reaches the other one."""
    for name in "aba":
        fleet.machine(name).sync()


def texts(machine: Machine, agent: str, **asked: Any) -> list[str]:
    return [one["content"] for one in messages.inbox(on(machine, agent), **asked)["items"]]


def test_a_hand_off_arrives_with_what_it_names_and_its_thread(fleet: Fleet) -> None:
    a, b = fleet.pair()
    plan = write(on(a, "ada"), "GET /health answers 200").id
    sent = messages.send(
        on(a, "ada"), "bob", "your turn", kind="handoff", title="health", context_ids=[plan]
    )["id"]
    meet(fleet)
    (item,) = messages.inbox(on(b, "bob"), kind="handoff")["items"]
    assert (item["id"], item["from_agent"], item["title"]) == (sent, "ada", "health")
    assert [one["content"] for one in read.get(on(b, "bob"), [plan])["items"]] == [
        "GET /health answers 200"
    ]
    messages.ack(on(b, "bob"), [sent])
    messages.send(on(b, "bob"), "ada", "done", thread_id=sent)
    meet(fleet)
    whole = messages.thread(on(a, "ada"), sent)["items"]
    assert [one["content"] for one in whole] == ["your turn", "done"]
    assert whole[0]["acked_at"] is not None, "the sender sees that it was read"


def test_the_order_holds_though_the_clocks_differ(fleet: Fleet) -> None:
    a, b = fleet.pair()
    a.clock.at_ms += 60_000  # a minute fast
    for n in range(3):
        messages.send(on(a, "ada"), "bob", f"a{n}")
    question = messages.send(on(a, "ada"), "bob", "which?")["id"]
    meet(fleet)
    answer = messages.send(on(b, "bob"), "ada", "that", thread_id=question)
    meet(fleet)
    assert texts(b, "bob") == texts(a, "bob") == ["a0", "a1", "a2", "which?"]
    thread = messages.thread(on(a, "ada"), answer["id"])["items"]
    assert [one["content"] for one in thread] == ["which?", "that"]


def test_one_of_two_with_a_dedup_key_is_read_once(fleet: Fleet) -> None:
    a, b = fleet.pair()
    for machine in (a, b):
        messages.send(on(machine, "ci"), "bob", "build broke", dedup_key="build")
        machine.clock.at_ms += 1
    meet(fleet)
    assert [texts(one, "bob") for one in (a, b)] == [["build broke"]] * 2
    assert messages.inbox(on(a, "bob"))["unread"] == 1
    assert (
        messages.send(on(b, "ci"), "bob", "build broke", dedup_key="build")["outcome"] == "exists"
    )
    shown = messages.inbox(on(b, "bob"))["items"][0]["id"]
    messages.ack(on(b, "bob"), [shown])
    meet(fleet)
    assert [texts(one, "bob") for one in (a, b)] == [[]] * 2
    assert texts(a, "bob", acked=True) == ["build broke"]
    for machine in (a, b):
        machine.clock.at_ms += 1000
    assert messages.send(on(a, "ci"), "bob", "again", dedup_key="build")["outcome"] == "created"
    meet(fleet)
    assert [texts(one, "bob") for one in (a, b)] == [["again"]] * 2


def test_one_that_comes_late_and_was_sent_before_the_other_was_read_is_no_news(
    fleet: Fleet,
) -> None:
    a, b = fleet.pair()
    b.clock.at_ms = a.clock.at_ms
    messages.send(on(b, "ci"), "bob", "sent on b, which is away", dedup_key="build")
    a.clock.at_ms += 10
    messages.send(on(a, "ci"), "bob", "sent on a", dedup_key="build")
    a.clock.at_ms += 10
    messages.ack_all(on(a, "bob"))
    meet(fleet)
    assert [texts(one, "bob") for one in (a, b)] == [[]] * 2


def test_acknowledged_on_one_machine_is_read_on_the_other(fleet: Fleet) -> None:
    a, b = fleet.pair()
    for n in range(3):
        messages.send(on(a, "ada"), "bob", str(n), kind="notification")
    meet(fleet)
    assert messages.ack_all(on(b, "bob"), kind="notification") == {"acked": 3}
    meet(fleet)
    assert messages.inbox(on(a, "bob"))["unread"] == 0


def test_a_wait_is_woken_by_a_sync(fleet: Fleet) -> None:
    a, b = fleet.pair()
    meet(fleet)
    found: list[Any] = []
    waiter = threading.Thread(
        target=lambda: found.append(messages.inbox(on(b, "bob"), wait_ms=30_000))
    )
    waiter.start()
    messages.send(on(a, "ada"), "bob", "wake up")
    a.sync()
    assert not found
    b.sync()
    waiter.join(10)
    assert [one["content"] for one in found[0]["items"]] == ["wake up"]


def test_an_agent_of_another_machine_is_alive_by_what_travels(fleet: Fleet) -> None:
    a, b = fleet.pair()
    agents.register(on(a, "ada"), "ada", lease_ms=1000, capabilities=["plan"])
    meet(fleet)
    b.clock.at_ms = a.clock.at_ms + 1000
    a.clock.at_ms += 1000
    assert agents.get(a.replica, "ada")["state"] == "stale"
    assert agents.get(b.replica, "ada")["state"] == "alive", "known to a quarter of an hour"
    assert [one["agent_id"] for one in agents.list_agents(b.replica, capability="plan")["items"]]
    b.clock.at_ms += ALIVE_MS
    assert agents.get(b.replica, "ada")["state"] == "stale"
    agents.offline(on(a, "ada"), "ada")
    meet(fleet)
    assert agents.get(b.replica, "ada")["state"] == "offline"
