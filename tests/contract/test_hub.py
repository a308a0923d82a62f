"""The contract of a hub, on the one in memory and on the warehouse."""

from __future__ import annotations

from dataclasses import replace

import pytest
from fix_sides import Doors
from fix_sync import digest_of, memory_row

from satchel_sync import clock
from satchel_sync.changes import Loser, Row
from satchel_sync.digest import bucket_of, sums
from satchel_sync.limits import KEY_BYTES_MAX
from satchel_sync.ports import Hub
from satchel_sync.stamp import CREATED, INT64_MAX, SCRUBBED, Stamp, extend
from satchel_sync.tables import MEMORY, TABLES

ME, OTHER = b"\x01" * 16, b"\x02" * 16


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


def test_an_attempt_that_is_closed_may_still_ask_for_bounds(hub: Hub) -> None:
    hub.push(MEMORY, [row("k", "x")])
    bound = hub.bound()
    hub.bye({"exit": 0})
    assert hub.bound() == bound
    assert bound["memory"] > 0


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


def version(hlc: int) -> str:
    """An entry of a lineage."""
    return Stamp(CREATED, hlc, ME, b"\xdd" * 8).hex()


def with_extra(extra: str) -> Row:
    """A memory with columns that this side does not know."""
    return replace(row("bad", "x"), values=(*row("bad", "x").values[:-1], extra))


def with_local(local: int) -> Row:
    """A memory that was marked to stay at home."""
    values = list(row("bad", "x").values)
    values[MEMORY.names.index("local")] = local
    return replace(row("bad", "x"), values=tuple(values))


@pytest.mark.parametrize(
    "bad",
    [
        row("k" * (KEY_BYTES_MAX + 1), "x"),
        row("ä" * (KEY_BYTES_MAX // 2 + 1), "x"),
        row("", "x"),
        row("bad", "x", clock.HLC_MAX + 1),
        row("bad", "x", clock.HLC_MAX + 1, lineage=version(clock.HLC_MAX)),
        row("bad", "x", INT64_MAX - 1, lineage=version(INT64_MAX - 2)),
        row("bad", "x", 9, lineage=version(clock.HLC_MAX + 1)),
        row("bad", "x", 9, lineage=" ".join([version(8)] * 7 + [version(clock.HLC_MAX + 1)])),
        row("bad", "x", 9, lineage=version(-1)),
        row("bad", "x", 9, lineage="f" * 80),
        row("bad", "x", 9, lineage=" ".join([version(8)] * 9)),
        row("bad", "x", 9, lineage=version(8) + " "),
        row("bad", "x", 9, lineage=version(8).upper()),
        row("bad", "x", -1),
        row("bad", "x", life=1),
        row("bad", "x", life=(1 << 62) + CREATED),
        row("bad", "x", life=2**63 - 2),
        row("bad", "x", life=2 * CREATED),
        *map(with_local, (1, 2, -1)),
        *map(with_extra, ("no json", "[]", "null", '"x"', '{"a":1}', '{"a":"t"}', '{"a":"x:00"}')),
        *map(with_extra, ('{"a":"t:0"}', '{"a":"i:00"}', '{"a":"t:00",}', '{"":"t:00"}', "{")),
        *map(with_extra, ('{"a":"t:00","a":"t:01"}', '{"a":"t:00"}\n', '{"a\x01":"t:00"}', " ")),
    ],
)
def test_what_no_hub_takes_is_refused_alone_as_invalid(hub: Hub, bad: Row) -> None:
    answer = hub.push(MEMORY, [bad, row("good", "x")])
    assert answer.accepted == ("good",)
    assert [(refusal.key, refusal.reason) for refusal in answer.refused] == [(bad.key, "invalid")]
    assert answer.refused[0].detail
    assert [found.key for found in everything(hub)] == ["good"]


def test_what_is_just_within_the_bounds_is_taken(hub: Hub) -> None:
    rows = [
        row("k" * KEY_BYTES_MAX, "x"),
        row("last", "x", clock.HLC_MAX, lineage=version(clock.HLC_MAX)),
        row("heir", "x", 9, lineage=" ".join(version(n) for n in range(8))),
        replace(with_local(0), key="not local"),
        replace(with_extra(""), key="nothing more"),
        replace(with_extra("{}"), key="no columns"),
        replace(with_extra('{"é b":"t:","n":"i:0000000000000001"}'), key="more"),
        memory_row("forgotten", None, SCRUBBED),
    ]
    assert set(hub.push(MEMORY, rows).accepted) == {r.key for r in rows}


@pytest.mark.parametrize("key", ["a\0b", "a\ud800b", "\0"])
def test_a_key_that_no_database_holds_can_be_asked_about(hub: Hub, key: str) -> None:
    hub.push(MEMORY, [row("k", "x"), row("held", "x")])
    digest = hub.digests({"memory": [key, "held"], "task": [key]})
    assert dict(digest["memory"].buckets) == sums("memory", [("k", row("k", "x").stamp)])
    assert dict(digest["task"].buckets) == {}
    assert [r.key for r in hub.fetch(MEMORY, [key, "k"]).rows] == ["k"]


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
    assert [r.key for r in hub.fetch(MEMORY, ["k", "nothing"]).rows] == ["k"]


def test_a_fetch_comes_in_parts(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("satchel_sync.limits", "satchel_warehouse.endpoint"):
        monkeypatch.setattr(f"{module}.PULL_ROWS_MAX", 2, raising=False)
        monkeypatch.setattr(f"{module}.PULL_BYTES_MAX", 2_000, raising=False)
    keys = [f"k{number}" for number in range(5)]
    hub.push(MEMORY, [row(key, "x" * 900) for key in keys])
    found, wanted = list[str](), (*keys, "nothing")
    for _ in range(10):
        fetched = hub.fetch(MEMORY, wanted)
        assert 0 < len(fetched.rows) <= 2
        found += [r.key for r in fetched.rows]
        wanted = fetched.rest
        if not wanted:
            break
    assert sorted(found) == keys


def test_a_journal_entry_may_come_twice(hub: Hub, doors: Doors) -> None:
    loser = Loser("memory", row("k", "lost"), row("k", "won", 2).stamp, "pull", 1)
    hub.journal([loser])
    hub.journal([loser])
    assert doors.journal() == [("memory", "k")]
