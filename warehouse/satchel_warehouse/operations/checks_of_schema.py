"""Is what satchel made in the database whole: version, owner, triggers, numbers, logins."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from satchel_sync.tables import KINDS
from satchel_sync.version import PROTOCOL, SCHEMA
from satchel_warehouse.database import Connection
from satchel_warehouse.functions import OWNER
from satchel_warehouse.operations.check import Check, fail, ok, warn
from satchel_warehouse.operations.version import newest
from satchel_warehouse.sessions import one, revision
from satchel_warehouse.tenants import MADE_UP

MIGRATE = "`satchel warehouse migrate`"

_OTHERS = """
SELECT c.oid::regclass::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = ANY (%(schemas)s) AND c.relkind IN ('r', 'p', 'S', 'v', 'm')
    AND c.relowner <> %(owner)s::regrole
UNION ALL
SELECT p.oid::regprocedure::text FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
WHERE n.nspname = ANY (%(schemas)s) AND p.proowner <> %(owner)s::regrole
ORDER BY 1
"""
_LOOSE_TRIGGERS = """
SELECT DISTINCT t.tgrelid::regclass::text FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
WHERE c.relnamespace = 'satchel'::regnamespace AND t.tgname LIKE 'satchel%%' AND t.tgenabled = 'D'
UNION
SELECT 'satchel.' || kind FROM unnest(%(kinds)s::text[]) AS kind
WHERE (SELECT count(*) FROM pg_trigger t WHERE t.tgrelid = ('satchel.' || kind)::regclass
    AND t.tgname IN ('satchel_1_lock', 'satchel_2_stamp', 'satchel_3_truncate')) < 3
ORDER BY 1
"""
_BEHIND = """
SELECT t.name FROM satchel.tenant t WHERE (
    SELECT max(b.value::bigint) FROM jsonb_each_text(satchel.bound(t.name)) AS b)
    > coalesce(pg_sequence_last_value(satchel.change_sequence(t.name)), 0) ORDER BY 1
"""
_LOGINS = """
SELECT l.role_name, r.rolname IS NOT NULL, r.rolcanlogin
FROM satchel.login l LEFT JOIN pg_roles r ON r.rolname = l.role_name
WHERE octet_length(l.role_name) < 64 AND NOT starts_with(l.tenant, %s) ORDER BY 1
"""
_INVALID_INDEXES = """
SELECT i.indexrelid::regclass::text FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid
WHERE c.relnamespace = 'satchel'::regnamespace AND NOT i.indisvalid ORDER BY 1
"""


def checks() -> list[tuple[str, Callable[[Connection], Iterator[Check]]]]:
    """(what is looked at, how), in the order of what builds on what."""
    return [
        ("version", _version),
        ("owner", _owner),
        ("triggers", _triggers),
        ("change numbers", _numbers),
        ("indexes", _indexes),
        ("logins", _logins),
    ]


def _version(db: Connection) -> Iterator[Check]:
    held, wanted = revision(db), newest()
    protocol, schema = one(db, "SELECT protocol, schema FROM satchel.hub")
    found = f"revision {held}, protocol {protocol}, schema {schema}"
    if held < wanted:
        yield fail("version", found, f"this program makes revision {wanted}", MIGRATE)
    elif held > wanted:
        yield warn("version", found, f"this program knows {wanted} only", "upgrade satchel here")
    elif (protocol, schema) != (PROTOCOL, SCHEMA):
        why = f"this program speaks protocol {PROTOCOL}, schema {SCHEMA}"
        yield fail("version", found, why, MIGRATE)
    else:
        yield ok("version", found)


def _owner(db: Connection) -> Iterator[Check]:
    """Doors run as their owner: one that a superuser owns may do all that he may."""
    given = {"owner": OWNER, "schemas": ["satchel", "satchel_api", "satchel_search", "audit"]}
    rows = db.execute(_OTHERS.encode(), given).fetchall()
    if rows:
        names = ", ".join(name for (name,) in rows[:5])
        why = f"functions run as who owns them; {OWNER} reaches nothing that is not its own"
        fix = f"ALTER … OWNER TO {OWNER}; after a restore: pg_restore again, without --no-owner"
        yield fail("owner", f"{len(rows)} are not {OWNER}'s: {names}", why, fix)
    else:
        yield ok("owner", f"all is {OWNER}'s")


def _triggers(db: Connection) -> Iterator[Check]:
    rows = db.execute(_LOOSE_TRIGGERS.encode(), {"kinds": list(KINDS)}).fetchall()
    if rows:
        names = ", ".join(name for (name,) in rows)
        why = "SQL by hand on these tables travels to no machine"
        fix = f"{MIGRATE} makes them anew; ALTER TABLE … ENABLE TRIGGER; `satchel sync verify`"
        yield fail("triggers", f"missing or off: {names}", why, fix)
    else:
        yield ok("triggers", "all on")


def _numbers(db: Connection) -> Iterator[Check]:
    rows = db.execute(_BEHIND.encode()).fetchall()
    if rows:
        names = ", ".join(name for (name,) in rows)
        why = "new rows would get numbers that machines have passed, and reach nobody"
        fix = "`satchel warehouse mark-restored`: somebody set a sequence, or restored half"
        yield fail("change numbers", f"behind the rows of the tenants {names}", why, fix)
    else:
        yield ok("change numbers", "ahead of all rows")


def _indexes(db: Connection) -> Iterator[Check]:
    rows = db.execute(_INVALID_INDEXES.encode()).fetchall()
    if rows:
        names = ", ".join(name for (name,) in rows)
        yield warn("indexes", f"invalid: {names}", "no query uses them", "REINDEX INDEX …")
    else:
        yield ok("indexes", "all valid")


def _logins(db: Connection) -> Iterator[Check]:
    rows = db.execute(_LOGINS.encode(), (MADE_UP,)).fetchall()
    missing = [name for name, there, _ in rows if not there]
    if missing:
        why = "they were made in another cluster, or dropped: nobody can log in as them"
        fix = "`satchel warehouse grant` makes one again under its name"
        yield warn("logins", f"no role: {', '.join(missing)}", why, fix)
    else:
        yield ok("logins", f"{len(rows)} granted")
