"""`satchel sync --every`: real processes against a real warehouse, ended by every signal."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from fix_command import COMMAND
from fix_hub import HubWorld
from fix_schedule import configure
from psycopg import conninfo

from satchel import peers
from satchel.cli.door import Door, Globals
from satchel.cli.every import Stop, Stopped, sync_every

PERIOD_S = 3
LEAST_S = 0.9 * PERIOD_S - 1
"""The period less its jitter, and less what a busy machine may take to read a line."""
SHORT = """
from satchel.cli import every
from satchel.cli.main import run
every.LIVE_BELOW_S = 0
run()
"""
"""satchel, but with whole syncs in periods that a test can wait for."""
PAUSE_S = 120
Start = Callable[..., Any]


@pytest.fixture
def start(home: Path, environment: Callable[..., dict[str, str]]) -> Start:
    """`satchel sync --every` in a process of its own, ended afterwards."""

    @contextmanager
    def started(every: str) -> Iterator[subprocess.Popen[str]]:
        with subprocess.Popen(
            [COMMAND[0], "-c", SHORT, "--home", str(home), "sync", "--every", every],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(),
            start_new_session=True,
        ) as process:  # fmt: skip
            try:
                yield process
            finally:
                process.kill()

    return started


def line_of(stream: Any) -> tuple[Any, float]:
    """The next line as JSON, and when it came."""
    return json.loads(stream.readline()), time.monotonic()


def test_it_syncs_again_and_a_hub_out_of_reach_is_one_line(
    start: Start, home: Path, tmp_path: Path, hub_world: HubWorld, satchel: Callable[..., Any]
) -> None:
    """The way to the hub is a link to its socket's folder: missing, made, removed."""
    dsn = hub_world.login()
    link, real = tmp_path / "s", conninfo.conninfo_to_dict(dsn)["host"]
    configure(home, conninfo.make_conninfo(dsn, host=str(link)))
    satchel("--home", str(home), "write", "first", "--scope", "org")
    with start(f"{PERIOD_S}s") as process:
        failed, failed_s = line_of(process.stderr)
        assert failed["error"]["code"] == "hub_unreachable"
        link.symlink_to(str(real))
        first, first_s = line_of(process.stdout)
        assert (first["exit"], first["kinds"]["memory"]["accepted"]) == (0, 1)
        assert first_s - failed_s > LEAST_S, "never sooner"
        satchel("--home", str(home), "write", "second", "--scope", "org")
        taken = 0
        while not taken:  # a slow machine syncs once before it has written
            later, later_s = line_of(process.stdout)
            taken = later["kinds"]["memory"]["accepted"]
            assert (later["exit"], later_s - first_s > LEAST_S) == (0, True), "never sooner"
            first_s = later_s
        assert taken == 1
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=60)
        assert (process.returncode, out, err) == (0, "", "")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 0)])
def test_a_signal_ends_a_pause_at_once(start: Start, number: int, code: int) -> None:
    with start("1h") as process:  # far longer than anybody here waits
        line_of(process.stderr)
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
        assert (process.returncode, out, err) == (code, "", "")


def test_who_stops_reading_ends_it(start: Start, home: Path, hub_world: HubWorld) -> None:
    configure(home, hub_world.login())
    with start(f"{PERIOD_S}s") as process:
        process.stdout.close()
        assert process.wait(60) == 0
        assert process.stderr.read() == ""


@pytest.mark.parametrize(
    ("words", "code", "error"),
    [
        (["--every", "0s"], 2, "invalid_input"),
        (["--every", "500ms"], 2, "invalid_input"),
        (["--every", "soon"], 2, "invalid_input"),
        (["--every", ""], 2, "invalid_input"),
        (["--every", "32d"], 2, "invalid_input"),
        (["--every", "1h", "--adopt"], 2, "invalid_input"),
        (["--every", "2s", "--adopt"], 2, "invalid_input"),
    ],
)
def test_what_cannot_be_asked(
    satchel: Callable[..., Any], home: Path, words: list[str], code: int, error: str
) -> None:
    ran = satchel("--home", str(home), "sync", *words)
    assert (ran.code, ran.out, ran.error["code"]) == (code, "", error)
    assert ran.error["hint"]
    assert not (home / "satchel.db").exists(), "nothing was tried"


@pytest.mark.parametrize("every", ["2s", "1h"])
def test_what_no_later_sync_could_mend_ends_it(
    satchel: Callable[..., Any], home: Path, every: str
) -> None:
    configure(home, "not a dsn")
    ran = satchel("--home", str(home), "sync", "--every", every)
    assert (ran.code, ran.error["code"]) == (2, "dsn_invalid")
    (home / "config.toml").unlink()
    ran = satchel("--home", str(home), "sync", "--every", every)
    assert (ran.code, ran.error["code"]) == (2, "config_invalid")


# ---- a signal in the middle of a sync ------------------------------------------------------------


def memories_at_the_hub(hub_world: HubWorld) -> int:
    with psycopg.connect(hub_world.dsn) as db:
        row = db.execute("SELECT count(*) FROM satchel.memory").fetchone()
    assert row
    return int(row[0])


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_in_a_push_loses_nothing_and_the_next_sync_ends_it(
    home: Path, hub_world: HubWorld, satchel: Callable[..., Any], number: int
) -> None:
    configure(home, hub_world.login())
    for text in ("first", "second"):
        satchel("--home", str(home), "write", text, "--scope", "org")
    satchel("--home", str(home), "task", "create", "a task")
    door = Door(Globals(home=str(home), json=True, quiet=True))
    seen: list[tuple[str, str]] = []

    def interrupted(step: Callable[[str, str, int, int], None]) -> dict[str, Any]:
        def stepped(phase: str, kind: str, done: int, of: int) -> None:
            seen.append((phase, kind))
            os.kill(os.getpid(), number)
            step(phase, kind, done, of)

        return peers.sync_once(door.settings, progress=stepped)

    if number == signal.SIGTERM:
        assert sync_every(door, "1h", interrupted, adopt=False) == 0
    else:
        with pytest.raises(KeyboardInterrupt):
            sync_every(door, "1h", interrupted, adopt=False)
    assert len(seen) == 1, "the sync ended between two chunks"
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    later = satchel("--home", str(home), "sync")
    assert (later.code, later.json["pending"], later.json["conflicts"]) == (0, 0, 0)
    assert memories_at_the_hub(hub_world) == 2
    again = satchel("--home", str(home), "sync")
    assert (again.json["noop"], again.json["digest"]) == (True, "equal")


def test_a_signal_before_a_pause_is_not_slept_through() -> None:
    stop = Stop()
    with stop.listening():
        os.kill(os.getpid(), signal.SIGTERM)
        begun_s = time.monotonic()
        with pytest.raises(Stopped):
            stop.pause(PAUSE_S)
    assert time.monotonic() - begun_s < PAUSE_S / 2


def test_the_last_phases_are_not_cut_off() -> None:
    stop = Stop()
    stop.asked = True
    stop.watched(lambda *_: None)("embedding", "texts", 1, 2)
    with pytest.raises(Stopped):
        stop.watched(lambda *_: None)("pull", "memory", 1, 2)


def test_a_fault_of_the_program_is_not_hidden(home: Path) -> None:
    def broken(step: Any) -> dict[str, Any]:
        raise ZeroDivisionError

    door = Door(Globals(home=str(home), json=True))
    with pytest.raises(ZeroDivisionError):
        sync_every(door, "1h", broken, adopt=False)
