"""A hub that was set back is found and filled again by bundles, on both endpoints."""

from __future__ import annotations

import pytest
from fix_bundles import (
    Site,
    at,
    at_hub,
    export,
    export_for,
    met,
    parcel_of,
    require_equal,
    rounds,
    trip,
)

from satchel_sync.bundles.parcel import ParcelKind
from satchel_sync.errors import SyncError


def kind(stick: bytes) -> ParcelKind:
    return parcel_of(stick).head.kind


def test_a_rewound_hub_is_found_and_filled_by_bundles_alone(site: Site) -> None:
    for key in ("kept", "edited", "deleted"):
        site.put("a", key, "one")
    site.put("b", "b's", "two")
    rounds(site)
    epoch = site.epoch()
    site.save_hub()
    site.put("a", "edited", "two")
    site.delete("a", "deleted")
    site.put("b", "lost with the backup", "by b")
    rounds(site)
    site.rewind_hub()
    there, back = trip(site, "a")
    assert "set back" in there["reconcile_due"]
    assert back["bundle"] == "manifest"
    assert site.epoch() != epoch
    opened = site.epoch()
    rounds(site)
    require_equal(site)
    assert site.epoch() == opened, "one rewind, one epoch"
    assert site.text("b", "lost with the backup") == "by b"
    assert (site.text("b", "deleted"), site.text("a", "edited")) == (None, "two")
    assert site.journal() == []
    for name in ("a", "b"):
        report = site.online(name)
        assert (report["exit"], report["identity"], report["repaired"]) == (0, [], {})


def test_rows_of_a_machine_that_is_gone_are_relayed(site: Site) -> None:
    site.put("b", "b's", "so that b is there")
    rounds(site)
    site.save_hub()
    site.put("c", "x", "by a machine that is lost")
    rounds(site)
    site.gone("c")
    site.rewind_hub()
    site.put("b", "more", "x")
    rounds(site)
    require_equal(site)
    assert "x" in site.hub_versions()["memory"]


def test_the_manifest_on_a_lost_stick_is_sent_again(site: Site) -> None:
    site.put("a", "x", "one")
    rounds(site)
    site.save_hub()
    site.put("a", "y", "two")
    rounds(site)
    site.rewind_hub()
    at_hub(site, export(site, "a"))
    first = export_for(site, "a")
    assert kind(first) is ParcelKind.MANIFEST
    at_hub(site, export(site, "a"))
    second = export_for(site, "a")
    assert kind(second) is ParcelKind.MANIFEST
    at(site, "a", second)
    mine = site.carrier("a").identity()
    at(site, "a", first)
    assert site.carrier("a").identity() == mine, "an older manifest changes nothing"
    at(site, "a", second)
    assert site.carrier("a").identity() == mine, "nor does a repeated one"
    rounds(site)
    require_equal(site)


def test_a_rewind_is_found_by_a_pulled_row_alone(site: Site) -> None:
    """The file sent nothing since the backup: its cursor and its token tell."""
    met(site)
    site.save_hub()
    site.put("b", "z", "three")
    trip(site, "b")
    trip(site, "a")
    site.rewind_hub()
    assert "set back" in at_hub(site, export(site, "a"))["reconcile_due"]
    rounds(site)
    require_equal(site)
    assert site.text("a", "z") == "three"


def test_a_late_bundle_of_before_the_rewind_ends_well(site: Site) -> None:
    site.put("a", "x", "one")
    rounds(site)
    site.put("a", "late", "on a slow stick")
    late = export(site, "a")
    site.save_hub()
    site.put("a", "y", "two")
    rounds(site)
    site.rewind_hub()
    rounds(site)
    at_hub(site, late)
    rounds(site)
    require_equal(site)


def test_a_rewind_found_online_is_finished_by_bundles(site: Site) -> None:
    met(site)
    site.save_hub()
    site.put("a", "z", "three")
    rounds(site)
    site.rewind_hub()
    assert site.online("b")["exit"] == 0
    rounds(site)
    require_equal(site)
    assert site.text("b", "z") == "three"


def test_refused_bundles_leave_no_trace(site: Site) -> None:
    met(site)
    stick, before = export_for(site, "a"), site.carrier("b").identity()
    with pytest.raises(SyncError):
        at(site, "b", stick)
    assert site.carrier("b").identity() == before
