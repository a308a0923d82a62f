"""A session of an administrator, and how it acts as the owner of a warehouse's objects."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg import sql

from satchel_crypto.network import Policy
from satchel_warehouse.database import ADMIN_PATH, NAMED, Connection, connect
from satchel_warehouse.errors import INIT_HINT, WarehouseNotMigrated, translate
from satchel_warehouse.functions import OWNER
from satchel_warehouse.login import Dsn


@contextmanager
def administered(
    dsn: Dsn, policy: Policy = NAMED, *, path: str = ADMIN_PATH
) -> Iterator[Connection]:
    """An administrator's session, or a reader's by its own path; closed afterwards.

    Raises WarehouseError's family.
    """
    db = connect(dsn, path=path, policy=policy)
    try:
        yield db
    except psycopg.Error as error:
        raise translate(error) from error
    finally:
        db.close()


@contextmanager
def as_owner(db: Connection) -> Iterator[None]:
    """A transaction, or a part of one, as the owner: so that what it makes is the owner's."""
    with db.transaction():
        before = one(db, "SELECT current_user")[0]
        db.execute(sql.SQL("SET LOCAL ROLE {}").format(sql.Identifier(OWNER)))
        yield
        db.execute(sql.SQL("SET LOCAL ROLE {}").format(sql.Identifier(before)))


def revision(db: Connection) -> str:
    """Alembic's revision of the hub's tables. Raises WarehouseNotMigrated where there is no hub."""
    if one(db, "SELECT to_regclass('satchel.alembic_version') IS NULL")[0]:
        raise WarehouseNotMigrated("this database holds no warehouse", hint=INIT_HINT)
    return str(one(db, "SELECT version_num FROM satchel.alembic_version")[0])


def one(db: Connection, query: str, *parameters: Any) -> tuple[Any, ...]:
    """The one row of a query. Raises WarehouseNotMigrated where there is none."""
    row = db.execute(query.encode(), parameters or None).fetchone()
    if row is None:
        raise WarehouseNotMigrated("the warehouse was not initialised in full", hint=INIT_HINT)
    return row
