"""`retain`: what is older than its days goes. What the protocol needs is never touched.

The rules are SQL functions (sql/operations.sql, sql/audit.sql), so that cron may call them as well.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

from satchel_crypto.network import Policy
from satchel_warehouse.database import NAMED, Connection, retried
from satchel_warehouse.login import Dsn
from satchel_warehouse.operations import record
from satchel_warehouse.sessions import administered, as_owner, one, revision


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """For how many days each is kept from the day on which it came; 0: for ever."""

    journal_days: int
    reports_days: int
    audit_days: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Retained:
    """How many went, or would go: journal entries, reports of syncs, audit records, searches.

    `journal_waiting` entries are old enough and stay: their machine has not synced since they came.
    """

    dry_run: bool
    journal: int = 0
    journal_waiting: int = 0
    reports: int = 0
    audit: int = 0
    searches: int = 0


def retain(
    admin_dsn: Dsn, days: Retention, *, dry_run: bool = False, policy: Policy = NAMED
) -> Retained:
    """Prune, and write down that it was done; each in a transaction of its own.

    Raises WarehouseError's family.
    """
    with administered(admin_dsn, policy) as db:
        revision(db)
        journal, waiting = retried(lambda: _journal(db, days.journal_days, dry_run))
        found = Retained(
            dry_run=dry_run,
            journal=journal,
            journal_waiting=waiting,
            reports=retried(lambda: _reports(db, days.reports_days, dry_run)),
            audit=retried(lambda: _audit(db, days.audit_days, dry_run)),
            searches=retried(lambda: _searches(db, days.audit_days, dry_run)),
        )
        if not dry_run:
            record.note(db, "retain", asdict(days) | asdict(found))
    return found


def _journal(db: Connection, days: int, dry_run: bool) -> tuple[int, int]:
    if not days:
        return 0, 0
    expired, waiting = one(db, "SELECT * FROM satchel.expire_journal(%s, %s)", days, dry_run)
    return expired, waiting


def _reports(db: Connection, days: int, dry_run: bool) -> int:
    if not days:
        return 0
    return int(one(db, "SELECT satchel.expire_reports(%s, %s)", days, dry_run)[0])


def _audit(db: Connection, days: int, dry_run: bool) -> int:
    if not days:
        return 0
    count = one(db, "SELECT satchel.expirable_audit(%s)", days)[0]
    return int(count if dry_run else one(db, "SELECT satchel.expire_audit(%s)", days)[0])


def _searches(db: Connection, days: int, dry_run: bool) -> int:
    """Records of searches in the warehouse are audit too."""
    if not days or one(db, "SELECT to_regclass('satchel.searched') IS NULL")[0]:
        return 0
    with as_owner(db):
        if dry_run:
            query = "SELECT count(*) FROM satchel.searched WHERE at < satchel.retained_since(%s)"
            return int(one(db, query, days)[0])
        query = "DELETE FROM satchel.searched WHERE at < satchel.retained_since(%s)"
        return db.execute(query.encode(), (days,)).rowcount
