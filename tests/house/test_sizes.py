"""A file is one concept: it says which in its first line, and it stays small enough to read."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDERS = (
    *("replica", "sync", "warehouse", "crypto", "native"),
    *("deploy", "tests", "bench", "quality"),
)
LINES_MAX = 400
COLUMNS_MAX = 100


REMARK = re.compile(r"  # (type: ignore|noqa).*$")
"""What a checker wants at the end of a line does not count."""


MADE = ROOT / "deploy" / "sql"
"""Of what other files say: nobody edits it."""


def files(*suffixes: str) -> list[Path]:
    return [
        file
        for folder in FOLDERS
        for file in sorted((ROOT / folder).rglob("*"))
        if file.suffix in suffixes and "target" not in file.parts and file.is_file()
        if MADE not in file.parents
    ]


def test_a_module_begins_with_what_it_is() -> None:
    silent = []
    for file in files(".py", ".pyi"):
        source = file.read_text("utf-8")
        docstring = ast.get_docstring(ast.parse(source)) or ""
        if source and not docstring.split("\n")[0].strip():
            silent.append(str(file.relative_to(ROOT)))
    assert silent == []


def test_rust_and_sql_begin_with_what_they_are() -> None:
    marks = {".rs": "//! ", ".sql": "-- "}
    silent = [
        str(file.relative_to(ROOT))
        for file in files(*marks)
        if not file.read_text("utf-8").startswith(marks[file.suffix])
    ]
    assert silent == []


def test_no_file_has_grown_past_one_concept() -> None:
    long = {
        str(file.relative_to(ROOT)): lines
        for file in files(".py", ".pyi", ".rs", ".sql")
        if (lines := len(file.read_text("utf-8").splitlines())) > LINES_MAX
    }
    assert long == {}


def test_lines_fit_the_page() -> None:
    # Also what ruff does not read, and what its E501 forgives.
    wide = [
        f"{file.relative_to(ROOT)}:{number}"
        for file in files(".py", ".pyi", ".rs", ".sql", ".sh")
        for number, line in enumerate(file.read_text("utf-8").splitlines(), start=1)
        if len(REMARK.sub("", line)) > COLUMNS_MAX
    ]
    assert wide == []
