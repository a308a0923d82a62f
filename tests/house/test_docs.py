"""The pages tell the truth: their consoles run, their links lead somewhere, their lists are whole.

How a console block is run and compared is told in tests/fix_consoles.py.
"""

from __future__ import annotations

import importlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fix_consoles import Ids, Shell, Step, ends_of, steps_of

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    page
    for pattern in ("*.md", "docs/*.md", "docs/adr/*.md", "*/README.md")
    for page in ROOT.glob(pattern)
)
PACKAGES = [
    ROOT / part
    for part in (
        "replica/satchel",
        "sync/satchel_sync",
        "warehouse/satchel_warehouse",
        "crypto/satchel_crypto",
    )
]
FOLDERS = ("replica", "sync", "warehouse", "crypto", "native", "quality")
"""Each has a door plate: a README.md."""


# ---- consoles -----------------------------------------------------------------------------------

WITH_CONSOLES = [page for page in PAGES if steps_of(page.read_text("utf-8"))]


def test_the_readme_has_a_console() -> None:
    assert ROOT / "README.md" in WITH_CONSOLES


@pytest.fixture
def folder() -> Iterator[Path]:
    """An empty folder with a short name: a socket's path has no more than 100 bytes."""
    made = Path(tempfile.mkdtemp(prefix="satchel-docs-"))
    yield made
    shutil.rmtree(made)


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash here")
@pytest.mark.parametrize("page", WITH_CONSOLES, ids=lambda page: str(page.relative_to(ROOT)))
def test_consoles_show_what_happens(page: Path, folder: Path) -> None:
    # What a stranger types first runs as he types it; the other pages share one interpreter.
    shell, ids = Shell(folder, forks=page.name != "README.md"), Ids()
    try:
        for step in steps_of(page.read_text("utf-8")):
            said, code = shell.run(step, ids.put_into(step.command))
            where = f"{page.name}:{step.line}: $ {step.command}\n{said}"
            assert code == step.exit_code, where
            assert ids.check("\n".join(step.shown), said), where
    finally:
        shell.close()


@pytest.mark.parametrize(
    ("shown", "said", "same"),
    [
        ('{"a": 1,\n "b": …}', '{"a": 1, "b": [2, 3]}', True),
        ('{"a": 1}', '{"a": 2}', False),
        ('{"a": 1}', '{"a": 1} and more', False),
        ('{"took_ms": 1.5, "n": 1}', '{"took_ms": 27, "n": 1}', True),
        ('{"took_ms": 1.5, "n": 1}', '{"took_ms": 27, "n": 2}', False),
        ("at 2026-11-29T19:50:24.731+00:00", "at 2027-01-01T00:00:00.000+00:00", True),
        ("at 2026-11-29T19:50:24.731+00:00", "at noon", False),
        ("", "error", False),
        ("{0} {0}", "{1} {1}", True),
        ("{0} {0}", "{1} {2}", False),
    ],
)
def test_what_counts_as_the_same(shown: str, said: str, same: bool) -> None:
    ids = [f"0000000{n}-0000-7000-8000-00000000000{n}" for n in range(3)]
    for number, one in enumerate(ids):
        mark = f"{{{number}}}"
        shown, said = shown.replace(mark, one), said.replace(mark, one)
    assert Ids().check(shown, said) is same


PAGE = """\
<!-- $ touch broken -->
```console
$ cat > file <<'END'
$ not a command
END
$ echo one \\
  two   # exit 3
shown
```
$ no command either
"""


def test_what_is_run_of_a_page() -> None:
    steps = steps_of(PAGE)
    assert [step.command for step in steps] == [
        "touch broken",
        "cat > file <<'END'\n$ not a command\nEND",
        "echo one \\\n  two   # exit 3",
    ]
    assert [(step.exit_code, step.shown) for step in steps] == [(0, []), (0, []), (3, ["shown"])]


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash here")
@pytest.mark.parametrize(
    "command",
    [
        "satchel --version",
        'satchel config show --origin | grep -c "$PWD/there"',
        'satchel config set user.id "ann of $HOME"',
        "satchel search x --kidn memory   # exit 2",
        "satchel --home 'a home' config \\\n  set user.id ben",
    ],
)
def test_a_forked_command_is_the_one_that_is_typed(command: str, folder: Path) -> None:
    (folder / "deeper").mkdir()
    told = []
    for forks in (False, True):
        shell = Shell(folder, forks=forks)
        try:
            told.append([shell.run(step, step.command) for step in typed(command)])
        finally:
            shell.close()
    assert told[0] == told[1]


def typed(command: str) -> list[Step]:
    return [Step(0, "cd deeper; export SATCHEL_HOME=$PWD/there"), Step(0, command)]


def test_a_short_id_is_bound_too() -> None:
    ids = Ids()
    shown = "01a228db-d2db-7e4d-a104-2ac2e46e8fd4"
    assert ids.check(shown, shown.replace("e46e8fd4", "00000001"))
    assert ids.put_into("get e46e8fd4") == "get 00000001"


# ---- snippets -----------------------------------------------------------------------------------


def test_the_mcp_snippets_start_a_server_with_the_tools_that_are_named(folder: Path) -> None:
    hosts, readme = ((ROOT / page).read_text("utf-8") for page in ("docs/HOSTS.md", "README.md"))
    (claude,) = re.findall(r"^```json\n(.*?)^```$", hosts, re.MULTILINE | re.DOTALL)
    (codex,) = re.findall(r"^```toml\n(\[mcp_.*?)^```$", hosts, re.MULTILINE | re.DOTALL)
    start = re.split(r"by\s+name", readme.split("Six tools")[1])[0]
    named = re.findall(r"`(\w+_\w+)`", start)
    server = json.loads(claude)["mcpServers"]["satchel"]
    other = tomllib.loads(codex)["mcp_servers"]["satchel"]
    assert (other["command"], other["args"][:2]) == (server["command"], server["args"][:2])
    assert tools_listed(folder, server) == named


