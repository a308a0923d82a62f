"""A record of an audit chain: what its body says, the link to the record before, the MAC over it.

body = canonical JSON of an `Entry`; link = SHA-256("satchel audit\\0" + link before + body), with
32 zeros before the first; mac = HMAC-SHA-256(audit key, link). Ids stand in it, never a text.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from json.encoder import encode_basestring as _quoted
from typing import Any

from satchel_crypto.algorithms import Hash
from satchel_crypto.canonical import canonical
from satchel_crypto.errors import AuditBroken, CryptoError
from satchel_crypto.provider import Provider

WRITES = "writes"
READS = "reads"
CHAINS = (WRITES, READS)

BEGAN = "began"
"""Action of a first record; a later one says that the head was lost. `why` in its detail."""
ROTATED = "rotated"
"""Records up to `seq`, whose link was `link` (hex), were removed: both stand in the detail."""
RESTORED = "restored file"
"""The file came by a backup. With `chain`, `replica_id`, `seq` and `link` in the detail: where a
chain stood that came with it, and whose audit key is not here, so that links alone tell of it."""
READ = "read"
"""Rows were given to somebody; the detail says where the chain of writes was seen to stand."""
SEEN_SEQ = "writes_seq"
SEEN_LINK = "writes_link"
ANCHOR = "anchor"
"""The other chain stood at `seq` and `link` (hex); `chain` and `replica_id` say which one."""
WHY_FIRST = "first"
"""Why a chain began: there was none."""
WHY_SUCCEEDED = "succeeded"
"""The file took a new replica id; `replica_id`, `seq`, `link`: where the chain before stood."""
WHY_KEY = "key"
"""Why a chain began once more: its head is not of the key that the machine has now."""
WHY_HEAD = "head"
"""The same, as its head was gone."""

FIRST_LINK = bytes(32)
"""What the first record links to."""
LINK_BYTES = 32
ROWS_MAX = 100
"""Rows named in a record; of more it tells the number."""
NAME_CHARS_MAX = 200
"""Ids are 36 long; one that somebody wrote by hand may have any length, and is cut."""
BODY_CHARS_MAX = 256 * 1024
HEAD_PURPOSE = "audit-head"
_DOMAIN = b"satchel audit\0"
_HEAD_DOMAIN = b"satchel audit head\0"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """What one record says: who did what to which rows, when (UTC ms), with which tool.

    `rows` are (kind, key), at most `ROWS_MAX`; `more` counts those left out.
    """

    chain: str
    replica_id: str
    seq: int
    at: int
    action: str
    actor: str | None = None
    tool: str | None = None
    rows: tuple[tuple[str, str], ...] = ()
    more: int = 0
    detail: Mapping[str, str | int] = field(default_factory=dict)

    def body(self) -> str:
        """The canonical JSON of it; see `body_of`."""
        return body_of(
            self.chain,
            self.replica_id,
            self.seq,
            self.at,
            self.action,
            self.actor,
            self.tool,
            self.rows,
            self.more,
            self.detail,
        )

    @staticmethod
    def parse(body: str) -> Entry:
        """Inverse of `body`. Raises AuditBroken for what no satchel wrote."""
        if len(body) > BODY_CHARS_MAX:
            raise AuditBroken(f"an audit record has {len(body)} characters")
        try:
            document = json.loads(body)
        except (ValueError, RecursionError):
            raise AuditBroken("an audit record is no JSON") from None
        if not isinstance(document, dict) or not _well_formed(document):
            raise AuditBroken("an audit record lacks what every one has")
        if not _is_canonical(document, body):
            raise AuditBroken("an audit record is not written as satchel writes it")
        return Entry(
            chain=document["chain"],
            replica_id=document["replica_id"],
            seq=document["seq"],
            at=document["at"],
            action=document["action"],
            actor=document.get("actor"),
            tool=document.get("tool"),
            rows=tuple((kind, key) for kind, key in document["rows"]),
            more=document.get("more", 0),
            detail=document.get("detail", {}),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A record as it is stored and sent; without the audit key its `mac` says nothing."""

    seq: int
    at: int
    body: str
    link: bytes
    mac: bytes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """Where a chain stood at `at` (UTC ms); `seq` 0 with `FIRST_LINK` is an empty one."""

    chain: str
    replica_id: str
    seq: int
    link: bytes
    at: int = 0

    def data(self) -> bytes:
        """What is signed of it, for the purpose `HEAD_PURPOSE`."""
        return canonical(
            {
                "chain": self.chain,
                "replica_id": self.replica_id,
                "seq": self.seq,
                "link": self.link.hex(),
                "at": self.at,
            }
        )


