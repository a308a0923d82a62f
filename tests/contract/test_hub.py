"""The contract of a hub, on the one in memory and on the warehouse."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from fix_hub import HubWorld, hello_of
from fix_sync import FakeClock, digest_of, memory_row

from satchel_sync import clock
from satchel_sync.changes import Loser, Row
from satchel_sync.digest import bucket_of, sums
from satchel_sync.memory_hub import MemoryHub
from satchel_sync.ports import Hub
from satchel_sync.stamp import CREATED, SCRUBBED, Stamp, extend
from satchel_sync.tables import MEMORY, TABLES

ME, OTHER = b"\x01" * 16, b"\x02" * 16


@pytest.fixture(params=["memory", "warehouse"])
def hub(request: pytest.FixtureRequest) -> Iterator[Hub]:
    """A fresh hub to which this replica has said hello."""
    if request.param == "memory":
        made: Hub = MemoryHub(FakeClock())
        made.hello(hello_of(1, "attempt"))
        yield made
        return
    world: HubWorld = request.getfixturevalue("hub_world")
    yield world.replica(1)


def row(key: str, text: str | None, hlc: int = 1, *, lineage: str = "", life: int = CREATED) -> Row:
    """A memory in the version that its text has."""
    bare = memory_row(key, text, Stamp(life, hlc, ME, b"\0" * 8), lineage)
    return Row(key, bare.stamp._replace(digest=digest_of(MEMORY, bare)), lineage, bare.values)


def everything(hub: Hub) -> list[Row]:
    """Every memory, by a pull from the start."""
    return list(hub.pull(MEMORY, 0, hub.bound()["memory"]).rows)


def test_what_was_pushed_is_pulled_in_order(hub: Hub) -> None:
    rows = [row(f"k{number}", f"text {number}") for number in range(5)]
    answer = hub.push(MEMORY, rows)
    assert sorted(answer.accepted) == [r.key for r in rows]
    assert {r.key: r for r in everything(hub)} == {r.key: r for r in rows}
    assert answer.now_ms > 0


def test_an_empty_page_ends_at_the_bound(hub: Hub) -> None:
    assert hub.pull(MEMORY, 0, 7).cursor == 7
    assert hub.bound() == {table.name: 0 for table in TABLES}


def test_a_replay_changes_nothing(hub: Hub) -> None:
    hub.push(MEMORY, [row("k", "x")])
    bound = hub.bound()
    assert hub.push(MEMORY, [row("k", "x")]).accepted == ("k",)
    assert bound == hub.bound()


def test_the_higher_version_stays_and_the_loser_is_told_the_winner(hub: Hub) -> None:
    high, low = row("k", "high", 5), row("k", "low", 3)
    hub.push(MEMORY, [high])
    answer = hub.push(MEMORY, [low])
    assert (answer.accepted, dict(answer.superseded)) == ((), {"k": high.version})
    assert answer.conflicts == 1
    assert everything(hub) == [high]


def test_a_version_that_builds_on_the_one_held_is_no_conflict(hub: Hub) -> None:
    first = row("k", "first", 1)
    hub.push(MEMORY, [first])
    second = row("k", "second", 2, lineage=extend("", first.stamp))
    answer = hub.push(MEMORY, [second])
    assert (answer.accepted, answer.conflicts) == (("k",), 0)
    late = hub.push(MEMORY, [first])
    assert (dict(late.superseded), late.conflicts) == ({"k": second.version}, 0)


def test_an_ancestor_with_a_higher_stamp_never_replaces(hub: Hub) -> None:
    ahead = row("k", "ahead", 9)
    lower = row("k", "builds on it", 2, lineage=extend("", ahead.stamp))
    hub.push(MEMORY, [lower])
    assert dict(hub.push(MEMORY, [ahead]).superseded) == {"k": lower.version}
    assert everything(hub) == [lower]


def test_one_key_often_in_a_batch_counts_as_its_highest(hub: Hub) -> None:
    rows = [row("k", str(hlc), hlc) for hlc in (2, 9, 4)]
    assert hub.push(MEMORY, rows).accepted == ("k",)
    assert everything(hub) == [rows[1]]


def test_scrubbed_is_final(hub: Hub) -> None:
    scrubbed = memory_row("k", None, SCRUBBED)
    hub.push(MEMORY, [row("k", "x")])
    assert hub.push(MEMORY, [scrubbed]).accepted == ("k",)
    answer = hub.push(MEMORY, [row("k", "later", 9)])
    assert dict(answer.superseded) == {"k": scrubbed.version}
    assert answer.conflicts == 0


def test_only_a_stamp_from_the_future_is_refused(hub: Hub) -> None:
    now_ms = hub.push(MEMORY, [row("k", "x")]).now_ms
    soon = row("soon", "x", clock.pack(now_ms + 60_000))
    future = row("future", "x", clock.pack(now_ms + clock.AHEAD_MS_MAX + 60_000))
    answer = hub.push(MEMORY, [soon, future])
    assert answer.accepted == ("soon",)
    assert [(refusal.key, refusal.reason) for refusal in answer.refused] == [("future", "future")]
    child = row("future", "y", future.stamp.hlc + 1, lineage=extend("", future.stamp))
    assert hub.push(MEMORY, [child]).accepted == ("future",), "its base came from such a clock"


def test_pages_are_bounded_and_resume(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("satchel_sync.limits", "satchel_warehouse.endpoint"):
        monkeypatch.setattr(f"{module}.PULL_ROWS_MAX", 2)
    hub.push(MEMORY, [row(f"k{number}", "x") for number in range(5)])
    bound, cursor, seen = hub.bound()["memory"], 0, list[str]()
    while cursor < bound:
        page = hub.pull(MEMORY, cursor, bound)
        assert len(page.rows) <= 2
        assert page.cursor > cursor
        cursor = page.cursor
        seen += [r.key for r in page.rows]
    assert sorted(seen) == [f"k{number}" for number in range(5)]


def test_digest_and_manifest_tell_what_is_held(hub: Hub) -> None:
    rows = [row(f"k{number}", "x") for number in range(20)]
    hub.push(MEMORY, rows)
    kept = [r for r in rows if r.key != "k3"]
    digest = hub.digests({"memory": ["k3"]})["memory"]
    assert dict(digest.buckets) == sums("memory", [(r.key, r.stamp) for r in kept])
    assert digest.seq == hub.bound()["memory"]
    bucket = bucket_of("memory", "k3")
    expected = {r.key: r.stamp for r in rows if bucket_of("memory", r.key) == bucket}
    assert dict(hub.manifest(MEMORY, [bucket])) == expected


def test_fetch_leaves_out_what_is_not_there(hub: Hub) -> None:
    hub.push(MEMORY, [row("k", "x")])
    assert [r.key for r in hub.fetch(MEMORY, ["k", "nothing"])] == ["k"]


def test_a_journal_entry_may_come_twice(hub: Hub) -> None:
    loser = Loser("memory", row("k", "lost"), row("k", "won", 2).stamp, "pull", 1)
    hub.journal([loser])
    hub.journal([loser])
    hub.bye({"ok": True})
