"""Hubs whose replicas come by TCP, each with a password, on the route that a test lays."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from fix_hub import PREFIX, HubWorld, fresh_hub
from fix_machines import Fleet, Machine
from psycopg import conninfo

from satchel_sync.errors import SyncError
from satchel_warehouse import roles

SECRET = "hunter2-Zz-Qq"
"""Every login's password: no message, record or process list may hold it."""


@dataclass
class RoutedWorld(HubWorld):
    """A hub whose logins lead along `route`, libpq options that stand above the administrator's."""

    route: dict[str, Any] = field(default_factory=dict)
    routed_logins: list[str] = field(default_factory=list)

    def login(self, tenant: str = "default") -> str:
        """The DSN of a new replica login."""
        name = self.login_name(len(self.routed_logins))
        roles.grant(self.dsn, name, tenant=tenant, password=SECRET)
        self.logins.append(name)
        self.routed_logins.append(name)
        return self.dsn_of(name)

    def login_name(self, number: int) -> str:
        """What the login of that number is called, or will be."""
        return f"{PREFIX}{number}_{self.dbname[-8:]}"

    def dsn_of(self, login: str) -> str:
        """The DSN of a login on the route."""
        return conninfo.make_conninfo("", user=login, dbname=self.dbname, **self.route)

    @property
    def dbname(self) -> str:
        """The hub's database."""
        return str(conninfo.conninfo_to_dict(self.dsn)["dbname"])


@contextmanager
def routed(admin_dsn: str, **route: Any) -> Iterator[RoutedWorld]:
    """A fresh hub on a running server."""
    with fresh_hub(admin_dsn) as world:
        yield routed_to(world, **route)


def routed_to(world: HubWorld, **route: Any) -> RoutedWorld:
    """A hub with logins on a route; whoever made it removes them."""
    routed_world = RoutedWorld(world.dsn, route=route)
    routed_world.logins, routed_world.hubs = world.logins, world.hubs
    routed_world.sessions = world.sessions
    return routed_world


@contextmanager
def fleet_of(world: HubWorld, folder: Path) -> Iterator[Fleet]:
    """Machines of a hub, closed at the end."""
    fleet = Fleet(world, folder)
    try:
        yield fleet
    finally:
        fleet.close()


def stopped(machine: Machine) -> SyncError:
    """A sync that has to stop: its error, which fits a line and holds no password."""
    with pytest.raises(SyncError) as caught:
        machine.sync()
    error = caught.value
    assert SECRET not in f"{error!r} {error} {getattr(error, 'hint', '')}"
    assert "\n" not in str(error)
    return error


def whole(fleet: Fleet, expected: dict[str, str]) -> None:
    """Every machine has these memories, hub and machines agree, and nothing was a conflict."""
    fleet.quiet()
    for machine in fleet.machines.values():
        assert {key: machine.text(key) for key in expected} == expected
    assert fleet.journal() == []
