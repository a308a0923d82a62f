"""What bundles promise, on both endpoints: in memory, and on real files and a real Postgres."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
from fix_bundles import (
    MemorySite,
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
from fix_sync import FakeClock

from satchel_sync.bundles.errors import BundleRefused
from satchel_sync.bundles.parcel import ParcelKind
from satchel_sync.changes import Loser
from satchel_sync.errors import HubRefused, NeedsReconcile
from satchel_sync.in_memory.hub import MemoryHub
from satchel_sync.in_memory.hub_state import HubState
from satchel_sync.tables import Value


def kind(stick: bytes) -> ParcelKind:
    return parcel_of(stick).head.kind


def test_two_machines_and_a_hub_meet_by_bundles_alone(site: Site) -> None:
    site.put("a", "x", "by a")
    site.put("b", "y", "by b")
    rounds(site)
    require_equal(site)
    assert (site.text("a", "y"), site.text("b", "x")) == ("by b", "by a")
    assert site.journal() == []


def test_an_export_clears_nothing_and_only_the_receipts_do(site: Site) -> None:
    site.put("a", "x", "one")
    stick = export(site, "a")
    assert (kind(stick), site.queued("a")) == (ParcelKind.PUSH, 1)
    assert at_hub(site, stick)["kinds"]["memory"]["accepted"] == 1
    assert site.queued("a") == 1
    report = at(site, "a", export_for(site, "a"))
    assert (report["kinds"]["memory"]["accepted"], site.queued("a")) == (1, 0)


def test_a_lost_stick_is_sent_again(site: Site) -> None:
    site.put("a", "x", "one")
    export(site, "a")
    site.put("a", "y", "two")
    trip(site, "a")
    export_for(site, "a")
    site.put("a", "z", "three")
    trip(site, "a")
    rounds(site)
    require_equal(site)
    assert len(site.hub_versions()["memory"]) == 3


def test_replays_change_nothing_on_either_side(site: Site) -> None:
    site.put("a", "x", "one")
    there = export(site, "a")
    first = at_hub(site, there)
    back = export_for(site, "a")
    at(site, "a", back)
    hub, mine = site.hub_versions(), site.carrier("a").identity()
    reach = parcel_of(export_for(site, "a")).head.reach
    assert not first["noop"]
    for _ in range(2):
        again = at_hub(site, there)
        assert (again["exit"], again["kinds"]["memory"]["accepted"]) == (0, 1)
        assert at(site, "a", back)["noop"]
    assert (site.hub_versions(), site.carrier("a").identity()) == (hub, mine)
    assert parcel_of(export_for(site, "a")).head.reach == reach, "no change sequence was drawn"


def test_nothing_to_send_and_nothing_due_is_an_ack(site: Site) -> None:
    site.put("a", "x", "one")
    rounds(site)
    there, back = export(site, "a"), export_for(site, "a")
    assert list(parcel_of(there).parts) == []
    assert (kind(back), list(parcel_of(back).parts)) == (ParcelKind.ACK, [])


def test_a_bundle_starts_where_the_last_imported_one_stood(site: Site) -> None:
    met(site)
    site.put("b", "y", "three")
    trip(site, "b")
    trip(site, "a")
    site.put("b", "z", "four")
    trip(site, "b")
    stick = export_for(site, "a")
    assert parcel_of(stick).head.base["memory"] > 0
    assert at_hub(site, export(site, "a"))["exit"] == 0
    (part,) = parcel_of(export_for(site, "a")).parts
    assert [row.key for row in part.rows] == ["z"]


def test_an_edit_on_the_way_is_still_sent(site: Site) -> None:
    site.put("a", "x", "one")
    stick = export(site, "a")
    at_hub(site, stick)
    back = export_for(site, "a")
    site.put("a", "x", "two")
    at(site, "a", back)
    assert site.queued("a") > 0
    rounds(site)
    require_equal(site)
    assert site.text("a", "x") == "two"
    assert site.journal() == []


def test_concurrent_edits_have_one_winner_and_the_loser_is_in_the_journal(site: Site) -> None:
    site.put("a", "x", "first")
    site.put("b", "other", "so that b is there")
    rounds(site)
    site.put("a", "x", "by a")
    site.later(1000)
    site.put("b", "x", "by b")
    rounds(site)
    require_equal(site)
    assert {site.text("a", "x"), site.text("b", "x")} == {"by b"}
    assert site.journal() == [("memory", "x")]


ORDERS = list(itertools.permutations(range(3)))
BACKWARDS = [(2, 0, 1), (1, 2, 0)]
"""Of the orders of three sticks, those that a real site tries too."""
CASES = [("memory", order) for order in ORDERS] + [("real", order) for order in BACKWARDS]


@pytest.mark.parametrize(("site", "order"), CASES, indirect=["site"])
def test_sticks_in_any_order_end_the_same_and_no_rewind_is_reported(
    site: Site, order: tuple[int, ...]
) -> None:
    sticks = []
    for number in range(3):
        site.put("a", "x", f"edit {number}")
        site.put("a", f"new-{number}", "x")
        sticks.append(export(site, "a"))
    epoch = None
    for place in order:
        report = at_hub(site, sticks[place])
        assert (report["exit"], report["reconcile_due"]) == (0, None)
        epoch = epoch or site.epoch()
    rounds(site)
    require_equal(site)
    assert (site.text("a", "x"), site.epoch()) == ("edit 2", epoch)
    assert site.journal() == []


@pytest.mark.parametrize(("site", "order"), CASES, indirect=["site"])
def test_sticks_from_the_hub_in_any_order_end_the_same(site: Site, order: tuple[int, ...]) -> None:
    site.put("b", "x", "edit 0")
    rounds(site)
    site.put("a", "mine", "one")
    trip(site, "a")
    sticks = []
    for number in range(3):
        site.put("b", "x", f"edit {number + 1}")
        trip(site, "b")
        at_hub(site, export(site, "a"))
        sticks.append(export_for(site, "a"))
    for place in order:
        assert at(site, "a", sticks[place])["exit"] == 0
    assert site.text("a", "x") == "edit 3"
    for _ in range(2):
        there, _ = trip(site, "a")
        assert there["reconcile_due"] is None
    rounds(site)
    require_equal(site)


def test_online_and_bundles_mix(site: Site) -> None:
    site.put("a", "x", "one")
    assert site.online("a")["exit"] == 0
    site.put("a", "y", "two")
    late = export(site, "a")
    assert site.online("a")["exit"] == 0
    site.put("b", "z", "three")
    trip(site, "b")
    there = at_hub(site, late)
    assert (there["exit"], there["reconcile_due"]) == (0, None)
    at(site, "a", export_for(site, "a"))
    for _ in range(2):
        for name in ("a", "b"):
            report = site.online(name)
            assert (report["exit"], report["identity"]) == (0, [])
    require_equal(site)


def test_bundles_end_in_the_state_that_a_network_ends_in(site: Site) -> None:
    for name, text in (("a", "by a"), ("b", "by b")):
        site.put(name, f"{name}-1", text)
    rounds(site)
    site.put("a", "a-1", "edited")
    site.delete("b", "b-1")
    rounds(site)
    before = site.hub_versions()
    for _ in range(2):
        for name in ("a", "b"):
            report = site.online(name)
            assert (report["exit"], report["identity"], report["repaired"]) == (0, [], {})
    assert site.online("a")["digest"] == "equal"
    assert site.online("a")["noop"]
    assert site.hub_versions() == before


def test_a_cursor_never_jumps_over_rows_that_a_restored_file_lacks(site: Site) -> None:
    site.put("a", "mine", "one")
    site.put("b", "x", "one")
    rounds(site)
    backup = site.save_file("a")
    site.put("b", "y", "two")
    rounds(site)
    site.put("b", "z", "three")
    trip(site, "b")
    stick = export_for(site, "a")
    site.put_back_file("a", backup)
    assert site.text("a", "y") is None
    at(site, "a", stick)
    assert (site.text("a", "y"), site.text("a", "z")) == (None, "three"), "rows merge always"
    rounds(site)
    require_equal(site)
    assert site.text("a", "y") == "two"


def test_a_stick_of_an_older_epoch_brings_rows_and_moves_nothing(site: Site) -> None:
    site.put("a", "mine", "one")
    site.put("b", "x", "one")
    rounds(site)
    site.save_hub()
    site.put("b", "x", "two")
    site.put("b", "y", "two")
    trip(site, "b")
    late = export_for(site, "a")
    site.rewind_hub()
    rounds(site)
    before = site.carrier("a").identity()
    at(site, "a", late)
    assert site.carrier("a").identity() == before
    there, _ = trip(site, "a")
    assert there["reconcile_due"] is None
    rounds(site)
    require_equal(site)


@pytest.mark.parametrize("odd", ["a\0b", float("inf"), "\ud800"])
def test_a_journal_entry_that_cannot_travel_stays_and_stops_nothing(odd: Value) -> None:
    site = MemorySite()
    site.put("a", "x", "one")
    fine = site.carrier("a").file.kinds["memory"].rows["x"]
    bad = replace(fine, key="bad", values=(odd, *fine.values[1:]))
    losers = site.carrier("a").file.losers
    for row in (bad, fine):
        losers["memory", row.key, row.stamp] = Loser("memory", row, row.stamp, "pull", 5)
    rounds(site)
    require_equal(site)
    assert site.journal() == [("memory", "x")]
    assert [one.row.key for one in site.carrier("a").losers()] == ["bad"]


# ---- who may ------------------------------------------------------------------------------------


def test_a_bundle_of_another_replica_is_refused(site: Site) -> None:
    met(site)
    with pytest.raises(BundleRefused, match="is for the replica"):
        at(site, "b", export_for(site, "a"))


def test_each_side_refuses_what_is_for_the_other(site: Site) -> None:
    site.put("a", "x", "one")
    there = export(site, "a")
    at_hub(site, there)
    back = export_for(site, "a")
    with pytest.raises(BundleRefused, match="is for the warehouse"):
        at(site, "a", there)
    with pytest.raises(BundleRefused, match="is for a replica"):
        at_hub(site, back)


def test_an_unknown_and_a_revoked_replica_get_nothing(site: Site) -> None:
    site.put("a", "x", "one")
    with pytest.raises(HubRefused):
        export_for(site, "a")
    stick = export(site, "a")
    at_hub(site, stick)
    site.revoke("a")
    with pytest.raises(HubRefused):
        export_for(site, "a")
    with pytest.raises(HubRefused):
        at_hub(site, stick)


def test_a_replica_that_was_taken_back_reconciles_by_its_manifest(site: Site) -> None:
    met(site)
    site.take_back("a")
    assert kind(export_for(site, "a")) is ParcelKind.MANIFEST
    rounds(site)
    require_equal(site)
    assert kind(export_for(site, "a")) is ParcelKind.ACK


def test_a_bundle_of_another_hub_is_refused(site: Site) -> None:
    other = MemorySite(MemoryHub(FakeClock(), HubState(epoch="e" * 16, hub_id=b"\xdd" * 16)))
    site.put("a", "x", "one")
    rounds(site)
    other.put("a", "x", "one")
    rounds(other)
    with pytest.raises(NeedsReconcile):
        at_hub(site, export(other, "a"))
