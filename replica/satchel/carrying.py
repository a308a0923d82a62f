"""Bundles as files: a sync that a person carries, with this replica and the warehouse as its ends.

A `push` goes from a replica to the warehouse, the other kinds go back; so a file says itself where
it is to be imported.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

from satchel import peers
from satchel.config import Settings
from satchel.errors import (
    AmbiguousId,
    ConfirmationNeeded,
    InvalidInput,
    NotFound,
    OutputFailed,
    Refused,
)
from satchel.memory.moments import iso
from satchel.plain_file import opener
from satchel.replica import DATABASE_FILE, caller_of
from satchel.sealing import HUB, described, opener_for, sealer_for
from satchel.store import touched
from satchel.store.carrier import CarriedReplica
from satchel.store.connection import SYSTEM_CLOCK, Store
from satchel.whole_file import whole_file
from satchel_crypto import random_bytes
from satchel_sync.bundles.header import MAGIC
from satchel_sync.bundles.inbound import accept, receive
from satchel_sync.bundles.manifest import Manifest
from satchel_sync.bundles.outbound import dispatching, pushing
from satchel_sync.bundles.parcel import Parcel, ParcelKind
from satchel_sync.bundles.reader import Bundle
from satchel_sync.bundles.sealer import Sealer
from satchel_sync.bundles.writer import write
from satchel_sync.progress import Progress, silent
from satchel_sync.tally import QUARANTINED_EXIT

ID_DIGITS_MIN = 8
BUNDLE_ID_BYTES = 16
EXPORTED = "exported"
"""Action of the audit's record of a bundle."""


def export(
    settings: Settings,
    to: str,
    path: Path,
    *,
    plain: bool = False,
    overwrite: bool = False,
    progress: Progress = silent,
) -> dict[str, Any]:
    """Write a bundle for the warehouse (`hub`) or, at the warehouse, for a replica.

    This replica's audit tells of it before the file is in its place; at a warehouse without a
    replica there is none. Returns its manifest, how many rows stay behind in the quarantine, and
    `exit`. Raises BundleRefused (the recipient's key is not trusted here), ConfirmationNeeded (the
    file is there), InvalidInput (its folder is not), NotFound or AmbiguousId (the replica).
    """
    bundle_id, held_back = random_bytes(BUNDLE_ID_BYTES), 0
    if to == HUB:
        sealer = sealer_for(settings, HUB, bundle_id, plain=plain)
        _require_place(path, overwrite)
        with peers.one_sync(settings.home), peers.opened(settings) as store:
            replica = CarriedReplica(store, version=peers.version())
            told = partial(_record, store, settings, to, sealer.name)
            manifest = _written(path, pushing(replica, progress), sealer, bundle_id, told)
            held_back = replica.quarantined()
    else:
        _require_place(path, overwrite)
        with peers.depot_of(settings) as depot:
            chosen = _chosen(to, depot.replicas())
            sealer = sealer_for(settings, chosen, bundle_id, plain=plain)
            parcel = dispatching(depot, bytes.fromhex(chosen), progress)
            told = partial(_record_here, settings, chosen, sealer.name)
            manifest = _written(path, parcel, sealer, bundle_id, told)
    return {
        "file": str(path),
        "suite": sealer.name,
        **shown(manifest),
        "quarantined": held_back,
        "exit": QUARANTINED_EXIT if held_back else 0,
    }


def import_(
    settings: Settings, path: Path, *, plain: bool = False, progress: Progress = silent
) -> dict[str, Any]:
    """Take a bundle in: a push at the warehouse, any other kind at this replica.

    Returns the report (`exit` in it). All of the file is verified first. Raises BundleInvalid,
    BundleRefused, SignerUnknown, and SyncError's family.
    """
    settings.require_built()
    with _opened(path) as (file, bundle):
        parcel = bundle.verified(opener_for(settings, bundle, plain=plain), progress)
        if parcel.head.kind is ParcelKind.PUSH:
            with peers.depot_of(settings) as depot:
                report = receive(depot, parcel, progress)
        else:
            with peers.one_sync(settings.home), peers.opened(settings) as store:
                replica = CarriedReplica(store, version=peers.version())
                report = accept(replica, parcel, progress)
        return {"file": str(path), "bytes": file.seek(0, os.SEEK_END)} | report


def inspect(settings: Settings, path: Path) -> dict[str, Any]:
    """What a bundle says it is, and whether it is whole; nothing is imported, no key is needed.

    `signer` tells whether its signature is of somebody who is trusted here; `damage` names the
    place of the first damage. Raises BundleInvalid where not even that can be told, VersionsDiffer
    for a newer format.
    """
    settings.require_built()
    with _opened(path) as (_, bundle):
        return (
            {"file": str(path), "suite": bundle.header.suite}
            | shown(bundle.manifest)
            | described(settings, bundle)
        )


