"""Forget memories for good: nothing of their text stays, here and after a sync anywhere.

A delete keeps the old text in the row's history so that it can be restored; forgetting scrubs the
row, its history, vectors, edges and journal entries, and cannot be undone by any later version.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from satchel.errors import ConfirmationNeeded, InvalidInput, NotFound, Refused, StoreBusy
from satchel.memory import text
from satchel.memory.deleted import find_deleted
from satchel.memory.limits import IDS_MAX
from satchel.memory.lookup import can_see, find_to_change, matches
from satchel.memory.moments import iso
from satchel.memory.search.quoting import quoting
from satchel.protection import key_store
from satchel.store import attempts, scrubbing, wiping
from satchel.store.sql import alive
from satchel_sync.subjects import mark
from satchel_sync.tables import Memory

if TYPE_CHECKING:
    from apsw import Connection

    from satchel.replica import Replica

Erased = tuple[str, str, bytes]
"""Kind, key and digest of a row that was scrubbed."""
LINKED_MAX = 100
"""Rows that `linked` may add; there is no way back."""
MADE_OF = ("memory", "task", "chatlog")
"""Kinds of which versions and summaries are made."""
MARKED_CHARS_MAX = 200
"""Of a key that was written by hand: a mark is a key, too, and longer."""


def forget(
    replica: Replica, ids: Sequence[str], *, linked: bool = False, confirm: bool = False
) -> dict[str, Any]:
    """Scrub memories and all that is about them: here now, elsewhere with the next syncs.

    Answers with `linked`, the ids of rows that repeat one of the texts or name one of the memories
    (with `linked=True` they are scrubbed too), and with the `certificate`: ids and digests only,
    signed by this machine. `wiped` is false in it where a process that reads for long keeps old
    pages in the log; the next sync wipes them. All ids or none. Raises ConfirmationNeeded,
    InvalidInput, NotFound, AmbiguousId, Refused, and CryptoError's family before anything is gone.
    """
    if confirm is not True:
        raise ConfirmationNeeded(
            "forgetting is final and needs `confirm`", hint="give `--yes` or `confirm: true`"
        )
    wanted = text.names(ids, "ids", IDS_MAX)
    if not wanted:
        raise InvalidInput("no memory to forget was named", hint="give one or more ids")
    from satchel_crypto.certificate import certified  # with the keys, which few processes need

    machine = key_store(replica.settings)
    signing = machine.signing()  # first: nothing is gone for which there is no certificate
    with replica.store.write(replica.actor) as db:
        erased, others = _scrubbed(db, replica, wanted, linked)
        hub_id = attempts.hub_id(db)
    certificate = _certificate(replica, erased, hub_id, wiped=_wiped(replica))
    return {
        "certificate": certified(machine.provider, signing, certificate),
        "linked": [key for _, key in others],
    }


def _scrubbed(
    db: Connection, replica: Replica, wanted: Sequence[str], linked: bool
) -> tuple[list[Erased], list[tuple[str, str]]]:
    """What was scrubbed, and the rows that repeat it."""
    keys = list(dict.fromkeys(_to_forget(db, replica, given) for given in wanted))
    others = quoting(db, replica.caller, keys)
    made = scrubbing.made_of(db, {*keys, *(key for _, key in others)})  # also where no edge is left
    mine = _changeable(db, replica, sorted(made))
    others += [
        one for key in sorted(mine) if (one := ("memory", key)) not in others and key not in keys
    ]
    if linked and len(others) > LINKED_MAX:
        raise Refused(
            f"{len(others)} rows repeat these texts: so many are not forgotten by one word",
            hint="leave out `linked`, look at the answer, and forget what is meant by its ids",
            field="linked",
        )
    doomed = [*(("memory", key) for key in keys), *(others if linked else ())]
    if linked:
        kept = {one for key, ids in made.items() if key not in mine for one in ids}
        marked = [key for kind, key in doomed if _may_be_marked(kind, key) and key not in kept]
        scrubbing.put_marks(db, marked)
        doomed += [("relationship", mark(key)) for key in marked]
    erased = scrubbing.about(db, doomed)
    scrubbing.scrub(db, doomed, replica.now_ms())
    return erased, others


def _may_be_marked(kind: str, key: str) -> bool:
    """Whether memories are made of such a row, so that also late ones must go with it."""
    return kind in MADE_OF and len(key) <= MARKED_CHARS_MAX


def _changeable(db: Connection, replica: Replica, keys: Sequence[str]) -> set[str]:
    """Those of these memories that the caller may change, and so forget."""
    mine = can_see(replica.caller, "memory", access="write")
    query = (
        f"SELECT t.id FROM json_each(:keys) AS w JOIN memory AS t ON t.id = w.value WHERE {mine}"
    )
    return {
        str(key)
        for (key,) in db.execute(query, {**replica.caller.params, "keys": json.dumps(keys)})
    }


def _wiped(replica: Replica) -> bool:
    replica.activity.wait()  # a search of a moment ago may still be counting them
    try:
        return wiping.wipe(replica.store, compact_bytes_max=wiping.COMPACT_ASKED_BYTES_MAX)
    except StoreBusy:  # the rows are scrubbed for good, so the answer must not be lost
        return False


def _certificate(
    replica: Replica, erased: list[Erased], hub_id: bytes | None, *, wiped: bool
) -> dict[str, Any]:
    return {
        "at": iso(replica.now_ms()),
        "replica_id": replica.store.replica_id.hex(),
        "hub_id": hub_id.hex() if hub_id else None,
        "actor": replica.actor,
        "rows": [{"kind": kind, "key": key, "digest": was.hex()} for kind, key, was in erased],
        "wiped": wiped,
        "backups": [_printable(name) for name in wiping.backups(replica.store.home)],
    }


def _printable(name: str) -> str:
    """The name of a file that may have bytes in it which are no text."""
    return name.encode("utf-8", "backslashreplace").decode("utf-8")


def _to_forget(db: Connection, replica: Replica, given: str) -> str:
    """The full key of a memory that the caller may change, living or deleted.

    For the operator also of one that is forgotten already, and of one that another machine deleted
    and whose history never came here: what is left of it elsewhere goes too.
    """
    try:
        return str(find_to_change(db, replica.caller, Memory, given).id)
    except NotFound:
        if replica.caller.sees_all:
            dead = matches(db, "memory", given, f"NOT {alive('t')}", {})
            if len(dead) == 1:
                return dead[0]
        return find_deleted(db, replica.caller, "memory", given, "write")[0]
