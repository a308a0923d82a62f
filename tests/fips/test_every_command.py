"""Where FIPS mode is wanted and has no module, every command that there is is refused untouched.

The commands are read from the tree itself: a new one is tried too, and is entered here only if it
needs words, or works without cryptography.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from fix_fips import python

from satchel.cli.tree import root
from satchel.tools import catalog
from satchel.tools.parameter import Parameter
from satchel.tools.tool import Tool

ROW = "01890a5d-ac96-774b-bcce-b302099a8057"
WORDS = {
    "chatlog capture": ["--all"],
    "sync conflicts show": ["1"],
    "sync conflicts restore": ["1"],
    "sync explain": [ROW],
    "sync export": ["FOLDER/x.bundle", "--for", "hub"],
    "sync import": ["FOLDER/given"],
    "sync inspect": ["FOLDER/given"],
    "warehouse serve-embedded": ["FOLDER/hub", "--port", "54321"],
    "warehouse grant": ["--replica", "alice"],
    "warehouse tenant add": ["acme"],
    "warehouse seed": ["--rows", "100"],
    "warehouse search": ["vault"],
    "warehouse retain": ["--yes"],
    "warehouse backup-check": ["FOLDER/given"],
    "warehouse mark-restored": ["--yes"],
    "report run": ["overview"],
    "warehouse replica revoke": ["0123456789abcdef", "--yes"],
    "secret set": ["token"],
    "secret get": ["token"],
    "secret delete": ["token", "--yes"],
    "key trust": ["FOLDER/given"],
    "key export": ["FOLDER/me.key"],
    "key sign": ["FOLDER/given"],
    "key verify": ["FOLDER/given"],
    "audit export": ["FOLDER/x.audit"],
    "audit verify-certificate": ["FOLDER/given"],
    "import": ["jsonl", "FOLDER/given"],
    "export": ["FOLDER/x.jsonl"],
    "restore": ["FOLDER/given", "--yes"],
    "mcp token create": ["ann"],
    "mcp token revoke": ["ann", "--yes"],
    "model use": ["off"],
    "model drop": ["off", "--yes"],
    "model pack": ["off"],
    "completion": ["bash"],
    "config set": ["crypto.fips_mode", "false"],
}
"""What a command needs to get as far as its work; a tool's words come from its parameters."""
TELLS = {"crypto status": 4, "crypto fips status": 4, "doctor": 1}
"""Print what is wrong, and touch nothing; with the exit code."""
WORKS = {
    "completion": "prints a script",
    "config show": "prints the settings, by which one sees why all is refused",
    "config set": "writes config.toml, by which one leaves a mode that cannot be had",
    "crypto fips build": "makes the module that is missing",
    "crypto fips install": "puts it into the home",
    "report list": "prints the catalog that comes with it",
    "report show": "prints the catalog that comes with it",
    "setup": "edits the settings of other programs, and opens no replica",
    "schedule status": "asks the system's scheduler",
    "schedule remove": "takes our lines out of the system's scheduler",
}
"""Work without cryptography, so they are not tried; each with the reason."""

PROGRAM = """
import contextlib, io, json, os, sys
class Touched(BaseException):
    pass
def watch(event, arguments):
    if event.startswith("socket.") and event != "socket.gethostname":
        raise Touched(event)
    if event in ("os.mkdir", "os.rename", "os.remove", "os.link", "os.symlink", "os.chmod",
                 "sqlite3.connect", "subprocess.Popen", "os.posix_spawn", "os.fork"):
        raise Touched(f"{event} {arguments!r}")
    writing = event == "open" and arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
    if writing and arguments[0] != os.devnull:
        raise Touched(f"open {arguments[0]!r}")
sys.dont_write_bytecode = True
sys.addaudithook(watch)
from satchel.cli.main import run
ends = {}
for name, words in json.loads(sys.argv[1]).items():
    out, err, code, touched = io.StringIO(), io.StringIO(), None, ""
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            run(words)
        except SystemExit as end:
            code = end.code
        except Touched as seen:
            touched = str(seen)
    ends[name] = [code, out.getvalue(), err.getvalue(), touched]
print(json.dumps(ends))
"""
"""Runs many commands in one process; the first write or socket of each ends it."""