def shown(manifest: Manifest) -> dict[str, Any]:
    """A manifest as the doors show it."""
    head = manifest.head
    to_hub = head.kind is ParcelKind.PUSH
    return {
        "bundle": head.kind.value,
        "bundle_id": manifest.bundle_id.hex(),
        "made_at": iso(manifest.made_at_ms),
        "replica_id": head.replica_id.hex(),
        "hub_id": head.hub_id.hex() if head.hub_id else None,
        "import_at": "the warehouse" if to_hub else f"the replica {head.recipient.hex()}",
        "epoch": head.epoch or None,
        "reconcile_due": head.reconcile or None,
        "rows": manifest.counts["rows"],
        "receipts": sum(manifest.counts["receipts"].values()),
        "versions": sum(manifest.counts["versions"].values()),
        "conflicts": sum(manifest.counts["losers"].values()),
        "base": dict(head.base),
        "reach": dict(head.reach),
        "chunks": len(manifest.chunks),
        "bytes": sum(size for size, _ in manifest.chunks),
        "plain_bytes": manifest.plain_bytes,
        "recipients": [key_id.hex() for key_id, _ in manifest.recipients],
        "host": head.host or None,
        "version": head.version or None,
    }


def _record(store: Store, settings: Settings, to: str, suite: str, manifest: Manifest) -> None:
    """Leave a record in the audit: what leaves, for whom, and how it is sealed."""
    caller = caller_of(settings)
    detail: dict[str, str | int] = {
        "bundle_id": manifest.bundle_id.hex(),
        "for": to,
        "suite": suite,
        "rows": sum(manifest.counts["rows"].values()),
    }
    with store.write(caller.agent_id or caller.user_id):
        touched.tell(EXPORTED, detail)


def _record_here(settings: Settings, to: str, suite: str, manifest: Manifest) -> None:
    """The same at a warehouse, whose machine need not have a replica; none is made for that."""
    if (settings.home / DATABASE_FILE).exists():
        with peers.opened(settings) as store:
            _record(store, settings, to, suite, manifest)


def _chosen(said: str, known: list[str]) -> str:
    """The replica id that was meant, in full. Raises InvalidInput, NotFound, AmbiguousId."""
    digits = said.lower().replace("-", "")
    if len(digits) < ID_DIGITS_MIN or set(digits) - set("0123456789abcdef"):
        raise InvalidInput(
            f"{said!r} is neither `hub` nor {ID_DIGITS_MIN} or more digits of a replica id",
            hint="`satchel warehouse status` lists the replicas",
            field="for",
        )
    found = [one for one in known if one.startswith(digits) or one.endswith(digits)]
    if not found:
        raise NotFound(
            f"the warehouse knows no replica {said} that this login may export for",
            hint="a replica is known once it has synced, or a bundle of it was imported",
            field="for",
        )
    if len(found) > 1:
        raise AmbiguousId(f"{said} fits more than one replica: {', '.join(found)}", field="for")
    return found[0]


# ---- files --------------------------------------------------------------------------------------


def _require_place(path: Path, overwrite: bool) -> None:
    if not path.parent.is_dir():
        raise InvalidInput(f"there is no folder {path.parent}", field="file")
    if path.exists() and not path.is_file():
        raise InvalidInput(f"{path} is no file", field="file")
    if not path.exists():
        return
    if not overwrite:
        raise ConfirmationNeeded(
            f"{path} is there already", hint="--yes writes over it", field="file"
        )
    with path.open("rb") as file:
        if file.read(len(MAGIC)) not in (b"", MAGIC):
            raise Refused(
                f"{path} is no bundle, so it is not written over",
                hint="choose another name",
                field="file",
            )


def _written(
    path: Path,
    parcel: Parcel,
    sealer: Sealer,
    bundle_id: bytes,
    told: Callable[[Manifest], None],
) -> Manifest:
    """Write a file whole or not at all: beside its place first, readable by its owner only.

    `told` is called when it is written, and before it has its name.
    """
    try:
        with whole_file(path, overwrite=True) as file:
            now_ms = SYSTEM_CLOCK.now_ms()
            made = write(file, parcel, sealer, bundle_id=bundle_id, made_at_ms=now_ms)
            told(made)
    except OSError as error:
        raise _unwritable(path, error) from error
    return made


def _unwritable(path: Path, error: OSError) -> OutputFailed:
    return OutputFailed(
        f"{path} cannot be written: {error.strerror}",
        hint="nothing is lost: what was to be sent is still queued",
        field="file",
    )


@contextmanager
def _opened(path: Path) -> Iterator[tuple[BinaryIO, Bundle]]:
    try:
        file = open(path, "rb", opener=opener)  # noqa: SIM115 - closed below
    except OSError as error:
        reason = error.strerror or error
        raise InvalidInput(f"{path} cannot be read: {reason}", field="file") from error
    with file:
        yield file, Bundle.open(file)


__all__ = ["export", "import_", "inspect"]
