"""Audit: records of this machine's chains go to the hub, from where it says that it stands."""

from __future__ import annotations

from collections.abc import Mapping

from satchel_sync.changes import AuditAnswer, AuditBatch, AuditHeld
from satchel_sync.ports import Hub, Replica
from satchel_sync.tally import Tally

LEFT_OUT = "the warehouse keeps no audit yet: `satchel warehouse migrate` brings it that far"
ANEW = (
    "an audit chain of this file is not the one that the warehouse holds of it: the file takes a"
    " new replica id, and its chains begin anew"
)
TOOK_NONE = "the warehouse took none of its records, and does not say why"


def upload(
    replica: Replica, hub: Hub, tally: Tally, held: Mapping[str, AuditHeld] | None
) -> AuditBatch:
    """Send all but the last batch, which is returned: it travels with the goodbye.

    So a sync with little to tell makes no call for it. A chain that the hub refused is left out
    from then on, the other goes on.
    """
    if held is None:
        tally.audit_left_out = LEFT_OUT
        return AuditBatch()
    known = dict(held)
    while (batch := _next(replica, tally, known)).more:
        before = dict(known)
        answer = hub.audit(batch.parts)
        noted(replica, tally, known, answer)
        if known == before and not answer.refused:
            tally.audited(0, {part.chain: TOOK_NONE for part in batch.parts})
    return batch


def noted(replica: Replica, tally: Tally, known: dict[str, AuditHeld], answer: AuditAnswer) -> None:
    """Keep what the hub answered: here, in the report, and where the next batch begins."""
    tally.audited(answer.taken, answer.refused, anew=answer.anew)
    known.update(answer.held)
    replica.audit_sent(answer.held)


def begin_anew(replica: Replica, tally: Tally) -> None:
    """Take a new id where the chains go on under one only; what was refused stays as evidence.

    So a file that was tampered with, or lost a chain, says it once and then gets on again.
    """
    if tally.audit_anew:
        replica.succeed(ANEW)
        tally.identity.append(ANEW)


def _next(replica: Replica, tally: Tally, known: Mapping[str, AuditHeld]) -> AuditBatch:
    batch = replica.audit_waiting(known, tuple(tally.audit_refused))
    tally.audited(0, batch.refused)
    return batch
