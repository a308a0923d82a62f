"""A small organisation that two real machines wrote, for the views: every number can be counted.

The clock of all stands still between the steps. "Day -10" is ten days before `NOW_MS`, at the same
time of the day: 2027-01-15T08:00:00Z.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

import psycopg
from fix_audited import Audited
from fix_hub import HubWorld
from fix_memory import StillClock, TrigramEmbedder

from satchel.memory import change, chatlog, forget, supersede, write
from satchel.memory.tasks import changes, moves
from satchel.memory.visibility import Caller
from satchel.replica import Replica
from satchel.store import rows

NOW_MS = 1_800_000_000_000
DAY_MS = 24 * 60 * 60 * 1000


@dataclass
class Scene:
    """The hub, its two machines, and ids by the names that the story gives them."""

    world: HubWorld
    clock: StillClock
    laptop: Audited
    desk: Audited
    ids: dict[str, str] = field(default_factory=dict)

    @property
    def laptop_id(self) -> str:
        return self.laptop.store.replica_id.hex()

    @property
    def desk_id(self) -> str:
        return self.desk.store.replica_id.hex()

    def at(self, day: float) -> None:
        """Move everybody's clock; the hub's goes with it."""
        self.clock.at_ms = NOW_MS + int(day * DAY_MS)
        self.world.psql().execute(
            "UPDATE satchel.hub SET clock_correction_ms = 0;"
            f"UPDATE satchel.hub SET clock_correction_ms = {self.clock.at_ms} - satchel.now_ms()"
        )

    def as_agent(self, machine: Audited, agent: str) -> Replica:
        """The machine as one of its agents, who has a model."""
        caller = Caller(agent, "una", "agent")
        return Replica(machine.store, machine.settings, caller, given_embedder=TrigramEmbedder())

    def knows(self, name: str, text: str, **columns: Any) -> None:
        """Ada writes a memory for all on the laptop."""
        ada = self.as_agent(self.laptop, "ada")
        told: dict[str, Any] = {"scope": "org", "type": "fact"} | columns
        self.ids[name] = write.write(ada, text, **told).id

    def rows(self, query: str, *given: Any) -> list[tuple[Any, ...]]:
        """Rows of a query of the administrator."""
        with psycopg.connect(self.world.dsn, autocommit=True) as db:
            db.execute("SET timezone = 'UTC'")
            return db.execute(query.encode(), given).fetchall()

    def refresh(self) -> None:
        """Make the sums anew."""
        self.rows("SELECT satchel.refresh_reports()")


@contextmanager
def scene(world: HubWorld, folder: Path) -> Iterator[Scene]:
    """The story told to its end, and the sums made."""
    clock = StillClock(NOW_MS)
    laptop = Audited.at(folder / "laptop", world.login(), clock)
    desk = Audited.at(folder / "desk", world.login(), clock)
    told = Scene(world, clock, laptop, desk)
    try:
        # A process draws no id below an earlier one, and another story may have ended later.
        with patch.object(rows, "_ids", rows._Ids()):
            _knowledge(told)
            _both(told)
            _work(told)
            _end(told)
        told.refresh()
        yield told
    finally:
        laptop.close()
        desk.close()


def _knowledge(told: Scene) -> None:
    """What ada wrote on the laptop, from day -200 to day -9."""
    told.at(-200)
    told.knows("stale", "The backup runs at four.")
    told.knows("pinned", "Una is the owner of the archive.", pinned=True)
    told.at(-10)
    told.knows("old", "The port of the archive is 4000.", type="decision")
    told.knows("expired", "Until Sunday: no deployments!", type="note",
               expires_at=NOW_MS - 5 * DAY_MS)  # fmt: skip
    told.knows("future", "From February on the office is closed.",
               valid_from=NOW_MS + 10 * DAY_MS)  # fmt: skip
    told.knows("ended", "Bob is on holidays.")
    told.knows("both", "The gateway is called Vienna.")
    told.knows("deleted", "Lunch is at noon.")
    told.knows("forgotten", "The launch code is zebra.")
    told.knows("by hand", "The printer is on the second floor.")
    told.at(-9)
    ada = told.as_agent(told.laptop, "ada")
    told.ids["new"] = supersede.supersede(ada, told.ids["old"], "The archive has port 5000.").id
    told.laptop.sync()


def _both(told: Scene) -> None:
    """Bob on the desk corrects, deletes and talks; on day -2 both edit one memory."""
    told.at(-3)
    told.desk.sync()
    bob = told.as_agent(told.desk, "bob")
    change.update(bob, told.ids["ended"], valid_to=NOW_MS - 4 * DAY_MS)
    change.delete(bob, told.ids["deleted"], confirm=True)
    for number, (role, tokens) in enumerate([("user", None), ("assistant", 30)]):
        chatlog.write(
            bob, "talk", f"turn {number}", role=role, scope="org", host_agent="shell",
            ordinal=number, provider="acme" if tokens else None, model="m1" if tokens else None,
            tokens_in=100 if tokens else None, tokens_out=tokens, cost=0.25 if tokens else None,
        )  # fmt: skip
    told.desk.sync()
    told.laptop.sync()
    told.at(-2)
    ada = told.as_agent(told.laptop, "ada")
    change.update(ada, told.ids["both"], text="The gateway is called Graz.")
    told.clock.at_ms += 1_000  # bob's wins
    change.update(bob, told.ids["both"], text="The gateway is called Linz.")
    told.laptop.sync()
    told.desk.sync()
    told.laptop.sync()


def _work(told: Scene) -> None:
    """Tasks of ada's; two that each machine put under the other."""
    ada, bob = told.as_agent(told.laptop, "ada"), told.as_agent(told.desk, "bob")
    told.at(-6)
    for name, title, columns in (
        ("root", "Move the archive", {"scope": "org"}),
        ("child", "Pack the boxes", {"scope": "org", "owner": "bob", "due_at": NOW_MS - DAY_MS}),
        ("left", "Left", {"scope": "org"}),
        ("right", "Right", {"scope": "org"}),
    ):
        parent = {"parent": told.ids["root"]} if name == "child" else {}
        told.ids[name] = changes.create(ada, title, **columns, **parent)["id"]
    told.laptop.sync()
    told.desk.sync()
    told.at(-4)
    moves.complete(ada, told.ids["root"])
    changes.update(ada, told.ids["left"], parent=told.ids["right"])
    told.clock.at_ms += 1_000  # bob's link has the higher version
    changes.update(bob, told.ids["right"], parent=told.ids["left"])
    told.laptop.sync()
    told.desk.sync()
    told.laptop.sync()
    told.at(-1)
    told.ids["cancelled"] = changes.create(ada, "Call the movers", scope="user")["id"]
    moves.cancel(ada, told.ids["cancelled"])
    told.laptop.sync()


