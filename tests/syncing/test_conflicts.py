"""The conflict journal as its user meets it: list, show, restore, and who may."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from fix_memory import NOON_MS, StillClock, opened, seen_as

from satchel.errors import AmbiguousId, NotFound, Refused
from satchel.memory import change
from satchel.memory.deleted import old_columns
from satchel.memory.messages import messages
from satchel.memory.write import write
from satchel.replica import Replica
from satchel.store import journal, outbox, rows
from satchel.store.embedded_text import content_hash
from satchel.syncing import conflicts
from satchel_sync.changes import Loser, Row
from satchel_sync.stamp import SCRUBBED, Stamp
from satchel_sync.tables import MEMORY, Memory


@pytest.fixture
def replica(tmp_path: Path) -> Iterator[Replica]:
    with opened(tmp_path, clock=StillClock(), embedding="off") as opened_replica:
        yield opened_replica


def lose(
    replica: Replica, key: str, text: str, *, digest: bytes = b"lostlost", like: str = ""
) -> str:
    """A version of a memory with another text in the journal; returns that version.

    `like`: of a deleted memory, with the columns that it had.
    """
    with replica.store.write() as db:
        held = outbox.row(db, MEMORY, key)
        assert held is not None
        values = list(held.values)
        if like:
            old = old_columns(db, "memory", like)
            assert old is not None
            values = [*(old.get(name) for name in MEMORY.names), None]
        elif held.stamp.dead:
            values[MEMORY.names.index("scope")] = "org"
        values[MEMORY.names.index("content")] = text
        values[MEMORY.names.index("content_hash")] = content_hash(text)
        stamp = held.stamp._replace(life=1 << 16, hlc=NOON_MS << 16, digest=digest)
        lost = Row(key, stamp, "", tuple(values))
        assert journal.add(db, Loser("memory", lost, held.stamp, "pull", NOON_MS))
    return stamp.hex()


def test_show_tells_column_by_column_what_differs(replica: Replica) -> None:
    key = write(replica, "held", scope="org").id
    version = lose(replica, key, "lost")
    shown = conflicts.show(replica, version)
    assert set(shown["differs"]) == {"content", "content_hash"}
    assert shown["differs"]["content"] == {"lost": "lost", "held": "held"}
    assert shown["lost"] == {
        "version": version,
        "written_at": "2027-01-15T08:00:00.000+00:00",
        "here": True,
        "deleted": False,
    }


@pytest.mark.parametrize("given", ["version", "end", "beginning", "row"])
def test_an_entry_is_named_by_its_version_or_its_row(replica: Replica, given: str) -> None:
    key = write(replica, "held", scope="org").id
    version = lose(replica, key, "lost")
    name = {"version": version, "end": version[-8:], "beginning": version[:40], "row": key}[given]
    assert conflicts.show(replica, name)["key"] == key


def test_two_entries_of_a_row_have_to_be_told_apart(replica: Replica) -> None:
    key = write(replica, "held", scope="org").id
    versions = [lose(replica, key, text, digest=text.encode()) for text in ("lost-one", "lost-two")]
    with pytest.raises(AmbiguousId, match=versions[0]):
        conflicts.show(replica, key)
    assert conflicts.show(replica, versions[1][-16:])["version"] == versions[1]
    for unknown in ("0" * 80, "abc", ""):
        with pytest.raises(NotFound):
            conflicts.show(replica, unknown)


def test_restore_makes_the_lost_text_the_newest_version(replica: Replica) -> None:
    key = write(replica, "held", scope="org", title="a title").id
    version = lose(replica, key, "lost")
    with replica.store.read() as db:
        before = outbox.row(db, MEMORY, key)
    assert conflicts.restore(replica, version)["outcome"] == "restored"
    with replica.store.read() as db:
        after = outbox.row(db, MEMORY, key)
        held = rows.get(db, MEMORY, key)
    assert (held.content, held.title) == ("lost", "a title")
    assert before is not None
    assert after is not None
    assert after.stamp > before.stamp
    assert conflicts.restore(replica, version)["outcome"] == "unchanged"


def test_restore_over_a_delete_brings_the_row_back(replica: Replica) -> None:
    key = write(replica, "held", scope="org").id
    change.delete(replica, key, confirm=True)
    version = lose(replica, key, "lost")
    conflicts.restore(replica, version)
    with replica.store.read() as db:
        assert rows.get(db, MEMORY, key).content == "lost"


def test_a_forgotten_row_is_not_restored(replica: Replica) -> None:
    key = write(replica, "held", scope="org").id
    version = lose(replica, key, "lost")
    with replica.store.write() as db:
        db.execute("UPDATE control SET applying = 1")
        db.execute(
            "UPDATE memory SET life = ?, hlc = ?, origin = ?, digest = ?, content = NULL"
            " WHERE id = ?",
            (*SCRUBBED, key),
        )
        db.execute("UPDATE control SET applying = 0")
    with pytest.raises(Refused, match="forgotten"):
        conflicts.restore(replica, version)


def test_who_may_not_see_the_lost_version_finds_none(replica: Replica) -> None:
    ada, bob = seen_as(replica, "ada"), seen_as(replica, "bob")
    key = write(ada, "held", scope="agent").id
    version = lose(replica, key, "lost")
    assert conflicts.show(ada, version)["key"] == key
    for ask in (conflicts.show, conflicts.restore):
        with pytest.raises(NotFound):
            ask(bob, version)
    assert conflicts.listed(bob) == []


def test_local_stays_as_it_is(replica: Replica) -> None:
    key = write(replica, "held", scope="org", local=True).id
    with replica.store.write() as db:
        held: Memory = rows.get(db, MEMORY, key)
        values = [getattr(held, name) for name in MEMORY.names]
        values[MEMORY.names.index("local")] = None
        assert not rows.put_back(db, MEMORY, key, (*values, None))
        values[MEMORY.names.index("content")] = "other"
        assert rows.put_back(db, MEMORY, key, (*values, None))
        assert rows.get(db, MEMORY, key).local == 1


def test_extra_columns_come_back_too(replica: Replica) -> None:
    key = write(replica, "held", scope="org").id
    with replica.store.write() as db:
        held = outbox.row(db, MEMORY, key)
        assert held is not None
        extra = '{"mood": "t:6f6b"}'
        lost = Row(key, Stamp(1 << 16, 5, bytes(16), b"extra---"), "", (*held.values[:-1], extra))
        journal.add(db, Loser("memory", lost, held.stamp, "pull", NOON_MS))
    conflicts.restore(replica, key)
    with replica.store.read() as db:
        now = outbox.row(db, MEMORY, key)
        assert now is not None
        assert now.values[-1] == extra


def test_who_may_only_read_a_deleted_row_does_not_bring_it_back(replica: Replica) -> None:
    ada, bob = seen_as(replica, "ada"), seen_as(replica, "bob")
    key = write(ada, "held", scope="agent").id
    messages.send(ada, "bob", "look", context_ids=[key])
    change.delete(ada, key, confirm=True)
    version = lose(replica, key, "lost", like=key)
    with pytest.raises((NotFound, Refused)):
        conflicts.restore(bob, version)
    with replica.store.read() as db:
        assert rows.get(db, MEMORY, key) is None
    assert conflicts.restore(ada, version)["outcome"] == "restored"
