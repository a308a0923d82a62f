"""The sums that the hub keeps for the digest check are those of its rows, whatever was done."""

from __future__ import annotations

import random
from typing import Any

import psycopg
import pytest
from fix_hub import HubWorld, fresh_hub, row_of, titled

from satchel_sync import digest
from satchel_sync.changes import Digest
from satchel_sync.stamp import CREATED, GENERATION, Stamp
from satchel_sync.tables import MEMORY, TASK
from satchel_warehouse.endpoint import WarehouseHub

PART = 2048


@pytest.fixture
def own_world(cluster: str) -> Any:
    with fresh_hub(cluster) as world:
        yield world


def sums_of(world: HubWorld) -> dict[int, tuple[int, int]]:
    """What the buckets should be, read from the rows."""
    found = world.psql().execute(
        "SELECT id, life, hlc, origin, digest FROM satchel.memory WHERE tenant = 'default'"
    )
    return digest.sums("memory", [(key, Stamp(*version)) for key, *version in found])


def kept(world: HubWorld) -> int:
    counted = world.psql().execute("SELECT count(*) FROM satchel.digest_part").fetchone()
    return counted[0] if counted else 0


def check(world: HubWorld, hub: WarehouseHub) -> Digest:
    """The hub's digest is right, twice, and nothing is hashed for the second."""
    first = hub.digests({"memory": ()})["memory"]
    assert first.buckets == sums_of(world)
    held = world.psql().execute("SELECT xmin, * FROM satchel.digest_part ORDER BY part").fetchall()
    assert hub.digests({"memory": ()})["memory"] == first
    again = world.psql().execute("SELECT xmin, * FROM satchel.digest_part ORDER BY part").fetchall()
    assert again == held
    return first


def filled(world: HubWorld, count: int) -> WarehouseHub:
    hub = world.replica(1)
    rows = [row_of(MEMORY, f"m{at:06}", titled(MEMORY, content="x")) for at in range(count)]
    hub.push(MEMORY, rows)
    return hub


def passing_by(world: HubWorld) -> psycopg.Connection[Any]:
    """A superuser whose SQL fires no trigger."""
    db = world.psql()
    db.execute("SET session_replication_role = replica")
    return db


def test_a_push_an_edit_and_a_delete_by_hand_are_seen(own_world: HubWorld) -> None:
    hub = filled(own_world, 2 * PART + 100)
    before = check(own_world, hub)
    assert kept(own_world) == 3
    later = row_of(MEMORY, "m000007", titled(MEMORY, content="y"), hlc=1 << 41)
    hub.push(MEMORY, [later, row_of(MEMORY, "new", titled(MEMORY, content="z"))])
    pushed = check(own_world, hub)
    assert pushed != before
    db = own_world.psql()
    db.execute("UPDATE satchel.memory SET content = 'by hand' WHERE id = 'm002500'")
    edited = check(own_world, hub)
    assert edited.buckets != pushed.buckets
    db.execute("DELETE FROM satchel.memory WHERE id = 'm000001'")
    assert check(own_world, hub).buckets != edited.buckets


def test_a_row_that_leaves_the_newest_part_for_itself_is_seen(own_world: HubWorld) -> None:
    hub = filled(own_world, 10)
    for hlc in range(1, 5):
        row = row_of(MEMORY, "m000003", titled(MEMORY, content=f"v{hlc}"), hlc=(1 << 40) + hlc)
        hub.push(MEMORY, [row])
        check(own_world, hub)
    assert kept(own_world) == 1


def test_rows_that_went_past_the_triggers_are_missed(own_world: HubWorld) -> None:
    hub = filled(own_world, PART + 10)
    check(own_world, hub)
    with passing_by(own_world) as db:
        db.execute("DELETE FROM satchel.memory WHERE id = 'm000100'")
    check(own_world, hub)
    with passing_by(own_world) as db:
        db.execute("DELETE FROM satchel.memory WHERE change_seq <= 2048")
    check(own_world, hub)
    assert kept(own_world) == 1


