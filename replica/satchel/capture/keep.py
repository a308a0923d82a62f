"""Keeping what a transcript holds: each turn once, without its secrets, on disk before the answer.

The same transcript may be captured as often as somebody likes, by several processes at once, and
after it has grown or was rewritten: only what is new is added (see `plan`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from satchel.capture import stored
from satchel.capture.clean import Said, cleaned, conversation_name, familiar, said_at, whole
from satchel.capture.copies import copied_from, without_copies, without_fork
from satchel.capture.dead import Dead
from satchel.capture.plan import Held, Plan, plan
from satchel.errors import InvalidInput, Refused
from satchel.memory import ownership, turn_ids
from satchel.memory.turn_ids import Place
from satchel.store import rows
from satchel.store.touched import TOOL
from satchel_sync.tables import CHATLOG, Chatlog

if TYPE_CHECKING:
    from apsw import Connection

    from satchel.capture.stored import Texts
    from satchel.memory.ownership import Owner
    from satchel.replica import Replica
    from satchel.transcripts.turn import Turn

AS_TOOL = "chatlog_capture"
"""What the audit calls these writes, where no other door names them."""
BATCH_TURNS = 200
"""Turns of one transaction: others wait for it no longer than some tenths of a second."""


@dataclass(slots=True, kw_only=True)
class Captured:
    """What became of the turns.

    `refused` held secrets where the settings refuse such turns, or are larger than any turn is.
    """

    created: int = 0
    exists: int = 0
    updated: int = 0
    forgotten: int = 0
    refused: int = 0
    redactions: int = 0
    conversations: int = 0

    @property
    def turns(self) -> int:
        """All of them."""
        return self.created + self.exists + self.forgotten + self.refused

    def add(self, other: Captured) -> None:
        """Sum both up."""
        for name in self.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name))


def capture(
    replica: Replica, turns: Iterable[Turn], *, scope: str | None = None, space: str | None = None
) -> Captured:
    """Keep the turns that are not kept yet, as this caller's, under `scope` as in `chatlog.write`.

    What is told as created is durable. A process that ends in between has kept some of them; the
    next capture adds the rest. Raises InvalidInput, NotFound (a closed space), Refused.
    """
    owner = ownership.decide(replica.caller, scope=scope, space=space, session=None)
    captured = Captured()
    token = TOOL.set(TOOL.get() or AS_TOOL)
    try:
        for conversation, own in _conversations(replica, owner, turns, captured):
            _keep(replica, owner, conversation, own, captured)
            captured.conversations += 1
    finally:
        TOOL.reset(token)
    return captured


def _conversations(
    replica: Replica, owner: Owner, turns: Iterable[Turn], captured: Captured
) -> Iterator[tuple[str, Sequence[Said]]]:
    """(conversation, its own turns without their secrets)."""
    grouped: dict[str, list[Turn]] = {}
    for turn in turns:
        grouped.setdefault(turn.conversation_id, []).append(turn)
    for conversation, of_it in grouped.items():
        name = conversation_name(conversation)
        yield name, _own(replica, owner, name, of_it, captured)


def _own(
    replica: Replica, owner: Owner, conversation: str, turns: Sequence[Turn], captured: Captured
) -> Sequence[Said]:
    """What was said here, and not in the conversation that this one is a fork or copy of."""
    fork_of = turns[0].metadata.get("forked_from")
    is_fork = isinstance(fork_of, str) and fork_of != turns[0].conversation_id
    origins: list[str] = []
    with replica.store.read() as db:
        texts = stored.texts(db, replica, conversation)
        if not is_fork and (turns[0].role, said_at(turns[0])) not in texts:
            origins = copied_from(db, replica, owner, conversation, turns)
        for one in origins[::-1]:
            texts = {**stored.texts(db, replica, one), **texts}
    said: Sequence[Said] = list(_said(replica, turns, texts, captured))
    with replica.store.read() as db:
        if is_fork:
            origin = conversation_name(str(fork_of))
            own, forgotten = without_fork(db, replica, owner, origin, said)
        else:
            own, forgotten = without_copies(db, replica, owner, origins, said)
    captured.forgotten += forgotten
    captured.exists += len(said) - len(own) - forgotten
    return own


def _said(
    replica: Replica, turns: Sequence[Turn], texts: Texts, captured: Captured
) -> Iterator[Said]:
    for turn in turns:
        known = familiar(turn, texts.get((turn.role, turn.said_at), ()))
        if known is not None:
            yield known
            continue
        try:
            yield from cleaned(turn, replica.settings.chatlog_secrets)
        except (Refused, InvalidInput):
            captured.refused += 1


def _keep(
    replica: Replica, owner: Owner, conversation: str, said: Sequence[Said], captured: Captured
) -> None:
    """Add what is new, in transactions of some turns each."""
    with replica.store.read() as db:
        made, seen = _plan(db, replica, owner, conversation, said), _seen(db)
    created = 0
    while not made.is_done:
        with replica.store.write(replica.actor) as db:
            if seen != _seen(db):  # another has written meanwhile: what is new may be so no more
                made, seen = _plan(db, replica, owner, conversation, said), _seen(db)
            ownership.settle(db, replica.caller, owner)
            added, updated = _write_batch(db, replica, owner, conversation, made)
        created += len(added)
        captured.redactions += sum(one.columns["redactions"] or 0 for one in added)
        captured.updated += updated
    captured.created += created
    captured.exists += len(said) - created - made.forgotten
    captured.forgotten += made.forgotten


def _seen(db: Connection) -> int:
    """Another number when another connection has written."""
    return int(db.execute("PRAGMA data_version").get)


def _plan(
    db: Connection, replica: Replica, owner: Owner, conversation: str, said: Sequence[Said]
) -> Plan:
    def same(kept: Held, one: Said) -> bool:
        return stored.same(db, kept, one)

    def key(ordinal: int, one: Said) -> str:
        return turn_ids.new(owner, Place(conversation, ordinal, one.role, one.content))

    def there(ordinal: int, one: Said) -> bool | None:
        return stored.is_living(db, key(ordinal, one))

    held = stored.held(db, replica, conversation)
    return plan(held, said, same, there, Dead(held, key, lambda: stored.dead(db)))


def _write_batch(
    db: Connection, replica: Replica, owner: Owner, conversation: str, made: Plan
) -> tuple[list[Said], int]:
    """Some of what the plan says, which is then no longer in it; what was added and corrected."""
    added: list[Said] = []
    while made.new and len(added) < BATCH_TURNS:
        one, ordinal = made.new.popleft()
        one = whole(one, replica.settings.chatlog_secrets)
        rows.insert(db, _row(owner, conversation, one, ordinal))
        added.append(one)
    updated = 0
    while made.grown and not made.new:
        held, one = made.grown.pop()
        names = ("tokens_in", "tokens_out", "cost", "metadata")
        columns = whole(one, replica.settings.chatlog_secrets).columns
        updated += rows.update(db, CHATLOG, held.id, **{name: columns[name] for name in names})
    return added, updated


def _row(owner: Owner, conversation: str, one: Said, ordinal: int) -> Chatlog:
    return Chatlog(
        id=turn_ids.new(owner, Place(conversation, ordinal, one.role, one.content)),
        conversation_id=conversation,
        ordinal=ordinal,
        role=one.role,
        content=one.content,
        scope=owner.scope,
        space=owner.space,
        agent_id=owner.agent_id,
        user_id=owner.user_id,
        said_at=one.said_at,
        **one.columns,
    )
