"""Programs of several versions: copies of the packages as they will be, and processes of them.

`future` has one more column in two kinds, `beyond` an eleventh kind. Each is the present source
with the changes that a developer would make: a dataclass line, a replica migration, an alembic
revision, the next schema number.
"""

from __future__ import annotations

import compileall
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from py_compile import PycInvalidationMode
from typing import IO, Any

import fix_forked

PACKAGES = {
    "replica": "satchel",
    "sync": "satchel_sync",
    "warehouse": "satchel_warehouse",
    "crypto": "satchel_crypto",
}
PRESENT = Path(__file__).resolve().parent.parent
DRIVER = Path(__file__).parent / "versions" / "driver.py"
WITHOUT_BYTECODE = shutil.ignore_patterns("__pycache__")
ANSWER_S = 110

FUTURE_SQL = """
ALTER TABLE memory ADD COLUMN mood TEXT;
ALTER TABLE memory ADD COLUMN energy REAL;
ALTER TABLE task ADD COLUMN effort INTEGER;
"""
FUTURE_HUB_SQL = """
ALTER TABLE satchel.memory ADD COLUMN mood text COLLATE "C", ADD COLUMN energy double precision;
ALTER TABLE satchel.task ADD COLUMN effort bigint;
"""
LABEL = '''"""Row kind `label`: a word that is put on things."""

from __future__ import annotations

from dataclasses import dataclass

from satchel_sync.tables.kinds import table


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """A word that is put on things."""

    id: str
    word: str | None = None


LABEL = table("label", Label)
'''
BEYOND_SQL = """
CREATE TABLE label (
  row INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, word TEXT, extra TEXT,
  life INTEGER, hlc INTEGER, origin BLOB, digest BLOB, lineage TEXT
);
CREATE INDEX label_unsealed ON label(row) WHERE digest IS NULL;
"""
BEYOND_HUB_SQL = """
CREATE TABLE satchel.label (
    tenant text COLLATE "C" NOT NULL, id text COLLATE "C" NOT NULL, word text COLLATE "C",
    extra text COLLATE "C", life bigint NOT NULL, hlc bigint NOT NULL, origin bytea NOT NULL,
    digest bytea NOT NULL, lineage text COLLATE "C" NOT NULL, change_seq bigint NOT NULL,
    schema_ver integer NOT NULL, received_at bigint NOT NULL, pushed_by bytea NOT NULL,
    CONSTRAINT label_pkey PRIMARY KEY (tenant, id)
);
CREATE INDEX label_change_seq ON satchel.label (tenant, change_seq);
ALTER TABLE satchel.label ENABLE ROW LEVEL SECURITY;
ALTER TABLE satchel.label FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_only ON satchel.label USING (
    (SELECT satchel.session_tenant()) IS NULL OR tenant = (SELECT satchel.session_tenant())
);
"""


