"""Real text for the demo: the documentation inside Python's own standard library."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator
from dataclasses import dataclass

LAPTOP_MODULES = ("argparse", "json", "pathlib", "sqlite3", "datetime", "statistics", "textwrap")
DESKTOP_MODULES = ("csv", "logging", "heapq", "shutil", "zipfile", "fractions", "calendar")
TEXT_CHARACTERS_MIN = 40


@dataclass(frozen=True, slots=True)
class Passage:
    """One documented thing: where it stands, its dotted name, its text."""

    module: str
    name: str
    text: str


def passages(modules: tuple[str, ...]) -> list[Passage]:
    """Every public function, class and method of the modules that says more than a line."""
    found = {
        passage.text: passage
        for module in modules
        for passage in _of_module(module)
        if len(passage.text) >= TEXT_CHARACTERS_MIN
    }
    return list(found.values())


def _of_module(name: str) -> Iterator[Passage]:
    module = importlib.import_module(name)
    yield Passage(name, name, inspect.getdoc(module) or "")
    for label, member in vars(module).items():
        if label.startswith("_") or getattr(member, "__module__", None) != name:
            continue
        yield Passage(name, f"{name}.{label}", inspect.getdoc(member) or "")
        if inspect.isclass(member):
            for inner, method in vars(member).items():
                if not inner.startswith("_") and callable(method):
                    yield Passage(name, f"{name}.{label}.{inner}", inspect.getdoc(method) or "")
