"""Push and pull over real Postgres: all columns travel, replays change nothing, losers are kept."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from fix_hub import HubWorld, row_of, titled
from fix_sync import values_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg import conninfo

from satchel_sync import limits
from satchel_sync.changes import Loser, Row
from satchel_sync.digest import bucket_of, format_extra, row_digest, sums
from satchel_sync.stamp import CREATED, SCRUBBED, Stamp, extend
from satchel_sync.tables import AGENT, EMBEDDING, MEMORY, TABLES, TASK, Table, Value
from satchel_warehouse.endpoint import WarehouseHub

RELAXED = settings(
    deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
FULL: dict[str, Value] = {
    "t": 'ünï © 文 \U0001f600 "quoted" \\ \t\n', "i": -(2**63), "r": 5e-324, "b": bytes(range(256)),
}  # fmt: skip


@pytest.fixture(scope="module")
def hub(world: HubWorld) -> WarehouseHub:
    return world.replica(1)


def without_local(table: Table, values: tuple[Value, ...]) -> tuple[Value, ...]:
    names = (*table.names, "extra")
    return tuple(None if n == "local" else v for n, v in zip(names, values, strict=True))


def stored(hub: WarehouseHub, table: Table, key: str) -> Row:
    (row,) = hub.fetch(table, [key]).rows
    return row


def seq_of(hub: WarehouseHub, table: Table) -> int:
    return hub.bound()[table.name]


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_every_column_of_every_kind_comes_back_bit_by_bit(hub: WarehouseHub, table: Table) -> None:
    full = without_local(table, (*(FULL[column.tag] for column in table.columns), None))
    rows = [row_of(table, "full", full)]
    for at, value in enumerate(full[:-1]):
        alone = tuple(value if n == at else None for n in range(len(full)))
        rows.append(row_of(table, f"only {at}", alone))
    after = seq_of(hub, table)
    assert len(hub.push(table, rows).accepted) == len(rows)
    page = hub.pull(table, after, seq_of(hub, table))
    assert {row.key: row for row in page.rows} == {row.key: row for row in rows}


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
@RELAXED
@given(data=st.data())
def test_random_rows_come_back(hub: WarehouseHub, table: Table, data: st.DataObject) -> None:
    drawn = data.draw(st.lists(values_of(table), max_size=4))
    rows = [
        row_of(table, f"random {n}", without_local(table, values), hlc=seq_of(hub, table) + 1)
        for n, values in enumerate(drawn)
    ]
    hub.push(table, rows)
    for row in rows:
        held = stored(hub, table, row.key)
        assert held.stamp >= row.stamp
        assert row_digest(table, held.key, held.values) == held.stamp.digest


def test_a_replay_changes_nothing_not_even_the_sequence(world: HubWorld, hub: WarehouseHub) -> None:
    rows = [row_of(MEMORY, f"replay {n}", titled(MEMORY, title=str(n))) for n in range(50)]
    first = hub.push(MEMORY, rows)
    query = "SELECT md5(string_agg(m::text, ',' ORDER BY id)) FROM satchel.memory m"
    before = world.psql().execute(query).fetchone()
    again = [world.replica(2).push(MEMORY, rows), hub.push(MEMORY, rows[::-1])]
    assert world.psql().execute(query).fetchone() == before
    for answer in (first, *again):
        assert set(answer.accepted) == {row.key for row in rows}
        assert (answer.superseded, answer.refused, answer.conflicts) == ({}, (), 0)


def test_several_versions_of_a_key_in_one_batch_count_as_the_highest(hub: WarehouseHub) -> None:
    versions = [row_of(MEMORY, "thrice", titled(MEMORY, title=str(n)), hlc=n) for n in (2, 9, 5)]
    assert hub.push(MEMORY, versions).accepted == ("thrice",)
    assert stored(hub, MEMORY, "thrice") == versions[1]


def test_pages_are_bounded_in_rows_and_bytes(
    world: HubWorld, hub: WarehouseHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("satchel_warehouse.endpoint.PULL_ROWS_MAX", 7)
    monkeypatch.setattr("satchel_warehouse.endpoint.PULL_BYTES_MAX", 5000)
    after = seq_of(hub, MEMORY)
    wide = [row_of(MEMORY, f"wide {n}", titled(MEMORY, content="x" * 2000)) for n in range(5)]
    thin = [row_of(MEMORY, f"thin {n}", titled(MEMORY, content="x")) for n in range(20)]
    hub.push(MEMORY, thin)
    hub.push(MEMORY, wide)
    upto, sizes, keys = seq_of(hub, MEMORY), [], []
    while after < upto:
        page = hub.pull(MEMORY, after, upto)
        sizes.append(len(page.rows))
        keys += [row.key for row in page.rows]
        after = page.cursor
    assert sorted(keys) == sorted(row.key for row in (*thin, *wide))
    assert max(sizes) == 7
    assert sizes[-1] <= 3
    assert hub.pull(MEMORY, upto, upto + 5).cursor == upto + 5
    delivered = world.psql().execute(
        "SELECT (delivered ->> 'memory')::bigint FROM satchel.replica WHERE replica_id = %s",
        (b"\x01" * 16,),
    )
    assert delivered.fetchone() == (upto,)


def test_a_concurrent_loser_is_kept_once_whichever_side_loses(
    world: HubWorld, hub: WarehouseHub
) -> None:
    low = row_of(MEMORY, "battle", titled(MEMORY, title="low", content="ä\n\"'"), hlc=10)
    mid = row_of(MEMORY, "battle", titled(MEMORY, title="mid"), hlc=20)
    high = row_of(MEMORY, "battle", titled(MEMORY, title="high"), hlc=30)
    hub.push(MEMORY, [mid])
    lost = hub.push(MEMORY, [low])
    assert (lost.accepted, lost.conflicts) == ((), 1)
    assert lost.superseded == {"battle": mid.version}
    won = hub.push(MEMORY, [high])
    assert (won.accepted, won.conflicts) == (("battle",), 1)
    assert hub.push(MEMORY, [low]).conflicts == 0
    hub.push(MEMORY, [mid])
    hub.journal([Loser("memory", low, high.stamp, "pull", 5)])
    found = world.psql().execute(
        "SELECT version, content, winner FROM satchel.conflict"
        " WHERE key = 'battle' ORDER BY version"
    )
    entries = [(version, json.loads(content), winner) for version, content, winner in found]
    assert entries == [
        (low.stamp.hex(), {"title": "low", "content": "ä\n\"'"}, mid.stamp.hex()),
        (mid.stamp.hex(), {"title": "mid"}, high.stamp.hex()),
    ]


def test_what_is_no_conflict(world: HubWorld, hub: WarehouseHub) -> None:
    first = row_of(MEMORY, "chain", titled(MEMORY, title="1"), hlc=10)
    second = row_of(
        MEMORY, "chain", titled(MEMORY, title="2"), hlc=20, lineage=extend("", first.stamp)
    )
    dead = row_of(TASK, "gone", titled(TASK), life=2 * CREATED, hlc=5)
    alive = row_of(TASK, "gone", titled(TASK, title="x"), hlc=50)
    seen = [row_of(AGENT, "a", titled(AGENT, status="on", last_seen=n), hlc=n) for n in (1, 2)]
    vectors = [row_of(EMBEDDING, "e", titled(EMBEDDING, dims=n), hlc=n) for n in (1, 2)]
    for table, row in (
        (MEMORY, first), (MEMORY, second), (MEMORY, first), (AGENT, seen[0]), (AGENT, seen[1]),
        (AGENT, seen[0]), (EMBEDDING, vectors[1]), (EMBEDDING, vectors[0]), (TASK, dead),
    ):  # fmt: skip
        assert hub.push(table, [row]).conflicts == 0
    assert stored(hub, MEMORY, "chain") == second
    assert hub.push(TASK, [alive]).conflicts == 1
    assert stored(hub, TASK, "gone") == dead


def test_a_beaten_descendant_is_told_the_hubs_version(hub: WarehouseHub) -> None:
    held = row_of(MEMORY, "beaten", titled(MEMORY, title="1"), hlc=90)
    child = row_of(
        MEMORY, "beaten", titled(MEMORY, title="2"), hlc=20, lineage=extend("", held.stamp)
    )
    hub.push(MEMORY, [held])
    answer = hub.push(MEMORY, [child])
    assert (answer.superseded, answer.conflicts) == ({"beaten": held.version}, 0)


def test_scrubbed_is_final(hub: WarehouseHub) -> None:
    row = row_of(MEMORY, "forgotten", titled(MEMORY, title="secret"))
    scrubbed = Row("forgotten", SCRUBBED, "", titled(MEMORY))
    hub.push(MEMORY, [row])
    answer = hub.push(MEMORY, [scrubbed])
    assert (answer.accepted, answer.conflicts, answer.refused) == (("forgotten",), 0, ())
    back = row_of(MEMORY, "forgotten", titled(MEMORY, title="back"), life=9 * CREATED, hlc=99)
    assert hub.push(MEMORY, [back]).superseded == {"forgotten": scrubbed.version}
    assert stored(hub, MEMORY, "forgotten") == scrubbed


def test_a_stamp_from_the_future_is_refused_alone(world: HubWorld, hub: WarehouseHub) -> None:
    now = hub.now_ms()
    fine = row_of(MEMORY, "in four minutes", titled(MEMORY, title="x"), hlc=(now + 240_000) << 16)
    late = row_of(MEMORY, "in six minutes", titled(MEMORY, title="x"), hlc=(now + 360_000) << 16)
    answer = hub.push(MEMORY, [late, fine])
    assert answer.accepted == ("in four minutes",)
    assert [(r.key, r.reason) for r in answer.refused] == [("in six minutes", "future")]
    # Allowed above its base, and above the row held, however far ahead those are.
    heir = replace(late, key="heir", lineage=extend("", late.stamp))
    assert hub.push(MEMORY, [heir]).accepted == ("heir",)
    next_heir = replace(heir, stamp=late.stamp._replace(hlc=late.stamp.hlc + 9), lineage="")
    assert hub.push(MEMORY, [next_heir]).accepted == ("heir",)
    world.psql().execute("UPDATE satchel.hub SET clock_correction_ms = 86400000")
    try:
        assert hub.push(MEMORY, [late]).accepted == ("in six minutes",)
        assert hub.now_ms() > now + 86_000_000
    finally:
        world.psql().execute("UPDATE satchel.hub SET clock_correction_ms = 0")


GOOD = row_of(MEMORY, "good", titled(MEMORY, title="x"))
SHORT = replace(GOOD, key="bad", stamp=GOOD.stamp._replace(origin=b"short"))


@pytest.mark.parametrize(
    ("bad", "told"),
    [
        (row_of(MEMORY, "bad", titled(MEMORY, local=1)), "local"),
        (row_of(MEMORY, "bad", titled(MEMORY, importance=float("nan"))), "finite"),
        (row_of(MEMORY, "bad", titled(MEMORY, importance=float("inf"))), "finite"),
        (row_of(MEMORY, "bad", titled(MEMORY, title="x"), life=2 * CREATED), "deleted"),
        (row_of(MEMORY, "bad", titled(MEMORY, title="x"), life=1), "version"),
        (row_of(MEMORY, "bad", titled(MEMORY, title="x"), hlc=-1), "version"),
        (row_of(MEMORY, "bad", titled(MEMORY, title="x"), life=2**63 - 1), "version"),
        (row_of(MEMORY, "bad", titled(MEMORY, title="x"), lineage="DROP TABLE"), "lineage"),
        (row_of(MEMORY, "bad", titled(MEMORY, title="x"), lineage="ab" * 400), "lineage"),
        (row_of(MEMORY, "", titled(MEMORY, title="x")), "key"),
        (row_of(MEMORY, "bad" * 342, titled(MEMORY, title="x")), "key is larger than 1024"),
        (row_of(MEMORY, "bäd" * 342, titled(MEMORY, title="x")), "key is larger than 1024"),
        (row_of(MEMORY, "bad" * 99_999, titled(MEMORY, title="x")), "key is larger than 1024"),
        (row_of(MEMORY, "bad", titled(MEMORY, title="x" * limits.ROW_BYTES_MAX)), "larger"),
        (SHORT, "version"),
        (replace(GOOD, key="bad", values=titled(MEMORY, title="a\0b")), "title: NUL at position 1"),
        (
            replace(GOOD, key="bad", values=titled(MEMORY, title="ab\ud800")),
            "surrogate at position 2",
        ),
        (replace(GOOD, key="b\0d"), "id: NUL"),
        (replace(GOOD, key="bad", values=titled(MEMORY, valid_from=2**63)), "64 bits"),
        (replace(GOOD, key="bad", values=titled(MEMORY, valid_from="soon")), "valid_from: str"),
        (replace(GOOD, key="bad", values=titled(MEMORY, title=5)), "title: int"),
        (replace(GOOD, key="bad", values=("too few",)), "1 values"),
    ],
)
def test_a_hostile_row_is_named_and_the_others_arrive(
    hub: WarehouseHub, bad: Row, told: str
) -> None:
    answer = hub.push(MEMORY, [bad, GOOD, replace(GOOD, key="also good")])
    assert set(answer.accepted) == {"good", "also good"}
    (refusal,) = answer.refused
    assert (refusal.key, refusal.reason) == (bad.key, "invalid")
    assert told in refusal.detail
    assert "bad" not in {row.key for row in hub.fetch(MEMORY, ["bad"]).rows}


def test_digest_manifest_and_fetch_agree_with_the_pure_rules(hub: WarehouseHub) -> None:
    for table in TABLES:
        rows = {r.key: r for r in hub.pull(table, 0, 2**62).rows}
        versions = [(key, row.stamp) for key, row in rows.items()]
        left_out = list(rows)[:3]
        whole, part = (hub.digests({table.name: keys})[table.name] for keys in ((), left_out))
        assert whole.seq == part.seq == seq_of(hub, table)
        assert whole.buckets == sums(table.name, versions)
        assert part.buckets == sums(table.name, [v for v in versions if v[0] not in left_out])
        buckets = set(list(whole.buckets)[:5])
        assert hub.manifest(table, buckets) == {
            key: stamp for key, stamp in versions if bucket_of(table.name, key) in buckets
        }
    assert hub.digests({}) == {}


def test_columns_that_the_hub_lacks_travel_in_extra(world: HubWorld, hub: WarehouseHub) -> None:
    extra = format_extra({"mood": ("t", b"fine"), "zeta": ("i", (5).to_bytes(8, "big"))})
    row = row_of(MEMORY, "newer", (*titled(MEMORY, title="x")[:-1], extra))
    hub.push(MEMORY, [row])
    assert stored(hub, MEMORY, "newer") == row
    # The trigger for foreign SQL merges the unknown columns into the digest as well.
    world.psql().execute("UPDATE satchel.memory SET title = 'y' WHERE id = 'newer'")
    edited = stored(hub, MEMORY, "newer")
    assert edited.values[-1] == extra
    assert row_digest(MEMORY, "newer", edited.values) == edited.stamp.digest


def test_a_lost_connection_is_opened_anew(world: HubWorld, hub: WarehouseHub) -> None:
    seen = hub.bound()
    world.psql().execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = %s",
        (conninfo.conninfo_to_dict(hub._dsn)["user"],),
    )
    with pytest.raises(Exception, match="cannot be reached now") as caught:
        hub.bound()
    assert getattr(caught.value, "exit_code", None) == 10
    assert hub.bound() == seen


def test_a_report_is_kept(world: HubWorld, hub: WarehouseHub) -> None:
    hub.bye({"ok": True, "text": "ünï"})
    found = world.psql().execute(
        "SELECT report, finished_at > 0 FROM satchel.attempt WHERE attempt = %s", (hub._attempt,)
    )
    report, finished = found.fetchone() or ("", False)
    assert (json.loads(report), finished) == ({"ok": True, "text": "ünï"}, True)


def test_stamps_compare_alike_on_both_sides(world: HubWorld, hub: WarehouseHub) -> None:
    world.know(*(bytes([number]) * 16 for number in (0, 127, 128, 255)))
    stamps = [Stamp(CREATED, 5, bytes([o]) * 16, bytes([d]) * 8) for o in (0, 127, 128, 255)
              for d in (0, 127, 128, 255)]  # fmt: skip
    for number, stamp in enumerate(stamps[::5] + stamps):
        hub.push(TASK, [Row("ordered", stamp, "", titled(TASK, title=str(number)))])
    assert stored(hub, TASK, "ordered").stamp == max(stamps)
