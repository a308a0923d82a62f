"""A copy of a file takes an id of its own before it writes; the same file never does."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import apsw
import pytest
from machine import Clock, held, send, welcome, write

from satchel.errors import StoreUnusable
from satchel.store import (
    fingerprint,
    identity,
    machine_macos,
    machine_windows,
    rows,
    succession,
)
from satchel.store.connection import Store
from satchel.store.endpoint import SqliteReplica
from satchel_sync.tables import MEMORY, Memory

OPENER = """
import sys
from pathlib import Path
from satchel.store.connection import Store
sys.stdin.readline()
with Store.open(Path(sys.argv[1])) as store, store.read() as db:
    print(store.replica_id.hex(), db.execute("SELECT replica_id FROM control").get.hex())
"""


def made(path: Path, *keys: str) -> bytes:
    """A file that has said hello and written these memories; its id."""
    with Store.open(path, durability="process") as store:
        replica = SqliteReplica(store)
        replica.hello()
        replica.welcome(welcome())
        write(store, *(Memory(id=key, content=key) for key in keys))
        send(replica)
        return store.replica_id


def who(path: Path) -> tuple[bytes, tuple[bytes, ...]]:
    """The id and the predecessors of a file, as it is opened."""
    with Store.open(path, durability="process") as store, store.read() as db:
        assert store.replica_id == identity.load(db)
        return store.replica_id, succession.predecessors(db)


def copied(path: Path, target: Path) -> Path:
    """A copy of a file that nobody has open."""
    target.parent.mkdir(exist_ok=True)
    shutil.copy2(path, target)
    return target


def test_a_copied_file_names_its_predecessor_before_the_first_write(tmp_path: Path) -> None:
    path = tmp_path / "one" / "satchel.db"
    old = made(path, "m1")
    copy = copied(path, tmp_path / "two" / "satchel.db")
    with Store.open(copy, durability="process") as store:
        write(store, Memory(id="m2"))
        assert held(store, "m1").stamp.origin == old
        assert held(store, "m2").stamp.origin == store.replica_id != old
        hello = SqliteReplica(store).hello()
    assert (hello.predecessors, hello.replica_id) == ((old,), store.replica_id)
    assert who(copy) == (store.replica_id, (old,)), "once"
    assert who(path) == (old, ()), "the file that was copied stays who it is"


def test_a_file_restored_by_copy_takes_a_new_id(tmp_path: Path) -> None:
    path = tmp_path / "one" / "satchel.db"
    old = made(path)
    backup = copied(path, tmp_path / "backup.db")
    path.rename(tmp_path / "broken.db")
    shutil.copy2(backup, path)
    new, predecessors = who(path)
    assert (new != old, predecessors) == (True, (old,))


def test_the_same_file_stays_who_it_is(tmp_path: Path) -> None:
    path = tmp_path / "one" / "satchel.db"
    old = made(path, "m1")
    assert who(path) == (old, ())
    db = apsw.Connection(str(path))
    db.execute("VACUUM").fetchall()
    db.close()
    assert who(path) == (old, ()), "vacuumed in place"
    moved = (tmp_path / "one").rename(tmp_path / "renamed")
    assert who(moved / "satchel.db") == (old, ()), "renamed on its own disk"


def test_a_file_with_two_names_is_refused_by_both_until_one_is_gone(tmp_path: Path) -> None:
    """SQLite's log lies beside the name: of two programs one would lose what it acknowledged."""
    path, other = tmp_path / "one" / "satchel.db", tmp_path / "link.db"
    old = made(path)
    os.link(path, other)
    for name in (path, other):
        with pytest.raises(StoreUnusable, match="second name"):
            Store.open(name)
    other.unlink()
    assert who(path) == (old, ())


@pytest.mark.parametrize("how", ["replaced", "deleted", "moved"])
def test_nothing_is_acknowledged_in_a_file_that_is_not_there_any_more(
    tmp_path: Path, how: str
) -> None:
    path = tmp_path / "one" / "satchel.db"
    made(path)
    backup = copied(path, tmp_path / "backup.db")
    with Store.open(path) as store:
        with store.write() as db:
            rows.insert(db, Memory(id="before", content="x", scope="org"))
        match how:
            case "replaced":
                shutil.copy2(backup, tmp_path / "new.db")
                (tmp_path / "new.db").replace(path)
            case "deleted":
                path.unlink()
            case "moved":
                path.parent.rename(tmp_path / "elsewhere")
        with pytest.raises(StoreUnusable, match="replaced, moved or deleted"), store.write() as db:
            rows.insert(db, Memory(id="after", content="x", scope="org"))
        with pytest.raises(StoreUnusable), store.read() as db:
            rows.get(db, MEMORY, "before")


def test_a_file_that_is_replaced_in_mid_write_is_noticed_before_the_commit(tmp_path: Path) -> None:
    path = tmp_path / "one" / "satchel.db"
    made(path)
    backup = copied(path, tmp_path / "backup.db")

    def write_while_it_is_replaced(store: Store) -> None:
        with store.write() as db:
            rows.insert(db, Memory(id="after", content="x", scope="org"))
            shutil.copy2(backup, tmp_path / "new.db")
            (tmp_path / "new.db").replace(path)

    with Store.open(path) as store, pytest.raises(StoreUnusable, match="replaced"):
        write_while_it_is_replaced(store)


