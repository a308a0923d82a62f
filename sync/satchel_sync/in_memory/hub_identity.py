"""What a hub in memory knows of a file that says hello, and how it notes the attempt."""

from __future__ import annotations

from satchel_sync.changes import Hello, Standing
from satchel_sync.in_memory.hub_state import Attempt, HubState
from satchel_sync.standing import Known


def known_of(state: HubState, hello: Hello) -> Known:
    """The facts that `standing.judge` goes by; see there."""
    file = (hello.replica_id, *hello.predecessors)
    mine = state.registered(hello.replica_id)
    number, owner = state.tokens.get(hello.token, (0, b""))
    delivered: dict[str, int] = {}
    for replica in map(state.registered, file):
        for kind, seq in replica.delivered.items():
            delivered[kind] = max(delivered.get(kind, 0), seq)
    return Known(
        epoch=state.epoch,
        last_attempt=mine.last_attempt,
        attempt_known=(hello.replica_id, hello.attempt) in state.attempts,
        link_known=any((one, hello.last_attempt) in state.attempts for one in file),
        token_known=owner in file,
        token_outdated=owner in file and number < mine.token_number,
        delivered=delivered,
        must_reconcile=_must_reconcile(state, hello),
    )


def _must_reconcile(state: HubState, hello: Hello) -> bool:
    """What an administrator told a replica holds for the file when it comes under a new id."""
    if hello.replica_id in state.replicas:
        return state.registered(hello.replica_id).must_reconcile
    return any(state.registered(one).must_reconcile for one in hello.predecessors)


def open_attempt(state: HubState, hello: Hello, standing: Standing) -> None:
    """Note a new link of the chain; one that is said again keeps what it was."""
    must_reconcile = _must_reconcile(state, hello)
    key = (hello.replica_id, hello.attempt)
    attempt = state.attempts.setdefault(key, Attempt(hello, standing))
    attempt.hello, attempt.standing = hello, standing
    mine = state.register(hello.replica_id)
    mine.last_attempt = hello.attempt
    mine.predecessors, mine.must_reconcile = hello.predecessors, must_reconcile
    number, owner = state.tokens.get(hello.token, (0, b""))
    if owner in (hello.replica_id, *hello.predecessors):
        mine.token_number = max(mine.token_number, number)


def found_rewound(state: HubState, replica_id: bytes) -> bool:
    """Whether this replica found, in the hub's present epoch, that it was set back.

    An attempt that ended before its reconcile counts: its successor may see the rewind no more.
    """
    return any(
        attempt.standing is Standing.REWOUND and attempt.hello.epoch == state.epoch
        for (one, _), attempt in state.attempts.items()
        if one == replica_id
    )
