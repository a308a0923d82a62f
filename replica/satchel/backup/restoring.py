"""A restore: a backup becomes the replica of this home, under a new identity. Start at `restore`.

What is in the home now is kept as another backup; forgotten rows stay forgotten, and the audit
keeps its records (`lasting`). Killed anywhere it leaves the old replica or the new one, whole.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import apsw

from satchel import peers
from satchel.backup import beside, lasting, sources
from satchel.backup import present as presents
from satchel.backup.alone import alone
from satchel.backup.exchange import exchange, is_placed
from satchel.backup.lasting import Forgotten
from satchel.backup.present import Present
from satchel.backup.sources import Source
from satchel.backup.staging import Draft, staged
from satchel.errors import ConfirmationNeeded, Refused, StoreBusy, StoreUnusable
from satchel.replica import DATABASE_FILE
from satchel.store import wiping
from satchel.store.activity import ACTIVITY_FILE

if TYPE_CHECKING:
    from satchel.config import Settings

Confirm = Callable[[str], bool]
NO_KEYS = (
    "the keys and secrets of the machine that made the backup are not here: this one signs with its"
    " own, and `satchel secret set` sets the secrets again"
)
TOO_LARGE = (
    "what was forgotten again is in no row; the file is too large to be written anew, so run"
    " `VACUUM` on it once to clear what lies between the rows"
)
OPEN = (
    "a program has this replica open (an agent's MCP server, a sync): its next read or write is"
    " refused, so start it again"
)
NO_FILE = (
    "there was no replica here that knows what was forgotten since the backup: a sync tells it, or"
    " `satchel restore` with --forgotten and the certificates"
)


def restore(
    settings: Settings,
    given: Path,
    *,
    confirm: Confirm,
    other: bool = False,
    certificates: Sequence[Path] = (),
    unread: bool = False,
) -> dict[str, Any]:
    """Put a backup in the place of the replica; what was done, and `notices`.

    `other` allows one of another replica, `unread` a replica whose list of forgotten rows cannot be
    read. Raises NotFound, BackupUnusable, StoreNewer, ConfirmationNeeded, Refused, StoreBusy,
    SyncBusy, StoreUnusable; the home is as it was then.
    """
    settings.require_built()
    source = sources.find(settings.home, given)
    named = lasting.forgotten_by(settings, certificates)
    path = (settings.home / DATABASE_FILE).resolve()
    _require_meant(presents.look(path), source, other, confirm)
    with alone(settings.home), peers.one_sync(settings.home):
        present = presents.look(path)
        known = _known(settings.home, present, named, unread)
        with staged(settings, source) as draft:
            fault = beside.activity_fault(settings.home)
            placed = partial(is_placed, path, draft.path)
            with beside.keys_put(settings.home, source, placed) as put:
                replica_id = _made_ready(draft, source, present, known, settings, fault)
                kept = exchange(settings.home, present, draft.path, _last(draft))
            notices = _finished(settings.home, source, draft, fault, put)
    if path.with_name(f"{path.name}-shm").exists():  # SQLite removes it with the last to close
        notices.append(OPEN)
    if not source.manifest.keys and present.state == "none":
        notices.append(NO_KEYS)
    if present.state == "none" and not certificates:
        notices.append(NO_FILE)
    if not draft.is_wiped:
        notices.append(TOO_LARGE)
    if left := beside.keys_left_out(settings.home, source):
        notices.append(
            f"this home has keys of its own, so these stay in {source.path}: {', '.join(left)}"
        )
    if draft.strange:
        notices.append(f"left out, as satchel did not make it: {', '.join(draft.strange)}")
    return {
        "restored": str(source.path),
        "made_at": source.manifest.made_at,
        "replica_id": replica_id.hex(),
        "was": source.manifest.replica_id,
        "kept": str(kept) if kept else None,
        "put": [DATABASE_FILE, *put],
        "forgotten": len(draft.scrubbed),
        "notices": notices,
    }


def _require_meant(present: Present, source: Source, other: bool, confirm: Confirm) -> None:
    """Raise Refused for another machine's backup, ConfirmationNeeded where nobody said yes."""
    strange = present.used and present.state == "whole" and not present.ids & source.ids
    if strange and not other:
        raise Refused(
            f"the backup is of the replica {source.manifest.replica_id}, and the one in"
            f" {present.path.parent} never was that: it would be replaced by another machine's",
            hint="restore it into a home of its own (--home), or give --other-replica",
            field="backup",
        )
    said = (
        f"{present.path} becomes what it was at {source.manifest.made_at}; what was written since"
        " and not synced is then only in the backup that is made of it now"
    )
    if not confirm(f"{said}. Restore?"):
        raise ConfirmationNeeded(said, hint="--yes does it")


def _known(home: Path, present: Present, named: Forgotten, unread: bool) -> Forgotten:
    """All that is known as forgotten. Raises Refused where the present file hides a part of it."""
    found = Forgotten()
    found.add(named)
    found.add(lasting.forgotten_in_backups(home))
    if present.state == "damaged":
        found.unread.append(present.why)
    elif present.state == "whole":
        with presents.reading(present.path) as there:
            found.add(lasting.forgotten_in(there), unread=True)
    if found.unread and not unread:
        raise Refused(
            f"what was forgotten since the backup cannot be read from {present.path}, which is"
            f" damaged: {found.unread[0]}",
            hint="--forgotten FILE names a certificate of it; --forgotten-unread goes on without,"
            " and what no certificate names is there again until the next sync",
            field="backup",
        )
    return found


def _made_ready(
    draft: Draft,
    source: Source,
    present: Present,
    known: Forgotten,
    settings: Settings,
    fault: str | None,
) -> bytes:
    """The draft as it will be, but for what is written meanwhile; its new id."""
    draft.renew()
    activity = draft.activity if fault is not None else settings.home / ACTIVITY_FILE
    detail = {"made_at": source.manifest.made_at, "was": source.manifest.replica_id}
    if present.state == "whole":
        with presents.reading(present.path) as there:
            draft.begin(known, _readable(there), activity, detail)
    else:
        draft.begin(known, None, activity, detail)
    return draft.finish()


def _last(draft: Draft) -> Callable[[apsw.Connection], None]:
    """What the present file learned while the draft was made ready."""

    def last(there: apsw.Connection) -> None:
        draft.learn(lasting.forgotten_in(there), _readable(there))
        draft.finish()

    return last


def _readable(there: apsw.Connection) -> apsw.Connection | None:
    """The file if its audit can be read through."""
    try:
        for table in ("audit", "audit_head"):
            there.execute(f"SELECT max(length(link)) FROM {table}").fetchall()
    except apsw.Error:
        return None
    return there


def _finished(
    home: Path, source: Source, draft: Draft, fault: str | None, put: list[str]
) -> list[str]:
    """Put what else there is and drop what was derived; notices of what could not be done now.

    The replica is the new one already, so nothing of this is an error.
    """
    notices = []
    try:
        put += beside.put_config(home, source)
        if fault is not None:
            put += beside.put_activity(home, draft.activity, fault)
        wiping.drop_vectors(home / wiping.VECTORS)
        if draft.scrubbed:
            wiping.forget_access(home / ACTIVITY_FILE, draft.scrubbed)
    except (StoreBusy, StoreUnusable) as error:
        notices.append(str(error))
    return notices
