"""Does everybody reach what is theirs, and nothing else: rights, tenants, roles, views.

What each of them tells to do is SQL to run as a superuser, or a command between backticks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from satchel_warehouse import functions
from satchel_warehouse.database import Connection
from satchel_warehouse.functions import OWNER
from satchel_warehouse.operations import access
from satchel_warehouse.operations.check import Check, fail, ok
from satchel_warehouse.operations.version import newest
from satchel_warehouse.sessions import one, revision

INIT = "`satchel warehouse init`"
MIGRATE = "`satchel warehouse migrate`"

_GUARDS = "SELECT name, is_forced AND is_ruled, others FROM satchel.guards()"
_ASKED = """
SELECT prosrc, prosecdef FROM pg_proc
WHERE pronamespace = 'satchel'::regnamespace AND proname = 'session_tenants'
"""


def checks() -> list[tuple[str, Callable[[Connection], Iterator[Check]]]]:
    """(what is looked at, how)."""
    return [("rights", _rights), ("tenants", _tenants), ("roles", _roles), ("views", _views)]


def _rights(db: Connection) -> Iterator[Check]:
    rows = db.execute(access.composed(access.RIGHTS)).fetchall()
    if rows:
        found = _few(f"{name or kind} to {who}" for kind, name, who, _ in rows)
        why = "past the doors and the views, which are all that anybody is given"
        yield fail("rights", found, why, _all(_revoked(*row) for row in rows))
    elif not one(db, "SELECT has_database_privilege(%s, current_database(), 'TEMP')", OWNER)[0]:
        why = f"{OWNER} may make no temporary table here: no push can come in"
        yield fail("rights", "missing on the database, as after a restore", why, INIT)
    else:
        yield ok("rights", "the doors and the views, and nothing else")


def _revoked(kind: str, name: str, who: str, privileges: str) -> str:
    """What takes rights away."""
    if kind == "DATABASE" and who == "PUBLIC":
        return INIT
    if kind in ("TABLES", "SEQUENCES", "SCHEMAS", "FUNCTIONS"):
        begin = f"ALTER DEFAULT PRIVILEGES FOR ROLE {OWNER} {name}".rstrip()
        return f"{begin} REVOKE {privileges} ON {kind} FROM {who}"
    return f"REVOKE {privileges} ON {'TABLE' if kind == 'VIEW' else kind} {name} FROM {who}"


def _tenants(db: Connection) -> Iterator[Check]:
    guards = db.execute(_GUARDS.encode()).fetchall()
    strangers = [(name, other) for name, _, others in guards for other in others]
    open_to_all = [name for name, is_guarded, _ in guards if not is_guarded]
    why = "a login might see rows of another tenant"
    if strangers:
        found = _few(f"the policy {other} on {name}" for name, other in strangers)
        drops = (f"DROP POLICY {_quoted(db, other)} ON {name}" for name, other in strangers)
        yield fail("tenants", found, why, _all([*drops, *([MIGRATE] if open_to_all else [])]))
    elif open_to_all:
        found = f"no forced row-level security, or another rule: {_few(open_to_all)}"
        yield fail("tenants", found, why, MIGRATE)
    elif revision(db) == newest() and not _asks_rightly(db):
        found = "satchel.session_tenants() is not the function of this version"
        yield fail("tenants", found, why, MIGRATE)
    else:
        count = one(db, "SELECT count(*) FROM satchel.tenant")[0]
        yield ok("tenants", f"{count}, row-level security is forced, by one rule for each table")


def _asks_rightly(db: Connection) -> bool:
    """Whether the function that all policies ask is what it was made to be."""
    made = re.search(
        r"FUNCTION satchel\.session_tenants\(\).*?\$\$(.*?)\$\$", functions.rights(), re.S
    )
    held = db.execute(_ASKED.encode()).fetchall()
    return made is not None and held == [(made.group(1), True)]


def _roles(db: Connection) -> Iterator[Check]:
    unbound = [row for row in db.execute(access.composed(access.ATTRIBUTES)).fetchall() if row[1]]
    grown = db.execute(access.composed(access.ROLES)).fetchall()
    found = [f"{role} has {' '.join(attributes)}" for role, attributes in unbound]
    found += [f"{who} may act as {role}" for who, _, role in grown]
    if found:
        why = "who acts by it sees every tenant, or may give itself what does"
        fix = [f"ALTER ROLE {role} {' '.join('NO' + a for a in held)}" for role, held in unbound]
        fix += [f"REVOKE {first} FROM {who}" for who, first, _ in grown]
        yield fail("roles", _few(found), why, _all(fix))
    else:
        yield ok("roles", "logins are in their groups only, and none passes by a policy")


def _views(db: Connection) -> Iterator[Check]:
    bare = [name for (name,) in db.execute(access.composed(access.NO_BARRIER)).fetchall()]
    unbound = db.execute(access.composed(access.VIEWS)).fetchall()
    if bare or unbound:
        found = [f"{name} is no security barrier" for name in bare]
        found += [f"{name} shows {who} the rows of all" for name, _, who in unbound]
        why = "it tells of rows of another tenant, or of what it leaves out"
        fix = [f"ALTER VIEW {name} SET (security_barrier = true)" for name in bare]
        fix += [_bound(*row) for row in unbound]
        yield fail("views", _few(found), why, _all(fix))
    else:
        yield ok("views", "security barriers, and none is read past a tenant")


def _bound(name: str, is_ours: bool, who: str) -> str:
    """A view in a schema of ours shows what its owner may see; of another nobody of ours reads."""
    barrier = f"ALTER VIEW {name} SET (security_barrier = true)"
    owned = f"{barrier}; ALTER VIEW {name} OWNER TO {OWNER}"
    return owned if is_ours else f"REVOKE SELECT ON {name} FROM {who}"


def _quoted(db: Connection, name: str) -> str:
    return str(one(db, "SELECT quote_ident(%s)", name)[0])


def _few(names: Iterable[Any]) -> str:
    """The first five of them."""
    told = list(names)
    return ", ".join(told[:5]) + (f" and {len(told) - 5} more" if len(told) > 5 else "")


def _all(statements: Iterable[str]) -> str:
    """Every statement once: what mends has to be whole."""
    return "; ".join(dict.fromkeys(statements))
