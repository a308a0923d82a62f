"""Many processes at one vault: none is lost; one that is killed at any step leaves it whole."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path
from time import sleep
from typing import IO

import fix_forked
import pytest
from fix_vault import RIGHT, VALUE, Said, vault_in

from satchel_crypto.errors import PassphraseWrong

WORKER = Path(__file__).parent / "worker.py"
FRESH = "another passphrase"
TIMEOUT_S = 60
NO_KILL = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system has no SIGKILL")


@dataclass(frozen=True)
class Worker:
    """A process that has its passphrases, and the file of what it says on stderr."""

    running: subprocess.Popen[bytes] | fix_forked.Child
    errors: IO[bytes]


def start(folder: Path, verb: str, *origin: Path, fresh: str = "") -> Worker:
    """A worker; forked where that can be done, as most of its time goes into imports."""
    words = [str(folder), verb, *map(str, origin)]
    errors = tempfile.TemporaryFile()  # noqa: SIM115 (`end` closes it)
    running: subprocess.Popen[bytes] | fix_forked.Child
    if fix_forked.fits(words):
        running = fix_forked.server_of(str(WORKER)).start(words, dict(os.environ), errors.fileno())
    else:
        running = subprocess.Popen(
            [sys.executable, WORKER, *words],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors,
        )  # fmt: skip
    assert running.stdin
    with running.stdin:
        running.stdin.write(f"{RIGHT}\n{fresh}\n".encode())
    return Worker(running, errors)


def end(worker: Worker) -> tuple[int | None, str]:
    """Exit code and what it said on stdout; an error of its own fails the test."""
    assert worker.running.stdout
    with worker.running.stdout, worker.errors:
        out = worker.running.stdout.read().decode()
        code = worker.running.wait(TIMEOUT_S)
        worker.errors.seek(0)
        assert worker.errors.read() == b""
    return code, out


def test_of_sixteen_writers_none_is_lost(tmp_path: Path) -> None:
    """The vault is not even there: one of them makes it."""
    folder = tmp_path / "keys"
    writers = [start(folder, f"set=name{number}=value{number}") for number in range(16)]
    assert [end(one) for one in writers] == [(0, "ready\ndone\n")] * 16
    vault = vault_in(folder)
    assert {one.name: vault.get(one.name) for one in vault.list()} == {
        f"name{number}": f"value{number}" for number in range(16)
    }


def test_writers_during_rotations(tmp_path: Path) -> None:
    vault_in(tmp_path).set("first", VALUE)
    verbs = [f"set=n{number}=v{number}" for number in range(6)] + ["rotate", "unlock", "rotate"]
    assert [end(one)[0] for one in [start(tmp_path, verb) for verb in verbs]] == [0] * 9
    vault = vault_in(tmp_path)
    found = {one.name: vault.get(one.name) for one in vault.list()}
    assert found == {"first": VALUE} | {f"n{number}": f"v{number}" for number in range(6)}


def test_of_many_threads_none_is_lost(tmp_path: Path) -> None:
    errors: list[BaseException] = []

    def write(number: int) -> None:
        try:
            vault_in(tmp_path).set(f"name{number}", f"value{number}")
        except BaseException as error:  # noqa: BLE001 (the test reports it)
            errors.append(error)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert errors == []
    assert len(vault_in(tmp_path).list()) == 8


def test_readers_see_no_half_of_a_change(tmp_path: Path) -> None:
    vault_in(tmp_path).set("name", VALUE)
    vault_in(tmp_path).unlock()
    stop = threading.Event()
    seen: list[str] = []
    errors: list[BaseException] = []

    def read() -> None:
        while not stop.is_set():
            try:
                seen.append(vault_in(tmp_path).get("name"))
            except BaseException as error:  # noqa: BLE001 (the test reports it)
                errors.append(error)

    reader = threading.Thread(target=read)
    reader.start()
    rotations = [end(start(tmp_path, "rotate"))[0] for _ in range(4)]
    stop.set()
    reader.join()
    assert (errors, set(seen), rotations) == ([], {VALUE}, [0] * 4)


# ---- killed -------------------------------------------------------------------------------------


def opened_by(folder: Path) -> str:
    """Which of the two passphrases opens it; the other must not, and both secrets are there."""
    right = []
    for passphrase in (RIGHT, FRESH):
        vault = vault_in(folder, Said(passphrase))
        try:
            assert vault.get("name") == VALUE
            assert vault.get("other") == "t0ken"
            right.append(passphrase)
        except PassphraseWrong:
            continue
    assert len(right) == 1
    return right[0]


def prepared(folder: Path) -> Path:
    """A vault with two secrets."""
    vault = vault_in(folder)
    vault.set("name", VALUE)
    vault.set("other", "t0ken")
    return folder


def killed_at_each_step(tmp_path: Path, verb: str, origin: Path, fresh: str = "") -> list[Path]:
    """A folder for each step at which `verb` was killed, and at last one where it was not."""
    code, out = end(start(tmp_path / "steps", verb, origin, fresh=fresh))
    codes = [int(line) for line in out.splitlines()]
    assert (code, codes[-1], set(codes[:-1])) == (0, 0, {-signal.SIGKILL})
    assert len(codes) > 8, "it has more steps than that"
    return [tmp_path / "steps" / str(step) for step in range(1, len(codes) + 1)]


@NO_KILL
def test_a_rotation_killed_at_each_step_leaves_the_old_or_the_new(tmp_path: Path) -> None:
    found: list[str] = []
    origin = prepared(tmp_path / "origin")
    for folder in killed_at_each_step(tmp_path, "rotate", origin, FRESH):
        found.append(opened_by(folder))
        vault_in(folder, Said(found[-1])).set("third", "x")  # nothing left behind is in the way
        assert {one.name for one in folder.iterdir()} == {"vault.json", "vault.seen", "vault.lock"}
    assert found == sorted(found, key=[RIGHT, FRESH].index), "once new, always new"
    assert set(found) == {RIGHT, FRESH}


@NO_KILL
@pytest.mark.parametrize("verb", ["unlock", "lock", "set=name=" + VALUE])
def test_another_change_killed_at_each_step_leaves_it_whole(verb: str, tmp_path: Path) -> None:
    origin = prepared(tmp_path / "origin")
    if verb == "lock":
        vault_in(origin).unlock()
    for folder in killed_at_each_step(tmp_path, verb, origin):
        vault = vault_in(folder)
        assert vault.get("name") == VALUE
        vault.set("third", "x")
        vault.rotate()
        assert vault.get("other") == "t0ken"


@NO_KILL
def test_the_first_secret_killed_at_each_step_leaves_a_vault_or_none(tmp_path: Path) -> None:
    (tmp_path / "origin").mkdir()
    for folder in killed_at_each_step(tmp_path, "set=name=" + VALUE, tmp_path / "origin"):
        vault = vault_in(folder)
        assert [vault.get(one.name) for one in vault.list()] in ([], [VALUE])
        vault.set("other", "x")
        assert vault.get("other") == "x"


@NO_KILL
def test_rotations_killed_at_any_moment(tmp_path: Path) -> None:
    folder = prepared(tmp_path / "keys")
    chance = random.Random(6)
    for _ in range(12):
        worker = start(folder, "rotate")
        assert worker.running.stdout
        assert worker.running.stdout.readline() == b"ready\n"
        sleep(chance.random() * 0.03)
        worker.running.kill()
        end(worker)
        vault = vault_in(folder)
        assert (vault.get("name"), vault.get("other")) == (VALUE, "t0ken")
    vault_in(folder).rotate()
