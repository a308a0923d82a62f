"""Two machines in touch with one warehouse agree within seconds, whatever is killed meanwhile."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
from fix_hub import HubWorld
from fix_live import Touching, agree, silent, soon
from fix_servers import NEEDS_POSTGRES, Postgres, postgres

from satchel.store import attempts
from satchel_warehouse import admin, roles

SECONDS = 20
"""Within so many both agree, also where these cores do ten other things; about two without."""
AWAY = frozenset({"hub_unreachable"})
Named = Callable[[str], Touching]


def ended(*machines: Touching, met: frozenset[str] = frozenset()) -> None:
    """All end by SIGTERM, no attempt met other trouble than that, and all are equal with the hub.

    A digest is `later` where writes were racing, and an attempt in mid-turn is stopped.
    """
    for one in machines:
        assert one.end() == 0
        with one.store.read() as db:
            reports = attempts.reports(db)
        assert reports
        for report in reports:
            code = (report["error"] or {"code": ""})["code"]
            assert report["exit"] == 0 or code in met | {"sync_stopped"}
            assert report["digest"] in ("equal", "later")
            assert (report["conflicts"], report["identity"]) == (0, [])
    for one in machines:
        last = one.satchel("sync")
        assert (last.code, last.json["noop"], last.json["digest"]) == (0, True, "equal")


def test_what_one_writes_the_other_has_within_seconds(machine: Named, hub_world: HubWorld) -> None:
    a, b = machine("a"), machine("b")
    a.start()
    b.start()
    a.put("first", "of a")
    assert soon(lambda: b.text("first") == "of a", "b has it") < SECONDS, "two starts included"
    b.put("first", "of b")
    assert soon(lambda: a.text("first") == "of b", "a has it") < SECONDS
    assert a.satchel("write", "by a command", "--scope", "org").code == 0
    for number in range(20):
        a.put(f"a{number}", "x")
        b.put(f"b{number}", "y")
    assert agree(a, b) < SECONDS
    assert len(a.versions()["memory"]) == 42
    whole = a.satchel("sync")
    assert (whole.code, whole.json["noop"]) == (0, True), "another sync is not shut out"
    b.put("first", "after it")
    assert soon(lambda: a.text("first") == "after it", "a goes on") < SECONDS
    with psycopg.connect(hub_world.dsn) as db:
        made = db.execute("SELECT count(*) FROM satchel.attempt").fetchone()
    assert made
    assert made[0] <= 5, "an attempt serves many turns: one each, a's other sync, and one after it"
    ended(a, b)
    assert [a.troubles(), b.troubles()] == [[], []]


def test_kill_9_loses_nothing_and_the_next_process_goes_on(machine: Named) -> None:
    a, b = machine("a"), machine("b")
    b.start()
    written = {}
    for round_ in range(3):
        a.start()
        until = time.monotonic() + 0.9 + 0.15 * round_  # in the start, in a push, in a pause
        while time.monotonic() < until:
            key = f"{round_}-{len(written)}"
            a.put(key, f"text {key}")
            written[key] = f"text {key}"
            time.sleep(0.02)
        assert a.end(signal.SIGKILL) == -signal.SIGKILL
    a.start()
    agree(a, b)
    assert {key: b.text(key) for key in written} == written
    assert b.end(signal.SIGKILL) == -signal.SIGKILL
    b.put("while away", "x")
    a.put("while away too", "y")
    b.start()
    agree(a, b)
    ended(a, b)


@pytest.fixture
def server() -> Iterator[Postgres]:
    """A Postgres that a test may stop, with a warehouse in it."""
    with postgres() as made:
        made.start()
        admin.init(made.admin)
        yield made


@NEEDS_POSTGRES
def test_a_hub_that_is_stopped_and_crashes_is_waited_for(server: Postgres, tmp_path: Path) -> None:
    names = ["satchel_test_live_a", "satchel_test_live_b"]
    for name in names:
        roles.grant(server.admin, name)
    a, b = (
        Touching(tmp_path / name[-1], server.admin.replace("user=postgres", f"user={name}"))
        for name in names
    )
    try:
        a.start()
        b.start()
        a.put("before", "x")
        soon(lambda: b.text("before") == "x", "b has it")
        for mode in ("fast", "immediate"):
            said = len(a.troubles())
            server.stop(mode)
            a.put(mode, "of a")
            b.put(f"{mode} too", "of b")
            soon(lambda said=said: len(a.troubles()) > said, "a says that it is away")
            time.sleep(1.5)
            assert len(a.troubles()) == said + 1, "once, however long it is away"
            server.start()
            agree(a, b)
        assert set(a.troubles() + b.troubles()) == AWAY
        ended(a, b, met=AWAY)
    finally:
        a.close()
        b.close()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_is_ended_at_once(machine: Named, number: int) -> None:
    a = machine("a")
    a.start()
    a.put("k", "x")
    soon(lambda: not a.unsent(), "it is sent")
    began = time.monotonic()
    assert a.end(number) == {signal.SIGINT: 130, signal.SIGTERM: 0}[number]
    assert time.monotonic() - began < SECONDS
    with a.store.read() as db:
        reports = attempts.reports(db)
    assert len(reports) == {signal.SIGINT: 0, signal.SIGTERM: 1}[number]


def test_a_silent_warehouse_does_not_keep_it(machine: Named, hub_world: HubWorld) -> None:
    a = machine("a")
    a.start()
    a.put("k", "x")
    soon(lambda: not a.unsent(), "it is sent")
    with silent(hub_world.dsn):
        a.put("k", "y")
        time.sleep(1.5)  # a turn begins, and waits
        began = time.monotonic()
        assert a.end() == 0
        assert time.monotonic() - began < SECONDS
    a.start()
    soon(lambda: not a.unsent(), "the next process takes it up")
    assert a.end() == 0
