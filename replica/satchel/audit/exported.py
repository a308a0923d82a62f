"""`satchel audit export`: the chains as JSON lines, and how such a file is verified elsewhere.

    {"format": "satchel-audit-1", "at": ISO-8601, "replica_id": hex}
    {"chain": "writes", "replica_id": hex, "start": {"seq": int, "link": hex}}
    {"seq": int, "at": ms, "body": text, "link": hex, "mac": hex}                     each record
    {"head": {"chain", "replica_id", "seq", "link", "at"}, "signature": {…}}
    {"end": [head, …], "signature": {…}}

The middle three repeat for each chain; the end repeats all heads, so that no chain can be left out.
Links and signatures can be checked by anybody, the MACs only where the audit key is.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import IO, TYPE_CHECKING, Any

import apsw

from satchel.audit import chain, reads
from satchel.audit.telling import start_in
from satchel.memory.moments import iso
from satchel.protection import key_store, provider_of
from satchel.store import identity
from satchel_crypto.audit_record import (
    BODY_CHARS_MAX,
    CHAINS,
    HEAD_PURPOSE,
    LINK_BYTES,
    READS,
    WRITES,
    Head,
    Record,
)
from satchel_crypto.audit_verify import Break, Fault, Start, Verdict, Walk
from satchel_crypto.canonical import canonical
from satchel_crypto.errors import AuditBroken, CryptoError
from satchel_crypto.signed import Signed

if TYPE_CHECKING:
    from satchel.config import Settings
    from satchel.store.connection import Store
    from satchel_crypto.keystore import KeyStore
    from satchel_crypto.provider import Provider

FORMAT = "satchel-audit-1"
END_PURPOSE = "audit-export"
LINE_CHARS_MAX = 2 * BODY_CHARS_MAX + 4096
SEQ_MAX = 2**62
ID_DIGITS = 32


def export(store: Store, settings: Settings, out: IO[str], now_ms: int) -> int:
    """Write every chain of this home; how many records. Raises OSError, CryptoError, apsw.Error."""
    keys, heads, count = key_store(settings), list[Any](), 0
    with store.read() as db:
        first = {"format": FORMAT, "at": iso(now_ms), "replica_id": identity.load(db).hex()}
        _line(out, first)
        count += _chains(db, WRITES, keys, out, now_ms, heads)
    with reads.opened(store.home) as there:
        if there is not None:
            count += _chains(there, READS, keys, out, now_ms, heads)
    signed = keys.sign(END_PURPOSE, canonical(heads)).as_dict(keys.provider)
    _line(out, {"end": heads, "signature": signed})
    return count


def _chains(
    db: apsw.Connection, name: str, keys: KeyStore, out: IO[str], now_ms: int, heads: list[Any]
) -> int:
    count = 0
    for replica_id in chain.ids(db):
        start = start_in(db, replica_id)
        hexed, link, seq = replica_id.hex(), start.link, start.seq
        told = {"seq": start.seq, "link": start.link.hex()}
        _line(out, {"chain": name, "replica_id": hexed, "start": told})
        for record in chain.records(db, replica_id):
            _line(out, _of_record(record))
            count, link, seq = count + 1, record.link, record.seq
        head = Head(chain=name, replica_id=hexed, seq=seq, link=link, at=now_ms)
        signed = keys.sign(HEAD_PURPOSE, head.data()).as_dict(keys.provider)
        heads.append(json.loads(head.data()))
        _line(out, {"head": heads[-1], "signature": signed})
    return count


def _of_record(record: Record) -> dict[str, Any]:
    return {
        "seq": record.seq,
        "at": record.at,
        "body": record.body,
        "link": record.link.hex(),
        "mac": (record.mac or b"").hex(),
    }


def _line(out: IO[str], document: dict[str, Any]) -> None:
    out.write(json.dumps(document, ensure_ascii=True, separators=(",", ":")) + "\n")


# ---- verifying one ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """A chain in a file: what its walk found, and the signature of its head, where it fits."""

    verdict: Verdict
    head: Any = None
    signed: Signed | None = None


def verify(file: Iterable[str], settings: Settings) -> list[Read]:
    """Walk every chain of an exported file. Raises AuditBroken for what is no such file."""
    return read(file, provider_of(settings))


def read(file: Iterable[str], provider: Provider) -> list[Read]:
    """The same by a provider. A file that ends before the head of a chain is cut off."""
    lines = _documents(file)
    first = next(lines, None)
    if first is None or first.get("format") != FORMAT:
        raise AuditBroken(f"this is no file of the format {FORMAT}")
    found: list[Read] = []
    for document in lines:
        if "end" in document:
            _require_all(document, found, provider)
            return found
        found.append(_chain(document, lines, provider))
    raise AuditBroken("the file is cut off: its last line is not there")


def _require_all(document: dict[str, Any], found: list[Read], provider: Provider) -> None:
    """Raise AuditBroken unless the last line, and who signed it, tells of just these chains."""
    signed = Signed.parse(document.get("signature"), provider)
    if document["end"] != [one.head for one in found]:
        raise AuditBroken("the last line tells of other chains than there are in the file")
    if not _fits(signed, provider, END_PURPOSE, canonical(document["end"])):
        raise AuditBroken("the signature of the last line does not fit")
    if any(one.signed is None or one.signed.public != signed.public for one in found):
        raise AuditBroken("the last line is signed by another than the heads are")


def _chain(opening: dict[str, Any], lines: Iterator[dict[str, Any]], provider: Provider) -> Read:
    """One chain, up to the line with its head."""
    name, replica_id = opening.get("chain"), _hex(opening.get("replica_id"), ID_DIGITS // 2).hex()
    if name not in CHAINS:
        raise AuditBroken("a line does not begin a chain where one has to")
    told = opening.get("start")
    start = _start(told if isinstance(told, dict) else {})
    walk = Walk(provider, name, replica_id, start=start)
    for document in lines:
        if "head" in document:
            return _ended(walk.end(), document, provider, start)
        walk.take(_record(document))
    verdict = walk.end()
    cut = Break(
        chain=name, seq=verdict.last + 1, fault=Fault.CUT, message="the file ends without its head"
    )
    return Read(verdict=replace(verdict, broken=verdict.broken or cut))


def _ended(verdict: Verdict, document: dict[str, Any], provider: Provider, start: Start) -> Read:
    head = _head(document["head"])
    end = (verdict.chain, verdict.replica_id, verdict.last or start.seq, verdict.link)
    fault = None
    if (head.chain, head.replica_id, head.seq, head.link) != end:
        fault = "the head names another record than the last one"
    signed = Signed.parse(document.get("signature"), provider)
    if not _fits(signed, provider, HEAD_PURPOSE, head.data()):
        raise AuditBroken("the signature of a head does not fit")
    if fault is not None and verdict.broken is None:
        broken = Break(chain=verdict.chain, seq=head.seq, fault=Fault.HEAD, message=fault)
        verdict = replace(verdict, broken=broken)
    return Read(verdict=verdict, head=document["head"], signed=signed)


def _fits(signed: Signed, provider: Provider, purpose: str, data: bytes) -> bool:
    try:
        return signed.fits(provider, purpose, data)
    except CryptoError as error:
        raise AuditBroken(f"a signature cannot be checked here: {error}") from error


def _documents(file: Iterable[str]) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(file, start=1):
        if len(line) > LINE_CHARS_MAX:
            raise AuditBroken(f"line {number} is longer than any that satchel writes")
        try:
            found = json.loads(line)
        except (ValueError, RecursionError):
            raise AuditBroken(f"line {number} is no JSON") from None
        if not isinstance(found, dict):
            raise AuditBroken(f"line {number} is no JSON object")
        yield found


def _record(document: dict[str, Any]) -> Record:
    body = document.get("body")
    if not isinstance(body, str):
        raise AuditBroken("a record has no body")
    return Record(
        seq=_count(document.get("seq")),
        at=_count(document.get("at"), least=-SEQ_MAX),
        body=body,
        link=_hex(document.get("link"), LINK_BYTES),
    )


def _start(told: dict[str, Any]) -> Start:
    return Start(seq=_count(told.get("seq")), link=_hex(told.get("link"), LINK_BYTES))


def _head(told: Any) -> Head:
    if not isinstance(told, dict):
        raise AuditBroken("a head is no JSON object")
    return Head(
        chain=str(told.get("chain")),
        replica_id=_hex(told.get("replica_id"), ID_DIGITS // 2).hex(),
        seq=_count(told.get("seq")),
        link=_hex(told.get("link"), LINK_BYTES),
        at=_count(told.get("at"), least=-SEQ_MAX),
    )


def _count(value: Any, *, least: int = 0) -> int:
    if type(value) is not int or not least <= value <= 2**53:
        raise AuditBroken("a number in the file is none that satchel writes")
    return value


def _hex(value: Any, size: int) -> bytes:
    try:
        raw = bytes.fromhex(value) if isinstance(value, str) and len(value) == 2 * size else b""
    except ValueError:
        raw = b""
    if len(raw) != size:
        raise AuditBroken("an id or a link in the file is none that satchel writes")
    return raw
