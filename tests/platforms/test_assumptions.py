"""What only some operating systems have stands in the few places that are listed here, and why."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent / "seen_as"))

from seen_names import POSIX_MODULES, POSIX_OS, POSIX_SELECT, POSIX_SIGNAL, POSIX_SOCKET

ROOT = Path(__file__).parents[2]
FOLDERS = (
    "replica/satchel",
    "sync/satchel_sync",
    "warehouse/satchel_warehouse",
    "crypto/satchel_crypto",
)
ONLY = {
    "os": POSIX_OS + "|fsync|link|replace|rename|symlink|exec[vlpe]+|kill",
    "signal": POSIX_SIGNAL,
    "select": POSIX_SELECT,
    "socket": POSIX_SOCKET,
}
"""Module -> names that Windows has not, or with another meaning."""
PLACES = re.compile(r"/(proc|dev|sys|tmp|etc|usr|var|run|bin|home|opt|Library|Users)(/|$)|[A-Z]:\\")
PROCESS = {"preexec_fn", "pass_fds", "start_new_session"}
READS = {"read_text": 0, "write_text": 1}
"""Method -> at which place it takes its encoding."""

ALLOWED: dict[str, dict[str, str]] = {
    "crypto/satchel_crypto/file_system.py": {
        "fcntl": "MacOS, which is only made there",
        "os.O_NONBLOCK": "the seam: Posix",
        "os.fsync": "the seam",
        "os.link": "the seam: Posix",
        "part.replace": "the seam",
    },
    "crypto/satchel_crypto/private_file.py": {"os.geteuid": "behind os.name"},
    "crypto/satchel_crypto/fips/mapped.py": {
        "'/proc/self/maps'": "FIPS mode is refused outside Linux",
        "os.O_CLOEXEC": "FIPS mode is refused outside Linux",
        "os.O_NONBLOCK": "FIPS mode is refused outside Linux",
        "os.geteuid": "FIPS mode is refused outside Linux",
    },
    "crypto/satchel_crypto/vault/vault.py": {"self._file.replace": "no path: private_file's"},
    "replica/satchel/cli/main.py": {"os.execve": "FIPS mode starts again, on Linux only"},
    "replica/satchel/doctor/home.py": {
        "os.ST_RDONLY": "behind hasattr",
        "os.statvfs": "behind hasattr",
    },
    "replica/satchel/doctor/left_over.py": {
        "os.kill": "behind os.name: on Windows it would end the process",
    },
    "replica/satchel/doctor/locks.py": {
        "'/proc/'": "beside the table of locks, which only Linux has",
        "'/proc/locks'": "elsewhere there is none, and nobody is named",
        "os.major": "beside the table of locks, which only Linux has",
        "os.minor": "beside the table of locks, which only Linux has",
    },
    "replica/satchel/doctor/rights.py": {"os.geteuid": "behind os.name"},
    "replica/satchel/offline/namespace.py": {
        "'/proc/self/net/dev'": "namespaces are Linux's: elsewhere it says so",
        "'/proc/self/net/route'": "namespaces are Linux's: elsewhere it says so",
        "os.geteuid": "namespaces are Linux's: elsewhere it says so",
    },
    "replica/satchel/passphrases.py": {
        "'/dev/tty'": "behind os.name",
        "os.O_NOCTTY": "behind os.name",
    },
    "replica/satchel/replica.py": {
        "os.getuid": "beside pwd",
        "pwd": "ImportError is caught, getpass asks elsewhere",
    },
    "replica/satchel/schedule/manage.py": {"os.getuid": "launchd's user, on macOS only"},
    "replica/satchel/schedule/systemd.py": {"'/usr/bin/env'": "in a unit of systemd"},
    "replica/satchel/setup/apply.py": {"os.fchmod": "behind hasattr"},
    "replica/satchel/store/fingerprint.py": {
        "'/etc/machine-id'": "macOS and Windows have a file of their own",
        "'/var/lib/dbus/machine-id'": "macOS and Windows have a file of their own",
    },
    "replica/satchel/store/local_disk.py": {
        "'/proc/self/mountinfo'": "elsewhere there is none",
        "os.major": "beside the table of mounts, which only Linux has",
        "os.minor": "beside the table of mounts, which only Linux has",
    },
    "replica/satchel/terminal.py": {"stream.isatty": "the seam"},
    "replica/satchel/transcripts/records.py": {"os.geteuid": "behind hasattr"},
    "replica/satchel/whole_file.py": {
        "'/dev/'": "where a link leads to: other systems have no such",
        "'/proc/'": "where a link leads to: other systems have no such",
    },
    "warehouse/satchel_warehouse/serve_embedded.py": {
        "signal.SIGQUIT": "refused on Windows",
        "start_new_session": "refused on Windows",
    },
    "warehouse/satchel_warehouse/service_file.py": {
        "os.geteuid": "behind sys.platform",
        "pwd": "behind sys.platform",
    },
    "warehouse/satchel_warehouse/unprivileged.py": {
        "os.chown": "only for root of a Unix",
        "os.geteuid": "behind sys.platform",
        "pwd": "behind sys.platform",
    },
}


def assumptions(source: str) -> set[str]:
    """What a module asks of its operating system that not all of them give."""
    nodes = list(ast.walk(ast.parse(source)))
    told = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}  # nobody's argument
    return {one for node in nodes for one in _of(node, told)}


def _of(node: ast.AST, told: set[int]) -> Iterator[str]:
    match node:
        case ast.Import(names=names):
            yield from (one.name for one in names if one.name in POSIX_MODULES)
        case ast.ImportFrom(module=str(module), names=names):
            if module in POSIX_MODULES:
                yield module
            yield from (f"{module}.{one.name}" for one in names if _is_only(module, one.name))
        case ast.Attribute(value=ast.Name(id=module), attr=name) if _is_only(module, name):
            yield f"{module}.{name}"
        case ast.Attribute(attr="isatty"):
            yield ast.unparse(node)
        case ast.Constant(value=str(text)) if id(node) not in told and PLACES.match(text):
            yield repr(text)
        case ast.Call():
            yield from _of_call(node)


def _is_only(module: str, name: str) -> bool:
    return module in ONLY and re.fullmatch(ONLY[module], name) is not None


def _of_call(call: ast.Call) -> Iterator[str]:
    name = getattr(call.func, "attr", getattr(call.func, "id", ""))
    given = {one.arg: one.value for one in call.keywords}
    is_method = isinstance(call.func, ast.Attribute)
    if is_method and name == "replace" and len(call.args) == 1 and not given:
        yield ast.unparse(call.func)
    yield from PROCESS & given.keys()
    if name in READS and len(call.args) <= READS[name] and "encoding" not in given:
        yield f"{name} without an encoding"
    if _is_true(given.get("text")) and "encoding" not in given:
        yield "text without an encoding"
    if name in ("open", "fdopen") and _is_text(call, given) and "encoding" not in given:
        yield f"{name} without an encoding"


def _is_true(value: ast.expr | None) -> bool:
    return isinstance(value, ast.Constant) and value.value is True


def _is_text(call: ast.Call, given: dict[str | None, ast.expr]) -> bool:
    """Whether `open` opens text; what it opens is the first argument, but of a path's method."""
    is_of_path = isinstance(call.func, ast.Attribute) and call.func.attr == "open"
    place = 0 if is_of_path and not ast.unparse(call.func).startswith(("io.", "os.")) else 1
    mode = given.get("mode", call.args[place] if len(call.args) > place else None)
    if ast.unparse(call.func) in ("open", "io.open"):
        return mode is None or (isinstance(mode, ast.Constant) and "b" not in str(mode.value))
    return isinstance(mode, ast.Constant) and re.fullmatch("[rwxa+t]+", str(mode.value)) is not None