@dataclass(frozen=True, slots=True)
class End:
    """How a command ended; `touched` is what it was stopped at, or empty."""

    code: int | None
    out: str
    err: str
    touched: str

    @property
    def error_code(self) -> str:
        """The `code` of its error, or what it said instead."""
        try:
            return str(json.loads(self.err.splitlines()[-1])["error"]["code"])
        except (IndexError, ValueError):
            return self.err


def leaves(command: Any = None, words: tuple[str, ...] = ()) -> Iterator[str]:
    """Every command of the tree; a group that works without a verb (`sync`) is one too."""
    command = command or root()
    if not hasattr(command, "loaders"):
        yield " ".join(words)
        return
    if words and command.invoke_without_command:
        yield " ".join(words)
    for name in command.loaders:
        yield from leaves(command.get_command(None, name), (*words, name))


def tools() -> dict[str, Tool]:
    """Each command that is a tool."""
    found = {
        f"{noun} {tool.command}": tool
        for noun in catalog.MODULES
        for tool in catalog.of_noun(noun).values()
    }
    short = {name: catalog.in_module(*where) for name, where in catalog.SHORT.items()}
    return found | short


def value_of(one: Parameter) -> Any:
    """Something that a required parameter takes."""
    plain = one.choices[0] if one.choices else ROW if "id" in one.name else "x"
    return [plain] if one.many else plain


def typed(name: str, folder: Path) -> list[str]:
    """The words of a command that get it as far as its work."""
    tool = tools().get(name)
    if tool is None:
        more = WORDS.get(name, [])
        return [*name.split(), *(word.replace("FOLDER", str(folder)) for word in more)]
    given = {one.name: value_of(one) for one in tool.parameters if one.required}
    given |= {"confirm": True} if tool.destructive else {}
    file = folder / f"{name.replace(' ', '_')}.json"
    file.write_text(json.dumps(given))
    return [*name.split(), "--json-file", str(file)]


COMMANDS = [name for name in leaves() if name not in WORKS]


@pytest.fixture(scope="module")
def ends(tmp_path_factory: pytest.TempPathFactory) -> dict[str, End]:
    folder = tmp_path_factory.mktemp("every")
    (folder / "given").write_text("{}")
    dsn = "postgresql://u@hub.example/x?sslmode=verify-full"
    done = python(
        PROGRAM, json.dumps({name: typed(name, folder) for name in COMMANDS}),
        SATCHEL_HOME=str(folder / "home"), SATCHEL_FIPS="1",
        SATCHEL_WAREHOUSE_DSN=dsn, SATCHEL_WAREHOUSE_ADMIN_DSN=dsn,
    )  # fmt: skip
    assert done.code == 0, done.err
    return {name: End(*end) for name, end in json.loads(done.out).items()}


@pytest.mark.parametrize("name", COMMANDS)
def test_it_is_refused_and_touches_nothing(ends: dict[str, End], name: str) -> None:
    end = ends[name]
    assert end.touched == ""
    assert end.code == TELLS.get(name, 4), end
    if name in TELLS:
        assert "FIPS mode needs a FIPS module" in end.out
    else:
        assert (end.out, end.error_code) == ("", "fips_refused")


def test_the_tables_name_commands_that_are_there() -> None:
    assert WORDS.keys() | TELLS.keys() | WORKS.keys() <= set(leaves())


def test_the_watch_stops_a_write_and_a_socket(tmp_path: Path) -> None:
    """The test above could not fail if it saw nothing."""
    words = {"write": ["write", "a note", "--scope", "org"], "sync": ["sync"]}
    done = python(
        PROGRAM.replace("run(words)", "import socket; words[0] == 'sync' and socket.socket();"
                        " run(words)"),
        json.dumps(words), SATCHEL_HOME=str(tmp_path / "home"),
    )  # fmt: skip
    told = {name: end[3] for name, end in json.loads(done.out).items()}
    assert told["write"].startswith("os.mkdir"), done
    assert told["sync"] == "socket.__new__"
    assert list(tmp_path.iterdir()) == []
