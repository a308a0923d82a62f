"""The story of `fix_reported`, told once, and a login that may read its reports only."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

import pytest
from fix_hub import PREFIX
from fix_hub_pool import HubPool
from fix_reported import Scene, scene
from fix_template import Template, copying
from psycopg import conninfo

from satchel_warehouse import roles


@pytest.fixture(scope="session")
def told(
    hub_databases: HubPool, template: Template, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Scene]:
    with (
        copying(template),
        hub_databases.hub() as world,
        scene(world, tmp_path_factory.mktemp("told")) as made,
    ):
        yield made


@pytest.fixture(scope="session")
def reporter(told: Scene) -> str:
    """The DSN of a reporter's login."""
    name = PREFIX + uuid4().hex[:12]
    roles.grant(told.world.dsn, name, kind="reporter")
    told.world.logins.append(name)
    return conninfo.make_conninfo(told.world.dsn, user=name)
