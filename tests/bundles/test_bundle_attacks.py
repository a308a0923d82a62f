"""Attacks 18, 19, 21 and 22 where bundles are the way; numbers as in docs/SYNC.md. All is real."""

from __future__ import annotations

import io

import pytest
from fix_bundles import RealSite, at, at_hub, export, export_for, require_equal, rounds, trip

from satchel.store import scrubbing
from satchel.store.endpoint import SqliteReplica
from satchel_crypto.plain import PlainSealer
from satchel_sync.bundles.reader import Bundle, expanded
from satchel_sync.changes import Standing
from satchel_sync.phases.handshake import EVENTS

REWOUND = EVENTS[Standing.REWOUND]


def test_18_a_lost_stick_and_two_out_of_order_are_no_rewind(real: RealSite) -> None:
    real.put("a", "x", "one")
    assert real.online("a")["exit"] == 0
    epoch, ids = real.epoch(), real.carrier("a").identity().predecessors
    real.put("a", "x", "two")
    first = export(real, "a")
    real.put("a", "x", "three")
    export(real, "a")  # this one is lost
    real.put("a", "y", "four")
    third = export(real, "a")
    for stick in (third, first, third, first):
        report = at_hub(real, stick)
        assert (report["exit"], report["reconcile_due"], report["identity"]) == (0, None, [])
    late = export_for(real, "a")
    at_hub(real, export(real, "a"))
    for stick in (export_for(real, "a"), late):
        at(real, "a", stick)
    for _ in range(2):
        report = real.online("a")
        assert (report["exit"], report["identity"], report["repaired"]) == (0, [], {})
    rounds(real)
    require_equal(real)
    assert (real.epoch(), real.carrier("a").identity().predecessors) == (epoch, ids)
    assert real.journal() == []


def between_hello_and_push(site: RealSite) -> None:
    """Machine a says hello; the hub is backed up; a's bundle is imported there and acked."""
    site.put("b", "b's", "so that b is there")
    site.put("a", "old", "of before the backup")
    rounds(site)
    for name in ("a", "b"):
        assert site.online(name)["exit"] == 0
    machine = site.machine("a")
    replica = SqliteReplica(machine.store)
    replica.welcome(machine.hub.hello(replica.hello()))
    site.save_hub()
    site.put("a", "new", "in the bundle")
    site.delete("a", "old")
    trip(site, "a")
    assert site.queued("a") == 0
    site.rewind_hub()


def test_19_a_bundle_lost_with_a_restored_hub_is_found_and_refilled_by_bundles(
    real: RealSite,
) -> None:
    between_hello_and_push(real)
    epoch = real.epoch()
    there, back = trip(real, "a")
    assert "set back" in there["reconcile_due"]
    assert back["bundle"] == "manifest"
    rounds(real)
    require_equal(real)
    assert real.epoch() != epoch
    assert (real.text("b", "new"), real.text("b", "old")) == ("in the bundle", None)
    assert real.journal() == []


def test_19_a_bundle_lost_with_a_restored_hub_is_found_and_refilled_online(real: RealSite) -> None:
    between_hello_and_push(real)
    report = real.online("a")
    assert (report["exit"], report["identity"]) == (0, [REWOUND])
    for _ in range(2):
        for name in ("a", "b"):
            assert real.online(name)["exit"] == 0
    require_equal(real)
    assert (real.text("b", "new"), real.text("b", "old")) == ("in the bundle", None)


def test_19_what_was_found_by_a_bundle_is_finished_online(real: RealSite) -> None:
    between_hello_and_push(real)
    at_hub(real, export(real, "a"))
    for _ in range(2):
        for name in ("a", "b"):
            assert real.online(name)["exit"] == 0
    report = real.online("a")
    assert (report["identity"], report["digest"], report["noop"]) == ([], "equal", True)
    rounds(real)
    require_equal(real)
    assert real.text("b", "new") == "in the bundle"


@pytest.mark.parametrize("clock_stands", [False, True])
def test_21_an_old_ack_does_not_clear_an_edit_of_a_restored_file(
    real: RealSite, clock_stands: bool
) -> None:
    real.put("a", "x", "one")
    rounds(real)
    backup = real.save_file("a")
    real.put("a", "x", "two, lost with the disk")
    at_hub(real, export(real, "a"))
    ack = export_for(real, "a")
    real.put_back_file("a", backup)
    if not clock_stands:
        real.later(1000)
    real.put("a", "x", "three")
    before = real.queued("a")
    at(real, "a", ack)
    queued = real.machine("a").sql("SELECT count(*) FROM outbox WHERE kind = 'memory'")
    assert (before > 0, queued) == (True, [(1,)])
    trip(real, "a")
    rounds(real)
    require_equal(real)
    texts = {"two, lost with the disk", "three"}
    lost = {real.text("a", "x")} ^ texts
    assert len(lost) == 1
    assert real.text("a", "x") == "three" or clock_stands
    assert ("memory", "x") in real.journal()


def test_22_an_old_bundle_never_brings_back_a_deleted_row(real: RealSite) -> None:
    real.put("a", "x", "one")
    old = export(real, "a")
    real.delete("a", "x")
    assert real.online("a")["exit"] == 0
    report = at_hub(real, old)
    assert report["kinds"]["memory"]["superseded"] == 1
    rounds(real)
    require_equal(real)
    assert real.text("a", "x") is None
    assert real.hub_versions()["memory"]["x"].dead


def test_22_nor_does_one_from_the_hub(real: RealSite) -> None:
    real.put("b", "x", "one")
    real.put("a", "mine", "one")
    rounds(real)
    real.put("b", "x", "two")
    trip(real, "b")
    at_hub(real, export(real, "a"))
    old = export_for(real, "a")
    real.delete("b", "x")
    trip(real, "b")
    trip(real, "a")
    assert real.text("a", "x") is None
    at(real, "a", old)
    assert real.text("a", "x") is None
    rounds(real)
    require_equal(real)


def test_20_the_text_of_a_forgotten_row_is_in_no_later_bundle(real: RealSite) -> None:
    secret = "the launch code is 0000"
    real.put("a", "x", secret)
    late = export(real, "a")
    at_hub(real, late)
    real.put("b", "b's", "so that b is there")
    rounds(real)
    with real.machine("a").store.write() as db:
        scrubbing.scrub(db, [("memory", "x")])
    rounds(real)
    assert at_hub(real, late)["exit"] == 0
    rounds(real)
    require_equal(real)
    for name in ("a", "b"):
        for stick in (export(real, name), export_for(real, name)):
            assert secret.encode() not in _plain(stick)
        kept = real.machine(name).sql("SELECT changes FROM history WHERE key = 'x'")
        assert all(changes is None for (changes,) in kept)


def _plain(stick: bytes) -> bytes:
    chunks = Bundle.open(io.BytesIO(stick)).chunks(PlainSealer().digest)
    return b"".join(expanded(data, where) for _, where, data in chunks)
