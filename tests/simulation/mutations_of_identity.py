"""Rules of identity, reconcile and bundles, each switched off; the list is in `mutations`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from simulation.mutations import (
    ALL,
    ALL_STICKS,
    CLONES,
    MUTATIONS,
    PLAIN,
    RESTORES,
    REVOKED,
    REWINDS,
    STICKS,
    Patch,
    nothing_requeued,
    off,
    swap,
)
from simulation.sticks import Sticks

from satchel_sync.bundles import inbound
from satchel_sync.bundles.parcel import Verdict as Told
from satchel_sync.changes import Standing
from satchel_sync.in_memory import (
    depot,
    file,
    hub,
    hub_identity,
    hub_merge,
)
from satchel_sync.in_memory.hub import MemoryHub
from satchel_sync.in_memory.replica import MemoryReplica
from satchel_sync.phases import push
from satchel_sync.phases import reconcile as reconciling
from satchel_sync.tables import BY_NAME, KINDS

__all__ = ["MUTATIONS"]

# ---- identity -----------------------------------------------------------------------------------


def _known(**facts: Any) -> Patch:
    def patch(m: pytest.MonkeyPatch) -> None:
        real = hub_identity.known_of
        for module in (hub, depot):
            m.setattr(module, "known_of", lambda *given: replace(real(*given), **facts))

    return patch


off("tokens prove nothing", REWINDS)(_known(token_known=True, token_outdated=False))
off("attempts prove nothing", CLONES)(_known(last_attempt="", link_known=True))
off("a retry is a restored file", PLAIN)(lambda m: _retry(m))
off("neither tokens nor cursors prove anything", REWINDS)(
    _known(token_known=True, token_outdated=False, delivered=dict.fromkeys(KINDS, 2**62))
)


def _retry(m: pytest.MonkeyPatch) -> None:
    real = hub.judge

    def other(hello: Any, known: Any) -> Standing:
        again = known.attempt_known and hello.attempt == known.last_attempt
        return Standing.RESTORED if again else real(hello, known)

    m.setattr(hub, "judge", other)


@off("no token is an old token", REWINDS)
def _no_token(m: pytest.MonkeyPatch) -> None:
    real = hub_identity.known_of

    def other(state: Any, hello: Any) -> Any:
        mine = state.registered(hello.replica_id)
        outdated = not hello.token and mine.token_number > 0
        known = real(state, hello)
        return replace(known, token_outdated=known.token_outdated or outdated)

    m.setattr(hub, "known_of", other)


@off("a restored file goes on under its id", RESTORES + CLONES)
def _keeps_id(m: pytest.MonkeyPatch) -> None:
    real = hub.judge

    def other(hello: Any, known: Any) -> Standing:
        found = real(hello, known)
        return Standing.KNOWN if found is Standing.RESTORED else found

    m.setattr(hub, "judge", other)


swap(
    *("a predecessor is no origin", CLONES + RESTORES, hub_merge, "is_origin"),
    lambda state, origin: origin in (state.hub_id, *state.replicas),
)
swap(
    *("a forgotten row is a stranger's", PLAIN, file.File, "foreign"),
    property(
        lambda file: any(
            row.stamp.origin not in (file.replica_id, *file.predecessors)
            for kept in file.kinds.values()
            for row in kept.rows.values()
        )
    ),
)

# ---- reconcile ----------------------------------------------------------------------------------


@off("a rewind is not reconciled", REWINDS)
def _not_due(m: pytest.MonkeyPatch) -> None:
    real = MemoryReplica.welcome
    m.setattr(
        MemoryReplica,
        "welcome",
        lambda self, welcome: real(self, replace(welcome, standing=Standing.KNOWN)),
    )


@off("a reconcile counts as done when it begins", REWINDS)
def _done_early(m: pytest.MonkeyPatch) -> None:
    real = reconciling.level_all

    def other(replica: Any, hub: Any, *more: Any) -> bool:
        started = hub.reconcile()
        hub.reconciled(started.seqs)
        replica.reconciled(started)
        return real(replica, hub, *more)

    m.setattr(reconciling, "level_all", other)


@off("a reconcile ends at the bound of its end", REWINDS)
def _bound_last(m: pytest.MonkeyPatch) -> None:
    real = MemoryReplica.reconciled

    def other(self: MemoryReplica, done: Any) -> None:
        real(self, replace(done, seqs=LATEST))

    def latest(self: MemoryHub, seqs: Any) -> None:
        LATEST.update(self.state.bound())
        told(self, self.state.bound())

    told = MemoryHub.reconciled
    m.setattr(MemoryHub, "reconciled", latest)
    m.setattr(MemoryReplica, "reconciled", other)


LATEST: dict[str, int] = {}


@off("a reconcile levels once, and what beat a pushed row is not fetched", REVOKED + REWINDS)
def _once(m: pytest.MonkeyPatch) -> None:
    m.setattr(reconciling, "ROUNDS_MAX", 1)
    m.setattr(push, "fetch", lambda *_: None)


swap(
    *("every reconcile opens an epoch", REWINDS, hub, "found_rewound"),
    lambda *_: True,
)


@off("a journal that the hub lost stays lost", REWINDS)
def _journal_lost(m: pytest.MonkeyPatch) -> None:
    real = MemoryReplica.reconciled

    def other(self: MemoryReplica, done: Any) -> None:
        sent = set(self.file.losers_sent)
        real(self, done)
        self.file.losers_sent = sent

    m.setattr(MemoryReplica, "reconciled", other)


@off("rows of unknown origin are never taken", REWINDS + ALL)
def _no_relay(m: pytest.MonkeyPatch) -> None:
    m.setattr(hub.Attempt, "relays", property(lambda self: False))


# ---- bundles ------------------------------------------------------------------------------------


@off("an ack bundle clears whatever waits, and no page queues what is newer here", STICKS)
def _ack_blindly(m: pytest.MonkeyPatch) -> None:
    nothing_requeued(m)
    real = inbound._settle

    def other(carrier: Any, kind: str, receipts: Any, tally: Any) -> None:
        real(carrier, kind, receipts, tally)
        for one in receipts if kind in BY_NAME else ():
            if one.verdict is Told.ACCEPTED:
                carrier.file.kinds[kind].outbox.pop(one.key, None)

    m.setattr(inbound, "_settle", other)


@off("an ack bundle clears by local sequence, and no page queues what is newer here", ALL_STICKS)
def _ack_by_seq(m: pytest.MonkeyPatch) -> None:
    nothing_requeued(m)
    real_out, real_settle = MemoryReplica.outgoing, inbound._settle
    sent: dict[Any, int] = {}

    def outgoing(self: MemoryReplica, table: Any, after: int, upto: int) -> Any:
        batch = real_out(self, table, after, upto)
        for row in batch.rows if batch else ():
            sent[table.name, row.key, row.stamp] = self.kinds[table.name].outbox[row.key]
        return batch

    def settle(carrier: Any, kind: str, receipts: Any, tally: Any) -> None:
        real_settle(carrier, kind, receipts, tally)
        for one in receipts if kind in BY_NAME else ():
            outbox = carrier.file.kinds[kind].outbox
            seq = sent.get((kind, one.key, one.stamp))
            if one.verdict is Told.ACCEPTED and outbox.get(one.key) == seq:
                outbox.pop(one.key, None)

    m.setattr(MemoryReplica, "outgoing", outgoing)
    m.setattr(inbound, "_settle", settle)


@off("an export clears the outbox", STICKS)
def _export_clears(m: pytest.MonkeyPatch) -> None:
    def outgoing(self: Any, step: Any) -> None:
        export(self, step)
        if step.to_hub:
            for kept in self.world.machine(step.at).replica.kinds.values():
                kept.outbox.clear()

    export = Sticks.export
    m.setattr(Sticks, "export", outgoing)


@off("a bundle moves a cursor over a gap", STICKS)
def _gap(m: pytest.MonkeyPatch) -> None:
    m.setattr(inbound, "_moving", lambda _, head: frozenset(head.reach) & frozenset(KINDS))
