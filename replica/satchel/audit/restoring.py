"""What a restored file's chain of writes says first: by what backup it came, and with what."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import apsw

from satchel.audit import chain
from satchel.audit.scribe import KEY_NAME, Draft, Scribe
from satchel.protection import device_secrets, provider_of
from satchel.store import identity
from satchel_crypto.audit_record import READS, RESTORED, WRITES, head_mac

if TYPE_CHECKING:
    from satchel.config import Settings
    from satchel_crypto.provider import Provider


def tell(
    db: apsw.Connection,
    activity: Path,
    settings: Settings,
    now_ms: int,
    detail: Mapping[str, str | int],
) -> None:
    """Append the record to the chain of writes of `db`, in its write transaction.

    The machine's key of now may not be the one that the older chains were written with: on another
    machine, without `--with-keys`. Where each of them stands is told then, under the key of now,
    so that their links can be checked still. `activity` is the file with the reads that stay.
    """
    provider, secrets = provider_of(settings), device_secrets(settings.home)
    key = secrets.get(KEY_NAME)
    drafts = [Draft(action=RESTORED, detail=detail), *_strange(db, WRITES, provider, key)]
    if activity.exists():
        there = apsw.Connection(str(activity), flags=apsw.SQLITE_OPEN_READWRITE)
        try:
            drafts += _strange(there, READS, provider, key)
        finally:
            there.close()
    own = identity.load(db)
    scribe = Scribe(lambda: provider, secrets)
    scribe.append(db, WRITES, own, now_ms, drafts, chain.kept(db, own))


def _strange(
    db: apsw.Connection, name: str, provider: Provider, key: bytes | None
) -> Iterator[Draft]:
    """Chains whose head was not left by this key."""
    if db.execute("SELECT 1 FROM sqlite_schema WHERE name = 'audit_head'").get is None:
        return
    for replica_id in chain.ids(db):
        kept, last = chain.kept(db, replica_id), chain.last(db, replica_id)
        if kept is None or last is None or (kept.seq, kept.link) != (last.seq, last.link):
            continue  # for verify to tell
        wanted = key and head_mac(provider, key, name, replica_id, kept.seq, kept.link)
        if wanted is None or not provider.same(wanted, kept.mac):
            place: dict[str, str | int] = {
                "chain": name,
                "replica_id": replica_id.hex(),
                "seq": kept.seq,
                "link": kept.link.hex(),
            }
            yield Draft(action=RESTORED, detail=place)
