"""The end of a bundle: a CBOR map with all of the head, counts, and the hash of every chunk."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import cbor2

from satchel_sync.bundles import safe_cbor
from satchel_sync.bundles.errors import BundleInvalid
from satchel_sync.bundles.limits import (
    CHUNK_BYTES_MAX,
    CHUNKS_MAX,
    RECIPIENTS_MAX,
    SEALED_BYTES_MAX,
    WRAP_BYTES_MAX,
)
from satchel_sync.bundles.parcel import Head, Losers, ParcelKind, Part, Receipts, Rows, Versions
from satchel_sync.bundles.sealer import Wrap
from satchel_sync.tables.kinds import TAGS

DIGEST_BYTES = 32
KEY_ID_BYTES = 16
COUNTED = ("rows", "losers", "receipts", "versions")
ALLOWED = {
    ParcelKind.PUSH: ("rows", "losers"),
    ParcelKind.PULL: ("receipts", "rows"),
    ParcelKind.ACK: ("receipts",),
    ParcelKind.MANIFEST: ("receipts", "versions"),
}
"""Parcel kind -> sorts of parts that it may hold."""
_NAME = re.compile(r"[a-z][a-z0-9_]{0,62}")
_COLUMNS_MAX = 200
_PREDECESSORS_MAX = 10_000


@dataclass
class Counts:
    """Sort of part -> kind -> how many; losers of all kinds together."""

    found: dict[str, Counter[str]] = field(
        default_factory=lambda: {sort: Counter() for sort in COUNTED}
    )

    def add(self, part: Part) -> None:
        """Count a part."""
        match part:
            case Rows(kind, rows):
                self.found["rows"][kind] += len(rows)
            case Losers(losers):
                self.found["losers"].update(loser.kind for loser in losers)
            case Receipts(kind, receipts):
                self.found["receipts"][kind] += len(receipts)
            case Versions(kind, _, entries):
                self.found["versions"][kind] += len(entries)

    def plain(self) -> dict[str, dict[str, int]]:
        """As plain dicts, without kinds of which there are none."""
        return {
            sort: {kind: count for kind, count in sorted(kinds.items()) if count}
            for sort, kinds in self.found.items()
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What a bundle is and holds. `chunks` are (bytes in the file, SHA-256 of them)."""

    head: Head
    bundle_id: bytes
    made_at_ms: int
    counts: dict[str, dict[str, int]]
    plain_bytes: int
    """Of all chunks before compression."""
    chunks: tuple[tuple[int, bytes], ...]
    recipients: tuple[Wrap, ...] = ()
    """Who can open the chunks; nobody in particular where they are not sealed."""

    def packed(self) -> bytes:
        """Its bytes in the file."""
        head = self.head
        return cbor2.dumps(
            {
                "bundle": self.bundle_id,
                "made_at": self.made_at_ms,
                "kind": head.kind.value,
                "sender": head.sender,
                "recipient": head.recipient,
                "predecessors": list(head.predecessors),
                "epoch": head.epoch,
                "base": dict(head.base),
                "reach": dict(head.reach),
                "token": head.token,
                "after": head.after,
                "last_attempt": head.last_attempt,
                "reconcile": head.reconcile,
                "protocol": head.protocol,
                "schema": head.schema,
                "columns": {kind: dict(tags) for kind, tags in head.columns.items()},
                "host": head.host,
                "version": head.version,
                "counts": self.counts,
                "plain_bytes": self.plain_bytes,
                "chunks": [[size, digest] for size, digest in self.chunks],
                "recipients": [[key_id, wrapped] for key_id, wrapped in self.recipients],
            }
        )

    @staticmethod
    def parse(data: bytes, chunk_bytes: int) -> Manifest:
        """The manifest of a file whose chunks are so long together. Raises BundleInvalid.

        Names that are not known are left for later versions.
        """
        found = safe_cbor.loads(data, "the manifest")
        if not isinstance(found, dict):
            raise BundleInvalid("the manifest is no map")
        read = _Reading(found)
        manifest = Manifest(
            head=read.head(),
            bundle_id=read.blob("bundle", 16),
            made_at_ms=read.number("made_at"),
            counts=read.counts(),
            plain_bytes=read.number("plain_bytes"),
            chunks=read.chunks(),
            recipients=read.recipients(),
        )
        manifest._require(chunk_bytes)
        return manifest

    def _require(self, chunk_bytes: int) -> None:
        if sum(size for size, _ in self.chunks) != chunk_bytes:
            raise BundleInvalid("the manifest's chunks are not as long as those in the file")
        if self.plain_bytes > len(self.chunks) * CHUNK_BYTES_MAX:
            raise BundleInvalid("the manifest claims more content than its chunks can hold")
        odd = [
            sort
            for sort, kinds in self.counts.items()
            if kinds and sort not in ALLOWED[self.head.kind]
        ]
        if odd:
            raise BundleInvalid(f"a bundle of kind {self.head.kind.value!r} holds no {odd[0]}")


