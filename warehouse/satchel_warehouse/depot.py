"""The warehouse as bundles meet it: `satchel_sync.bundles.ports.Depot` over doors of Postgres."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import groupby
from types import TracebackType
from typing import Any

from psycopg import sql

from satchel_crypto import random_bytes
from satchel_crypto.network import Policy
from satchel_sync.bundles.parcel import Entry, Head, ParcelKind, Receipt, Receipts, Verdict
from satchel_sync.bundles.peer import REASONS
from satchel_sync.changes import Standing, Version
from satchel_sync.stamp import Stamp
from satchel_sync.tables import COLUMN_TAGS, Table
from satchel_sync.version import PROTOCOL, SCHEMA
from satchel_warehouse import wire
from satchel_warehouse.calls import door, door_of
from satchel_warehouse.database import NAMED
from satchel_warehouse.endpoint import Session, WarehouseHub
from satchel_warehouse.login import Dsn

RECEIPTS_MAX = 5_000
"""Receipts of one page."""
_COLUMNS = ("kind", "key", "version", "verdict", "now_ms", "winner", "lineage", "reason", "detail")


class VisitedHub(WarehouseHub):
    """The hub's doors in the attempt of a visit, which began at another door than `hello`."""

    @property
    def attempt(self) -> str:
        """The id of the visit. Raises WarehouseRefused before one has begun."""
        return self._attempt

    def begin(self, attempt: str, columns: Mapping[str, Mapping[str, str]]) -> list[str]:
        """Let the other doors work for this visit; the kinds that both sides know alike."""
        self._session = Session(attempt, wire.layouts(columns))
        return [kind for kind, lies in self._session.layouts.items() if not lies.differing]

    def rows(self, query: sql.Composed, *given: object) -> list[Any]:
        """The rows of one statement, which is a transaction of its own."""
        return self._rows(query, *given)


class WarehouseDepot:
    """A warehouse behind a DSN: a replica's own login, or an administrator's for any replica.

    Raises WarehouseError's family, as `WarehouseHub` does.
    """

    def __init__(self, dsn: Dsn, *, policy: Policy = NAMED) -> None:
        self.hub = VisitedHub(dsn, policy=policy)

    def __repr__(self) -> str:
        return "WarehouseDepot()"

    def __enter__(self) -> WarehouseDepot:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.hub.close()

    def replicas(self) -> list[str]:
        """The ids (32 hex digits) of the replicas that this login may carry for."""
        return [found for (found,) in self.hub.rows(door("bundle_replicas", 0))]

    def unpack(self, head: Head) -> str:
        """Begin to take a push in; why the replica has to reconcile, or ""."""
        attempt = _attempt()
        answer = self._said("bundle_unpack", attempt, json.dumps(wire.said(head.hello())))
        self.hub.begin(attempt, answer["columns"])
        return REASONS.get(Standing(answer["reason"]), "")

    def keep(self, receipts: Receipts) -> None:
        """Keep receipts until the replica names a later token."""
        for start in range(0, len(receipts.receipts), RECEIPTS_MAX):
            some = receipts.receipts[start : start + RECEIPTS_MAX]
            entries = json.dumps([_entry(one) for one in some])
            self._said("bundle_keep", self.hub.attempt, receipts.kind, entries)

    def unpacked(self, head: Head, report: Mapping[str, Any]) -> None:
        """The push was taken in to its end."""
        named = json.dumps(wire.said(head.hello()))
        self._said("bundle_unpacked", self.hub.attempt, named, json.dumps(dict(report)))

    def dispatch(self, replica_id: bytes) -> Head:
        """Begin an export; what it will deliver is written down."""
        attempt = _attempt()
        answer = self._said("bundle_dispatch", attempt, replica_id.hex())
        known = self.hub.begin(attempt, answer["columns"])
        return Head(
            kind=ParcelKind(answer["kind"]),
            sender=bytes.fromhex(answer["hub_id"]),
            recipient=replica_id,
            epoch=answer["epoch"],
            base=answer["base"],
            reach={kind: seq for kind, seq in answer["reach"].items() if kind in known},
            token=answer["token"],
            after=answer["after"],
            protocol=PROTOCOL,
            schema=SCHEMA,
            columns=COLUMN_TAGS,
        )

    def receipts(self) -> Iterator[Receipts]:
        """All receipts that are kept for this visit's replica."""
        after = ("", "", "")
        query = door("bundle_receipts", 5, _COLUMNS)
        while page := self.hub.rows(query, self.hub.attempt, *after, RECEIPTS_MAX):
            for kind, found in groupby(page, key=lambda row: row[0]):
                yield Receipts(kind, tuple(_receipt(*row[1:]) for row in found))
            after = page[-1][:3]

    def versions(self, table: Table, buckets: Collection[int]) -> Sequence[Entry]:
        """Every row of a kind in these buckets, without content."""
        query = door_of(table, "bundle_versions", 2, ("key", "version", "change_seq"))
        found = self.hub.rows(query, self.hub.attempt, list(buckets))
        return [Entry(key, Stamp.parse(version), seq) for key, version, seq in found]

    def _said(self, name: str, *given: object) -> Any:
        """The one value that a door answers."""
        ((answer,),) = self.hub.rows(door(name, len(given)), *given)
        return answer


def _attempt() -> str:
    return f"bundle-{random_bytes(16).hex()}"


def _entry(receipt: Receipt) -> dict[str, Any]:
    winner = receipt.winner
    return {
        "key": receipt.key,
        "version": receipt.stamp.hex(),
        "verdict": receipt.verdict.value,
        "now_ms": receipt.now_ms,
        "winner": winner.stamp.hex() if winner else None,
        "lineage": winner.lineage if winner else "",
        "reason": receipt.reason,
        "detail": receipt.detail,
    }


def _receipt(
    key: str,
    version: str,
    verdict: str,
    now_ms: int,
    winner: str | None,
    lineage: str,
    reason: str,
    detail: str,
) -> Receipt:
    kept = Version(Stamp.parse(winner), lineage) if winner else None
    stamp = Stamp.parse(version)
    return Receipt(key, stamp, Verdict(verdict), now_ms, kept, reason, detail)
