"""The replica itself: it opens, its pages and its text index are whole, what waits in it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import apsw

from satchel.doctor.check import Check, Mend, failed
from satchel.doctor.engines import DRAIN_LIMIT_S, drained, model
from satchel.doctor.fault import words
from satchel.doctor.vectors import vectors
from satchel.errors import SatchelError, StoreUnusable
from satchel.replica import DATABASE_FILE, open_replica
from satchel.store import backups, damage, migrate
from satchel.store.triggers import TEXT_COLUMNS
from satchel_crypto.errors import CryptoError
from satchel_sync.tables import BY_NAME

if TYPE_CHECKING:
    from satchel.config import Settings
    from satchel.replica import Replica

_COUNTED = ("outbox", "quarantine", "embed_queue", "turn_queue", "conflict")
FAULTS_MAX = 5
UNREAD = ", with --forgotten-unread where it asks for that"
_TABLES = """
SELECT name FROM sqlite_schema WHERE type = 'table' AND rootpage AND name NOT GLOB 'sqlite_*'
"""
"""Names of ours, which need no quotes; a virtual table has no pages of its own."""


def replica(settings: Settings) -> Iterator[Check]:
    """Whether it opens, then what is inside."""
    path = settings.home / DATABASE_FILE
    if not path.exists():
        yield Check(name="replica", ok="ok", found=f"no {path} yet: the first write makes it")
        return
    try:
        if (number := _older(path)) is not None:
            yield from _unmigrated(settings, path, number)
            return
        with open_replica(settings) as opened:
            yield from _inside(opened)
    except StoreUnusable as error:
        yield _unusable(settings, error)
    except (SatchelError, CryptoError, apsw.Error) as error:
        yield failed("replica", error)


def _older(path: Path) -> int | None:
    """The schema of a replica that the next command migrates; None for any other file."""
    try:
        with closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)) as db:
            number = int(db.execute("PRAGMA user_version").get)
            ours = db.execute("PRAGMA application_id").get == migrate.APPLICATION_ID
    except apsw.Error:  # opening it as a replica says more
        return None
    return number if ours and number < migrate.latest() else None


def _unmigrated(settings: Settings, path: Path, number: int) -> Iterator[Check]:
    """A doctor changes nothing, so it does not migrate either; before that pages matter most."""
    found = f"{path}, schema {number}: the next command brings it to {migrate.latest()}"
    yield Check(name="replica", ok="ok", found=f"{found} and keeps a backup")
    with closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)) as db:
        yield _integrity(db, settings)


def _unusable(settings: Settings, error: StoreUnusable) -> Check:
    """Where the file itself is damaged, the way back is longer than a hint."""
    damaged = isinstance(error.__cause__, (apsw.NotADBError, apsw.CorruptError))
    fix = way_back(settings) if damaged else error.hint
    return Check(name="replica", ok="fail", found=str(error), fix=fix)


def _inside(opened: Replica) -> Iterator[Check]:
    from satchel.doctor.standing import standing

    with opened.store.read() as db:
        mode = db.execute("PRAGMA journal_mode").get
        schema = db.execute("PRAGMA user_version").get
        place = f"{opened.store.path}, schema {schema}, journal {mode}"
        yield Check(name="replica", ok="ok" if mode == "wal" else "fail", found=place)
        sound = _integrity(db, opened.settings)
        yield sound
        if sound.ok == "ok":
            yield _index(opened, db)
            yield _queues(opened, db)
    if sound.ok == "ok":
        yield from standing(opened)
        yield model(opened)
    yield vectors(opened.settings, opened.store.replica_id)


def _integrity(db: apsw.Connection, settings: Settings) -> Check:
    faults = _faults(db, f"quick_check({FAULTS_MAX})")
    if not faults:
        return Check(name="integrity", ok="ok", found="quick_check passed")
    tables = [str(name) for (name,) in db.execute(_TABLES).fetchall()]
    damaged = [name for name in tables if _faults(db, f"quick_check({name})")]
    found = f"damaged: {', '.join(damaged) or 'no table by itself'} ({'; '.join(faults)})"
    fix = way_back(settings)
    return Check(name="integrity", ok="fail", found=found, fix=fix)


def _faults(db: apsw.Connection, pragma: str) -> list[str]:
    """What SQLite says of the file or of one table; nothing where all is well."""
    try:
        said = [str(row[0]) for row in db.execute(f"PRAGMA {pragma}")]
    except apsw.CorruptError as error:
        said = [str(error)]
    return [" ".join(one.split()) for one in said if one != "ok"]


def way_back(settings: Settings) -> str:
    """How what was in a damaged file comes back: from a backup, else from the warehouse."""
    if kept := backups.latest(settings.home, migrate.latest()):
        said = f" (what was here {backups.BEFORE})" if kept.is_before else ""
        backup = words(str(kept.path))
        return f"stop every satchel, then `satchel restore {backup} --yes`{said}{UNREAD}"
    path = settings.home / DATABASE_FILE
    aside = f"stop every satchel and move {path} with its -wal and -shm away"
    if settings.warehouse_dsn:
        return f"{aside}; then `satchel sync`: all that was synced comes back"
    return f"there is no backup: {aside}, keep it, and begin anew"


def _index(opened: Replica, db: apsw.Connection) -> Check:
    """Each indexed table against its index: how many texts each has."""
    wrong = []
    for name in sorted(TEXT_COLUMNS):
        rows = db.execute(f"SELECT count(*) FROM {name}").get
        indexed = db.execute(f"SELECT count(*) FROM {name}_fts_docsize").get
        if rows != indexed:
            wrong.append(f"{name}: {rows} rows, {indexed} in the index")
    if not wrong:
        return Check(name="index", ok="ok", found=f"{', '.join(sorted(TEXT_COLUMNS))}: complete")
    mend = Mend(does="make the text index anew", run=lambda: _index_anew(opened.settings))
    return Check(name="index", ok="warn", found="; ".join(wrong), mends=(mend,))


def _index_anew(settings: Settings) -> str:
    with open_replica(settings) as opened, opened.store.write() as db:
        for name in sorted(TEXT_COLUMNS):
            damage.index_anew(db, BY_NAME[name])
    return "made the text index anew"


def _queues(opened: Replica, db: apsw.Connection) -> Check:
    counts = {name: db.execute(f"SELECT count(*) FROM {name}").get for name in _COUNTED}
    found = ", ".join(f"{name} {count}" for name, count in counts.items())
    stuck, cold = counts["quarantine"], counts["embed_queue"] + counts["turn_queue"]
    mends: tuple[Mend, ...] = ()
    if cold and opened.settings.embedding != "off":
        does = f"embed {cold} texts, for {DRAIN_LIMIT_S:.0f} s at most"
        mends = (Mend(does=does, run=lambda: drained(opened.settings)),)
    why = f"{stuck} rows cannot travel as they are" if stuck else ""
    return Check(name="queues", ok="warn" if stuck else "ok", found=found, why=why, mends=mends)