def test_nothing_but_what_is_listed_asks_for_one_operating_system() -> None:
    """Put it behind a seam (docs/PLATFORMS.md), or list it here with what keeps it from others."""
    found = {
        f"{path.relative_to(ROOT).as_posix()}: {name}"
        for folder in FOLDERS
        for path in (ROOT / folder).rglob("*.py")
        for name in assumptions(path.read_text("utf-8"))
    }
    listed = {f"{path}: {name}" for path, names in ALLOWED.items() for name in names}
    assert ", ".join(sorted(found - listed)) == "", "not listed yet"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import fcntl", "fcntl"),
        ("def f():\n    from pwd import getpwuid", "pwd"),
        ("import os\nos.geteuid()", "os.geteuid"),
        ("from os import fork", "os.fork"),
        ("import os\nos.open(x, os.O_NOFOLLOW)", "os.O_NOFOLLOW"),
        ("import os\nos.fsync(3)", "os.fsync"),
        ("import os\nos.kill(1, 0)", "os.kill"),
        ("import signal\nsignal.signal(signal.SIGHUP, f)", "signal.SIGHUP"),
        ("import signal\nsignal.setitimer(0, 1)", "signal.setitimer"),
        ("import select\nselect.poll()", "select.poll"),
        ("import socket\nsocket.AF_UNIX", "socket.AF_UNIX"),
        ("draft.replace(path)", "draft.replace"),
        ("Path(name).replace(path)", "Path(name).replace"),
        ("sys.stdin.isatty()", "sys.stdin.isatty"),
        ("Path('/proc/self/maps')", "'/proc/self/maps'"),
        ("x = 'C:\\\\satchel'", repr("C:\\satchel")),
        ("path.read_text()", "read_text without an encoding"),
        ("path.write_text(text)", "write_text without an encoding"),
        ("open(path)", "open without an encoding"),
        ("open(path, 'w')", "open without an encoding"),
        ("path.open('w')", "open without an encoding"),
        ("os.fdopen(handle, 'w')", "fdopen without an encoding"),
        ("subprocess.run(x, text=True)", "text without an encoding"),
        ("subprocess.Popen(x, preexec_fn=f)", "preexec_fn"),
    ],
)
def test_each_assumption_is_noticed(source: str, expected: str) -> None:
    assert assumptions(source) == {expected}


@pytest.mark.parametrize(
    "source",
    [
        "import os\nos.open(path, os.O_RDONLY | os.O_CREAT | getattr(os, 'O_NONBLOCK', 0))",
        "import signal\nsignal.signal(signal.SIGTERM, f)",
        "text.replace('a', 'b')",
        "moment.replace(tzinfo=UTC)",
        "'''/proc is told of.'''",
        "path.read_text('utf-8')\npath.write_text(text, 'utf-8')\nopen(path, 'rb')",
        "open(path, encoding='utf-8')\npath.open('rb')\nos.fdopen(handle, 'wb')",
        "subprocess.run(x, encoding='utf-8')",
        "place.open()",
    ],
)
def test_what_every_system_has_is_no_assumption(source: str) -> None:
    assert assumptions(source) == set()


def test_the_whole_program_says_that_it_is_portable_by_a_reason_each() -> None:
    assert [path for path, names in ALLOWED.items() if not all(names.values())] == []