@pytest.mark.parametrize(
    "change",
    ["hlc = hlc + 1", "hlc = hlc - 1", "life = life + 131072", "origin = 'fedcba9876543210'"],
)
def test_a_version_changed_in_place_is_seen_once_the_content_was_read(
    own_world: HubWorld, change: str
) -> None:
    hub = filled(own_world, PART + 10)
    other = own_world.replica(2, tenant="other")
    own_world.know(b"\x01" * 16, tenant="other")
    other.push(MEMORY, [row_of(MEMORY, "theirs", titled(MEMORY, content="x"))])
    hub.push(TASK, [row_of(TASK, "t", titled(TASK, title="t"))])
    for one in (hub, other):
        one.digests({"memory": (), "task": ()})
    before = check(own_world, hub)
    with passing_by(own_world) as db:
        db.execute(f"UPDATE satchel.memory SET {change} WHERE id = 'm000100'".encode())
    assert hub.digests({"memory": ()})["memory"] == before, "no sum that is kept tells of it"
    hub.damaged(MEMORY)
    assert kept(own_world) == 2, "the other kind's and the other tenant's stay"
    after = check(own_world, hub)
    assert (after.seq, after.buckets != before.buckets) == (before.seq, True)


def test_a_hub_set_back_to_a_backup_answers_as_it_did_then(own_world: HubWorld) -> None:
    """All rows and the kept sums are of one moment; the numbers drawn since are drawn again."""
    hub = filled(own_world, 50)
    then = check(own_world, hub)
    db = passing_by(own_world)
    db.execute("CREATE TABLE public.backup AS SELECT * FROM satchel.memory")
    db.execute("CREATE TABLE public.parts AS SELECT * FROM satchel.digest_part")
    hub.push(MEMORY, [row_of(MEMORY, "lost", titled(MEMORY, content="x"))])
    check(own_world, hub)
    db.execute("DELETE FROM satchel.memory")
    db.execute("INSERT INTO satchel.memory SELECT * FROM public.backup")
    db.execute("SELECT setval('satchel.change_seq_1', (SELECT max(change_seq) FROM backup))")
    assert check(own_world, hub) == then  # the cache is newer than the rows
    db.execute("TRUNCATE satchel.digest_part")
    db.execute("INSERT INTO satchel.digest_part SELECT * FROM public.parts")
    hub.push(MEMORY, [row_of(MEMORY, "another", titled(MEMORY, content="y"))])
    check(own_world, hub)  # it drew the number that "lost" had


def test_rows_left_out_are_not_counted_and_leave_the_cache_as_it_is(own_world: HubWorld) -> None:
    hub = filled(own_world, 100)
    whole = check(own_world, hub)
    some = hub.digests({"memory": ("m000001", "m000050", "unknown")})["memory"]
    assert sum(rows for rows, _ in some.buckets.values()) == 98
    assert hub.digests({"memory": ()})["memory"] == whole
    everything = [f"m{at:06}" for at in range(100)]
    assert hub.digests({"memory": everything})["memory"] == Digest(whole.seq, {})


def test_tenants_and_kinds_have_sums_of_their_own(own_world: HubWorld) -> None:
    hub = filled(own_world, 5)
    other = own_world.replica(2, tenant="other")
    elsewhere = titled(MEMORY, content="elsewhere")
    other.push(MEMORY, [row_of(MEMORY, "m000001", elsewhere, origin=b"\x02" * 16)])
    hub.push(TASK, [row_of(TASK, "m000001", titled(TASK, title="t"))])
    check(own_world, hub)
    found = other.digests({"memory": (), "task": ()})
    assert sum(rows for rows, _ in found["memory"].buckets.values()) == 1
    assert found["task"].buckets == {}
    check(own_world, hub)


def test_after_any_story_the_sums_are_right(own_world: HubWorld) -> None:
    draw = random.Random(9)
    hub = filled(own_world, PART + 500)
    db = own_world.psql()
    for step in range(25):
        keys = [f"m{draw.randrange(PART + 700):06}" for _ in range(draw.choice((1, 30)))]
        match draw.randrange(4):
            case 0:
                db.execute("UPDATE satchel.memory SET title = %s WHERE id = ANY (%s)", (step, keys))
            case 1:
                db.execute("DELETE FROM satchel.memory WHERE id = ANY (%s)", (keys,))
            case 2:
                life = CREATED + 2 * GENERATION * step
                rows = [row_of(MEMORY, key, titled(MEMORY, content="n"), life=life) for key in keys]
                hub.push(MEMORY, rows)
            case 3:
                hub.push(MEMORY, [row_of(MEMORY, f"new{step}", titled(MEMORY, content="n"))])
        if draw.random() < 0.6:
            check(own_world, hub)
    check(own_world, hub)
