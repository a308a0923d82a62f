"""Is it looked after: backups, retention, reports that are fresh, audits, machines that come."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from satchel_warehouse.database import Connection
from satchel_warehouse.operations.backups import DAY_MS, is_recent
from satchel_warehouse.operations.check import Check, days, fail, ok, warn
from satchel_warehouse.operations.health import Health, looked
from satchel_warehouse.sessions import one
from satchel_warehouse.tenants import MADE_UP

BACKUP_DAYS = 7
RETAIN_DAYS = 35
FRESH_DAYS = 2
SILENT_DAYS = 30
_TROUBLE = """
SELECT count(*), count(DISTINCT replica_id) FROM satchel.audit_trouble
WHERE at > satchel.now_ms() - 30 * 86400000::bigint
"""
_MACHINES = """
SELECT count(*) FILTER (WHERE last_seen < satchel.now_ms() - %s * 86400000::bigint),
    count(*) FILTER (WHERE must_reconcile), count(*)
FROM satchel.replica r JOIN satchel.login l ON l.role_name = r.login
WHERE revoked_at IS NULL AND NOT starts_with(l.tenant, %s)
    AND NOT EXISTS (SELECT FROM satchel.replica s WHERE s.predecessors @> ARRAY[r.replica_id])
"""


def checks() -> list[tuple[str, Callable[[Connection], Iterator[Check]]]]:
    """(what is looked at, how)."""
    return [
        ("backup", lambda db: _backup(looked(db))),
        ("retention", lambda db: _retention(looked(db))),
        ("reports", lambda db: _reports(looked(db))),
        ("audit", _audit),
        ("machines", _machines),
    ]


def _backup(health: Health) -> Iterator[Check]:
    archive, checked = health.archive, health.backup
    if archive.on and (archive.last_failed_at or 0) > (archive.last_at or 0):
        why = "WAL piles up, and no restore reaches beyond the last segment that was archived"
        fix = "look at archive_command and the server's log"
        yield fail("backup", "archiving WAL fails", why, fix)
        return
    reaches = checked.detail.get("reaches_at") if checked else None
    told = f"a checked dump reaches until {days(health.at - reaches)} ago" if reaches else (
        "WAL is archived" if archive.on else "none is known")  # fmt: skip
    if is_recent(health, BACKUP_DAYS):
        yield ok("backup", told)
    else:
        why = f"none of the last {BACKUP_DAYS} days was proved: machines refill a warehouse with"
        why += " what they hold, not with what only machines held that are gone"
        yield warn("backup", told, why, "pg_dump, then `satchel warehouse backup-check FILE`")


def _retention(health: Health) -> Iterator[Check]:
    done = health.retained
    if done and health.at - done.at < RETAIN_DAYS * DAY_MS:
        yield ok("retention", f"{days(health.at - done.at)} ago")
        return
    found = f"last {days(health.at - done.at)} ago" if done else "never done"
    why = "journal, reports and audit grow for ever"
    yield warn("retention", found, why, "`satchel warehouse retain --yes`, daily")


def _reports(health: Health) -> Iterator[Check]:
    since = health.at - FRESH_DAYS * DAY_MS
    old = sorted({one.name for one in health.freshness if (one.refreshed_at or 0) < since})
    why, fix = "reports show what was", "`satchel warehouse refresh`, hourly or daily"
    if not health.freshness:
        yield warn("reports", "were never made ready", why, fix)
    elif old:
        yield warn("reports", f"older than {FRESH_DAYS} days: {', '.join(old)}", why, fix)
    else:
        yield ok("reports", f"{len(health.freshness)} parts are fresh")


def _audit(db: Connection) -> Iterator[Check]:
    records, machines = one(db, _TROUBLE)
    if records:
        why = "a chain was changed, lost, or came from a copy of a file"
        fix = "`satchel audit verify --warehouse` names the first fault of each"
        found = f"{records} records of {machines} machines were refused in 30 days"
        yield warn("audit", found, why, fix)
    else:
        yield ok("audit", "nothing was refused in 30 days")


def _machines(db: Connection) -> Iterator[Check]:
    silent, due, every = one(db, _MACHINES, SILENT_DAYS, MADE_UP)
    found = f"{every}, of which {silent} silent for {SILENT_DAYS} days, {due} to reconcile"
    if silent:
        why = "what they wrote since is on them alone; conflicts that wait for them are kept"
        fix = "`satchel warehouse replica list`; revoke those that never come back"
        yield warn("machines", found, why, fix)
    else:
        yield ok("machines", found)