def _end(told: Scene) -> None:
    """A forget, reads, a row that cannot travel, and SQL by hand at the warehouse."""
    told.at(-1)
    ada = told.as_agent(told.laptop, "ada")
    chatlog.write(told.laptop.replica, "quick", "a question", role="assistant", scope="org",
                  host_agent="ide", ordinal=0, model="m2", tokens_out=7)  # fmt: skip
    told.laptop.put("plain", "Nobody made a vector of this.")
    forget.forget(told.laptop.replica, [told.ids["forgotten"]], confirm=True)
    told.at(0)
    told.ids["today"] = changes.create(ada, "Water the plants", scope="org")["id"]
    told.laptop.read(told.ids["new"], told.ids["pinned"])
    told.laptop.read(told.ids["new"])
    told.laptop.sync()
    told.desk.sync()
    told.desk.put("bad", "not to be sent")
    with told.desk.store.write() as db:
        db.execute("UPDATE memory SET content = 'x' || char(0) WHERE id = 'bad'")
    assert told.desk.sync()["exit"] == 11
    db = told.world.psql()
    db.execute("DELETE FROM satchel.memory WHERE id = %s", (told.ids["by hand"],))
    db.execute("UPDATE satchel.memory SET title = 'x' WHERE id = %s", (told.ids["future"],))
