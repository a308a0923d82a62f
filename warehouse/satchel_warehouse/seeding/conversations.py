"""What was said: conversations of people and models, turn by turn, with tokens and cost."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from satchel_sync.digest import derived_id
from satchel_sync.tables import Chatlog, Session
from satchel_warehouse.seeding import words
from satchel_warehouse.seeding.cast import SPACES, Cast, uuid7
from satchel_warehouse.seeding.draw import Draw
from satchel_warehouse.seeding.made import Made

TURNS_MAX = 40
FORGOTTEN = 0.001
"""Of the turns: forgotten since, so that nothing of them is left but their ids."""
HOSTS = ("claude-code", "codex", "gemini-cli", "opencode")
PROVIDERS = (
    ("anthropic", "claude-sonnet-4-5", 3.0, 15.0),
    ("anthropic", "claude-opus-4-1", 15.0, 75.0),
    ("openai", "gpt-5", 1.25, 10.0),
    ("google", "gemini-2.5-pro", 1.25, 10.0),
    ("local", "qwen3-32b", 0.0, 0.0),
)
"""Provider, model, US dollars a million tokens in and out: made up, though near what was asked."""


@dataclass
class Conversations:
    """Makes conversations one after another."""

    cast: Cast
    draw: Draw

    def story(self, at: int) -> Iterator[Made]:
        """One conversation that began at `at`, and sometimes the session it was part of."""
        draw = self.draw
        machine = draw.early(range(self.cast.machines))
        agent, name = draw.early(self.cast.agents[machine]), uuid7(draw, at)
        place, host = draw.early(range(len(PROVIDERS))), draw.early(HOSTS)
        said_at = at
        for ordinal in range(2 + int((TURNS_MAX - 2) * draw.share() ** 2)):
            said_at = min(said_at + draw.between(1_000, 120_000), self.cast.end_ms)
            turn = self._turn(name, ordinal, agent, host, place, said_at)
            if draw.chance(FORGOTTEN):
                yield Made(Chatlog(id=turn.id), said_at, machine, scrubbed=True)
            else:
                yield Made(turn, said_at, machine)
        if draw.chance(0.3):
            yield Made(self._session(agent, at, said_at), said_at, machine, rank=1)

    def _turn(
        self, conversation: str, ordinal: int, agent: str, host: str, place: int, said_at: int
    ) -> Chatlog:
        draw, answers = self.draw, ordinal % 2 == 1
        content = words.text(draw, 6 if answers else 2)
        provider, model, dollars_in, dollars_out = PROVIDERS[place]
        tokens_in = draw.between(500, 40_000) if answers else None
        tokens_out = draw.between(20, 2_500) if answers else None
        cost = ((tokens_in or 0) * dollars_in + (tokens_out or 0) * dollars_out) / 1e6
        return Chatlog(
            id=derived_id(conversation, ordinal, "assistant" if answers else "user", content),
            conversation_id=conversation,
            ordinal=ordinal,
            role="assistant" if answers else "user",
            content=content,
            scope="agent",
            agent_id=agent,
            host_agent=host,
            provider=provider if answers else None,
            model=model if answers else None,
            tokens_in=tokens_in,
            tokens_out=tokens_out,
            cost=cost if answers and host != "codex" else None,
            redactions=1 if draw.chance(0.01) else None,
            said_at=said_at,
        )

    def _session(self, agent: str, opened_at: int, closed_at: int) -> Session:
        draw = self.draw
        return Session(
            id=uuid7(draw, opened_at),
            title=f"{words.MARK} {words.thing(draw)}",
            scope="space",
            space=draw.early(SPACES),
            agent_id=agent,
            agent_ids=f'["{agent}"]',
            opened_at=opened_at,
            closed_at=closed_at if draw.chance(0.9) else None,
        )
