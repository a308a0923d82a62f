"""Whole syncs of audit chains: both replicas with the hub in memory."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

import pytest
from fix_audit_sides import AuditSide, audit_side, small_calls
from fix_sync import FakeClock

from satchel_sync.changes import (
    AuditAnswer,
    AuditPart,
    Hello,
    Welcome,
)
from satchel_sync.in_memory import hub_audit
from satchel_sync.in_memory.hub import MemoryHub
from satchel_sync.session import sync

__all__ = ["audit_side", "small_calls"]


def synced(side: AuditSide, hub: MemoryHub) -> dict[str, object]:
    """The part of a sync's report about the audit."""
    report = sync(side.replica, hub, hub.clock)
    assert report["exit"] == (1 if report["audit"]["refused"] else 0)
    return report["audit"]  # type: ignore[no-any-return]


def held(side: AuditSide, hub: MemoryHub) -> dict[str, int]:
    standing = hub.state.audit.held_of(side.replica_id())
    return {name: one.seq for name, one in standing.items()}


def test_a_sync_brings_the_chains_and_the_next_one_only_what_is_new(
    side: AuditSide, small: None
) -> None:
    hub = MemoryHub(FakeClock())
    side.note("writes", 6)
    side.note("reads", 7)
    told = synced(side, hub)
    assert (told["sent"], told["refused"], told["left_out"]) == (
        sum(held(side, hub).values()), {}, None,
    )  # fmt: skip
    assert held(side, hub).keys() == {"writes", "reads"}
    assert synced(side, hub)["sent"] == 0
    side.note("reads", 1)
    assert synced(side, hub)["sent"] == 1
    assert hub.state.audit.trouble == []
    assert side.sent() == held(side, hub)


def test_a_hub_that_was_set_back_gets_again_what_it_lost(side: AuditSide) -> None:
    hub = MemoryHub(FakeClock())
    side.note("writes", 2)
    synced(side, hub)
    backup = hub.snapshot()
    side.note("writes", 3)
    synced(side, hub)
    before = held(side, hub)
    hub.restore(backup)
    assert synced(side, hub)["sent"] == 3
    assert (held(side, hub), hub.state.audit.trouble) == (before, [])


def test_a_forged_chain_is_refused_once_and_the_file_goes_on_under_a_new_id(
    side: AuditSide,
) -> None:
    hub = MemoryHub(FakeClock())
    side.note("writes", 4)
    side.note("reads", 1)
    synced(side, hub)
    me, before = side.replica_id(), held(side, hub)
    side.forge("writes", 2)
    side.note("reads", 2)
    told = synced(side, hub)
    assert told["refused"].keys() == {"writes"}  # type: ignore[attr-defined]
    assert side.replica_id() != me
    standing = hub.state.audit.held_of(me)
    assert standing["writes"].seq == before["writes"], "what was refused replaced nothing"
    assert standing["reads"].seq == before["reads"] + 2
    (trouble,) = hub.state.audit.trouble
    assert (trouble.what, trouble.replica_id) == ("fork", me)
    assert trouble.came.seq <= before["writes"]
    side.note("writes", 1)
    assert synced(side, hub)["refused"] == {}
    assert held(side, hub)["writes"] == 2, "it began, and a write"


def test_a_chain_that_was_lost_here_is_told_once(side: AuditSide) -> None:
    hub = MemoryHub(FakeClock())
    side.note("writes", 1)
    side.note("reads", 5)
    synced(side, hub)
    me = side.replica_id()
    side.lose("reads")
    assert "set back" in synced(side, hub)["refused"]["reads"]  # type: ignore[index]
    assert side.replica_id() != me
    side.note("reads", 1)
    assert synced(side, hub)["refused"] == {}


def test_a_first_record_that_is_refused_costs_no_new_id(
    side: AuditSide, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing of this id was taken, so the next id would fare no better."""
    hub = MemoryHub(FakeClock())
    monkeypatch.setattr(hub_audit, "audit_link", lambda *_: b"")
    side.note("writes", 2)
    me = side.replica_id()
    for _ in range(2):
        assert synced(side, hub)["refused"].keys() == {"writes"}  # type: ignore[attr-defined]
    assert side.replica_id() == me


class Older(MemoryHub):
    """A hub of a version that keeps no audit: it tells of none, and has no door for it."""

    def hello(self, hello: Hello) -> Welcome:
        return replace(super().hello(hello), audit=None)

    def audit(self, parts: Sequence[AuditPart]) -> AuditAnswer:
        assert not parts
        return AuditAnswer()


def test_an_older_hub_is_asked_for_nothing_and_the_report_says_so(side: AuditSide) -> None:
    side.note("writes", 2)
    told = synced(side, Older(FakeClock()))
    assert (told["sent"], told["refused"]) == (0, {})
    assert "keeps no audit" in str(told["left_out"])


def test_under_a_new_id_the_chains_begin_anew(side: AuditSide) -> None:
    hub = MemoryHub(FakeClock())
    side.note("writes", 2)
    synced(side, hub)
    old, ended = side.replica_id(), held(side, hub)["writes"]
    side.replica.succeed("for the test")
    side.note("writes", 1)
    synced(side, hub)
    (first, *_) = hub.state.audit.records[side.replica_id(), "writes"]
    body = json.loads(first.body)
    assert (body["action"], body["seq"], body["detail"]["seq"]) == ("began", 1, ended)
    assert hub.state.audit.held(old, "writes").seq == ended
