"""What the agents know: memories, what replaced them, their edges and vectors, their past."""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace

from satchel_sync.digest import derived_id, text_hash
from satchel_sync.stamp import CREATED, next_generation
from satchel_sync.tables import Embedding, Memory, Relationship
from satchel_warehouse.seeding import words
from satchel_warehouse.seeding.cast import DAY_MS, SPACES, Cast, uuid7
from satchel_warehouse.seeding.draw import Draw
from satchel_warehouse.seeding.made import Made
from satchel_warehouse.seeding.past import past

TYPES = ("note", "fact", "decision", "preference", "procedure", "observation", "reference", "code")
EDGES = ("related_to", "part_of", "depends_on", "contradicts")
MODELS = (("all-MiniLM-L6-v2@53aa51172d14", 384), ("multilingual-e5-small@0f3d2b8a91c7", 384))
SUPERSEDES, UPDATES, DELETED, FORGOTTEN, RETRACTED = 0.10, 0.22, 0.025, 0.002, 0.004
EMBEDDED, OUTDATED, LINKED = 0.45, 0.03, 0.15
OLDER, OLDER_DAYS_MAX = 0.05, 250
"""Some were known before the organisation's half a year: nobody has touched them since."""
TOPICS = 64
NEAR_MAX = 5_000
"""Memories that edges, tasks and reads may lead to: the newest."""


