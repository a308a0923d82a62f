"""Twin worlds: one where others keep rows that a caller may not see, one where they never did.

Whoever may not see a row must not be able to tell the two worlds apart, whatever it asks: not by
an answer, an order, a count or a score, nor by the words of a refusal. That says more than looking
for traces of the hidden rows, and needs nothing to be known of the tool that is asked.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from fix_memory import NOON_MS, StillClock, TrigramEmbedder, opened, seen_as

from satchel.errors import SatchelError
from satchel.memory import agents, change, chatlog, edges, supersede
from satchel.memory.messages import messages
from satchel.memory.sessions import sessions
from satchel.memory.tasks import tasks
from satchel.memory.visibility import Role
from satchel.memory.write import write
from satchel.replica import Replica
from satchel.store import journal, quarantine, rows
from satchel.tools import catalog
from satchel_sync.changes import Loser, Row
from satchel_sync.stamp import Stamp
from satchel_sync.tables import BY_NAME, Space

SECRET = "the vault of zanzibar opens with marzipan"
"""What is hidden says this; `marzipan` is a word that nobody else uses and no case asks for."""
TRACE = "marzipan"
SCOPES = ("agent", "session", "space", "user")
DAYS_AGO_MS = NOON_MS - 3 * 24 * 60 * 60 * 1000
Asker = tuple[str | None, str, Role]
"""Agent, user and role."""
_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


@dataclass(frozen=True, kw_only=True)
class Own:
    """What both worlds have: rows of bob, and of others that he may see."""

    memory: str
    """For everyone."""
    mine: str
    old: str
    """Superseded by `new`."""
    new: str
    deleted: str
    edge: str
    task: str
    """For everyone, with the part `child`."""
    child: str
    turn: str
    session: str
    """With ada and cleo."""
    sent: str
    received: str
    notification: str
    space: str = "harbour"
    conversation: str = "harbour-talk"


@dataclass(frozen=True, kw_only=True)
class Hidden:
    """What only one world has: rows of ada in one scope, and of cleo, none for bob to see."""

    memory: str
    other: str
    old: str
    new: str
    deleted: str
    edge: str
    to_own: str
    """An edge from `memory` to a row that bob sees."""
    repeats: str
    """A memory with the text of one that bob sees, written in a session of his."""
    task: str
    child: str
    """A part of `task`."""
    part: str
    """A part of a task that bob sees."""
    turn: str
    between: str
    """A turn in a conversation that bob takes part in."""
    session: str
    message: str
    reply: str
    """In the thread of a message of bob's, to somebody else."""
    space: str = "zanzibar-lab"
    conversation: str = "zanzibar-talk"

    @property
    def ids(self) -> dict[str, str]:
        """Name -> id, of what is a row."""
        named = {"space", "conversation"}
        return {name: key for name, key in asdict(self).items() if name not in named}


@dataclass
class World:
    """A home, what is in it, and the clock of it."""

    replica: Replica
    clock: StillClock

    def ask(self, caller: Replica, name: str, given: Mapping[str, Any]) -> Any:
        """What a tool answers, or how it refuses, as a door would have it."""
        self.clock.at_ms += 1  # no two rows of one time: their order would be that of random ids
        tool, presets = catalog.find(name)
        try:
            return tool.call(caller, tool.arguments({**presets, **given}))
        except SatchelError as refusal:
            return [refusal.code, str(refusal), refusal.hint, refusal.field]


