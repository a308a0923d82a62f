"""Who may open a socket: a new caller anywhere in the product fails here, and needs a path first.

The audit hook (tests/network) catches what Python opens at run time; this reads the source, for
what happens in C and in other programs too.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from satchel_crypto.network import PATHS

ROOT = Path(__file__).parents[2]
PACKAGES = (
    "replica/satchel",
    "sync/satchel_sync",
    "warehouse/satchel_warehouse",
    "crypto/satchel_crypto",
)

NETWORKED: dict[str, tuple[str, ...]] = {
    # A module that opens sockets -> who may import it.
    "_socket": ("crypto/satchel_crypto/network/target.py",),
    # Its loop, its threads, stdin and stdout.
    "anyio": ("replica/satchel/mcp_server/", "replica/satchel/warehouse/metrics/"),
    "mcp": ("replica/satchel/mcp_server/",),
    "starlette": ("replica/satchel/mcp_server/http/", "replica/satchel/warehouse/metrics/"),
    # A browser's engine in a library, which is told to fetch nothing.
    "vl_convert": ("warehouse/satchel_warehouse/reports/drawing.py",),
    "uvicorn": ("replica/satchel/mcp_server/http/",),
    # It could serve by itself and push to a gateway: it is asked for text only.
    "prometheus_client": ("replica/satchel/warehouse/metrics/",),
    "psycopg": ("warehouse/satchel_warehouse/",),
    "psycopg_pool": (),
    "sqlalchemy": ("warehouse/satchel_warehouse/",),
    "keyring": ("crypto/satchel_crypto/",),  # D-Bus, over a Unix socket
    **dict.fromkeys(
        (
            *("aiohttp", "asyncio", "asyncore", "asyncpg", "dns", "ftplib", "grpc", "h2"),
            *("http.client", "http.server", "httpcore", "httpx", "huggingface_hub", "imaplib"),
            *("jeepney", "logging.handlers", "multiprocessing", "nntplib", "paramiko", "poplib"),
            *("pycurl", "requests", "secretstorage", "smtplib", "socket", "socketserver"),
            *("telnetlib", "trio", "twisted", "urllib.request", "urllib3"),
            *("webbrowser", "websockets", "wsgiref", "xmlrpc", "zmq"),
        ),
        (),
    ),
}
PROGRAMS: dict[str, str] = {
    # Who starts other programs -> what for. None of them speaks to a network, but for the Postgres
    # of our own, whose port is a path (`warehouse.serve`), and cargo (`fips.source`).
    "replica/satchel/schedule/runner.py": "the system's scheduler",
    "replica/satchel/schedule/windows.py": "quoting a command line",
    "replica/satchel/cli/main.py": "satchel itself, in the environment of FIPS mode",
    "replica/satchel/offline/namespace.py": "`unshare`, to see whether it is allowed",
    "replica/satchel/offline/proof.py": "satchel itself, where there is no network",
    "crypto/satchel_crypto/fips/build.py": "cargo and a compiler",
    "crypto/satchel_crypto/fips/install.py": "satchel itself, in the environment of FIPS mode",
    "warehouse/satchel_warehouse/serve_embedded.py": "a Postgres of our own",
    "warehouse/satchel_warehouse/operations/dumps.py": "pg_restore, into a Postgres of our own",
}
CONNECTING = ("connect", "connect_start", "connect_poll", "create_engine", "reset", "reset_start")
IN_C = {
    # Calls in the warehouse that could make libpq connect.
    ("warehouse/satchel_warehouse/database.py", "kind.connect"): "the one door: `_dialled`",
    ("warehouse/satchel_warehouse/database.py", "create_engine"): "over an open connection",
    ("warehouse/satchel_warehouse/dsn.py", "pq.PGconn.connect_start"): "stops before any socket",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A module of the product."""

    path: str
    tree: ast.Module

    @property
    def imported(self) -> Iterator[str]:
        """Every module that it names in an import, as `package.module.name`."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                yield from (f"{node.module}.{alias.name}" for alias in node.names)
            elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith(
                ("import_module", "__import__")
            ):
                yield from (str(one.value) for one in node.args if isinstance(one, ast.Constant))

    @property
    def calls(self) -> Iterator[tuple[str, ast.Call]]:
        """Every call, with what is called."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Call):
                yield ast.unparse(node.func), node


def sources() -> list[Source]:
    return [
        Source(path=file.relative_to(ROOT).as_posix(), tree=ast.parse(file.read_text("utf-8")))
        for package in PACKAGES
        for file in sorted((ROOT / package).rglob("*.py"))
    ]


def is_of(name: str, module: str) -> bool:
    return name == module or name.startswith(module + ".")


def strangers(source: Source) -> list[str]:
    """What a module imports that opens sockets, and may not."""
    return [
        f"{source.path}: imports {name}"
        for name in source.imported
        for module, places in NETWORKED.items()
        if is_of(name, module) and not source.path.startswith(tuple(places) or ("\0",))
    ]


def starters(source: Source) -> bool:
    """Whether a module starts programs."""
    ways = ("os.system", "os.popen", "os.exec", "os.spawn", "os.posix_spawn", "os.startfile")
    return any(is_of(name, "subprocess") for name in source.imported) or any(
        name.startswith(ways) for name, _ in source.calls
    )


