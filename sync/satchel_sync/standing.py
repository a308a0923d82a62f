"""How a hub stands to the file that says hello: known, restored, moved, or the hub was set back.

Pure: the memory hub asks it, and the warehouse's `hello` decides the same in SQL. docs/SYNC.md,
"Identity", tells the stories behind each line.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from satchel_sync.changes import Hello, Standing


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What a hub knows of the file that says hello, before it writes anything.

    "Of the file" means under its id or any of its predecessors, within the tenant.
    """

    epoch: str
    """The hub's."""
    last_attempt: str = ""
    """The newest link of this id's own chain; "" for an id that never said hello."""
    attempt_known: bool = False
    """`hello.attempt` is a link of this id's chain."""
    link_known: bool = False
    """`hello.last_attempt` is a link of the file's chains."""
    token_known: bool = False
    """`hello.token` was given to the file."""
    token_outdated: bool = False
    """This id has already named a token that was given later than `hello.token`."""
    delivered: Mapping[str, int] = field(default_factory=dict)
    """Kind -> the highest change sequence delivered to the file."""
    must_reconcile: bool = False
    """An administrator took this replica back, or a bundle told that it has to."""


def judge(hello: Hello, known: Known) -> Standing:
    """The standing of a file. A restored file takes a new id and says hello again."""
    if _is_older_copy(hello, known):
        return Standing.RESTORED
    if known.must_reconcile or hello.epoch not in ("", known.epoch):
        return Standing.MOVED
    return Standing.REWOUND if _knows_more(hello, known) else Standing.KNOWN


def _is_older_copy(hello: Hello, known: Known) -> bool:
    """The hub has met this id in a later state than the file is in."""
    if not known.last_attempt:
        return False
    if known.token_outdated:
        return True
    if hello.attempt == known.last_attempt:
        return False  # its answer was lost: a retry
    if known.attempt_known:
        return True
    behind = hello.last_attempt != known.last_attempt
    return behind and (known.link_known or not hello.last_attempt)


def _knows_more(hello: Hello, known: Known) -> bool:
    """The file holds an attempt, a token or a cursor that this hub never gave."""
    return (
        (bool(hello.last_attempt) and not known.link_known)
        or (bool(hello.token) and not known.token_known)
        or any(seq > known.delivered.get(kind, 0) for kind, seq in hello.cursors.items())
    )
