"""kill -9 in the middle of export and import: no half file, nothing lost, done again it is done."""

from __future__ import annotations

import signal
import subprocess
import time
from pathlib import Path

import pytest
from fix_hub import HubWorld
from fix_stick import PLAIN, Desk

from satchel.replica import DATABASE_FILE
from satchel.store import rows
from satchel.store.connection import Store
from satchel_sync.tables import Memory

ROWS = 2_000
KILLS = 5


@pytest.fixture
def desk(hub_world: HubWorld, tmp_path: Path) -> Desk:
    """A machine with enough rows that a kill falls into the middle of things."""
    with (
        Store.open(tmp_path / "a" / DATABASE_FILE, durability="process") as store,
        store.write() as db,
    ):
        for number in range(ROWS):
            text = f"row {number} " * 100
            rows.insert(db, Memory(id=f"m-{number:05}", type="note", content=text, scope="org"))
    return Desk(tmp_path, hub_world.dsn)


def killed(desk: Desk, name: str, *arguments: str, hub: bool = False) -> int:
    """Run a command KILLS times, killed later each time; how many were killed before their end.

    The last is not killed, and must succeed.
    """
    count = 0
    started = time.monotonic()
    assert desk.run(name, "sync", "status").code == 0
    begins_s = time.monotonic() - started
    for kill in range(KILLS):
        command = desk.command(name, *arguments, hub=hub)
        with subprocess.Popen(**command, stdout=subprocess.DEVNULL) as child:
            time.sleep(begins_s * (0.5 + 1.5 * kill / KILLS))
            child.send_signal(signal.SIGKILL)
            count += child.wait() == -signal.SIGKILL
    done = desk.run(name, *arguments, hub=hub)
    assert (done.code, done.err) == (0, "")
    return count


@pytest.mark.timeout(300)
def test_a_killed_export_or_import_leaves_nothing_half_done(
    desk: Desk, hub_world: HubWorld
) -> None:
    up, down = desk.stick("up"), desk.stick("down")
    (desk.folder / "up").write_text("SATCHELB: the last content of the stick")
    assert killed(desk, "a", "sync", "export", "--for", "hub", up, PLAIN, "--yes") >= 2
    assert desk.run("a", "sync", "inspect", up).json["rows"]["memory"] == ROWS
    assert killed(desk, "hub-side", "sync", "import", up, PLAIN, hub=True) >= 2
    to_a = ("sync", "export", "--for", desk.id("a"), down, PLAIN, "--yes")
    assert killed(desk, "hub-side", *to_a, hub=True) >= 2
    assert killed(desk, "a", "sync", "import", down, PLAIN) >= 2
    status = desk.run("a", "sync", "status").json
    assert (status["pending"], status["quarantined"], status["conflicts"]) == ({}, 0, 0)
    query = "SELECT count(*), max(change_seq) FROM satchel.memory"
    ((count, highest),) = hub_world.psql().execute(query).fetchall()
    assert count == ROWS
    assert desk.at_hub("sync", "import", up, PLAIN).code == 0
    desk.trip("a")
    assert desk.trip("a")[3].json["noop"]
    assert hub_world.psql().execute(query).fetchall() == [(count, highest)]


def test_until_it_is_whole_the_old_file_stays(desk: Desk) -> None:
    up = desk.folder / "up"
    up.write_text("SATCHELB: the last content of the stick")
    command = desk.command("a", "sync", "export", "--for", "hub", str(up), PLAIN, "--yes")
    with subprocess.Popen(**command, stdout=subprocess.DEVNULL) as child:
        deadline = time.monotonic() + 60
        while not (parts := list(desk.folder.glob(".up.*.part"))) and time.monotonic() < deadline:
            time.sleep(0.002)
        child.send_signal(signal.SIGKILL)
        child.wait()
    assert parts
    if up.read_text("latin-1") != "SATCHELB: the last content of the stick":
        assert desk.run("a", "sync", "inspect", str(up)).json["damage"] is None
    assert desk.run("a", "sync", "export", "--for", "hub", str(up), PLAIN, "--yes").code == 0
    assert desk.run("a", "sync", "inspect", str(up)).json["damage"] is None
