"""`backup-check`: is a dump whole and of this warehouse, and is there a backup at all."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from satchel_crypto.network import Policy
from satchel_warehouse.database import NAMED, Connection
from satchel_warehouse.errors import DumpInvalid, WarehouseNotMigrated
from satchel_warehouse.login import Dsn
from satchel_warehouse.operations import contents, record
from satchel_warehouse.operations.contents import Compared
from satchel_warehouse.operations.dumps import restored
from satchel_warehouse.operations.health import Archive, Health, Standby, looked
from satchel_warehouse.operations.record import Act
from satchel_warehouse.operations.version import newest
from satchel_warehouse.sessions import administered, one, revision

DAY_MS = 24 * 60 * 60 * 1000
SETTLED_MS = 5 * 60 * 1000
"""What the hub wrote so long before the newest row of a dump was committed when the dump began: a
login's transactions take two minutes at most.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dump:
    """A dump that was restored and read whole.

    `reaches_at` is the newest moment (UTC ms) that it knows of; `damaged` is kind -> rows whose
    content does not fit their version. `compared` is None where no warehouse is named, or `why_not`
    says why the two cannot be held against each other. `not_looked_at` are tables of which only is
    known that they were restored. `sound`: it can be relied on.
    """

    file: str
    size_bytes: int
    revision: str
    reaches_at: int | None
    tenants: list[str]
    rows: dict[str, int]
    damaged: dict[str, int]
    compared: list[Compared] | None = None
    why_not: str = ""
    not_looked_at: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    @property
    def sound(self) -> bool:
        """Whether nothing is wrong with it."""
        return not self.faults


@dataclass(frozen=True, slots=True, kw_only=True)
class Backups:
    """What a warehouse knows of its backups. `recent`: one of them is younger than was asked for.

    A dump counts by what it reaches, once `backup-check FILE` has found it sound; an archive by its
    newest segment. A standby is none: what is deleted here is deleted there.
    """

    recent: bool
    dump: Act | None
    archive: Archive
    standbys: list[Standby]


def known(admin_dsn: Dsn, *, days: int, policy: Policy = NAMED) -> Backups:
    """What a warehouse knows of its backups of the last `days`. Raises WarehouseError's family."""
    with administered(admin_dsn, policy) as db:
        revision(db)
        found = looked(db)
    return Backups(
        recent=is_recent(found, days),
        dump=found.backup,
        archive=found.archive,
        standbys=found.standbys,
    )


def is_recent(found: Health, days: int) -> bool:
    """Whether a checked dump reaches into the last `days`, or the archive does and works."""
    since = found.at - days * DAY_MS
    archive = found.archive
    works = archive.on and (archive.last_failed_at or 0) <= (archive.last_at or 0)
    reaches = (found.backup.detail.get("reaches_at") if found.backup else None) or 0
    return reaches >= since or (works and (archive.last_at or 0) >= since)


def check(
    dump: Path, admin_dsn: Dsn | None, *, folder: Path | None = None, policy: Policy = NAMED
) -> Dump:
    """Restore a dump beside, read every row, hold it against the warehouse if one is named.

    That the dump is sound is written down there. Raises DumpInvalid and WarehouseError's family.
    """
    with ExitStack() as open_ones:
        live = None
        if admin_dsn is not None:
            live = open_ones.enter_context(administered(admin_dsn, policy))
            revision(live)
        copy = open_ones.enter_context(restored(dump, folder=folder, policy=policy))
        found = examined(dump, copy, live)
        if live is not None and found.sound and found.compared is not None and _writes(live):
            record.note(live, "backup", _noted(found))
    return found


def examined(dump: Path, copy: Connection, live: Connection | None) -> Dump:
    """Read the restored copy of a dump, and hold it against the warehouse if one is given.

    Raises DumpInvalid for one of no warehouse, or of another version.
    """
    try:
        its_revision = revision(copy)
    except WarehouseNotMigrated:
        raise DumpInvalid(
            f"{dump} is the dump of a database that holds no warehouse",
            hint="dump the database that [warehouse] admin_dsn names",
        ) from None
    if its_revision != newest():
        raise DumpInvalid(
            f"{dump} is of the revision {its_revision}; this program reads {newest()}",
            hint="check it with the satchel that made it, or dump again after `warehouse migrate`",
        )
    damaged = contents.damaged(copy)
    faults = [f"{count} rows of {kind} are damaged" for kind, count in damaged.items()]
    compared, why_not = _compared(copy, live) if live else (None, "no warehouse is named")
    faults += _incomplete(copy)
    if live and compared is not None:
        faults += _lacking(copy, live)
    for one_kind in compared or ():
        if not one_kind.same:
            faults.append(
                f"rows of {one_kind.kind} of the tenant {one_kind.tenant!r} that did not change"
                " since are others than in the warehouse"
            )
    return Dump(
        file=str(dump),
        size_bytes=dump.stat().st_size,
        revision=its_revision,
        reaches_at=contents.reached(copy),
        tenants=list(contents.tenants(copy)),
        rows=contents.rows(copy),
        damaged=damaged,
        compared=compared,
        why_not=why_not,
        not_looked_at=contents.left_out(copy),
        faults=faults,
    )


def _incomplete(copy: Connection) -> list[str]:
    """What a dump lacks by what it says itself."""
    faults = []
    if one(copy, "SELECT count(*) FROM satchel.hub")[0] != 1:
        faults.append("the row of satchel.hub is missing")
    names = list(contents.tenants(copy))
    if not names:
        faults.append("no tenant is there")
    for table, count in contents.unmet(copy).items():
        faults.append(f"{count} rows of satchel.{table} are missing that others name")
    for name in names:
        held = contents.held(copy, name)
        for kind, number in contents.given(copy, name).items():
            if held.get(kind, 0) < number:
                faults.append(
                    f"rows of {kind} of the tenant {name!r} are missing: a machine was given"
                    f" number {number}, the last one here is {held.get(kind, 0)}"
                )
    return faults


def _lacking(copy: Connection, live: Connection) -> list[str]:
    """Rows of the hub's own that were there before the dump ended, and are not in it."""
    until = (contents.reached(copy) or 0) - SETTLED_MS
    return [
        f"{count} rows of satchel.{table} of before the dump are missing"
        for table, count in contents.missing(copy, live, until).items()
    ]


def _compared(copy: Connection, live: Connection) -> tuple[list[Compared] | None, str]:
    """Each tenant of the dump beside the warehouse's, in one snapshot; or why that cannot be."""
    if revision(copy) != revision(live):
        return None, "the warehouse was migrated since"
    with live.transaction():
        live.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        here, there = _times(live), _times(copy)
        if any(key not in here for key in there):
            return None, "the dump is of another warehouse, or of one that was restored since"
        return [found for name, _, _ in there for found in contents.compared(copy, live, name)], ""


def _times(db: Connection) -> list[tuple[str, bytes, str]]:
    """(tenant, its id, its epoch): change sequences mean the same within these only."""
    return [
        (name, known_as, one(db, "SELECT epoch FROM satchel.tenant WHERE name = %s", name)[0])
        for name, known_as in contents.tenants(db).items()
    ]


def _writes(db: Connection) -> bool:
    """Whether this is no standby."""
    return not one(db, "SELECT pg_is_in_recovery()")[0]


def _noted(found: Dump) -> dict[str, object]:
    return {
        "reaches_at": found.reaches_at,
        "size_bytes": found.size_bytes,
        "rows": sum(found.rows.values()),
    }
