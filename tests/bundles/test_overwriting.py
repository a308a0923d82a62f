"""What `export --yes` writes over: bundles, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from satchel import carrying
from satchel.config import Settings
from satchel.errors import ConfirmationNeeded, Refused
from satchel.replica import DATABASE_FILE, open_replica


def test_a_file_that_is_no_bundle_is_never_written_over(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path / "home", embedding="off")
    with open_replica(settings):
        pass
    database = settings.home / DATABASE_FILE
    before = database.read_bytes()
    with pytest.raises(Refused, match="no bundle"):
        carrying.export(settings, "hub", database, plain=True, overwrite=True)
    assert database.read_bytes() == before


def test_an_old_bundle_is_written_over_when_that_is_confirmed(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path / "home", embedding="off")
    target = tmp_path / "stick.bundle"
    carrying.export(settings, "hub", target, plain=True)
    before = target.read_bytes()
    with pytest.raises(ConfirmationNeeded):
        carrying.export(settings, "hub", target, plain=True)
    carrying.export(settings, "hub", target, plain=True, overwrite=True)
    assert target.read_bytes() != before
