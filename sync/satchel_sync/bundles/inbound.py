"""Taking parcels in: at the hub as a push, at a replica as a pull; both any number of times."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from satchel_sync.bundles import leveling
from satchel_sync.bundles.errors import BundleRefused
from satchel_sync.bundles.parcel import (
    Head,
    Losers,
    Parcel,
    ParcelKind,
    Receipt,
    Receipts,
    Rows,
    Verdict,
    Versions,
)
from satchel_sync.bundles.ports import Carrier, Depot
from satchel_sync.changes import Hello, Loser, PushAnswer, Refusal, Row
from satchel_sync.errors import KindRefused, NeedsReconcile
from satchel_sync.layout import Layout
from satchel_sync.limits import PULL_ROWS_MAX
from satchel_sync.merge import newest
from satchel_sync.phases.push import push_batch
from satchel_sync.progress import Progress, silent
from satchel_sync.tables import BY_NAME, Table
from satchel_sync.tally import Tally

# ---- at the hub ---------------------------------------------------------------------------------


def receive(depot: Depot, parcel: Parcel, progress: Progress = silent) -> dict[str, Any]:
    """Take a push in: normal pushes kind by kind, whose answers wait for the next export.

    Returns the report; its `reconcile_due` says why the replica has to reconcile, which its next
    bundle brings about. Replays are no-ops.
    Raises BundleRefused (not a push), NeedsReconcile (another hub's), HubRefused, VersionsDiffer.
    """
    head = parcel.head
    if head.kind is not ParcelKind.PUSH:
        raise BundleRefused(
            f"a bundle of kind {head.kind.value!r} is for a replica, not for the warehouse",
            hint=f"import it on the replica {head.replica_id.hex()}",
        )
    tally, due = Tally(), depot.unpack(head)
    if due:
        tally.identity.append(f"{due}: the next export for this replica is a manifest")
    for part in parcel.parts:
        match part:
            case Rows(kind, rows):
                with tally.kind(kind):
                    _push(depot, layout_of(head, kind), rows, tally, progress)
            case Losers(losers):
                _journal(depot, head, losers, tally)
            case _:
                raise BundleRefused(f"a push holds no {type(part).__name__.lower()}")
    report = _report(head, tally) | {"reconcile_due": due or None}
    depot.unpacked(head, report)
    return report


def _push(
    depot: Depot, layout: Laid, rows: Sequence[Row], tally: Tally, progress: Progress
) -> None:
    table, mine = layout.table, newest(layout.rows(rows))
    answer = push_batch(depot.hub, table, mine)
    depot.keep(Receipts(table.name, tuple(_receipts(mine, answer))))
    tally.add(
        table.name,
        sent=len(mine),
        accepted=len(answer.accepted),
        superseded=len(answer.superseded),
        quarantined=len(answer.refused),
    )
    tally.conflicts += answer.conflicts
    progress("import", table.name, tally.total("sent"), tally.total("sent"))


def _receipts(rows: Iterable[Row], answer: PushAnswer) -> Iterator[Receipt]:
    by_key = {row.key: row.stamp for row in rows}
    for key in answer.accepted:
        yield Receipt(key, by_key[key], Verdict.ACCEPTED, answer.now_ms)
    for key, winner in answer.superseded.items():
        yield Receipt(key, by_key[key], Verdict.SUPERSEDED, answer.now_ms, winner)
    for refusal in answer.refused:
        stamp, why = by_key[refusal.key], (refusal.reason, refusal.detail)
        yield Receipt(refusal.key, stamp, Verdict.REFUSED, answer.now_ms, None, *why)


def _journal(depot: Depot, head: Head, losers: Sequence[Loser], tally: Tally) -> None:
    """Losers of kinds that are unknown here stay with the replica that sent them."""
    by_kind: dict[str, list[Loser]] = {}
    for loser in losers:
        by_kind.setdefault(loser.kind, []).append(loser)
    for kind, some in by_kind.items():
        with tally.kind(kind):
            laid = layout_of(head, kind)
            depot.hub.journal([replace(one, row=laid.row(one.row)) for one in some])
            told = (Receipt(one.row.key, one.row.stamp, Verdict.JOURNALED, 0) for one in some)
            depot.keep(Receipts(kind, tuple(told)))


# ---- at a replica -------------------------------------------------------------------------------


def accept(carrier: Carrier, parcel: Parcel, progress: Progress = silent) -> dict[str, Any]:
    """Take in what the hub sent: receipts clear the outbox by compare, rows merge, cursors move.

    Returns the report. An old or repeated parcel changes nothing. Raises BundleRefused (a push,
    or for another replica), NeedsReconcile (another hub's).
    """
    head, me = parcel.head, carrier.identity()
    _require_mine(head, (me.replica_id, *me.predecessors), me.hub_id)
    carrier.met(head.sender, head.epoch)
    tally, moves = Tally(), _moving(carrier, head)
    fresh = head.kind is ParcelKind.MANIFEST and me.token == head.after
    found = leveling.Lacking()
    for part in leveling.joined(parcel.parts):
        match part:
            case Receipts(kind, receipts):
                _settle(carrier, kind, receipts, tally)
            case Rows(kind, rows):
                with tally.kind(kind):
                    _apply(carrier, layout_of(head, kind), rows, tally, progress)
            case Versions() if fresh and part.kind in BY_NAME:
                leveling.level(carrier, part, found)
            case Losers():
                raise BundleRefused("a bundle for a replica holds no journal")
    _finish(carrier, head, moves, tally)
    if fresh:
        carrier.reconciled(found.reconciled(head))  # it forgets the token of before
        tally.identity.append("reconciled with the warehouse by its manifest")
    carrier.received(head.token, "" if fresh else head.after)
    tally.due, tally.held_back = carrier.due(), carrier.quarantined()
    report = _report(head, tally) | {"noop": _changed_nothing(tally, carrier, me)}
    carrier.record(report)
    return report


def _require_mine(head: Head, ids: Sequence[bytes], hub_id: bytes | None) -> None:
    if head.kind is ParcelKind.PUSH:
        raise BundleRefused(
            "a bundle of kind 'push' is for the warehouse, not for a replica",
            hint="import it where the warehouse can be reached",
        )
    # A file that left its hub keeps its old ids, and must not come back by an old bundle.
    if head.recipient not in (ids if hub_id else ids[:1]):
        raise BundleRefused(
            f"this bundle is for the replica {head.recipient.hex()}, this one is {ids[0].hex()}",
            hint="import it there, or export one for this replica",
        )
    if hub_id not in (None, head.sender):
        raise NeedsReconcile(
            f"this replica belongs to the hub {(hub_id or b'').hex()}, but the bundle comes from"
            f" {head.sender.hex()}",
            hint="to move this replica to the other hub, sync once with --adopt",
        )


def _moving(carrier: Carrier, head: Head) -> frozenset[str]:
    """Kinds whose cursor this parcel moves: epoch as mine, and nothing between base and mine."""
    me = carrier.identity()
    if me.epoch != head.epoch or me.reconcile or head.kind is ParcelKind.MANIFEST:
        return frozenset()
    return frozenset(
        kind
        for kind in head.reach
        if kind in BY_NAME and head.base.get(kind, 0) <= carrier.cursor(BY_NAME[kind])
    )


def _settle(carrier: Carrier, kind: str, receipts: Sequence[Receipt], tally: Tally) -> None:
    """What the hub said of versions that are still held; of others it says nothing any more."""
    if kind not in BY_NAME:
        return
    table = BY_NAME[kind]
    carrier.losers_sent([_loser(kind, one) for one in receipts if one.verdict is Verdict.JOURNALED])
    told = {one.key: one for one in receipts if one.verdict is not Verdict.JOURNALED}
    held = [r for r in carrier.held(table, list(told)) if told[r.key].stamp == r.stamp]
    if not held:
        return
    answer = _answer([told[row.key] for row in held])
    settled = carrier.settle(table, held, answer, 0)
    tally.add(
        kind,
        accepted=len(answer.accepted),
        superseded=len(answer.superseded),
        quarantined=settled.quarantined,
    )
    tally.conflicts += settled.conflicts
    tally.restamped += settled.restamped


def _answer(receipts: Sequence[Receipt]) -> PushAnswer:
    """Receipts as the answer to a push, without a token: `Carrier.received` keeps that one."""
    return PushAnswer(
        accepted=tuple(one.key for one in receipts if one.verdict is Verdict.ACCEPTED),
        superseded={one.key: one.winner for one in receipts if one.winner is not None},
        refused=tuple(
            Refusal(one.key, one.reason, one.detail)
            for one in receipts
            if one.verdict is Verdict.REFUSED
        ),
        now_ms=max(one.now_ms for one in receipts),
    )


def _loser(kind: str, receipt: Receipt) -> Loser:
    """Enough of a journal entry to mark it by."""
    return Loser(kind, Row(receipt.key, receipt.stamp, "", ()), receipt.stamp, "", 0)


def _apply(
    carrier: Carrier, layout: Laid, rows: Sequence[Row], tally: Tally, progress: Progress
) -> None:
    table = layout.table
    for start in range(0, len(rows), PULL_ROWS_MAX):
        page = layout.rows(rows[start : start + PULL_ROWS_MAX])
        applied = carrier.apply(table, page, None)
        tally.add(table.name, pulled=len(page), applied=applied.applied)
        tally.conflicts += applied.conflicts
    progress("import", table.name, tally.total("pulled"), tally.total("pulled"))


def _finish(carrier: Carrier, head: Head, moves: frozenset[str], tally: Tally) -> None:
    """Move the cursors over rows that are applied by now."""
    for kind in sorted(moves - tally.failed.keys()):
        if head.reach[kind] > carrier.cursor(BY_NAME[kind]):
            carrier.apply(BY_NAME[kind], (), head.reach[kind])
    for kind in head.reach.keys() & BY_NAME.keys():
        tally.cursor[kind] = carrier.cursor(BY_NAME[kind])


def _changed_nothing(tally: Tally, carrier: Carrier, before: Hello) -> bool:
    """Receipts of an old parcel are counted too, but only a new one brings a token."""
    settled = tally.total("accepted") + tally.total("superseded")
    if settled and carrier.identity().token != before.token:
        return False
    moved = tally.total("applied") + tally.total("quarantined") + tally.restamped
    return not (moved or tally.identity)


# ---- both ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Laid:
    """A kind, and how the sender's columns lie in ours."""

    table: Table
    layout: Layout = field(repr=False)

    def row(self, row: Row) -> Row:
        """A row in our columns."""
        return row if self.layout.same else replace(row, values=self.layout.from_hub(row.values))

    def rows(self, rows: Sequence[Row]) -> list[Row]:
        """Rows in our columns."""
        return [self.row(row) for row in rows]


def layout_of(head: Head, kind: str) -> Laid:
    """Raises KindRefused for a kind that is unknown here, or a column of another type."""
    theirs: Mapping[str, str] | None = head.columns.get(kind)
    if kind not in BY_NAME or theirs is None:
        raise KindRefused(
            f"this satchel does not know the kind {kind!r}", hint="upgrade this satchel"
        )
    layout = Layout.of(BY_NAME[kind], theirs)
    if layout.differing:
        raise KindRefused(
            f"{kind}: {', '.join(layout.differing)} has another type at the sender",
            hint="upgrade the older of the two",
        )
    return Laid(BY_NAME[kind], layout)


def _report(head: Head, tally: Tally) -> dict[str, Any]:
    return tally.report() | {"bundle": head.kind.value, "replica_id": head.replica_id.hex()}