@dataclass
class Twins:
    """Both worlds, as one caller asks them."""

    with_hidden: World
    without: World
    hidden: Hidden
    own: Own
    caller: Asker

    def asked(self, name: str, given: Mapping[str, Any]) -> tuple[Any, Any]:
        """The answers of both worlds, with new ids numbered and without what takes time."""
        there, absent = (
            self._answer(world, self.caller, name, given)
            for world in (self.with_hidden, self.without)
        )
        return there, absent

    def as_operator(self, name: str, given: Mapping[str, Any]) -> Any:
        """The answer of who sees all, where there is something to see."""
        return self._answer(self.with_hidden, (None, "una", "operator"), name, given)

    def _answer(
        self,
        world: World,
        caller: tuple[str | None, str, Role],
        name: str,
        given: Mapping[str, Any],
    ) -> Any:
        agent, user, role = caller
        asking = seen_as(world.replica, agent, user=user, role=role)
        asking.settings = replace(asking.settings, agent_id=agent, role=role)
        known = {*self.hidden.ids.values(), *asdict(self.own).values()}
        try:
            return _plain(world.ask(asking, name, given), known)
        finally:
            asking.activity.wait()
            asking.activity.close()

    def hidden_rows(self) -> dict[str, list[Any]]:
        """Every column of the hidden rows and of their history: nobody may have touched one."""
        keys = json.dumps([*self.hidden.ids.values(), self.hidden.space])
        found = {}
        with self.with_hidden.replica.store.read() as db:
            for kind, table in BY_NAME.items():
                key = "key" if kind == "history" else table.key
                sql = f"""SELECT t.* FROM {kind} AS t
                          WHERE t.{key} IN (SELECT value FROM json_each(?))
                          ORDER BY t.{table.key}"""
                found[kind] = db.execute(sql, (keys,)).fetchall()
        return found


def _plain(answer: Any, known: set[str]) -> Any:
    """An answer that can be compared: ids that nobody knew are numbered as they appear."""
    text = json.dumps(answer, ensure_ascii=False, sort_keys=True)
    new: dict[str, str] = {}

    def named(found: re.Match[str]) -> str:
        key = found[0]
        return key if key in known else new.setdefault(key, f"<new {len(new)}>")

    plain = json.loads(_ID.sub(named, text))
    if isinstance(plain, dict):
        for name in ("took_ms", "replica_id"):
            plain.pop(name, None)
    return plain


@contextmanager
def twins(folder: Path, scope: str, *, role: Role = "agent") -> Iterator[Twins]:
    """Both worlds with rows hidden in this scope; asked by bob of the user una, in this role."""
    with ExitStack() as stack:
        with _world(folder / "base") as world:
            own = _own_rows(world)
        for name in ("with", "without"):
            shutil.copytree(folder / "base", folder / name)
        with_hidden = stack.enter_context(_world(folder / "with"))
        without = stack.enter_context(_world(folder / "without"))
        hidden = _hidden_rows(with_hidden, own, scope)
        for world in (with_hidden, without):
            world.clock.at_ms = NOON_MS
        yield Twins(with_hidden, without, hidden, own, ("bob", "una", role))


@contextmanager
def _world(home: Path) -> Iterator[World]:
    home.mkdir(parents=True, exist_ok=True)
    clock = StillClock(DAYS_AGO_MS)
    with opened(home, clock=clock, embedder=TrigramEmbedder()) as replica:
        yield World(replica, clock)


def _own_rows(world: World) -> Own:
    bob, cleo = (seen_as(world.replica, name) for name in ("bob", "cleo"))
    for name in ("ada", "bob", "cleo"):
        agents.register(seen_as(world.replica, name), name)
    with world.replica.store.write() as db:
        rows.insert(db, Space(name="harbour", members='["bob", "cleo"]'))
    memory = write(bob, "the ferry to zanzibar leaves at nine", scope="org", title="ferry").id
    mine = write(bob, "zanzibar is far away for a weekend").id
    old = write(bob, "the harbour has three piers", space="harbour").id
    new = supersede.supersede(bob, old, "the harbour has four piers and a vault").id
    deleted = write(bob, "the vault of the harbour is empty").id
    change.delete(bob, deleted, confirm=True)
    task = tasks.create(bob, "paint the ferry", scope="org")["id"]
    session = sessions.start(bob, title="at the harbour", agents=["ada", "cleo"])["id"]
    write(bob, "we met at the harbour", session=session)
    turn = chatlog.write(bob, "harbour-talk", "who opens the vault?", scope="org")["id"]
    chatlog.write(cleo, "harbour-talk", "nobody does, it is shut", scope="org")
    tasks.create(cleo, "sweep the pier", owner="bob", scope="org")
    received = messages.send(cleo, "bob", "see you in zanzibar")["id"]
    (notification,) = messages.inbox(bob, kind="notification")["items"]
    bob.activity.wait()  # what it leaves is copied with the home
    bob.activity.close()
    return Own(
        memory=memory,
        mine=mine,
        old=old,
        new=new,
        deleted=deleted,
        edge=edges.link(bob, memory, mine, "relates_to")["id"],
        task=task,
        child=tasks.create(bob, "buy paint", parent=task, scope="org")["id"],
        turn=turn,
        session=session,
        sent=messages.send(bob, "cleo", "shall we?")["id"],
        received=received,
        notification=notification["id"],
    )


