"""`satchel audit log`: records of both chains, the newest first, as they are said to be.

Reading shows what is there; whether that is what was written is told by `checking`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import merge
from itertools import islice
from typing import TYPE_CHECKING, Any

import apsw

from satchel.audit import chain, reads
from satchel.errors import StoreUnusable
from satchel.memory.moments import iso
from satchel_crypto.audit_record import CHAINS, READS, WRITES, Entry
from satchel_crypto.audit_record import Record as Kept
from satchel_crypto.errors import AuditBroken

if TYPE_CHECKING:
    from satchel.store.connection import Store

ID_CHARS_MIN = 8
"""So many characters of an id, from its beginning or its end, mean it."""
HEX = "0123456789abcdef"
HEX_CHARS_MIN = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which records: since <= at < until (UTC ms), by whom, about which row, of which chain."""

    since: int | None = None
    until: int | None = None
    actor: str | None = None
    row: str | None = None
    chains: Sequence[str] = CHAINS
    limit: int = 50

    def fits(self, said: Entry) -> bool:
        """Whether a record is wanted, its time aside; one with rows unnamed may be about any."""
        by = self.actor is None or said.actor == self.actor
        return by and (self.row is None or said.more > 0 or self.names(said))

    def names(self, said: Entry) -> bool:
        """Whether a record names the row that is asked for."""
        return any(self._means(key) for _, key in said.rows)

    def _means(self, key: str) -> bool:
        row = self.row or ""
        short = len(row) >= ID_CHARS_MIN and (key.startswith(row) or key.endswith(row))
        return key == row or short


def log(store: Store, wanted: Wanted) -> list[dict[str, Any]]:
    """Records, the newest first, as the command prints them.

    `maybe` marks one that does not name the row asked for, and may be about it: it names only
    the first 100, and `more` counts the others.

    Raises StoreUnusable where activity.db cannot be read and its chain is wanted.
    """
    some: list[list[dict[str, Any]]] = []
    if WRITES in wanted.chains:
        with store.read() as db:
            some.append(list(islice(_shown(db, WRITES, wanted), wanted.limit)))
    if READS in wanted.chains:
        try:
            with reads.opened(store.home) as there:
                if there is not None:
                    some.append(list(islice(_shown(there, READS, wanted), wanted.limit)))
        except (apsw.Error, OSError) as error:
            raise StoreUnusable(
                f"activity.db cannot be read: {error}",
                hint="`--chain writes` shows the other chain; move the file away and keep it",
            ) from error
    newest = merge(*some, key=lambda one: -one["at_ms"])
    return [_dated(one) for one in islice(newest, wanted.limit)]


def in_words(row: dict[str, Any]) -> dict[str, Any]:
    """A record as a terminal shows it: what it says besides its rows in one column."""
    detail, shown = row.get("detail") or {}, dict(row)
    said = [
        f"{name} {value[:8] if _is_hex(value) else value}"
        for name, value in detail.items()
        if name != "stamps"
    ]
    if row.get("more"):
        said.insert(0, f"{row['more']} more rows")
    if row.get("maybe"):
        said.insert(0, "maybe")
    for name in ("detail", "more", "maybe", "replica_id"):
        shown.pop(name, None)
    return shown | {"detail": ", ".join(said)}


def _is_hex(value: str | int) -> bool:
    """Whether it is an id or a link, of which the beginning tells two apart."""
    return isinstance(value, str) and len(value) >= HEX_CHARS_MIN and not value.strip(HEX)


def _shown(db: apsw.Connection, name: str, wanted: Wanted) -> Iterator[dict[str, Any]]:
    for record in chain.newest(db, since=wanted.since, until=wanted.until):
        said = _entry(record)
        if said is None:
            if wanted.actor is None and wanted.row is None:
                yield {"at_ms": record.at, "chain": name, "seq": record.seq, "action": "unreadable"}
        elif wanted.fits(said):
            sure = wanted.row is None or wanted.names(said)
            yield _row(said) | ({} if sure else {"maybe": True})


def _entry(record: Kept) -> Entry | None:
    try:
        return Entry.parse(record.body)
    except AuditBroken:
        return None


def _row(said: Entry) -> dict[str, Any]:
    return {
        "at_ms": said.at,
        "chain": said.chain,
        "seq": said.seq,
        "actor": said.actor,
        "action": said.action,
        "tool": said.tool,
        "rows": [f"{kind} {key}" for kind, key in said.rows],
        "more": said.more,
        "detail": dict(said.detail),
        "replica_id": said.replica_id,
    }


def _dated(row: dict[str, Any]) -> dict[str, Any]:
    return {"at": iso(row.pop("at_ms")), **row}