@dataclass
class Facts:
    """Makes memories one after another; `near` are the ids of the newest."""

    cast: Cast
    draw: Draw
    near: deque[str] = field(default_factory=lambda: deque(maxlen=NEAR_MAX))

    def __post_init__(self) -> None:
        """Vectors are made of two stocks: one for each topic, and noise that follows it."""
        stock = self.cast.draw("vectors")
        values = [stock.normal() * 384**-0.5 for _ in range(8_192)]
        self._noise = struct.pack(f"<{len(values)}f", *values)
        self._topics = [
            struct.pack("<192f", *(stock.normal() * 384**-0.5 for _ in range(192)))
            for _ in range(TOPICS)
        ]

    def story(self, at: int) -> Iterator[Made]:
        """One fact, as it came to be known by `at`, and what became of it."""
        draw, machine = self.draw, self.draw.early(range(self.cast.machines))
        if draw.chance(OLDER):
            at -= draw.between(1, OLDER_DAYS_MAX) * DAY_MS
        memory = self._memory(at, machine)
        if draw.chance(FORGOTTEN):
            yield Made(Memory(id=memory.id), at, machine, scrubbed=True)
        elif draw.chance(DELETED):
            yield from self._deleted(memory, machine)
        elif draw.chance(SUPERSEDES):
            yield from self._supersession(memory, machine)
        elif draw.chance(UPDATES):
            yield from self._updated(memory, machine)
        else:
            yield Made(memory, at, machine)
            yield from self._around(memory, machine)

    def _memory(self, at: int, machine: int) -> Memory:
        draw = self.draw
        agent, kind = draw.early(self.cast.agents[machine]), draw.early(TYPES)
        content, scope = words.text(draw, 4), draw.early(("agent", "space", "org", "user"))
        return Memory(
            id=uuid7(draw, at),
            type=kind,
            title=f"{words.MARK} {words.thing(draw)}" if draw.chance(0.6) else None,
            content=content,
            scope=scope,
            agent_id=agent,
            user_id="seeded-user" if scope == "user" else None,
            space=draw.early(SPACES) if scope == "space" else None,
            importance=draw.below(100) / 100 if draw.chance(0.3) else None,
            confidence=draw.below(100) / 100 if draw.chance(0.2) else None,
            pinned=1 if draw.chance(0.02) else None,
            source="seeded" if draw.chance(0.1) else None,
            valid_from=at + 30 * DAY_MS if draw.chance(0.002) else at,
            recorded_at=at,
            expires_at=at + draw.between(10, 200) * DAY_MS if draw.chance(0.04) else None,
            content_hash=text_hash(content),
        )

    def _around(self, memory: Memory, machine: int) -> Iterator[Made]:
        """Its vector, and an edge to one that is known already."""
        draw, at = self.draw, memory.recorded_at or 0
        if draw.chance(EMBEDDED):
            yield Made(self._embedding(memory), at + 500, machine)
        if self.near and draw.chance(LINKED):
            other, kind = draw.pick(self.near), draw.early(EDGES)
            yield Made(_edge(memory, other, kind), at, machine, rank=1)
        self.near.append(memory.id)

    def _embedding(self, memory: Memory) -> Embedding:
        draw = self.draw
        model, dims = MODELS[draw.chance(0.12)]
        named = f"{memory.title or ''} {memory.content}".strip()
        start = 4 * draw.below(8_192 - 192)
        return Embedding(
            id=derived_id(memory.id, model, 0),
            memory_id=memory.id,
            model=model,
            chunk=0,
            content_hash=text_hash("outdated" if draw.chance(OUTDATED) else named),
            dims=dims,
            dtype="f32",
            vector=self._topics[draw.below(TOPICS)] + self._noise[start : start + 768],
        )

    def _supersession(self, memory: Memory, machine: int) -> Iterator[Made]:
        """An older memory that this one took the place of; seldom it was only retracted."""
        draw, at = self.draw, memory.recorded_at or 0
        before = at - draw.between(1, 60 * DAY_MS)
        old = replace(
            self._memory(before, machine), agent_id=memory.agent_id, space=memory.space,
            scope=memory.scope, type=memory.type, expires_at=None, valid_from=before,
        )  # fmt: skip
        retracted = draw.chance(RETRACTED / SUPERSEDES)
        ended = replace(old, valid_to=before if retracted else at, retired_at=at)
        yield Made(ended, at, machine, rank=1)
        changes = {"retired_at": [None, at], "valid_to": [None, ended.valid_to]}
        yield past(self.draw, "memory", old.id, "update", changes, memory.agent_id, at, machine)
        if not retracted:
            memory = replace(memory, supersedes=old.id)
            yield Made(_edge(memory, old.id, "supersedes"), at, machine, rank=2)
        yield Made(memory, at, machine)
        yield from self._around(memory, machine)

    def _updated(self, memory: Memory, machine: int) -> Iterator[Made]:
        """A memory whose text was corrected later, on this machine or on another; if so soon."""
        draw, at = self.draw, memory.recorded_at or 0
        where = machine if draw.chance(0.8) else draw.below(self.cast.machines)
        later, text = at + draw.between(1, 20 * DAY_MS), words.text(draw, 4)
        if later > self.cast.end_ms:
            yield Made(memory, at, machine)
            yield from self._around(memory, machine)
            return
        changes = {
            "content": [memory.content, text],
            "content_hash": [memory.content_hash, text_hash(text)],
        }
        agent = draw.early(self.cast.agents[where])
        corrected = replace(memory, content=text, content_hash=text_hash(text))
        yield Made(corrected, later, where)
        yield past(self.draw, "memory", memory.id, "update", changes, agent, later, where)
        yield from self._around(corrected, machine)

    def _deleted(self, memory: Memory, machine: int) -> Iterator[Made]:
        """A tombstone, those of its vector and its edge, and a past that holds the whole row."""
        draw, at = self.draw, memory.recorded_at or 0
        later, dead = at + draw.between(1, 40 * DAY_MS), next_generation(CREATED)
        if later > self.cast.end_ms:
            yield Made(memory, at, machine)
            yield from self._around(memory, machine)
            return
        held = {name: [value, None] for name, value in asdict(memory).items() if value is not None}
        del held["id"]
        yield Made(Memory(id=memory.id), later, machine, dead)
        if draw.chance(EMBEDDED):
            yield Made(Embedding(id=self._embedding(memory).id), later, machine, dead, rank=1)
        if self.near and draw.chance(LINKED):
            edge = _edge(memory, draw.pick(self.near), draw.early(EDGES))
            yield Made(Relationship(id=edge.id), later, machine, dead, rank=2)
        yield past(draw, "memory", memory.id, "delete", held, memory.agent_id, later, machine)


def _edge(memory: Memory, other: str, kind: str) -> Relationship:
    return Relationship(
        id=derived_id(memory.id, other, kind), from_id=memory.id, to_id=other, type=kind,
        agent_id=memory.agent_id,
    )  # fmt: skip
