"""`warehouse doctor`: every check of a warehouse. One that cannot look says why it cannot."""

from __future__ import annotations

import psycopg

from satchel_crypto.network import Policy
from satchel_warehouse.database import NAMED, Connection
from satchel_warehouse.errors import WarehouseError
from satchel_warehouse.login import Dsn
from satchel_warehouse.operations import (
    checks_of_access,
    checks_of_care,
    checks_of_schema,
    checks_of_server,
)
from satchel_warehouse.operations.check import Check, fail, warn
from satchel_warehouse.sessions import administered, revision


def examine(admin_dsn: Dsn, *, policy: Policy = NAMED) -> list[Check]:
    """Every check, in the order of what builds on what; nothing is changed.

    Raises WarehouseError's family only where no session can be had or the database holds no hub.
    """
    with administered(admin_dsn, policy) as db:
        revision(db)
        return examined(db)


def examined(db: Connection) -> list[Check]:
    """The same over an open session."""
    parts = (checks_of_server, checks_of_schema, checks_of_access, checks_of_care)
    found: list[Check] = []
    for name, look in (one for part in parts for one in part.checks()):
        try:
            with db.transaction():
                found += list(look(db))
        except psycopg.errors.InsufficientPrivilege as error:
            fix = "let a superuser or a member of pg_monitor run it"
            found.append(warn(name, "not looked at", _said(error), fix))
        except (psycopg.Error, WarehouseError) as error:
            fix = "`satchel warehouse migrate`, if the version differs; else the server's log"
            found.append(fail(name, "could not be looked at", _said(error), fix))
    return found


def _said(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
