"""The digest check: what is counted, and that no kept sum is stale."""

from __future__ import annotations

from collections.abc import Mapping

from machine import NOON_MS, accept, answer_to, edit, held, remote, send, write

from satchel.store.connection import Store
from satchel.store.endpoint import SqliteReplica
from satchel_sync.changes import Refusal
from satchel_sync.digest import sums
from satchel_sync.stamp import Stamp
from satchel_sync.tables import (
    MEMORY,
    RELATIONSHIP,
    Memory,
    Relationship,
)


def test_the_digest_counts_what_should_be_at_the_hub(store: Store, replica: SqliteReplica) -> None:
    write(
        store,
        Memory(id="open", content="open"),
        Memory(id="secret", content="secret", local=1),
        Relationship(id="r1", from_id="open", to_id="secret"),
        Relationship(id="r2", from_id="open", to_id="open"),
    )
    assert replica.digest(MEMORY) is None
    accept(replica, send(replica))
    accept(replica, send(replica, RELATIONSHIP), RELATIONSHIP)
    found = replica.digest(MEMORY)
    assert found is not None
    assert found.buckets == sums("memory", [("open", held(store, "open").stamp)])
    edges = replica.digest(RELATIONSHIP)
    assert edges is not None
    assert edges.buckets == sums("relationship", [("r2", held(store, "r2", RELATIONSHIP).stamp)])
    assert replica.manifest(MEMORY, range(256)) == {"open": held(store, "open").stamp}
    assert replica.manifest(MEMORY, set(range(256)) - found.buckets.keys()) == {}
    replica.apply(MEMORY, [remote("new", content="new")], 12)
    again = replica.digest(MEMORY)
    assert again is not None
    assert again.seq == 12
    assert sum(rows for rows, _ in again.buckets.values()) == 2


def test_no_change_hides_behind_a_kept_digest(store: Store, replica: SqliteReplica) -> None:
    def digest() -> Mapping[int, tuple[int, int]]:
        accept(replica, send(replica))
        found = replica.digest(MEMORY)
        assert found is not None
        with store.read() as db:
            stamps = [
                (str(key), Stamp(*stamp))
                for key, *stamp in db.execute(
                    "SELECT id, life, hlc, origin, digest FROM memory"
                    " WHERE id NOT IN (SELECT key FROM quarantine)"
                )
            ]
        assert found.buckets == sums("memory", stamps)
        return found.buckets

    write(store, *(Memory(id=f"m{at}", content="x") for at in range(5)))
    seen = [digest()]
    edit(store, "m1", content="y")
    seen.append(digest())
    replica.apply(MEMORY, [remote("m2", NOON_MS + 9, content="z")], 1)
    seen.append(digest())
    edit(store, "m3", content="w")
    sent = send(replica)
    answer_to(replica, sent, refused=(Refusal("m3", "invalid"),))
    seen.append(digest())
    edit(store, "m4", content="v")
    answer_to(replica, send(replica), refused=(Refusal("m4", "future"),), now_ms=NOON_MS - 5)
    seen.append(digest())
    edit(store, "m3", content="good")
    seen.append(digest())
    assert len({str(sorted(buckets.items())) for buckets in seen}) == len(seen)
