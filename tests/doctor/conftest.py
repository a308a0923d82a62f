"""A home that is well, to be broken."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from fix_doctor import Patient, database

ATTIC, CELLAR = "the attic is dry", "the cellar is wet"


@pytest.fixture(scope="session")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with two memories and one read."""
    made = Patient(tmp_path_factory.mktemp("template") / "home")
    made.written(ATTIC, CELLAR)
    assert made.found("attic") == [ATTIC]
    for name in ("satchel.db", "activity.db"):
        database(made.home, name)
    return made.home


@pytest.fixture
def patient(whole: Path, tmp_path: Path) -> Patient:
    """A copy of it, which has taken an id of its own: well, and to be broken."""
    made = Patient(Path(shutil.copytree(whole, tmp_path / "home")))
    made.is_well()
    return made
