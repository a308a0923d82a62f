"""activity.db, where reads leave their traces: it opens, and its pages are whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

import apsw

from satchel.doctor.check import Check
from satchel.doctor.fault import words
from satchel.store.activity import ACTIVITY_FILE, BUSY_TIMEOUT_MS, VERSION

if TYPE_CHECKING:
    from satchel.config import Settings


def activity(settings: Settings) -> Check:
    """SQLite's quick_check; nothing is written, and no table made."""
    path = settings.home / ACTIVITY_FILE
    if not path.exists():
        return Check(name="activity", ok="ok", found=f"no {path} yet: the first read makes it")
    try:
        db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
        try:
            db.set_busy_timeout(BUSY_TIMEOUT_MS)
            faults = [str(row[0]) for row in db.execute("PRAGMA quick_check(5)")]
            number = int(db.execute("PRAGMA user_version").get)
        finally:
            db.close()
    except apsw.Error as error:
        faults, number = [str(error)], 0
    if number > VERSION:
        return Check(
            name="activity",
            ok="warn",
            found=f"{path} was written by a newer satchel: its version is {number}, not {VERSION}",
            fix="upgrade satchel on this machine",
        )
    if faults == ["ok"]:
        return Check(name="activity", ok="ok", found=f"{path}, quick_check passed")
    aside = f"mv {words(path, f'{path}.damaged')}; rm -f {words(f'{path}-wal', f'{path}-shm')}"
    return Check(
        name="activity",
        ok="fail",
        found=f"{path}: {' '.join('; '.join(faults).split())}",
        fix=f"stop every satchel, then: {aside}. The next read makes it anew",
    )
