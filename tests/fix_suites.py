"""The tests of one module, asked again of other fixtures."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType
from typing import Any

from _pytest.fixtures import FixtureFunctionDefinition

FOLDER = Path(__file__).parent


def asked_again(path: str, *, without: str = "^$") -> dict[str, Any]:
    """Name -> test or fixture of a module under tests/, to be put into another module.

    At least one test, so that no module passes empty when the other is renamed or moved.
    """
    module = _loaded(path)
    found = {
        name: value
        for name, value in vars(module).items()
        if (name.startswith("test_") or isinstance(value, FixtureFunctionDefinition))
        and not re.search(without, name)
    }
    assert any(name.startswith("test_") for name in found), f"no test of {path} is asked again"
    return found


def _loaded(path: str) -> ModuleType:
    """The module by a name of its own: pytest has one by the other."""
    name = "again_" + re.sub(r"\W", "_", path.removesuffix(".py"))
    spec = importlib.util.spec_from_file_location(name, FOLDER / path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