def test_a_home_moved_to_another_machine_takes_a_new_id(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "one" / "satchel.db"
    old = made(path)
    elsewhere = tmp_path / "machine-id"
    elsewhere.write_text("f" * 32 + "\n")
    monkeypatch.setattr(fingerprint, "PLACES", (tmp_path / "none", elsewhere))
    new, predecessors = who(path)
    assert (new != old, predecessors) == (True, (old,))
    monkeypatch.undo()
    assert who(path)[1] == (new, old)[1:], "nothing was written or said under the id in between"


def test_a_file_without_a_fingerprint_gets_one_and_keeps_its_id(tmp_path: Path) -> None:
    path = tmp_path / "satchel.db"
    old = made(path)
    db = apsw.Connection(str(path))
    db.execute("DELETE FROM meta WHERE name = 'fingerprint'")
    db.close()
    assert who(path) == (old, ())
    with Store.open(path) as store, store.read() as db:
        assert identity.known(db) == (old, fingerprint.of(path))


@pytest.mark.parametrize("write_first", [False, True], ids=["readers", "writers"])
def test_16_processes_that_open_a_copy_at_once_make_one_succession(
    tmp_path: Path, write_first: bool
) -> None:
    path = tmp_path / "one" / "satchel.db"
    old = made(path)
    copy = copied(path, tmp_path / "two" / "satchel.db")
    if write_first:  # an open write transaction that they all have to wait for
        holder = apsw.Connection(str(copy))
        holder.execute("BEGIN IMMEDIATE")
    started = [
        subprocess.Popen(
            [sys.executable, "-c", OPENER, str(copy)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(16)
    ]
    for process in started:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    if write_first:
        holder.execute("COMMIT")
        holder.close()
    said = {tuple(process.communicate(timeout=60)[0].split()) for process in started}
    assert [process.returncode for process in started] == [0] * 16
    ((at_open, in_file),) = said
    assert at_open == in_file
    assert who(copy) == (bytes.fromhex(in_file), (old,))


def test_a_number_that_changes_all_the_time_leaves_no_endless_list(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "satchel.db"
    old = made(path, "m1")
    for number in range(50):
        monkeypatch.setattr(fingerprint, "of", lambda _, number=number: f"{number}")
        new, predecessors = who(path)
        assert new != old
        assert predecessors == (old,)
    with Store.open(path, durability="process") as store:
        write(store, Memory(id="m2"))
    monkeypatch.setattr(fingerprint, "of", lambda _: "later")
    assert who(path)[1] == (new, old)


def test_a_mac_is_told_by_its_hardware() -> None:
    def call(uuid: Any, wait: Any) -> int:
        uuid[:] = range(16)
        assert wait._obj.tv_sec == machine_macos.WAIT_S
        return 0

    def missing() -> Any:
        raise AttributeError("gethostuuid")

    assert machine_macos.host_uuid(lambda: call) == bytes(range(16)).hex()
    assert machine_macos.host_uuid(lambda: lambda *_: -1) == ""
    assert machine_macos.host_uuid(missing) == ""
    if sys.platform != "darwin":
        assert fingerprint.machine_id("darwin") == ""


class Registry(SimpleNamespace):
    """`winreg` with one value, or none."""

    def OpenKey(self, root: int, place: str, reserved: int, access: int) -> Any:  # noqa: N802
        assert (root, reserved, access) == (self.HKEY_LOCAL_MACHINE, 0, 0x120)
        if place not in self.values:
            raise FileNotFoundError(place)
        return self

    def QueryValueEx(self, key: Any, name: str) -> tuple[str, int]:  # noqa: N802
        return key.values[machine_windows.PLACE][name], 1

    def __enter__(self) -> Registry:
        return self

    def __exit__(self, *_: object) -> None:
        pass


def test_a_windows_machine_is_told_by_its_guid() -> None:
    constants: dict[str, Any] = {
        "HKEY_LOCAL_MACHINE": 7, "KEY_READ": 0x20, "KEY_WOW64_64KEY": 0x100
    }  # fmt: skip
    held = {machine_windows.PLACE: {"MachineGuid": "1234-abcd"}}
    assert machine_windows.machine_guid(Registry(values=held, **constants)) == "1234-abcd"
    assert machine_windows.machine_guid(Registry(values={}, **constants)) == ""


def test_a_machine_without_an_id_still_tells_a_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fingerprint, "PLACES", ())
    assert fingerprint.machine_id("linux") == ""
    path = tmp_path / "one" / "satchel.db"
    old = made(path)
    assert who(copied(path, tmp_path / "two" / "satchel.db"))[1] == (old,)


def test_a_command_that_opens_its_own_file_loads_nothing_for_it(tmp_path: Path) -> None:
    path = tmp_path / "satchel.db"
    with Store.open(path, clock=Clock()):
        pass
    program = (
        "import sys\nfrom pathlib import Path\nfrom satchel.store.connection import Store\n"
        f"Store.open(Path({str(path)!r})).close()\n"
        "print([m for m in sys.modules if 'succession' in m or 'machine_' in m or 'hash' in m])"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (ran.stdout, ran.stderr) == ("[]\n", "")
