"""A call that is read without typer means what typer would read; a cold start loads little."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from satchel.cli import quick
from satchel.cli.door import Globals
from satchel.cli.options import GLOBAL_NAMES, GLOBAL_OPTIONS, JSON_FILE, flag, names_of
from satchel.cli.tree import root
from satchel.store.connection import Store
from satchel.tools import catalog
from satchel.tools.tool import Tool

ROOT = root()
TOOLS = [tool for tool in catalog.every().values() if tool.noun in catalog.MODULES]
GLOBAL_FLAGS = [flag(name) for name, _, _ in GLOBAL_OPTIONS]
VALUES = ("a", "", " ", "-", "3", "--", "-1", "-k5", "--help", "--nonsense", "--k=3", "ß", "a b")


def read_by_typer(words: list[str]) -> tuple[str, Globals, str | None, dict[str, Any]]:
    """The same as a `quick.Call` has, read as typer does before it calls a command."""
    context = ROOT.make_context("satchel", list(words))
    before = Globals(**{name: context.params[name] for name in GLOBAL_NAMES})
    while hasattr(context.command, "resolve_command"):
        rest = [*context._protected_args, *context.args]
        name, command, rest = context.command.resolve_command(context, rest)
        context = command.make_context(name, rest, parent=context)
    said = {name: value for name, value in context.params.items() if value not in (None, [])}
    later = {name: said.pop(name, None) for name in GLOBAL_NAMES}
    json_file = said.pop(JSON_FILE, None)
    return context.command_path, before.overridden(later), json_file, said


@st.composite
def commands(draw: st.DrawFn) -> list[str]:
    """A tool's name among its own and other options, with and without values."""
    tool: Tool = draw(st.sampled_from(TOOLS))
    short = [[name] for name, (_, full) in catalog.SHORT.items() if full == tool.name]
    named = draw(st.sampled_from([[tool.noun, tool.command], *short]))
    own = [name for one in tool.parameters for name in names_of(tool, one)]
    options = [part for name in own for part in name.split("/")]
    word = st.sampled_from(VALUES) | st.sampled_from([*options, *GLOBAL_FLAGS, flag(JSON_FILE)])
    pair = st.tuples(st.sampled_from([*options, *GLOBAL_FLAGS]), st.sampled_from(VALUES[:5]))
    before = draw(st.lists(st.sampled_from([*GLOBAL_FLAGS, "--version", "x"]), max_size=2))
    after = draw(st.lists(word.map(lambda one: (one,)) | pair, max_size=6))
    return [*before, *named, *(part for parts in after for part in parts)]


@given(words=commands())
@settings(max_examples=200, deadline=None)
def test_what_is_read_quickly_is_what_typer_reads(words: list[str]) -> None:
    call = quick.read(words)

    if call is not None:
        said = {name: value for name, value in call.typed.items() if value != []}
        assert (call.command, call.options, call.json_file, said) == read_by_typer(words)


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_every_tool_has_a_plain_call(tool: Tool) -> None:
    values: list[str] = []
    for one in tool.parameters:
        if one.name in tool.positional:
            values.append("text")
        else:
            name = names_of(tool, one)[-1].partition("/")[0]
            values += [name] if one.base == "boolean" else [name, "text"]
    words = ["--json", tool.noun, tool.command, *values, "--agent", "ann"]

    call = quick.read(words)

    assert call is not None
    assert call.tool is tool
    assert (call.command, call.options, call.json_file, call.typed) == read_by_typer(words)


@pytest.mark.parametrize(
    "words",
    [
        "",
        "--help",
        "--version",
        "search --help",
        "write a b",
        "search a --k=3",
        "search a -k3",
        "search a -k",
        "search a -k -k",
        "search a -k 3 -k 4",
        "search -- a",
        "search a --nonsense",
        "serach a",
        "memory",
        "memory gte a",
        "--home search a",
        "sync",
    ],
)
def test_all_else_is_left_to_typer(words: str) -> None:
    assert quick.read(words.split()) is None


def test_a_search_loads_little(tmp_path: Path) -> None:
    Store.open(tmp_path / "satchel.db").close()
    slow = (
        "typer", "click", "rich", "hashlib", "difflib", "platformdirs", "importlib.resources",
        "logging",
        "satchel.store.migrate", "satchel.store.triggers", "satchel.store.seal",
        "satchel_sync.changes", "satchel_sync.tables.task", "satchel.tools.task",
    )  # fmt: skip
    program = (
        "import sys\nfrom satchel.cli.main import run\n"
        f"try: run(['search', 'word', '--home', {str(tmp_path)!r}])\n"
        f"except SystemExit: print([name for name in {slow!r} if name in sys.modules])"
    )

    env = {**os.environ, "SATCHEL_EMBEDDING": "off"}
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=env)

    answer, loaded = ran.stdout.splitlines()
    assert json.loads(answer)["hits"] == []
    assert loaded == "[]", ran.stderr
