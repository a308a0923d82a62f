"""The main paths of satchel, walked in a folder of their own.

Two machines write, search, exchange sealed bundles with a warehouse and verify what they hold, by
the same commands that a user gives. The audit hook counts each attempt to open a socket meanwhile.
"""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

from satchel.cli.main import run
from satchel.offline.namespace import interfaces
from satchel.offline.warehouse import Warehouse
from satchel_crypto import network

TEXT = "The spare key of the shed hangs behind the third plank"
QUESTION = "where is the key of the shed"


class Failed(Exception):
    """A step did not do what it does everywhere else."""


def satchel(home: Path, *words: str) -> dict[str, Any]:
    """The answer of one command of the machine that lives in `home`. Raises Failed."""
    out, err = io.StringIO(), io.StringIO()
    code: object = 0
    with redirect_stdout(out), redirect_stderr(err):
        try:
            run([*words, "--home", str(home), "--json"])
        except SystemExit as end:
            code = end.code
    if code:
        raise Failed(f"`satchel {words[0]}` ended with {code}: {err.getvalue().strip()[-300:]}")
    answer: dict[str, Any] = json.loads(out.getvalue())
    return answer


def require(held: object, what: str) -> None:
    """Raise Failed unless `held` is true."""
    if not held:
        raise Failed(what)


def steps(folder: Path) -> Iterator[tuple[str, Callable[[], object]]]:
    """Each step with its name, in order; it raises where it fails."""
    desk, laptop, hub = folder / "desk", folder / "laptop", Warehouse(folder / "hub")
    ids: dict[Path, str] = {}

    def each(step: Callable[[Path], None]) -> None:
        for home in (desk, laptop):
            step(home)

    def introduce(home: Path) -> None:
        ids[home] = satchel(home, "sync", "status")["replica_id"]
        theirs, ours = str(folder / "hub.json"), str(folder / f"{home.name}.json")
        satchel(hub.home, "key", "export", theirs, "--as", "hub", "--yes")
        satchel(home, "key", "export", ours, "--yes")
        satchel(home, "key", "trust", theirs, "--name", "hub", "--yes")
        satchel(hub.home, "key", "trust", ours, "--name", home.name, "--yes")

    def up(home: Path) -> None:
        satchel(home, "sync", "export", str(folder / f"{home.name}.up"), "--for", "hub", "--yes")

    def down(home: Path) -> None:
        hub.take(folder / f"{home.name}.up")
        hub.give(ids[home], folder / f"{home.name}.down")
        satchel(home, "sync", "import", str(folder / f"{home.name}.down"))

    def inspect() -> None:
        for file in sorted(folder.glob("*.up")) + sorted(folder.glob("*.down")):
            require(satchel(hub.home, "sync", "inspect", str(file))["damage"] is None, str(file))

    def search(home: Path) -> None:
        texts = [hit["snippet"] for hit in satchel(home, "search", QUESTION)["hits"]]
        require(TEXT in texts, f"{home.name} does not find what was written")

    def verify(home: Path) -> None:
        require(satchel(home, "audit", "verify")["ok"], f"the audit of {home.name}")
        require(hub.verify(home) == 0, f"{home.name} and the warehouse differ")

    yield "write", lambda: satchel(desk, "write", TEXT, "--scope", "org")
    yield "search", lambda: search(desk)
    yield "keys", lambda: each(introduce)
    yield "export", lambda: each(up)
    yield "import", lambda: each(down)
    yield "search elsewhere", lambda: search(laptop)
    yield "inspect", inspect
    yield "verify", lambda: each(verify)


def walk(folder: Path) -> dict[str, Any]:
    """Every step, up to the first that fails; what the hook, which is on, refused in this process.

    Returns {"steps", "failed", "attempts", "refused", "interfaces"}.
    """
    done: list[str] = []
    failed = ""
    for name, step in steps(folder):
        try:
            step()
        except Exception as error:  # noqa: BLE001 (whatever it is, the proof has to tell it)
            failed = f"{name}: {type(error).__name__}: {error}"
            break
        done.append(name)
    attempts, kept = network.refusals()
    return {
        "steps": done,
        "failed": failed,
        "attempts": attempts,
        "refused": [f"{one.event.removeprefix('socket.')} of {one.what}" for one in kept],
        "interfaces": interfaces() if sys.platform.startswith("linux") else [],
    }
