"""First in, first out: the time under which a message to an agent is kept on this machine."""

from __future__ import annotations

import apsw

AHEAD_MS_MAX = 5 * 60 * 1000
"""A message further ahead of this machine's clock (another's was wrong) holds up no order."""


def next_at(
    db: apsw.Connection,
    sender: str | None,
    to_agent: str,
    now_ms: int,
    answered: str | None = None,
) -> int:
    """`now_ms`, or a millisecond after this sender's last message to it and the one answered.

    So what one agent sends to another is read in the order in which it was sent, by whatever
    process, also when the clock stood still or was set back; and an answer comes after its
    question, though another machine's clock is ahead. Messages of other senders have no say: a
    time would betray them. Inside a write transaction.
    """
    last = db.execute(
        "SELECT max(at) FROM (SELECT max(created_at) AS at FROM message"
        " WHERE to_agent = ?1 AND from_agent IS ?2 AND created_at <= ?3"
        " UNION ALL SELECT created_at FROM message WHERE id = ?4 AND created_at <= ?3)",
        (to_agent, sender, now_ms + AHEAD_MS_MAX, answered),
    ).get
    return now_ms if last is None or last < now_ms else int(last) + 1