def connecting(source: Source) -> set[tuple[str, str]]:
    """What in a module of the warehouse could make libpq connect."""
    return {
        (source.path, name)
        for name, _ in source.calls
        if name.rpartition(".")[2] in CONNECTING and name != "connect"
    }


def of_postgres(source: Source) -> bool:
    return any(is_of(name, "psycopg") for name in source.imported)


# ---- the product --------------------------------------------------------------------------------


def test_no_module_imports_what_opens_sockets() -> None:
    assert [fault for source in sources() for fault in strangers(source)] == []


def test_libpq_has_one_door() -> None:
    found = {one for source in sources() if of_postgres(source) for one in connecting(source)}
    assert found == set(IN_C)


def test_that_door_asks_whether_the_path_is_open() -> None:
    (door,) = (s for s in sources() if s.path == "warehouse/satchel_warehouse/database.py")
    (dialled,) = (
        node for node in ast.walk(door.tree)
        if isinstance(node, ast.FunctionDef) and "kind.connect(" in ast.unparse(node)
    )  # fmt: skip
    assert dialled.name == "_dialled"
    assert ast.unparse(dialled.body[1]) == "network.require_open(path)", "before all else"
    (opener,) = (
        node for node in ast.walk(door.tree)
        if isinstance(node, ast.With) and "_dialled(" in ast.unparse(node)
    )  # fmt: skip
    assert ast.unparse(opener.items[0]).startswith("network.open(path, ")


def test_every_path_is_opened_by_its_owner() -> None:
    """By its name as a constant, or by what database.py calls it."""
    folders = {"satchel_warehouse": "warehouse/satchel_warehouse/"}
    # In the warehouse, whose functions take its own paths.
    names = {"path", "SERVE_PATH", "ADMIN_PATH", "REPORT_PATH"}
    for source in sources():
        for name, call in source.calls:
            if name not in ("network.open", "network.check") or "satchel_crypto" in source.path:
                continue
            first = call.args[0]
            if isinstance(first, ast.Constant):
                owner = PATHS[str(first.value)].owner
                place = folders.get(owner, f"replica/{owner.replace('.', '/')}")
                assert source.path.startswith(place), f"{source.path} opens {first.value}"
            else:
                assert source.path.startswith(folders["satchel_warehouse"]), source.path
                assert ast.unparse(first) in names, ast.unparse(first)


def test_the_product_hands_its_policy_on() -> None:
    """The default of the warehouse's functions is for programs that have no settings."""
    makers = ("PagesAhead", "WarehouseHub", "WarehouseDepot", "serve", "running")
    asked = [
        (f"{name} in {source.path}", {one.arg: ast.unparse(one.value) for one in call.keywords})
        for source in sources()
        if source.path.startswith(("replica/satchel/peers.py", "replica/satchel/warehouse/"))
        for name, call in source.calls
        if name in makers or name.startswith("admin.")
    ]
    assert len(asked) >= 9
    for name, keywords in asked:
        given = keywords.get("policy")
        assert given in ("policy", "settings.network_policy()"), f"{name}: {given}"


def test_who_starts_programs_is_known() -> None:
    found = {source.path for source in sources() if starters(source)}
    assert found == set(PROGRAMS)


# ---- so that the tests above can fail -----------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("replica/satchel/embedding/http.py", "import urllib.request"),
        ("replica/satchel/embedding/http.py", "def f():\n    from urllib import request"),
        ("replica/satchel/memory/llm.py", "from http.client import HTTPConnection"),
        ("replica/satchel/memory/llm.py", "import importlib\nimportlib.import_module('httpx')"),
        ("replica/satchel/doctor.py", "import socket"),
        ("replica/satchel/doctor.py", "import asyncio"),
        ("replica/satchel/mcp_server/server.py", "import uvicorn"),
        ("replica/satchel/cli/main.py", "import anyio"),
        ("sync/satchel_sync/session.py", "import multiprocessing.connection"),
        ("crypto/satchel_crypto/network/gate.py", "import _socket"),
    ],
)
def test_a_new_caller_is_found(path: str, source: str) -> None:
    assert strangers(Source(path=path, tree=ast.parse(source)))


@pytest.mark.parametrize(
    "source",
    [
        "import psycopg\npsycopg.connect('')",
        "import psycopg\npsycopg.Connection.connect('')",
        "import psycopg\npsycopg.AsyncConnection.connect('')",
        "from psycopg import pq\npq.PGconn.connect(b'')",
        "from psycopg import pq\npq.PGconn.connect_start(b'')",
        "import psycopg, sqlalchemy\nsqlalchemy.create_engine('')",
    ],
)
def test_another_door_of_libpq_is_found(source: str) -> None:
    made = Source(path="warehouse/satchel_warehouse/admin.py", tree=ast.parse(source))
    assert of_postgres(made)
    assert connecting(made) - set(IN_C)


@pytest.mark.parametrize(
    "source",
    ["import subprocess", "import os\nos.system('curl')", "from subprocess import run",
     "import os\nos.execvp('curl', [])", "import os\nos.posix_spawn('curl', [], {})"],
)  # fmt: skip
def test_a_new_starter_of_programs_is_found(source: str) -> None:
    assert starters(Source(path="replica/satchel/memory/write.py", tree=ast.parse(source)))
