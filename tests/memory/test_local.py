"""What is local stays: nothing that travels is made by it, names it or hangs on it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from satchel.errors import InvalidInput, NotFound
from satchel.memory import change, edges
from satchel.memory.messages import messages
from satchel.memory.tasks import tasks
from satchel.memory.write import write
from satchel.replica import Replica
from satchel_sync.tables import BY_NAME

SPACE = "merger-with-acme"


def queued(replica: Replica) -> list[str]:
    """Every row that the next sync would send, as text."""
    with replica.store.read() as db:
        keys: list[Any] = db.execute("SELECT kind, key FROM outbox").fetchall()
        return [
            str(db.execute(f"SELECT * FROM {kind} WHERE {BY_NAME[kind].key} = ?", (key,)).get)
            for kind, key in keys
        ]


def test_a_local_memory_makes_no_space(ada: Replica) -> None:
    with pytest.raises(NotFound) as refusal:
        write(ada, "they will buy us", local=True, space=SPACE)
    assert refusal.value.hint
    assert queued(ada) == []
    write(ada, "we talk to acme", space=SPACE)
    before = queued(ada)
    assert write(ada, "they will buy us", local=True, space=SPACE).outcome == "created"
    assert queued(ada) == before


def test_nothing_that_is_done_to_a_local_memory_is_queued(ada: Replica) -> None:
    shared = write(ada, "known to all").id
    before = queued(ada)
    local = write(ada, "they will buy us", local=True, title=SPACE).id
    change.update(ada, local, importance=0.5)
    edges.link(ada, shared, local, "about", metadata={"note": SPACE})
    edges.link(ada, local, shared, "about")
    new = change.supersede(ada, local, "they bought us", reason=SPACE).id
    change.restore(ada, local)
    change.alias(ada, local, [SPACE])
    edges.unlink(ada, local, shared, "about")
    for key in (new, local):
        change.delete(ada, key, confirm=True)
        change.restore(ada, key)
    assert queued(ada) == before


NAMING: dict[str, Callable[[Replica, str], Any]] = {
    "result_memory": lambda r, key: tasks.complete(
        r, tasks.list_tasks(r)["items"][0]["id"], result_memory=key
    ),
    "context_ids": lambda r, key: messages.send(r, "bob", "look", context_ids=[key]),
}


@pytest.mark.parametrize("field", NAMING)
@pytest.mark.parametrize("digits", [36, 12])
def test_what_travels_cannot_name_a_local_memory(ada: Replica, field: str, digits: int) -> None:
    tasks.create(ada, "ask acme")
    local = write(ada, "they will buy us", local=True).id
    before = queued(ada)
    with pytest.raises(InvalidInput) as refusal:
        NAMING[field](ada, local[-digits:])
    assert (refusal.value.field, bool(refusal.value.hint)) == (field, True)
    assert queued(ada) == before
    NAMING[field](ada, write(ada, "known to all").id)
