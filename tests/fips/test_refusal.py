"""Without a module, FIPS mode is a refusal that touches nothing: no file, no socket."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from fix_command import run
from fix_fips import python

WATCHED = """
import json, os, sys
touched = []
def watch(event, arguments):
    if event.startswith("socket.") and event != "socket.gethostname":
        touched.append([event, repr(arguments)])
    if event in ("open", "os.mkdir", "sqlite3.connect", "os.rename", "os.link", "os.symlink"):
        flags = arguments[2] if event == "open" else os.O_WRONLY
        if flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT) and arguments[0] != os.devnull:
            touched.append([event, repr(arguments)])
sys.addaudithook(watch)
sys.dont_write_bytecode = True
sys.argv = ["satchel", *sys.argv[1:]]
from satchel.cli.main import run
try:
    run()
finally:
    if touched:
        print(json.dumps(touched))
"""
COMMANDS = [
    ["write", "a note"],
    ["search", "a note"],
    ["task", "list"],
    ["sync"],
    ["sync", "status"],
    ["warehouse", "status"],
    ["sync", "export", "x.bundle", "--for", "hub"],
    ["schedule", "install"],
    ["crypto", "selftest"],
]


def missing(home: Path) -> dict[str, str]:
    dsn = "postgresql://u@hub.example/x?sslmode=verify-full"
    return {
        "SATCHEL_HOME": str(home), "SATCHEL_FIPS": "1", "SATCHEL_WAREHOUSE_DSN": dsn,
        "SATCHEL_WAREHOUSE_ADMIN_DSN": dsn,
    }  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_every_command_is_refused_and_touches_nothing(tmp_path: Path, command: list[str]) -> None:
    home = tmp_path / "home"
    done = python(WATCHED, *command, **missing(home))
    assert (done.code, done.out) == (4, "")
    assert done.error["code"] == "fips_refused"
    assert str(home / "fips") in done.error["message"]
    assert "satchel crypto fips build" in done.error["hint"]
    assert list(tmp_path.iterdir()) == []


def test_the_watch_sees_a_write_and_a_socket(tmp_path: Path) -> None:
    """The test above could not fail if it saw nothing."""
    more = missing(tmp_path / "home") | {"SATCHEL_FIPS": "0"}
    done = python(WATCHED, "write", "a note", **more)
    assert '"os.mkdir"' in done.out
    done = python(
        WATCHED.replace("    run()", "    import socket; socket.socket().close(); run()"),
        "--version", **more,
    )  # fmt: skip
    assert "socket.__new__" in done.out


def test_mcp_is_refused_before_the_handshake(tmp_path: Path) -> None:
    hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"}}}  # fmt: skip
    done = run("mcp", stdin=json.dumps(hello) + "\n", **missing(tmp_path / "home"))
    assert (done.code, done.out, done.error["code"]) == (4, "", "fips_refused")
    assert list(tmp_path.iterdir()) == []


LIBRARY = """
import sys
from satchel import config
from satchel.replica import open_replica
from satchel_crypto.errors import FipsRefused
try:
    open_replica(config.load())
except FipsRefused as error:
    print(type(error).__name__, error.exit_code, error)
"""


def test_the_library_is_refused_too(tmp_path: Path) -> None:
    done = python(LIBRARY, **missing(tmp_path / "home"))
    assert done.out.startswith("FipsRefused 4 FIPS mode needs a FIPS module"), done
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("provider", "words"), [("nacl", "no validated module"), ("wolfcrypt", "FIPS mode refuses")]
)
def test_other_providers_are_refused_by_name(tmp_path: Path, provider: str, words: str) -> None:
    if provider == "wolfcrypt":
        pytest.importorskip("wolfcrypt", reason="needs the system package libwolfssl-dev")
    more = missing(tmp_path / "home") | {"SATCHEL_CRYPTO_PROVIDER": provider}
    done = run("write", "a note", **more)
    assert (done.code, done.error["code"]) == (4, "fips_refused")
    assert words in done.error["message"]
    assert done.error["field"] == "crypto.provider"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("words", [["status"], ["fips", "status"]], ids=" ".join)
def test_what_tells_about_it_is_told_all_the_same(tmp_path: Path, words: list[str]) -> None:
    done = run("crypto", *words, **missing(tmp_path / "home"))
    assert done.code == 4
    assert "FIPS mode needs a FIPS module" in done.json["refused"]
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_refused_that_nobody_wants(tmp_path: Path) -> None:
    done = run("crypto", "fips", "status", SATCHEL_HOME=str(tmp_path / "home"))
    assert (done.code, done.json["wanted"], done.json["installed"]) == (0, False, False)
    assert "refused" not in done.json
    assert "FIPS mode needs a FIPS module" in done.json["why_not"]


IRREVERSIBLE = """
import os, sys
from pathlib import Path
from satchel import config
from satchel_crypto.errors import FipsRefused
plain = config.load(environ={"SATCHEL_HOME": sys.argv[1]})
wanted = config.load(environ={"SATCHEL_HOME": sys.argv[1], "SATCHEL_FIPS": "1"})
plain.require_built()
try:
    wanted.require_built()
except FipsRefused as error:
    print(error)
"""


def test_it_cannot_be_decided_later(tmp_path: Path) -> None:
    done = python(IRREVERSIBLE, str(tmp_path))
    assert "after this process began without it" in done.out, done
