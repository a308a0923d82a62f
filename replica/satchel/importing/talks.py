"""Storing turns: through the capture that the hooks of hosts use, redacted and known by content."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from satchel.errors import Refused, SatchelError
from satchel.importing.records import Fault, Talk
from satchel.importing.target import Target, owner_of

if TYPE_CHECKING:
    from satchel.importing.report import Report
    from satchel.replica import Replica


def store(replica: Replica, talk: Talk, target: Target, report: Report) -> None:
    """Take the turns of one transcript in, as the one who said them may."""
    from satchel.capture.keep import capture

    try:
        owner = owner_of(talk, target, replica.caller)
        speaker = replace(replica.caller, agent_id=owner.agent_id, user_id=owner.user_id)
        as_speaker = replace(replica, caller=speaker)
        done = capture(as_speaker, talk.turns, scope=owner.scope, space=owner.space)
    except SatchelError as error:
        report.fail(Fault(talk.place, error))
        return
    report.count("chatlog", "created", done.created)
    report.count("chatlog", "exists", done.exists - done.updated)
    report.count("chatlog", "updated", done.updated)
    report.count("chatlog", "deleted", done.forgotten)
    if done.redactions:
        report.warn(talk.place, [f"{done.redactions} secrets were replaced"])
    if done.refused:
        held = f"{done.refused} turns seem to hold a secret: they were not kept"
        report.fail(Fault(talk.place, Refused(held, hint="or set `chatlog.secrets`")))
