"""Bad input at the command line: a typed error, the exit code of its kind, and nothing changed."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from satchel.store.connection import Store

Command = Callable[..., Any]
Bytes = Callable[[], dict[str, bytes]]

CASES: list[tuple[list[str | bytes], bytes, int, str, str]] = [
    # arguments, stdin, exit code, error code, what the error names
    (["wriite", "x"], b"", 2, "unknown_argument", "write"),
    (["memory", "lst"], b"", 2, "unknown_argument", "list"),
    (["memory", "list", "--lmit", "3"], b"", 2, "unknown_argument", "--limit"),
    (["write", "x", "--titel", "t"], b"", 2, "unknown_argument", "--title"),
    (["--hom", "x", "write", "x"], b"", 2, "unknown_argument", "--home"),
    (["write", "x", "surplus"], b"", 2, "usage", "in quotes"),
    (["recall", "x"], b"", 2, "usage", "options only"),
    (["write"], b"", 2, "invalid_input", "satchel write TEXT"),
    (["memory", "supersede"], b"", 2, "invalid_input", "satchel memory supersede ID TEXT"),
    (["write", "x", "--agent", ""], b"", 2, "config_invalid", "agent"),
    (["--agent", " ", "search", "x"], b"", 2, "config_invalid", "agent"),
    (["write", "x", "--home", ""], b"", 2, "config_invalid", "home"),
    (["write", "x", "--importance", "1" + "0" * 400], b"", 2, "invalid_input", "importance"),
    (
        ["write", "--json-file", "-"],
        b'{"text": "x", "importance": 1' + b"0" * 400 + b"}",
        2,
        "invalid_input",
        "importance",
    ),
    (["write", "x", "--json-file", ""], b"", 2, "invalid_input", "json-file"),
    (["write", "x", "--importance", "much"], b"", 2, "invalid_input", "importance"),
    (["write", "x", "--importance", "1.5"], b"", 2, "invalid_input", "importance"),
    (["write", "x", "--importance", "nan"], b"", 2, "invalid_input", "importance"),
    (["write", "x", "--expires", "tomorrow"], b"", 2, "invalid_input", "expires"),
    (["write", "x", "--scope", "everyone"], b"", 2, "invalid_input", "scope"),
    (["write", "x", "--metadata", "{broken"], b"", 2, "invalid_input", "metadata"),
    (["write", "x", "--metadata", "[1]"], b"", 2, "invalid_input", "metadata"),
    (["write", "x", "--metadata", '{"a": NaN}'], b"", 2, "invalid_input", "metadata"),
    (["write", "x", "--title", "t" * 2000], b"", 2, "invalid_input", "title"),
    (["write", ""], b"", 2, "invalid_input", "text"),
    (["write", b"bad \xff byte"], b"", 2, "invalid_input", "position 4"),
    (["write", "-"], b"a\0b", 2, "invalid_input", "position 1"),
    (["write", "-"], b"bad \xff byte", 2, "invalid_input", "position 4"),
    (["write", "-"], b"\xed\xa0\x80", 2, "invalid_input", "position 0"),
    (["write", "-"], b"x" * 1_100_000, 2, "invalid_input", "text"),
    (["search", "x", "-k", "0"], b"", 2, "invalid_input", "k"),
    (["search", "x", "-k", "99999999999999999999999"], b"", 2, "invalid_input", "k"),
    (["search", "x", "--kind", "memry"], b"", 2, "invalid_input", "memory"),
    (["search", "x", "--as-of", "2026-13-45"], b"", 2, "invalid_input", "as_of"),
    (["write", "--json-file", "-"], b"{broken", 2, "invalid_input", "line 1"),
    (["write", "--json-file", "-"], b"[]", 2, "invalid_input", "object"),
    (["write", "--json-file", "-"], b'{"text": "x", "titel": "t"}', 2, "unknown_argument", "title"),
    (["write", "--json-file", "-"], b'{"text": 5}', 2, "invalid_input", "text"),
    (["write", "--json-file", "-"], b'{"text": "\\u0000"}', 2, "invalid_input", "position 0"),
    (["write", "--json-file", "-"], b'{"text": "\\ud800"}', 2, "invalid_input", "surrogate"),
    (["write", "--json-file", "-"], b'{"text": "x", "text": "y"}', 2, "invalid_input", "twice"),
    (["write", "--json-file", "-"], b'\xff{"text": "x"}', 2, "invalid_input", "UTF-8"),
    (["write", "--json-file", "/nowhere/at/all"], b"", 2, "invalid_input", "/nowhere"),
    (["memory", "get", "abc"], b"", 2, "invalid_input", "id"),
    (["memory", "update", "0" * 36, "--title", "t"], b"", 3, "not_found", "0" * 36),
    (["memory", "supersede", "0" * 36, "x"], b"", 3, "not_found", "0" * 36),
    (["memory", "delete", "0" * 36], b"", 4, "confirm_needed", "--yes"),
    (["memory", "delete", "0" * 36, "--yes"], b"", 3, "not_found", "0" * 36),
    (["task", "claim", "0" * 36, "--agent", "ann"], b"", 3, "not_found", "0" * 36),
    (["agent", "get", "nobody"], b"", 3, "not_found", "nobody"),
    (["config", "set", "agent.idd", "x"], b"", 2, "config_invalid", "agent.id"),
    (["config", "set", "ranking.engine", "fast"], b"", 2, "config_invalid", "pure"),
]


def refused(run: Any, exit_code: int, code: str, named: str) -> None:
    assert run.code == exit_code, run.err
    assert run.out == ""
    assert len(run.err.splitlines()) == 1, run.err
    error = run.error
    assert list(error) == ["code", "message", "hint", "field"]
    assert error["code"] == code, error
    assert named in error["message"] + error["hint"] + error["field"], error


def contents(home: Path) -> list[str]:
    """Every row of the replica: what a user would see changed."""
    with sqlite3.connect(f"file:{home / 'satchel.db'}?mode=ro", uri=True) as db:
        tables = [row[0] for row in db.execute("SELECT name FROM sqlite_schema WHERE type='table'")]
        plain = [name for name in tables if "_fts" not in name]
        return [f"{name} {row}" for name in plain for row in db.execute(f"SELECT * FROM {name}")]


@pytest.mark.parametrize("case", CASES, ids=lambda case: repr(case[0])[:60])
def test_refused_and_nothing_changed(
    satchel: Command, home: Path, case: tuple[list[str | bytes], bytes, int, str, str]
) -> None:
    arguments, stdin, exit_code, code, named = case
    _prepared(satchel, home)
    before = contents(home)

    refused(satchel(*arguments, stdin=stdin), exit_code, code, named)
    assert contents(home) == before
    assert not (home / "config.toml").exists()


_REPLICA: dict[str, bytes] = {}


def _prepared(satchel: Command, home: Path) -> None:
    """A replica with a row in it, made once and copied: making one takes a while."""
    if not _REPLICA:
        assert satchel("write", "a memory that is there").code == 0
        with sqlite3.connect(home / "satchel.db") as db:
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        _REPLICA["satchel.db"] = (home / "satchel.db").read_bytes()
    home.mkdir(exist_ok=True)
    (home / "satchel.db").write_bytes(_REPLICA["satchel.db"])
    Store.open(home / "satchel.db").close()  # a copy of a file takes an id of its own


@pytest.mark.parametrize("arguments", [["write", "x"], ["search", "x"], ["task", "list"]])
class TestHomesThatCannotBeUsed:
    """Every command on a home that is not usable: refused, and the home stays as it was."""

    def test_a_file_in_its_place(
        self, satchel: Command, home: Path, replica_bytes: Bytes, arguments: list[str]
    ) -> None:
        home.write_bytes(b"a file")
        refused(satchel(*arguments), 1, "store_unusable", str(home))
        assert replica_bytes() == {"home": b"a file"}

    @pytest.mark.skipif(not Path("/proc").is_dir(), reason="needs a folder that nobody may write")
    def test_a_folder_that_cannot_be_written(self, satchel: Command, arguments: list[str]) -> None:
        home = "/proc/satchel-home"
        refused(satchel(*arguments, SATCHEL_HOME=home), 1, "store_unusable", home)
        assert not Path(home).exists()

    def test_a_file_that_is_no_database(
        self, satchel: Command, home: Path, replica_bytes: Bytes, arguments: list[str]
    ) -> None:
        home.mkdir()
        (home / "satchel.db").write_bytes(b"this is no database " * 500)
        before = replica_bytes()
        refused(satchel(*arguments), 1, "store_unusable", "satchel.db")
        assert replica_bytes() == before

    def test_a_database_of_somebody_else(
        self, satchel: Command, home: Path, replica_bytes: Bytes, arguments: list[str]
    ) -> None:
        home.mkdir()
        with sqlite3.connect(home / "satchel.db") as db:
            db.execute("CREATE TABLE theirs (x)")
        before = replica_bytes()
        refused(satchel(*arguments), 1, "store_unusable", "satchel.db")
        assert replica_bytes() == before

    def test_a_newer_file(self, satchel: Command, home: Path, arguments: list[str]) -> None:
        _prepared(satchel, home)
        with sqlite3.connect(home / "satchel.db") as db:
            db.execute("PRAGMA user_version = 9999")
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        before = contents(home)
        refused(satchel(*arguments), 13, "store_newer", "9999")
        assert contents(home) == before

    @pytest.mark.parametrize(
        ("text", "named"),
        [
            ("[agent]\nidd = 'x'\n", "agent.id"),
            ("[agent\n", "config.toml"),
            ("[ranking]\nengine = 'fast'\n", "ranking.engine"),
        ],
    )
    def test_a_config_with_a_mistake(
        self,
        satchel: Command,
        home: Path,
        replica_bytes: Bytes,
        arguments: list[str],
        text: str,
        named: str,
    ) -> None:
        home.mkdir()
        (home / "config.toml").write_text(text)
        before = replica_bytes()
        refused(satchel(*arguments), 2, "config_invalid", named)
        assert replica_bytes() == before


def test_a_bad_variable(satchel: Command, home: Path) -> None:
    refused(satchel("write", "x", SATCHEL_RANKING="fast"), 2, "config_invalid", "SATCHEL_RANKING")
    assert not home.exists()


STREAMS: list[tuple[str, int, str, str]] = [
    # what a shell runs, exit code, error code, what the error names
    ("write mine >&-", 1, "output_failed", "is done"),
    ("write mine >/dev/full", 1, "output_failed", "is done"),
    ("search there >&-", 1, "output_failed", "stdout"),
    ("search there >/dev/full", 1, "output_failed", "No space left"),
    ("--help >/dev/full", 1, "output_failed", "No space left"),
    ("--version >&-", 1, "output_failed", "stdout"),
    ("write - <&-", 2, "invalid_input", "stdin"),
    ("write >&-", 2, "invalid_input", "text"),
    ("write mine 2>&-", 0, "", ""),
    ("write mine >&- 2>&- <&-", 1, "", ""),
]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("case", STREAMS, ids=lambda case: case[0])
def test_streams_that_cannot_be_used(
    satchel: Command, home: Path, env: Callable[..., dict[str, str]], case: tuple[str, ...]
) -> None:
    line, exit_code, code, named = case
    _prepared(satchel, home)
    done = subprocess.run(
        ["sh", "-c", f'exec "{sys.executable}" -m satchel {line}'],
        capture_output=True,
        stdin=subprocess.DEVNULL,
        env=env(),
        timeout=60,
        check=False,
    )
    assert done.returncode == exit_code
    assert (b"Traceback" in done.stderr, b"internal" in done.stderr) == (False, False)
    if code:
        (shown,) = done.stderr.decode().splitlines()
        error = json.loads(shown)["error"]
        assert (error["code"], "done" in error["message"]) == (code, "write mine" in line)
        assert named in error["message"] + error["field"]
    kept = [row for row in contents(home) if "mine" in row and row.startswith("memory ")]
    assert len(kept) == ("write mine" in line)
