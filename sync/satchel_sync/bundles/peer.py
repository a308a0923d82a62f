"""What a hub keeps of a replica's bundles, and how it judges one that comes in. Pure.

The warehouse decides the same in SQL (`bundle_doors.sql`); one contract suite holds them equal.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from satchel_sync.bundles.parcel import Head, Receipt
from satchel_sync.changes import Standing
from satchel_sync.stamp import Stamp
from satchel_sync.standing import Known, judge

REASONS = {
    Standing.REWOUND: "the warehouse was set back to a backup",
    Standing.MOVED: "the warehouse is in another epoch than this replica, or took it back",
}


@dataclass
class Peer:
    """A replica that sends and gets bundles.

    `cursors` and `token` are those that its last imported bundle named. `manifest` is the number of
    the token that the last `manifest` bundle brought, 0 before the first; `levelled` whether a
    bundle has named it since. Receipts carry the number of the token that was newest then.
    """

    cursors: dict[str, int] = field(default_factory=dict)
    token: str = ""
    manifest: int = 0
    levelled: bool = False
    receipts: dict[tuple[str, str, Stamp], tuple[int, Receipt]] = field(default_factory=dict)

    def copied(self) -> Peer:
        """A copy that shares nothing which changes."""
        return replace(self, cursors=dict(self.cursors), receipts=dict(self.receipts))


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What a hub makes of a push that comes in.

    `levels`: it names a token from the manifest on, so the file has reconciled. `relays`: rows of
    any origin are taken. `stale`: a later one was met before, so it proves nothing.
    """

    standing: Standing
    levels: bool
    relays: bool
    stale: bool

    @property
    def reason(self) -> str:
        """Why the replica has to reconcile; "" when it has not."""
        return "" if self.stale else REASONS.get(self.standing, "")


def weigh(head: Head, known: Known, peer: Peer, named: int, newest: int) -> Judgement:
    """Judge a push by what the hub knew before.

    `named` is the number of the token that it names (0 for an unknown one), `newest` the highest
    that this id ever named. A bundle is no attempt, so its place in the chain says nothing.
    """
    after = bool(peer.manifest) and named >= peer.manifest and not head.reconcile
    levels = after and not peer.levelled
    stale = 0 < named < newest
    standing = judge(
        head.hello(),
        replace(
            known,
            last_attempt="",
            link_known=known.link_known or levels,
            must_reconcile=known.must_reconcile and not levels,
        ),
    )
    if head.reconcile and standing is Standing.KNOWN:
        standing = Standing.MOVED
    refills = bool(peer.manifest) and named == peer.manifest
    relays = refills or bool(head.reconcile) or standing is not Standing.KNOWN
    return Judgement(standing=standing, levels=levels, relays=relays, stale=stale)


def due_rows(base: Mapping[str, int], reach: Mapping[str, int]) -> bool:
    """Whether any kind has rows between the two."""
    return any(seq > base.get(kind, 0) for kind, seq in reach.items())