class _Reading:
    """Reads names of a map that a stranger wrote, each with its type and range."""

    def __init__(self, found: dict[Any, Any]) -> None:
        self.found = found

    def text(self, name: str, length_max: int = 255) -> str:
        value = self.found.get(name)
        if not isinstance(value, str) or len(value) > length_max or "\0" in value:
            raise self._odd(name)
        return value

    def number(self, name: str) -> int:
        value = self.found.get(name)
        if type(value) is not int or not 0 <= value < 2**63:
            raise self._odd(name)
        return value

    def blob(self, name: str, *lengths: int) -> bytes:
        value = self.found.get(name)
        if not isinstance(value, bytes) or len(value) not in lengths:
            raise self._odd(name)
        return value

    def head(self) -> Head:
        if (kind := self.text("kind")) not in ALLOWED:
            raise BundleInvalid(f"a bundle of kind {kind!r} is unknown here")
        return Head(
            kind=ParcelKind(kind),
            sender=self.blob("sender", 16),
            recipient=self.blob("recipient", *((0, 16) if kind == ParcelKind.PUSH else (16,))),
            predecessors=self._ids("predecessors"),
            epoch=self.text("epoch"),
            base=self._numbers("base", self.found.get("base")),
            reach=self._numbers("reach", self.found.get("reach")),
            token=self.text("token"),
            after=self.text("after"),
            last_attempt=self.text("last_attempt"),
            reconcile=self.text("reconcile", 2000),
            protocol=self.number("protocol"),
            schema=self.number("schema"),
            columns=self._columns(),
            host=self.text("host"),
            version=self.text("version"),
        )

    def counts(self) -> dict[str, dict[str, int]]:
        counts = self.found.get("counts")
        if not isinstance(counts, dict) or set(counts) != set(COUNTED):
            raise self._odd("counts")
        return {sort: self._numbers("counts", counts[sort]) for sort in COUNTED}

    def chunks(self) -> tuple[tuple[int, bytes], ...]:
        chunks = self.found.get("chunks")
        if not isinstance(chunks, list) or len(chunks) > CHUNKS_MAX:
            raise self._odd("chunks")
        return tuple(map(self._chunk, chunks))

    def _chunk(self, chunk: Any) -> tuple[int, bytes]:
        match chunk:
            case [int(size), bytes(digest)] if (
                type(size) is int and 0 < size <= SEALED_BYTES_MAX and len(digest) == DIGEST_BYTES
            ):
                return size, digest
        raise self._odd("chunks")

    def recipients(self) -> tuple[Wrap, ...]:
        """Absent in a manifest of format 1."""
        wraps = self.found.get("recipients", [])
        if not isinstance(wraps, list) or len(wraps) > RECIPIENTS_MAX:
            raise self._odd("recipients")
        return tuple(map(self._wrap, wraps))

    def _wrap(self, wrap: Any) -> Wrap:
        match wrap:
            case [bytes(key_id), bytes(wrapped)] if (
                len(key_id) == KEY_ID_BYTES and 0 < len(wrapped) <= WRAP_BYTES_MAX
            ):
                return key_id, wrapped
        raise self._odd("recipients")

    def _ids(self, name: str) -> tuple[bytes, ...]:
        value = self.found.get(name)
        if not isinstance(value, list) or len(value) > _PREDECESSORS_MAX:
            raise self._odd(name)
        if any(not isinstance(one, bytes) or len(one) != 16 for one in value):
            raise self._odd(name)
        return tuple(value)

    def _numbers(self, name: str, value: Any) -> dict[str, int]:
        if not isinstance(value, dict) or len(value) > _COLUMNS_MAX:
            raise self._odd(name)
        for kind, number in value.items():
            if not _is_name(kind) or type(number) is not int or not 0 <= number < 2**63:
                raise self._odd(name)
        return value

    def _columns(self) -> dict[str, dict[str, str]]:
        value = self.found.get("columns")
        if not isinstance(value, dict) or len(value) > _COLUMNS_MAX:
            raise self._odd("columns")
        tags = set(TAGS.values())
        for kind, columns in value.items():
            if not _is_name(kind) or not isinstance(columns, dict) or len(columns) > _COLUMNS_MAX:
                raise self._odd("columns")
            for name, tag in columns.items():
                if not _is_name(name) or not isinstance(tag, str) or tag not in tags:
                    raise self._odd("columns")
        return value

    def _odd(self, name: str) -> BundleInvalid:
        return BundleInvalid(f"the manifest's {name!r} is missing or not as it has to be")


def _is_name(name: Any) -> bool:
    return isinstance(name, str) and _NAME.fullmatch(name) is not None
