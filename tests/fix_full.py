"""A home that has rows of every kind, and in them whatever a column may hold."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fix_memory import TrigramEmbedder, opened, seen_as

from satchel.memory import agents, change, chatlog, edges
from satchel.memory.messages import messages
from satchel.memory.sessions import sessions
from satchel.memory.tasks import tasks
from satchel.memory.write import write
from satchel.replica import Replica
from satchel.store import rows
from satchel_sync.tables import Space

ODD = 'quotes " \\ / tab\t, lines\r\n\u2028\u0085, «è» e\u0301, 🎈, \x7f, {"json": null}'


@contextmanager
def filled(home: Path) -> Iterator[Replica]:
    """The operator of a replica in which Ada and Bob have worked, with vectors."""
    with opened(home, embedder=TrigramEmbedder()) as found:
        fill(found)
        yield found


def fill(found: Replica) -> None:
    """A row of each kind at least: private, shared, local, superseded, changed and deleted ones."""
    ada, bob = seen_as(found, "ada"), seen_as(found, "bob")
    with found.store.write() as db:
        grants = '{"read": ["bob"],  "write": ["ada"]}'  # two blanks: kept as they are
        rows.insert(db, Space(name="attic", description=ODD, members='["ada"]', grants=grants))
    agents.register(ada, "ada", description="plans", capabilities=["plan", "draw"])
    agents.register(bob, "bob")
    session = sessions.start(ada, title="painting", agents=["bob"])["id"]
    first = write(ada, ODD, title="odd", scope="agent", importance=0.1, confidence=1.0).id
    second = write(ada, "the attic is dry", space="attic", metadata='{ "a" :1 }', pinned=True).id
    write(bob, "the cellar is wet", space="cellar", source="a walk", expires_at=2_000_000_000_000)
    write(bob, "a secret of bob's", scope="agent", aliases=["hidden", "kept"])
    local = write(found, "for this machine only", scope="user", local=True).id
    edges.link(found, first, second, "near", weight=0.25, metadata={"note": ODD})
    edges.link(found, local, second, "about")
    newer = change.supersede(ada, second, "the attic is damp", reason="rain").id
    change.update(ada, newer, title="attic")
    write(ada, "we met", session=session)
    gone = write(ada, "to be deleted", scope="org").id
    change.delete(ada, gone, confirm=True)
    task = tasks.create(ada, "paint", description=ODD, owner="bob", priority=3)["id"]
    tasks.create(bob, "buy paint", parent=task, depends_on=[task])
    tasks.complete(ada, task, result="painted")
    messages.send(ada, "bob", "come", title="help", context_ids=[first], dedup_key="k")
    chatlog.write(ada, "c1", "hello\r\n there", role="user", cost=0.1, tokens_in=3)
    chatlog.write(bob, "c1", "hi", role="assistant", metadata={"latency": 1e-7})
    sessions.end(ada, session)