@dataclass(frozen=True)
class Program:
    """The packages of one version, in the folders of a source tree.

    Processes of a `settled` one, whose files nobody changes any more, are forked (`fix_forked`).
    """

    root: Path
    settled: bool = False

    @property
    def environment(self) -> dict[str, str]:
        """What a process needs to run these packages and no others."""
        kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
        paths = os.pathsep.join(str(self.root / folder) for folder in PACKAGES)
        return kept | {"PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"}

    def prints(self, code: str) -> str:
        """What a line of Python says in this version."""
        said = subprocess.run(
            [sys.executable, "-c", code], env=self.environment, check=True, capture_output=True
        )
        return said.stdout.decode().strip()

    def number(self, name: str) -> int:
        """A constant of `satchel_sync.version`."""
        return int(self.prints(f"from satchel_sync.version import {name}; print({name})"))

    def satchel(self, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """The command line of this version."""
        return subprocess.run(
            [sys.executable, "-m", "satchel", *words],
            env=self.environment | variables,
            capture_output=True,
            text=True,
            timeout=ANSWER_S,
        )

    def start(self, home: Path | None = None) -> Process:
        """A process of this version, that has the replica in `home` open if one is given."""
        words = [str(home)] if home else []
        if self.settled and fix_forked.fits(words):
            server = fix_forked.server_of(str(DRIVER), tuple(self.environment.items()))
            return Process(server.start(words, self.environment, sys.stderr.fileno()), home)
        running = subprocess.Popen(
            [sys.executable, str(DRIVER), *words],
            env=self.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        return Process(running, home)


class Failed(Exception):
    """A command of a process raised: `code` and `exit_code` of the error, its message and hint."""

    def __init__(self, said: dict[str, Any]) -> None:
        super().__init__(f"{said['type']}: {said['message']}")
        self.type: str = said["type"]
        self.code: str = said["code"]
        self.exit_code: int = said["exit_code"]
        self.hint: str = said["hint"]


@dataclass
class Process:
    """A running program of some version; one command at a time."""

    running: subprocess.Popen[bytes] | fix_forked.Child
    home: Path | None = None

    @property
    def pipes(self) -> tuple[IO[bytes], IO[bytes]]:
        assert self.running.stdin is not None
        assert self.running.stdout is not None
        return self.running.stdin, self.running.stdout

    def tell(self, command: str, **given: Any) -> None:
        """Give a command and do not wait."""
        self.pipes[0].write(json.dumps({"command": command, **given}).encode() + b"\n")
        self.pipes[0].flush()

    def answer(self) -> Any:
        """The answer to the command that was told. Raises Failed."""
        line = self.pipes[1].readline()
        assert line, f"the process has ended with {self.running.wait()}"
        said = json.loads(line)
        if "error" in said:
            raise Failed(said["error"])
        return said["answer"]

    def do(self, command: str, **given: Any) -> Any:
        """Give a command and wait for its answer."""
        self.tell(command, **given)
        return self.answer()

    def kill(self) -> None:
        """kill -9."""
        self.running.kill()
        self.close()

    def close(self) -> None:
        """End the process, if it still runs."""
        for pipe in self.pipes:
            pipe.close()
        self.running.wait(timeout=30)


@dataclass
class Versions:
    """The programs side by side."""

    folder: Path
    present: Program
    future: Program
    beyond: Program
    started: list[Process] = field(default_factory=list)

    def another(self, name: str, source: Program) -> Program:
        """A copy of one of the programs, to be changed."""
        return Program(_copied(self.folder / name, source.root))

    def start(self, program: Program, home: Path | None = None) -> Process:
        """A process that is ended with the test."""
        process = program.start(home)
        self.started.append(process)
        return process


@contextmanager
def started(versions: Versions) -> Iterator[Versions]:
    """The same programs; what a test starts is ended behind it."""
    own = Versions(versions.folder, versions.present, versions.future, versions.beyond)
    try:
        yield own
    finally:
        for process in own.started:
            if process.running.poll() is None:
                process.running.kill()
            process.close()


def versions_in(folder: Path) -> Versions:
    """Make the copies. The present is copied too, so that nobody changes it during the tests."""
    present = _copied(folder / "present", PRESENT, ignore=WITHOUT_BYTECODE)
    # Compiled once for all processes; a source that a test changes no longer has the hash.
    compileall.compile_dir(present, quiet=2, invalidation_mode=PycInvalidationMode.CHECKED_HASH)
    return Versions(
        folder,
        Program(present, settled=True),
        _next(_copied(folder / "future", present), _more_columns),
        _next(_copied(folder / "beyond", present), _one_more_kind),
    )


def _copied(root: Path, source: Path, ignore: Callable[..., set[str]] | None = None) -> Path:
    for folder, package in PACKAGES.items():
        shutil.copytree(source / folder / package, root / folder / package, ignore=ignore)
    return root


def _next(root: Path, change: Callable[[Path], None]) -> Program:
    program = Program(root)
    change(root)
    changed(program, "SCHEMA", program.number("SCHEMA") + 1)
    current = root / "replica/satchel/store/current.py"
    replace(
        current, r"^SCHEMA = .*$", "SCHEMA = " + program.prints(
            "from satchel.store import migrate; print(migrate.latest())"
        )
    )  # fmt: skip
    replace(
        current, r"^TRIGGERS = .*$", "TRIGGERS = " + program.prints(
            "from satchel.store import triggers; print(triggers.mark())"
        )
    )  # fmt: skip
    return Program(root, settled=True)


def changed(program: Program, name: str, number: int) -> None:
    """Give a constant of `version.py` another number."""
    version = program.root / "sync/satchel_sync/version.py"
    replace(version, rf"^{name} = \d+$", f"{name} = {number}")


def _more_columns(root: Path) -> None:
    tables = root / "sync/satchel_sync/tables"
    memory = "    content_hash: str | None = None\n"
    replace(
        tables / "memory.py",
        re.escape(memory),
        "    mood: str | None = None\n    energy: float | None = None\n" + memory,
    )
    task = "    completed_at: int | None = None\n"
    replace(tables / "task.py", re.escape(task), task + "    effort: int | None = None\n")
    add_migrations(root, FUTURE_SQL, FUTURE_HUB_SQL)


def _one_more_kind(root: Path) -> None:
    tables = root / "sync/satchel_sync/tables"
    (tables / "label.py").write_text(LABEL)
    replace(tables / "__init__.py", r'^    "embedding",$', '    "embedding",\n    "label",')
    add_migrations(root, BEYOND_SQL, BEYOND_HUB_SQL)


def add_migrations(root: Path, script: str, hub_script: str) -> None:
    """The next migration of both sides."""
    schema = root / "replica/satchel/store/schema"
    last = max(int(file.name[:4]) for file in schema.glob("*.sql"))
    (schema / f"{last + 1:04}_future.sql").write_text(script)
    revisions = root / "warehouse/satchel_warehouse/migrations/versions"
    texts = [file.read_text() for file in revisions.glob("*.py")]
    head = max(
        found[1] for text in texts if (found := re.search(r'^revision = "(.*)"', text, re.M))
    )
    (revisions / "future.py").write_text(
        f'from alembic import op\n\nrevision = "{int(head) + 1:04}"\ndown_revision = "{head}"\n\n\n'
        f"def upgrade():\n    op.execute('''{hub_script}''')\n"
    )


def replace(file: Path, pattern: str, by: str | Callable[[re.Match[str]], str]) -> None:
    """Replace the one place in a file where a pattern fits; fails where there is none."""
    text, count = re.subn(pattern, by, file.read_text(), flags=re.M)
    assert count == 1, f"{file}: {pattern} fits {count} times"
    file.write_text(text)
