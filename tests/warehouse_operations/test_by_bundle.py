"""Machines that only bundles tell of: what a restore and retention mean for them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from fix_bundles import RealSite, export_for, manifest_of, met, require_equal, rounds, trip
from fix_operations import Kept, own_journal

from satchel_sync.changes import Standing
from satchel_sync.phases.handshake import EVENTS
from satchel_warehouse.operations.restored import mark

MOVED = EVENTS[Standing.MOVED]


@pytest.fixture
def site(kept: Kept) -> Iterator[RealSite]:
    site = RealSite(kept)
    yield site
    site.close()


def test_after_a_restore_they_are_asked_for_all_they_hold(kept: Kept, site: RealSite) -> None:
    met(site)
    site.save_hub()
    site.put("a", "new", "after the backup")
    site.delete("a", "x")
    rounds(site)
    site.rewind_hub()
    mark(kept.world.dsn)
    marked = kept.epoch()
    unasked = export_for(site, "b")
    assert manifest_of(unasked).head.kind.value == "manifest", (
        "written before the machine said anything"
    )
    _, back = trip(site, "b")
    assert back["bundle"] == "manifest"
    rounds(site)
    require_equal(site)
    assert (site.text("b", "new"), site.text("b", "x")) == ("after the backup", None)
    assert kept.epoch() == marked
    assert kept.journal() == []


def test_and_one_that_comes_online_first_is_told_so(kept: Kept, site: RealSite) -> None:
    met(site)
    site.save_hub()
    site.put("a", "new", "after the backup")
    rounds(site)
    site.rewind_hub()
    mark(kept.world.dsn)
    report = site.online("a")
    assert (report["exit"], report["identity"]) == (0, [MOVED])
    assert site.online("a")["identity"] == []
    rounds(site)
    require_equal(site)
    assert site.text("b", "new") == "after the backup"


def test_a_conflict_waits_for_the_bundle_that_says_it_was_seen(kept: Kept, site: RealSite) -> None:
    met(site)
    site.put("a", "x", "by a")
    trip(site, "a")
    site.later(5_000)
    site.put("b", "x", "by b, later")
    there = export_for(site, "a")
    assert there
    trip(site, "b")
    assert kept.journal() == [("memory", "x")]
    kept.later(500)
    assert kept.retain().journal_waiting == 1
    trip(site, "a")  # brings b's version to a; the hub does not know that it arrived
    assert [key for key, _ in own_journal(site.machine("a"))] == ["x"]
    assert kept.retain().journal_waiting == 1
    trip(site, "a")
    assert (kept.retain().journal, kept.journal()) == (1, [])
    rounds(site)
    require_equal(site)
    assert kept.journal() == []
