"""A store full of vectors, what may happen to it, and the answers by brute force."""

from __future__ import annotations

import json
import random
import struct
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from fix_memory import StillClock, opened

from satchel.memory.search.filters import Filter
from satchel.memory.text import content_hash
from satchel.memory.visibility import Caller
from satchel.ranking import pure
from satchel.replica import Replica
from satchel.store import rows
from satchel.store.seal import hash_texts
from satchel.vectors import VectorIndex
from satchel.vectors.source import SOURCES
from satchel_sync.tables import (
    EMBEDDING,
    MEMORY,
    Chatlog,
    Embedding,
    Memory,
    Message,
    Session,
    Space,
)

DIMS = 6
MODELS = ("small@1", "other/model: ü@2")
AGENTS = ("ada", "bob", "cy")
USERS = ("una", "ugo")
SPACES = ("open", "closed", "nowhere")
SESSIONS = ("s1", "s2")
CALLERS = (
    Caller(None, "una"),
    *(Caller(agent, user, "agent") for agent in (*AGENTS, None) for user in USERS),
    Caller("ada", "una", "supervisor"),
)


def packed(numbers: Sequence[float]) -> bytes:
    return struct.pack(f"<{len(numbers)}f", *numbers)


class World:
    """One home. Everything that happens is drawn from a seed."""

    def __init__(self, home: Path, seed: int = 0, engine: str = "pure") -> None:
        self.home, self.random, self.engine = home, random.Random(seed), engine
        self.replica = self.open()
        self.count = 0
        self.centres = [[self.random.gauss(0, 1) for _ in range(DIMS)] for _ in range(4)]
        self.found_places()

    def open(self) -> Replica:
        replica = opened(self.home, clock=StillClock(), embedding="off")
        from satchel.ranking import choose

        replica.__dict__["ranking"] = choose(self.engine)  # type: ignore[arg-type]
        return replica

    def close(self) -> None:
        self.replica.store.close()

    def found_places(self) -> None:
        with self.replica.store.write() as db:
            if db.execute("SELECT 1 FROM space").fetchone():
                return
            rows.insert(db, Space(name="open"))
            rows.insert(db, Space(name="closed", members=json.dumps(["ada"])))
            for name, agents in zip(SESSIONS, (["ada", "bob"], ["cy"]), strict=True):
                rows.insert(
                    db,
                    Session(
                        id=name, scope="session", agent_id=agents[0], agent_ids=json.dumps(agents)
                    ),
                )

    # What may happen

    def vector(self) -> bytes:
        """Clustered; now and then the very same as another, zeros, or huge."""
        kind = self.random.random()
        if kind < 0.1:
            return packed(self.centres[0])
        if kind < 0.13:
            return packed([0.0] * DIMS)
        if kind < 0.16:
            return packed([1e18 * self.random.gauss(0, 1) for _ in range(DIMS)])
        centre = self.random.choice(self.centres)
        return packed([number + self.random.gauss(0, 0.3) for number in centre])

    def owner(self) -> dict[str, Any]:
        pick = self.random.choice
        scope = pick(("agent", "session", "space", "user", "org", "agent", "odd", None))
        return {
            "scope": scope,
            "agent_id": pick((*AGENTS, None)),
            "user_id": pick((*USERS, None)),
            "space": pick((*SPACES, None)),
        }

    def write(self) -> str:
        self.count += 1
        key = f"m{self.random.getrandbits(60):015x}"
        content = f"memory {self.count}"
        memory = Memory(
            id=key,
            content=content,
            content_hash=content_hash(content),
            type=self.random.choice(("note", "fact")),
            session_id=self.random.choice((*SESSIONS, None)),
            valid_from=0,
            recorded_at=0,
            **self.owner(),
        )
        with self.replica.store.write() as db:
            rows.insert(db, memory)
            hash_texts(db)
            self.embed(db, key)
        return key

    def embed(self, db: Any, key: str) -> None:
        held: Memory | None = rows.get(db, MEMORY, key)
        if held is None:
            return
        model = self.random.choice(MODELS)
        for chunk in range(self.random.choice((1, 1, 2, 3))):
            one = f"{key}-{MODELS.index(model)}-{chunk}"
            vector = self.vector()
            if rows.get(db, EMBEDDING, one) is not None:
                rows.update(db, EMBEDDING, one, content_hash=held.content_hash, vector=vector)
                continue
            rows.insert(
                db,
                Embedding(
                    id=one,
                    memory_id=key,
                    model=model,
                    chunk=chunk,
                    content_hash=held.content_hash,
                    dims=DIMS,
                    dtype="f32",
                    vector=vector,
                ),
            )

    def any_memory(self, db: Any) -> str | None:
        keys = [key for (key,) in db.execute("SELECT id FROM memory ORDER BY id")]
        return self.random.choice(keys) if keys else None

    def change(self) -> None:
        """One of the things that may happen to a memory."""
        with self.replica.store.write() as db:
            key = self.any_memory(db)
            if key is None:
                return
            held: Memory | None = rows.get(db, MEMORY, key)
            what = self.random.choice(
                ("embed", "text", "delete", "owner", "close", "unembed", "spoil", "forge")
            )
            if held is None:
                if what != "delete":
                    content = f"back again {self.random.random()}"
                    rows.insert(
                        db,
                        Memory(
                            id=key, content=content, content_hash=content_hash(content), scope="org"
                        ),
                    )
                    self.embed(db, key)
            elif what == "embed":
                self.embed(db, key)
            elif what == "text":
                content = f"changed {self.random.random()}"
                rows.update(db, MEMORY, key, content=content, content_hash=content_hash(content))
            elif what == "delete":
                rows.delete(db, MEMORY, key)
            elif what == "owner":
                rows.update(db, MEMORY, key, **self.owner())
            elif what == "close":
                rows.update(db, MEMORY, key, valid_to=1, retired_at=1)
            elif what == "unembed":
                db.execute("DELETE FROM embedding WHERE memory_id = ?", (key,))
            elif what == "spoil":
                bad = self.random.choice(
                    (packed([float("nan")] * DIMS), packed([1.0]), b"", "text", None)
                )
                db.execute("UPDATE embedding SET vector = ? WHERE memory_id = ?", (bad, key))
            elif what == "forge":
                db.execute(
                    "INSERT OR REPLACE INTO embedding(id, memory_id, model, chunk, content_hash,"
                    " dims, dtype, vector) SELECT id, memory_id, model, chunk, content_hash, dims,"
                    " dtype, vector FROM embedding WHERE memory_id = ?",
                    (key,),
                )

    def say(self) -> None:
        """A chat turn, maybe between others, with its vectors."""
        self.count += 1
        owner = self.owner()
        turn = Chatlog(
            id=f"t{self.random.getrandbits(60):015x}",
            conversation_id=self.random.choice(SESSIONS),
            ordinal=self.random.randrange(50),
            role="user",
            content=f"turn {self.count}",
            said_at=0,
            **owner,
        )
        with self.replica.store.write() as db:
            rows.insert(db, turn)
            self.drain(db)

    def drain(self, db: Any) -> None:
        """Vectors for queued turns, as the queue's owner makes them."""
        for (turn,) in db.execute("SELECT turn FROM turn_queue").fetchall():
            for chunk in range(self.random.choice((1, 1, 2))):
                db.execute(
                    "INSERT OR REPLACE INTO turn_vector(turn, model, view, chunk, dims, vector)"
                    " VALUES(?, ?, ?, ?, ?, ?)",
                    (
                        turn,
                        self.random.choice(MODELS),
                        self.random.randrange(2),
                        chunk,
                        DIMS,
                        self.vector(),
                    ),
                )
        db.execute("DELETE FROM turn_queue")

    def change_turn(self) -> None:
        with self.replica.store.write() as db:
            found = db.execute("SELECT id FROM chatlog ORDER BY id").fetchall()
            if not found:
                return
            key = self.random.choice(found)[0]
            what = self.random.choice(("delete", "owner", "text", "order", "revector", "replace"))
            if what == "delete":
                db.execute("DELETE FROM chatlog WHERE id = ?", (key,))
            elif what == "owner":
                db.execute(
                    "UPDATE chatlog SET scope = :scope, agent_id = :agent_id, user_id = :user_id,"
                    " space = :space WHERE id = :id",
                    {**self.owner(), "id": key},
                )
            elif what == "text":
                db.execute("UPDATE chatlog SET content = 'other' WHERE id = ?", (key,))
            elif what == "order":
                db.execute(
                    "UPDATE chatlog SET ordinal = ? WHERE id = ?",
                    (self.random.randrange(50), key),
                )
            elif what == "revector":
                db.execute("UPDATE turn_vector SET vector = ?", (self.vector(),))
            else:
                db.execute(
                    "INSERT OR REPLACE INTO chatlog(id, conversation_id, ordinal, content, scope)"
                    " VALUES(?, 's1', 3, 'again', 'org')",
                    (key,),
                )
            if self.random.random() < 0.7:
                self.drain(db)

    def change_who_sees(self) -> None:
        with self.replica.store.write() as db:
            what = self.random.randrange(3)
            agents = json.dumps(self.random.sample(AGENTS, self.random.randrange(3)))
            if what == 0:
                db.execute("UPDATE space SET members = ? WHERE name = 'closed'", (agents,))
            elif what == 1:
                db.execute(
                    "UPDATE session SET agent_ids = ? WHERE id = ?",
                    (agents, self.random.choice(SESSIONS)),
                )
            else:
                key = self.any_memory(db)
                rows.insert(
                    db,
                    Message(
                        # Not by counting: other processes write messages, too.
                        id=f"h{self.random.getrandbits(60):015x}",
                        from_agent=self.random.choice(AGENTS),
                        to_agent=self.random.choice(AGENTS),
                        context_ids=json.dumps([key]),
                    ),
                )

    def step(self) -> None:
        steps: list[Callable[[], object]] = [
            self.write, self.write, self.change, self.change, self.change,
            self.say, self.change_turn, self.change_who_sees,
        ]  # fmt: skip
        self.random.choice(steps)()

    # What is asked

    def check(self, index: VectorIndex | None = None, times: int = 1, **fixed: str) -> None:
        """Ask something drawn, of this `kind` and `model` where given; compare with brute force."""
        with self.replica.store.read() as db:
            for _ in range(times):
                asked = self.draw_question(**fixed)
                given = (index or self.replica.vectors).nearest(db, *asked)
                assert given == brute_force(db, *asked[1:]), asked

    def check_all(self, index: VectorIndex | None = None) -> None:
        """Ask of every kind and model."""
        for kind in SOURCES:
            for model in MODELS:
                self.check(index, times=3, kind=kind, model=model)

    def draw_question(self, kind: str = "", model: str = "") -> tuple[Any, ...]:
        pick = self.random.choice
        caller, kind = pick(CALLERS), kind or pick(("memory", "memory", "chatlog"))
        wanted = Filter.of(
            self.replica.now_ms(),
            type=pick((None, None, "note")) if kind == "memory" else None,
            scope=pick((None, None, None, "org", "agent")),
            spaces=pick((None, None, ["open"])),
            agents=pick((None, None, ["ada"], ["bob", "cy"])),
            any_time=pick((True, False)),
        )
        where = wanted.memory_sql(caller) if kind == "memory" else wanted.chatlog_sql(caller)
        params = {**caller.params, **wanted.params}
        limit = pick((0, 1, 2, 5, 50))
        query = self.vector() if self.random.random() < 0.9 else packed(self.centres[0])
        return caller, kind, model or pick(MODELS), DIMS, query, limit, where, params


def brute_force(
    db: Any,
    kind: str,
    model: str,
    dims: int,
    query: bytes,
    limit: int,
    where: str,
    params: dict[str, Any],
) -> list[int]:
    """Every vector that counts, by exact cosine; equal ones by id."""
    source = SOURCES[kind]
    found = db.execute(
        f"""SELECT t.row, t.id, v.vector FROM {source.row_table} AS t
            JOIN {source.table} AS v ON {source.joined}
            WHERE {source.counts} AND ({where})""",
        {**params, "vector_model": model, "vector_dims": dims},
    ).fetchall()
    best: dict[tuple[int, str], float] = {}
    for row, key, vector in found:
        numbers = struct.unpack(f"<{dims}f", vector)
        if any(number != number or abs(number) == float("inf") for number in numbers):
            continue
        ((_, cosine),) = pure.cosine_top_k(vector, dims, query, 1)
        best[row, key] = max(cosine, best.get((row, key), cosine))
    return [row for row, _ in sorted(best, key=lambda one: (-best[one], one[1]))[:limit]]