def body_of(
    chain: str,
    replica_id: str,
    seq: int,
    at: int,
    action: str,
    actor: str | None,
    tool: str | None,
    rows: Iterable[tuple[str, str]],
    more: int,
    detail: Mapping[str, str | int],
) -> str:
    """The canonical JSON of an entry: what `canonical` makes of it in three times the time.

    Nothing is checked once more: names are of `named`, numbers are whole.
    """
    shown = ",".join([f"[{_quoted(kind)},{_quoted(key)}]" for kind, key in rows])
    said = f'"detail":{{{_members(detail)}}},' if detail else ""
    left = f'"more":{more},' if more else ""
    who = "null" if actor is None else _quoted(actor)
    what = "null" if tool is None else _quoted(tool)
    return (
        f'{{"action":{_quoted(action)},"actor":{who},"at":{at},"chain":{_quoted(chain)},'
        f'{said}{left}"replica_id":{_quoted(replica_id)},'
        f'"rows":[{shown}],"seq":{seq},"tool":{what}}}'
    )


def _members(detail: Mapping[str, str | int]) -> str:
    return ",".join(
        [
            f"{_quoted(name)}:{_quoted(value) if isinstance(value, str) else value}"
            for name, value in sorted(detail.items())
        ]
    )


def link_of(provider: Provider, before: bytes, body: str) -> bytes:
    """The link of a record with this body behind one whose link is `before`; 32 bytes."""
    return provider.digest(Hash.SHA256, _DOMAIN + before + body.encode("utf-8", "surrogatepass"))


def mac_of(provider: Provider, key: bytes, link: bytes) -> bytes:
    """The MAC over a link, by the key that only this machine has; 32 bytes."""
    return provider.mac(key, link)


def head_mac(
    provider: Provider, key: bytes, chain: str, replica_id: bytes, seq: int, link: bytes
) -> bytes:
    """The MAC under which a machine keeps where a chain stands; 32 bytes."""
    place = chain.encode("ascii") + b"\0" + replica_id + seq.to_bytes(8, "big", signed=True)
    return provider.mac(key, _HEAD_DOMAIN + place + link)


def append(provider: Provider, key: bytes, before: bytes, entry: Entry) -> Record:
    """The record of `entry` behind one whose link is `before`."""
    body = entry.body()
    link, mac = sealed(provider, key, before, body)
    return Record(seq=entry.seq, at=entry.at, body=body, link=link, mac=mac)


def sealed(provider: Provider, key: bytes, before: bytes, body: str) -> tuple[bytes, bytes]:
    """(link, MAC) of a record with this body behind one whose link is `before`."""
    link = link_of(provider, before, body)
    return link, mac_of(provider, key, link)


def named(text: str) -> str:
    """An id or a name as a record can hold it: no lone surrogate, not too long."""
    clean = text if text.isascii() else text.encode("utf-8", "backslashreplace").decode("utf-8")
    return clean if len(clean) <= NAME_CHARS_MAX else clean[: NAME_CHARS_MAX - 1] + "…"


def some(rows: Iterable[tuple[str, str]]) -> tuple[tuple[tuple[str, str], ...], int]:
    """(the rows that a record names, how many more there are)."""
    unique = tuple(dict.fromkeys([(kind, named(key)) for kind, key in rows]))
    return unique[:ROWS_MAX], max(0, len(unique) - ROWS_MAX)


def _is_canonical(document: dict[str, Any], body: str) -> bool:
    """So no number is too large for a column, and every text can be printed."""
    try:
        return canonical(document).decode("utf-8") == body
    except CryptoError:
        return False


def _well_formed(document: dict[str, Any]) -> bool:
    texts = ("chain", "replica_id", "action")
    counts = (document.get("seq"), document.get("at"), document.get("more", 0))
    rows, detail = document.get("rows"), document.get("detail", {})
    return (
        all(isinstance(document.get(name), str) for name in texts)
        and all(type(count) is int for count in counts)
        and all(isinstance(document.get(name), str | None) for name in ("actor", "tool"))
        and isinstance(rows, list)
        and all(isinstance(row, list) and list(map(type, row)) == [str, str] for row in rows)
        and isinstance(detail, dict)
        and all(type(value) in (str, int) for value in detail.values())
    )
