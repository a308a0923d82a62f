"""Made version_4/*.gz, once, with the code of schema revision 0004: a hub with rows, and a machine.

To be run in a work tree of that code, `PYTHONPATH=replica:sync:warehouse:crypto:tests`; leaves in
the folder that it is given `hub.sql.gz`, a dump of Debian's Postgres, and `ada.db.gz`, the file of
one of the two machines that had synced with it.
"""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from fix_servers import postgres


def satchel(home: Path, *words: str) -> Any:
    """One command of a machine, and its answer."""
    command = [sys.executable, "-m", "satchel", "--home", str(home), "--json", *words]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(done.stdout or "null")


def work_of_ada(home: Path) -> str:
    """A row of every kind, each in a life of its own. Returns the id of what both machines edit."""
    satchel(home, "agent", "register", "ada-agent", "--description", "writes")
    shared = satchel(home, "write", "Ledger runs on port 8080", "--title", "port", "--space", "ops")
    for number in range(12):
        satchel(home, "write", f"Note {number}: the ünïcode “ledger” 😀", "--space", "ops")
    old = satchel(home, "write", "Deploys happen on Fridays", "--type", "decision")
    satchel(home, "memory", "supersede", old["id"], "Deploys happen on Tuesdays")
    doomed = satchel(home, "write", "This is deleted", "--pin")
    satchel(home, "memory", "link", shared["id"], doomed["id"], "relates_to")
    satchel(home, "memory", "delete", doomed["id"], "--yes")
    secret = satchel(home, "write", "Xylophone is a word that is forgotten")
    parent = satchel(home, "task", "create", "Ship it", "--owner", "bob-agent", "--space", "ops")
    child = satchel(home, "task", "create", "Test it", "--parent", parent["id"], "--scope", "org")
    satchel(home, "task", "complete", child["id"])
    for turn in range(6):
        tokens = ["--tokens-in", "10", "--tokens-out", "20", "--cost", "0.5"]
        tokens += ["--provider", "p", "--model", "m"]
        satchel(home, "chatlog", "write", "talk", f"turn {turn}", *tokens)
    satchel(home, "message", "send", "bob-agent", "Please look", "--task-id", parent["id"])
    satchel(home, "session", "start", "--title", "planning")
    satchel(home, "sync")
    satchel(home, "memory", "forget", secret["id"], "--yes")
    satchel(home, "sync")
    return str(shared["id"])


def made(folder: Path, admin: str, out: Path) -> None:
    """Two machines that sync, edit one memory apart, and sync again."""
    ada, bob, office = (folder / name for name in ("ada", "bob", "office"))
    satchel(office, "config", "set", "warehouse.admin_dsn", admin)
    satchel(office, "warehouse", "init")
    for home in (ada, bob):
        satchel(office, "warehouse", "grant", "--replica", f"v4_{home.name}")
        login = admin.replace("user=postgres", f"user=v4_{home.name}")
        satchel(home, "config", "set", "warehouse.dsn", login)
    shared = work_of_ada(ada)
    satchel(bob, "sync")
    satchel(bob, "memory", "update", shared, "--text", "Ledger runs on port 9090")
    satchel(ada, "memory", "update", shared, "--text", "Ledger runs on port 7070")
    for home in (ada, bob, ada):
        satchel(home, "sync")
    satchel(bob, "write", "Bob knows this, and Ada does not yet", "--space", "ops")
    satchel(bob, "sync")
    data = (ada / "satchel.db").read_bytes()
    assert not (ada / "satchel.db-wal").exists() or not (ada / "satchel.db-wal").stat().st_size
    (out / "ada.db.gz").write_bytes(gzip.compress(data, mtime=0))


if __name__ == "__main__":
    into = Path(sys.argv[1])
    with postgres() as server, TemporaryDirectory() as homes:
        server.start()
        made(Path(homes), server.admin, into)
        dumped = subprocess.run(
            [server.server.programs / "pg_dump", server.admin], check=True, capture_output=True
        )
        (into / "hub.sql.gz").write_bytes(gzip.compress(dumped.stdout, mtime=0))
