"""Machines that stay in touch with one warehouse: each a home, a login and a process of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fix_hub import HubWorld
from fix_live import Touching


@pytest.fixture
def machine(tmp_path: Path, hub_world: HubWorld) -> Iterator[Callable[[str], Touching]]:
    """The machine of that name, made on first use; all processes are ended afterwards."""
    made: dict[str, Touching] = {}

    def named(name: str) -> Touching:
        if name not in made:
            made[name] = Touching(tmp_path / name, hub_world.login())
        return made[name]

    yield named
    for one in made.values():
        one.close()
