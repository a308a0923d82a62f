"""Parts of a parcel as records: CBOR arrays that begin with the name of their sort.

["rows", kind, [row]], ["losers", [[kind, row, winner, path, at_ms]]],
["receipts", kind, [[key, version, verdict, now_ms, winner, winner's lineage, reason, detail]]],
["versions", kind, [bucket], [[key, version, change_seq]]]

A row is [key, version, lineage, [value]], its values in the order of the manifest's columns with
`extra` last; a version the 40 bytes of `Stamp.packed`. A record has up to `RECORD_ITEMS_MAX` items.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import cbor2

from satchel_sync.bundles import safe_cbor
from satchel_sync.bundles.errors import BundleInvalid
from satchel_sync.bundles.limits import (
    LINEAGE_BYTES_MAX,
    RECORD_BYTES_MAX,
    RECORD_BYTES_WANTED,
    RECORD_ITEMS_MAX,
)
from satchel_sync.bundles.parcel import (
    Entry,
    Losers,
    Part,
    Receipt,
    Receipts,
    Rows,
    Verdict,
    Versions,
)
from satchel_sync.changes import Loser, Row, Version
from satchel_sync.digest import BUCKETS
from satchel_sync.limits import KEY_BYTES_MAX
from satchel_sync.stamp import Stamp

Columns = Mapping[str, Mapping[str, str]]
"""Kind -> {column: tag}, as the sender knows them."""

STAMP_BYTES = 40
_INT64 = range(-(2**63), 2**63)
_VERDICTS = frozenset(Verdict)


# ---- writing ------------------------------------------------------------------------------------


def encoded(part: Part) -> Iterator[bytes]:
    """The records of a part, each about `RECORD_BYTES_WANTED` long, or as long as one item."""
    match part:
        case Rows(kind, rows):
            yield from _records(["rows", kind], map(_row, rows))
        case Losers(losers):
            yield from _records(["losers"], map(_loser, losers))
        case Receipts(kind, receipts):
            yield from _records(["receipts", kind], map(_receipt, receipts))
        case Versions(kind, buckets, entries):
            yield from _records(["versions", kind, list(buckets)], map(_entry, entries), empty=True)


def _records(
    head: list[Any], items: Iterable[list[Any]], *, empty: bool = False
) -> Iterator[bytes]:
    """`head` and a list of items, again for as many records as the items need.

    Raises BundleInvalid for an item that is larger than any that may travel.
    """
    packed: list[bytes] = []
    size, begun = 0, [cbor2.dumps(word) for word in head]
    for item in items:
        one = cbor2.dumps(item)
        if len(one) > RECORD_BYTES_MAX - 256:
            raise BundleInvalid(f"{item[0]!r} of {head[1:2]} has {len(one)} bytes: too large")
        if packed and (size + len(one) > RECORD_BYTES_WANTED or len(packed) == RECORD_ITEMS_MAX):
            yield safe_cbor.array([*begun, safe_cbor.array(packed)])
            packed, size = [], 0
        packed.append(one)
        size += len(one)
    if packed or empty:
        yield safe_cbor.array([*begun, safe_cbor.array(packed)])


def _row(row: Row) -> list[Any]:
    return [row.key, row.stamp.packed(), row.lineage, list(row.values)]


def _loser(loser: Loser) -> list[Any]:
    return [loser.kind, _row(loser.row), loser.winner.packed(), loser.path, loser.at_ms]


def _receipt(one: Receipt) -> list[Any]:
    winner = one.winner
    return [
        *(one.key, one.stamp.packed(), one.verdict.value, one.now_ms),
        winner.stamp.packed() if winner else None,
        winner.lineage if winner else "",
        *(one.reason, one.detail),
    ]


def _entry(entry: Entry) -> list[Any]:
    return [entry.key, entry.stamp.packed(), entry.seq]


def travels(columns: Columns, loser: Loser) -> bool:
    """Whether a journal entry can be put into a record: one of a row that could not travel can't.

    It stays on its machine until an online sync takes it.
    """
    try:
        _read_loser(cbor2.loads(cbor2.dumps(_loser(loser))), columns, "it")
    except (BundleInvalid, UnicodeError):
        return False
    return len(cbor2.dumps(_loser(loser))) < RECORD_BYTES_MAX - 256


# ---- reading ------------------------------------------------------------------------------------


def decoded(data: bytes, columns: Columns, where: str) -> Part:
    """The part that a record is. Raises BundleInvalid, which says where and what."""
    record = safe_cbor.loads(data, where)
    match record:
        case ["rows", str(kind), list(rows)]:
            return Rows(kind, _each(rows, lambda row: _read_row(row, kind, columns, where), where))
        case ["losers", list(losers)]:
            return Losers(_each(losers, lambda one: _read_loser(one, columns, where), where))
        case ["receipts", str(kind), list(receipts)]:
            return Receipts(kind, _each(receipts, lambda one: _read_receipt(one, where), where))
        case ["versions", str(kind), list(buckets), list(entries)]:
            if any(type(one) is not int or not 0 <= one < BUCKETS for one in buckets):
                raise BundleInvalid(f"{where}: a bucket is no number below {BUCKETS}")
            read = _each(entries, lambda one: _read_entry(one, where), where)
            return Versions(kind, tuple(buckets), read)
    raise BundleInvalid(f"{where} is of no sort that this satchel knows")


def _each(items: list[Any], read: Callable[[Any], Any], where: str) -> tuple[Any, ...]:
    if len(items) > RECORD_ITEMS_MAX:
        raise BundleInvalid(f"{where} has {len(items)} items: more than {RECORD_ITEMS_MAX}")
    return tuple(map(read, items))


def _read_row(row: Any, kind: str, columns: Columns, where: str) -> Row:
    match row:
        case [key, stamp, lineage, list(values)]:
            tags = columns.get(kind)
            if tags is None:
                raise BundleInvalid(f"{where}: the manifest has no columns for the kind {kind!r}")
            _require_values(values, (*tags.values(), "t"), f"{where}: {kind}")
            return Row(
                _key(key, where),
                _stamp(stamp, where),
                _text(lineage, where, LINEAGE_BYTES_MAX),
                tuple(values),
            )
    raise BundleInvalid(f"{where}: a row is not as rows are")


def _read_loser(loser: Any, columns: Columns, where: str) -> Loser:
    match loser:
        case [str(kind), row, winner, path, int(at_ms)] if type(at_ms) is int and at_ms in _INT64:
            read = _read_row(row, kind, columns, where)
            return Loser(kind, read, _stamp(winner, where), _text(path, where, 100), at_ms)
    raise BundleInvalid(f"{where}: a journal entry is not as those are")


def _read_receipt(receipt: Any, where: str) -> Receipt:
    match receipt:
        case [key, stamp, str(verdict), int(now_ms), winner, lineage, reason, detail] if (
            verdict in _VERDICTS and type(now_ms) is int and now_ms in _INT64
        ):
            base = _text(lineage, where, LINEAGE_BYTES_MAX)
            return Receipt(
                _key(key, where),
                _stamp(stamp, where),
                Verdict(verdict),
                now_ms,
                None if winner is None else Version(_stamp(winner, where), base),
                _text(reason, where, 1000),
                _text(detail, where, 10_000),
            )
    raise BundleInvalid(f"{where}: a receipt is not as receipts are")


def _read_entry(entry: Any, where: str) -> Entry:
    match entry:
        case [key, stamp, int(seq)] if type(seq) is int and 0 <= seq < 2**63:
            return Entry(_key(key, where), _stamp(stamp, where), seq)
    raise BundleInvalid(f"{where}: a version is not as versions are")


def _key(key: Any, where: str) -> str:
    if key == "":
        raise BundleInvalid(f"{where}: a key is empty")
    return _text(key, where, KEY_BYTES_MAX)


def _text(text: Any, where: str, bytes_max: int) -> str:
    if not isinstance(text, str) or "\0" in text:
        raise BundleInvalid(f"{where}: {_shown(text)} is no text without NUL")
    if len(text) > bytes_max or len(text.encode()) > bytes_max:
        raise BundleInvalid(f"{where}: a text has more than {bytes_max} bytes")
    return text


def _stamp(packed: Any, where: str) -> Stamp:
    if not isinstance(packed, bytes) or len(packed) != STAMP_BYTES:
        raise BundleInvalid(f"{where}: {_shown(packed)} is no version")
    life, hlc = struct.unpack(">qq", packed[:16])
    return Stamp(life, hlc, packed[16:32], packed[32:])


def _require_values(values: list[Any], tags: tuple[str, ...], where: str) -> None:
    if len(values) != len(tags):
        raise BundleInvalid(f"{where} has {len(tags)} columns, a row has {len(values)}")
    for value, tag in zip(values, tags, strict=True):
        if value is not None and not _fits(value, tag):
            raise BundleInvalid(f"{where}: {_shown(value)} is no value of type {tag!r}")


def _fits(value: Any, tag: str) -> bool:
    """Exact types: a bool is no int, and NaN no number."""
    match tag:
        case "t":
            return type(value) is str and "\0" not in value
        case "i":
            return type(value) is int and value in _INT64
        case "r":
            return (type(value) is float and math.isfinite(value)) or (
                type(value) is int and value in _INT64
            )
        case "b":
            return type(value) is bytes
    return False


def _shown(value: Any) -> str:
    """Enough of a value to know what it is, and nothing of a long text."""
    return f"{type(value).__name__} {str(value)[:20]!r}" if value is not None else "nothing"
