"""The suite runs on every engine."""

from __future__ import annotations

import pytest
from fix_ranking import engine

from satchel.ranking import Ranking


@pytest.fixture(params=["pure", "native"], scope="session")
def ranking(request: pytest.FixtureRequest) -> Ranking:
    """Each engine in turn."""
    return engine(request.param)


@pytest.fixture(scope="session")
def native() -> Ranking:
    """The native engine."""
    return engine("native")
