"""The story of `fix_reported`, told once: its tests only look."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from fix_hub_pool import HubPool
from fix_reported import Scene, scene
from fix_template import Template, copying


@pytest.fixture(scope="session")
def told(
    hub_databases: HubPool, template: Template, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Scene]:
    with (
        copying(template),
        hub_databases.hub() as world,
        scene(world, tmp_path_factory.mktemp("reported")) as made,
    ):
        yield made
