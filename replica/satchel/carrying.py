"""Bundles as files: a sync that a person carries, with this replica and the warehouse as its ends.

A `push` goes from a replica to the warehouse, the other kinds go back; so a file says itself where
it is to be imported.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
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
from satchel.store.carrier import CarriedReplica
from satchel.store.connection import SYSTEM_CLOCK
from satchel_crypto import random_bytes
from satchel_crypto.plain import PlainSealer
from satchel_sync.bundles.errors import BundleInvalid, BundleRefused
from satchel_sync.bundles.header import MAGIC
from satchel_sync.bundles.inbound import accept, receive
from satchel_sync.bundles.manifest import Manifest
from satchel_sync.bundles.outbound import dispatching, pushing, silent
from satchel_sync.bundles.parcel import Parcel, ParcelKind
from satchel_sync.bundles.reader import Bundle
from satchel_sync.bundles.sealer import Sealer
from satchel_sync.bundles.writer import write
from satchel_sync.tally import QUARANTINED_EXIT

Progress = Callable[[str, str, int, int], None]

HUB = "hub"
"""The name of the warehouse as a recipient."""
ID_DIGITS_MIN = 8
ID_DIGITS = 32
SUITES: dict[str, Callable[[], Sealer]] = {PlainSealer.name: PlainSealer}
"""Suites that this satchel can seal and open."""


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

    Returns its manifest, how many rows stay behind in the quarantine, and `exit`. Raises
    BundleRefused (no sealer), ConfirmationNeeded (the file is there), InvalidInput (its folder is
    not), NotFound or AmbiguousId (the replica).
    """
    sealer, held_back = sealer_for(plain), 0
    _require_place(path, overwrite)
    if to == HUB:
        with peers.one_sync(settings.home), peers.opened(settings) as store:
            replica = CarriedReplica(store, version=peers.version())
            manifest = _written(path, pushing(replica, progress), sealer)
            held_back = replica.quarantined()
    else:
        with peers.depot_of(settings) as depot:
            replica_id = bytes.fromhex(_chosen(to, depot.replicas()))
            manifest = _written(path, dispatching(depot, replica_id, progress), sealer)
    return {
        "file": str(path),
        **shown(manifest),
        "quarantined": held_back,
        "exit": QUARANTINED_EXIT if held_back else 0,
    }


def import_(
    settings: Settings, path: Path, *, plain: bool = False, progress: Progress = silent
) -> dict[str, Any]:
    """Take a bundle in: a push at the warehouse, any other kind at this replica.

    Returns the report (`exit` in it). All of the file is verified first. Raises BundleInvalid,
    BundleRefused, and SyncError's family.
    """
    with _opened(path) as (file, bundle):
        parcel = bundle.verified(_opener_of(bundle, plain), progress)
        if parcel.head.kind is ParcelKind.PUSH:
            with peers.depot_of(settings) as depot:
                report = receive(depot, parcel, progress)
        else:
            with peers.one_sync(settings.home), peers.opened(settings) as store:
                replica = CarriedReplica(store, version=peers.version())
                report = accept(replica, parcel, progress)
        return {"file": str(path), "bytes": file.seek(0, os.SEEK_END)} | report


def inspect(path: Path) -> dict[str, Any]:
    """What a bundle says it is, and whether it is whole; nothing is imported, no key is needed.

    `damage` names the place of the first damage. Raises BundleInvalid where not even that can be
    told, VersionsDiffer for a newer format.
    """
    with _opened(path) as (_, bundle):
        return (
            {"file": str(path), "suite": bundle.header.suite}
            | shown(bundle.manifest)
            | {"damage": _damage(bundle)}
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
        "host": head.host or None,
        "version": head.version or None,
    }


def sealer_for(plain: bool) -> Sealer:
    """The sealer of what is exported. Raises BundleRefused unless plain was asked for."""
    if plain:
        return PlainSealer()
    raise BundleRefused(
        "sealed bundles come with the crypto part, which this satchel does not have yet",
        hint="--insecure-plain writes one that anybody can read and forge",
    )


def _opener_of(bundle: Bundle, plain: bool) -> Sealer:
    suite = bundle.header.suite
    if suite not in SUITES:
        raise BundleRefused(
            f"this bundle is sealed with {suite!r}, which this satchel cannot open",
            hint="sealed bundles come with the crypto part",
        )
    if suite == PlainSealer.name and not plain:
        raise BundleRefused(
            "this bundle is in the clear: nothing proves who wrote it",
            hint="--insecure-plain imports it all the same",
        )
    return SUITES[suite]()


def _damage(bundle: Bundle) -> str | None:
    """The first damage, in words: of the chunks' hashes, and of all else if the suite is known."""
    try:
        if bundle.header.suite in SUITES:
            bundle.verified(SUITES[bundle.header.suite](), silent)
        else:
            for _ in bundle.chunks(PlainSealer().digest):
                pass
    except BundleInvalid as error:
        return str(error)
    return None


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


def _written(path: Path, parcel: Parcel, sealer: Sealer) -> Manifest:
    """Write a file whole or not at all: beside its place first, readable by its owner only."""
    try:
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
    except OSError as error:
        raise _unwritable(path, error) from error
    part = Path(name)
    try:
        with os.fdopen(handle, "w+b") as file:
            now_ms = SYSTEM_CLOCK.now_ms()
            made = write(file, parcel, sealer, bundle_id=random_bytes(16), made_at_ms=now_ms)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except OSError as error:
        raise _unwritable(path, error) from error
    finally:
        part.unlink(missing_ok=True)
    _settle(path.parent)
    return made


def _settle(folder: Path) -> None:
    """Make the new name durable, where a folder can be synced at all."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


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


__all__ = ["export", "import_", "inspect", "sealer_for"]
