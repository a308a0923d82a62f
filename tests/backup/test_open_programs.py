"""What programs that have a replica open do when it is restored: they stop, and lose nothing."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from fix_command import COMMAND, environment
from place import Place, damage, everything

from satchel.backup import restoring
from satchel.errors import StoreBusy, StoreUnusable
from satchel.store.connection import Store
from satchel_sync.errors import SyncBusy


def test_a_program_that_has_it_open_reads_and_writes_no_more(place: Place) -> None:
    place.write("one")
    backup = place.backup()
    place.write("two")
    other = Store.open(place.path, durability="process")
    with other.read() as db:
        # In the middle of a read: it ends as it began, in the old content.
        place.restore(backup)
        assert db.execute("SELECT count(*) FROM memory").get == 2
    for door in (other.read, other.write, place.replica.store.write):
        with pytest.raises(StoreUnusable, match="was restored from a backup"), door():
            pass
    other.close()
    place.close()
    place.open()
    assert list(place.texts().values()) == ["one"]
    with place.replica.store.read() as db:
        assert db.execute("PRAGMA integrity_check").get == "ok"


def test_an_mcp_server_that_runs_on_says_to_start_it_again(place: Place) -> None:
    place.write("one")
    backup = place.backup()
    place.write("two")
    place.close()
    with serving(place.folder) as ask:
        assert "two" in ask("memory_search", query="two")
        assert place.restore(backup)["notices"] == [restoring.OPEN]
        for tool, given in (("memory_write", {"text": "x"}), ("memory_search", {"query": "one"})):
            said = ask(tool, **given)
            assert '"isError":true' in said.replace(" ", "")
            assert "restored from a backup while this program had it open" in said
    # What it leaves behind at its end is no log beside another file.
    assert place.restore(backup)["notices"] == [], "nobody has it open"
    place.open()
    place.write("three")
    assert sorted(place.texts().values()) == ["one", "three"]
    with place.replica.store.read() as db:
        assert db.execute("PRAGMA integrity_check").get == "ok"
    assert place.breaks() == []


@contextmanager
def serving(home: Path) -> Iterator[Callable[..., str]]:
    """`satchel mcp` on its pipes, and how to call a tool of it."""
    with subprocess.Popen(
        [*COMMAND, "mcp"],
        env=environment(SATCHEL_HOME=str(home), SATCHEL_USER="una"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        stdin, stdout = process.stdin, process.stdout
        assert stdin is not None
        assert stdout is not None

        def say(**message: Any) -> str:
            stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
            stdin.flush()
            return stdout.readline().decode() if "id" in message else ""

        info = {"name": "test", "version": "1"}
        say(
            id=1,
            method="initialize",
            params={"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info},
        )
        say(method="notifications/initialized")
        yield lambda tool, **given: say(
            id=2, method="tools/call", params={"name": tool, "arguments": given}
        )
        stdin.close()
        assert process.wait(30) == 0


def test_a_write_of_the_last_moment_is_in_the_backup_of_before(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Written when the draft is ready already, and before nobody can write any more."""
    backup, exchange = place.backup(), restoring.exchange
    late = place.write("was there")

    def later(*given: Any) -> Path | None:
        place.forget(late)
        place.write("at the last moment")
        return exchange(*given)

    monkeypatch.setattr(restoring, "exchange", later)
    answer = place.restore(backup)
    place.close()
    place.open()
    assert place.texts() == {}
    assert place.breaks() == []
    again = place.restored(Path(answer["kept"]))
    assert (list(place.texts().values()), again["forgotten"]) == (["at the last moment"], 0)


def test_no_sync_runs_meanwhile(place: Place) -> None:
    backup = place.backup()
    place.write("later")
    with one_that_syncs(place.folder), pytest.raises(SyncBusy):
        place.restore(backup)
    assert list(place.texts().values()) == ["later"]


@contextmanager
def one_that_syncs(home: Path) -> Iterator[None]:
    """A process that holds the lock of a sync."""
    code = (
        "import sys, pathlib; from satchel.peers import one_sync\n"
        "with one_sync(pathlib.Path(sys.argv[1])): print(flush=True); input()"
    )
    words = [sys.executable, "-c", code, str(home)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield
        process.communicate(b"\n", timeout=30)


def test_who_begins_a_replica_meanwhile_loses_nothing(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing was there when the restore looked, and a program writes before it is done."""
    from satchel.backup import exchange

    place.write("of the backup")
    backup = place.backup(out=tmp_path / "disk")
    place.close()
    place.path.unlink()
    make = exchange.make_file
    began: list[Place] = []

    def made(path: Path) -> tuple[int, int]:
        if path == place.path and not began:
            began.append(place)
            place.open()
            place.write("acknowledged meanwhile")
        return make(path)

    monkeypatch.setattr(exchange, "make_file", made)
    answer = place.restore(backup, unread=True)
    with pytest.raises(StoreUnusable, match="was restored from a backup"):
        place.write("late")
    place.close()
    place.open()
    assert list(place.texts().values()) == ["of the backup"]
    place.restored(Path(answer["kept"]), other=True)
    assert list(place.texts().values()) == ["acknowledged meanwhile"]
    assert place.breaks() == []


def test_a_damaged_file_lies_there_until_a_whole_one_does(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No moment has an empty place, in which a program would begin anew and say nothing."""
    from satchel.backup import exchange

    place.write("one")
    backup = place.backup(out=tmp_path / "disk")
    place.close()
    damage(place.path, at=0)
    before = place.path.read_bytes()

    def looked(path: Path) -> Any:
        assert path.read_bytes() == before
        with pytest.raises(StoreUnusable, match="not a SQLite database"):
            place.open()
        shutil.copy(backup / "satchel.db", path)  # somebody mends it by hand at that moment
        return look(path)

    look = exchange.look
    monkeypatch.setattr(exchange, "look", looked)
    with pytest.raises(StoreBusy):
        place.restore(backup, unread=True)
    assert place.backups() == []
    monkeypatch.undo()
    place.restored(backup)
    assert list(place.texts().values()) == ["one"]


def test_ctrl_c_behind_the_commit_keeps_what_was_kept(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite moves the log into the file still: the new content is in place already."""
    from satchel.backup import exchange

    place.write("one")
    backup = place.backup(out=tmp_path / "disk", with_keys=True)
    place.write("written since")
    place.close()
    write = exchange._write
    for commits in (True, False):
        before = everything(place.folder)

        def interrupted(*given: Any, commits: bool = commits) -> None:
            if commits:
                write(*given)
            raise KeyboardInterrupt

        monkeypatch.setattr(exchange, "_write", interrupted)
        with pytest.raises(KeyboardInterrupt):
            place.restore(backup)
        if not commits:
            assert everything(place.folder) == before
    (kept,) = place.backups()
    place.open()
    assert list(place.texts().values()) == ["one"]
    monkeypatch.undo()
    place.restored(place.folder / "backups" / kept)
    assert sorted(place.texts().values()) == ["one", "written since"]
    assert place.breaks() == []


def test_who_writes_for_long_is_waited_for_and_then_told(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    from satchel.backup import exchange

    monkeypatch.setattr(exchange, "BUSY_TIMEOUT_MS", 100)
    backup = place.backup()
    place.write("later")
    with place.replica.store.write() as db:
        db.execute("SELECT 1").fetchall()
        with pytest.raises(StoreBusy):
            place.restore(backup)
    assert list(place.texts().values()) == ["later"]
    assert ".restoring" not in place.backups()