def _hidden_rows(world: World, own: Own, scope: str) -> Hidden:
    """Rows of ada, older than bob's; with the scope `user` she works for another user."""
    world.clock.at_ms -= 60
    ada = seen_as(world.replica, "ada", user="ulf" if scope == "user" else "una")
    cleo = seen_as(world.replica, "cleo")
    if scope != "user":  # a supervisor sees spaces and sessions, but not what is another user's
        with world.replica.store.write() as db:
            rows.insert(db, Space(name="zanzibar-lab", members='["ada", "cleo"]'))
            rows.insert(db, Space(name="agent:ada", grants='{"read": ["cleo"]}'))
    session_scope = "user" if scope == "user" else "session"
    session = sessions.start(ada, title=SECRET, agents=["cleo"], scope=session_scope)["id"]
    place: dict[str, Any] = {"scope": scope}
    place |= {"session": {"session": session}, "space": {"space": "zanzibar-lab"}}.get(scope, {})
    turn_place = {"scope": "agent"} if scope == "session" else place
    memory = write(ada, SECRET, title=TRACE, aliases=[TRACE], **place).id
    other = write(ada, f"{SECRET}, they say", **place).id
    old = write(ada, f"{SECRET} on mondays", **place).id
    new = supersede.supersede(ada, old, f"{SECRET} on tuesdays").id
    change.update(ada, memory, importance=0.9)
    deleted = [write(ada, f"{SECRET} {number}", **place).id for number in range(12)]
    for key in deleted:
        change.delete(ada, key, confirm=True)
    task = tasks.create(ada, SECRET, **place)["id"]
    spent = {"model": "m", "tokens_in": 5, "tokens_out": 7, "cost": 0.5}
    hidden = Hidden(
        memory=memory,
        other=other,
        old=old,
        new=new,
        deleted=deleted[0],
        edge=edges.link(ada, memory, other, "relates_to")["id"],
        to_own=edges.link(ada, memory, own.memory, "explains")["id"],
        repeats=write(
            ada,
            "the ferry to zanzibar leaves at nine, says marzipan",
            scope="agent" if scope == "session" else scope,
            space="zanzibar-lab" if scope == "space" else None,
            session=own.session,
        ).id,
        task=task,
        child=tasks.create(ada, SECRET, parent=task, **place)["id"],
        part=tasks.create(ada, SECRET, parent=own.task, **place)["id"],
        turn=chatlog.write(ada, "zanzibar-talk", SECRET, **turn_place, **spent)["id"],
        between=chatlog.write(ada, "harbour-talk", SECRET, **turn_place, **spent)["id"],
        session=session,
        message=messages.send(ada, "cleo", SECRET)["id"],
        reply=messages.send(cleo, "ada", SECRET, thread_id=own.sent)["id"],
    )
    _put_aside(world, hidden)
    return hidden


def _put_aside(world: World, hidden: Hidden) -> None:
    """A lost version and a quarantined row of each kind, as a sync leaves them."""
    kinds = {"memory": "memory", "task": "task", "turn": "chatlog", "message": "message"}
    with world.replica.store.write() as db:
        for name, kind in kinds.items():
            table, key = BY_NAME[kind], hidden.ids[name]
            row = rows.get(db, table, key)
            values = (*(getattr(row, column) for column in table.names), None)
            lost = Row(key, Stamp(1 << 16, 1, bytes(16), bytes(8)), "", values)
            winner = Stamp(1 << 16, 2, bytes(16), bytes(8))
            journal.add(db, Loser(kind, lost, winner, "push", world.clock.at_ms))
            quarantine.put(db, table, key, ("content", SECRET), world.clock.at_ms)


def traces(answer: Any, hidden: Hidden, given: Mapping[str, Any]) -> list[str]:
    """What an answer tells of hidden rows: their word, their ids that were not asked for."""
    said, asked = json.dumps(answer, ensure_ascii=False), json.dumps(given)
    found = [name for name, key in hidden.ids.items() if key in said and key not in asked]
    return [*found, *([TRACE] if TRACE in said and TRACE not in asked else [])]