def tools_listed(folder: Path, server: dict[str, Any]) -> list[str]:
    """The tools that a server of an MCP configuration lists."""
    asked: list[dict[str, Any]] = [
        {"id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": {"name": "docs", "version": "1"}}},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/list"},
    ]  # fmt: skip
    with subprocess.Popen(
        [Path(sys.executable).parent / server["command"], *server["args"]],
        env={**os.environ, "SATCHEL_HOME": str(folder)}, text=True, encoding="utf-8",
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    ) as process:  # fmt: skip
        pipe, out = ends_of(process)
        answers = []
        for message in asked:
            pipe.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
            pipe.flush()
            if "id" in message:
                answers.append(json.loads(out.readline()))
        pipe.close()
    return [tool["name"] for tool in answers[-1]["result"]["tools"]]


# ---- links --------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    broken = [
        target
        for target in re.findall(r"\]\(([^)\s]+)\)", without_code(page.read_text("utf-8")))
        if not target.startswith(("https://", "http://")) and not leads_somewhere(page, target)
    ]
    assert broken == []


def leads_somewhere(page: Path, target: str) -> bool:
    """Whether a relative link names a file, and a heading in it if it has an anchor."""
    path, _, anchor = target.partition("#")
    file = (page.parent / path).resolve() if path else page
    return file.exists() and (not anchor or anchor in anchors(file))


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", without_code(page.read_text("utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", one.lower()).replace(" ", "-") for one in headings}


def without_code(text: str) -> str:
    """A page without its fenced blocks."""
    return re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("name", FOLDERS)
def test_each_part_has_its_door_plate(name: str) -> None:
    plate = (ROOT / name / "README.md").read_text("utf-8")
    assert plate.startswith(f"# {name}")
    assert "import" in plate, "it says what this part may import"
    assert re.search(r"[Ss]tart", plate), "it says where to start reading"


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.name)
def test_a_door_plate_names_every_room(package: Path) -> None:
    plate = (package.parent / "README.md").read_text("utf-8")
    rooms = [one.name for one in package.iterdir() if one.is_dir() and any(one.glob("*.py"))]
    assert [room for room in rooms if not re.search(rf"`[\w/]*\b{room}\b", plate)] == []


# ---- promises and errors ------------------------------------------------------------------------


def promises() -> dict[str, str]:
    """The rows of docs/SYNC.md that begin with a promise's id."""
    page = (ROOT / "docs/SYNC.md").read_text("utf-8")
    found = re.findall(r"^\| (SYNC-\d+) \|(.*)$", page, re.MULTILINE)
    assert len(found) == len(dict(found)), "an id is given twice"
    return dict(found)


def test_promises_are_numbered_in_order() -> None:
    assert list(promises()) == [f"SYNC-{number}" for number in range(1, len(promises()) + 1)]
    assert len(promises()) > 10


@pytest.mark.parametrize("promise", promises())
def test_each_promise_names_tests_that_are_there(promise: str) -> None:
    named = re.findall(r"`(\w+/\w+)::(test_\w+)`", promises()[promise])
    assert named, "it names no test"
    assert [f"{file}::{test}" for file, test in named if not has_test(file, test)] == []


def test_every_test_that_the_pages_name_is_there() -> None:
    named = [
        (page.name, file, test)
        for page in PAGES
        for file, test in re.findall(r"`(\w+/\w+)::(test_\w+)`", page.read_text("utf-8"))
    ]
    assert [one for one in named if not has_test(*one[1:])] == []


def has_test(file: str, test: str) -> bool:
    """Whether tests/<file>.py defines that function."""
    path = ROOT / "tests" / f"{file}.py"
    return path.exists() and f"def {test}(" in path.read_text("utf-8")


def error_codes() -> set[tuple[str, int]]:
    """(code, exit code) of every error class of the four packages, and of those without a class."""
    found = {("usage", 2), ("internal", 1)}
    for module in modules_with_errors():
        for kind in vars(importlib.import_module(module)).values():
            if isinstance(kind, type) and issubclass(kind, Exception) and hasattr(kind, "code"):
                found.add((kind.code, getattr(kind, "exit_code", 1)))
    return found


def modules_with_errors() -> list[str]:
    """Modules that define an error with a code; importing all others would cost seconds."""
    return [
        ".".join(file.relative_to(package.parent).with_suffix("").parts)
        for package in PACKAGES
        for file in package.rglob("*.py")
        if re.search(r'^    code = "', file.read_text("utf-8"), re.MULTILINE)
    ]


def test_every_word_of_the_native_engine_is_listed() -> None:
    source = (ROOT / "native/crates/embedder/src/error.rs").read_text("utf-8")
    page = (ROOT / "docs/ERRORS.md").read_text("utf-8")
    words = re.findall(r'=> "(\w+)",', source)
    assert len(words) > 5
    assert words == re.findall(r"^\| `(\w+)` \| \D", page, re.MULTILINE)


def test_every_error_is_listed_with_its_exit_code() -> None:
    page = (ROOT / "docs/ERRORS.md").read_text("utf-8")
    listed = re.findall(r"^\| `(\w+)` \| (\d+) \|", page, re.MULTILINE)
    assert sorted(listed) == sorted((code, str(exit_code)) for code, exit_code in error_codes())
