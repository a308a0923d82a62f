"""Files of keys: nobody else's, whole, in folders that nobody else enters."""

import os
import stat
from pathlib import Path

import pytest

from satchel_crypto import private_file
from satchel_crypto.device_secrets import DeviceSecrets
from satchel_crypto.errors import KeyInvalid

pytestmark = pytest.mark.skipif(os.name != "posix", reason="files have modes on POSIX only")


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
@pytest.mark.parametrize("first", ["lock", "replace", "secret"])
def test_whoever_makes_the_home_makes_it_private(umask: int, first: str, tmp_path: Path) -> None:
    keys = tmp_path / "home" / "keys"
    before = os.umask(umask)
    try:
        if first == "lock":
            with private_file.locked(keys / "vault.lock"):
                pass
        elif first == "replace":
            private_file.replace(keys / "vault.json", b"{}")
        else:
            DeviceSecrets(keys).get_or_make("audit", lambda: bytes(32))
    finally:
        os.umask(before)
    made = [keys.parent, keys, *keys.iterdir()]
    assert [mode_of(path) & 0o077 for path in made] == [0] * len(made)


def test_a_secret_is_made_once(tmp_path: Path) -> None:
    private_file.add(tmp_path / "keys" / "a.key", b"first")
    private_file.add(tmp_path / "keys" / "a.key", b"second")
    assert private_file.read(tmp_path / "keys" / "a.key", 100) == b"first"
    assert [path.name for path in (tmp_path / "keys").iterdir()] == ["a.key"]


def fifo(path: Path) -> None:
    os.mkfifo(path, 0o600)


def open_to_others(path: Path) -> None:
    path.write_bytes(b"x")
    path.chmod(0o640)


def too_large(path: Path) -> None:
    path.write_bytes(bytes(101))
    path.chmod(0o600)


@pytest.mark.parametrize("make", [fifo, open_to_others, too_large, Path.mkdir])
def test_what_is_no_private_file_is_refused(make: object, tmp_path: Path) -> None:
    path = tmp_path / "file"
    make(path)  # type: ignore[operator]
    with pytest.raises(KeyInvalid, match=str(path)):
        private_file.read(path, 100)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_the_file_of_another_user_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"x")
    path.chmod(0o600)
    os.chown(path, 4321, 4321)
    tmp_path.chmod(0o755)
    assert private_file.read(path, 100) == b"x", "root works on the homes of others"
    os.seteuid(1234)
    try:
        with pytest.raises(KeyInvalid):
            private_file.read(path, 100)
    finally:
        os.seteuid(0)


def test_a_lock_is_no_symbolic_link(tmp_path: Path) -> None:
    target = tmp_path / "elsewhere"
    (tmp_path / "keys").mkdir()
    (tmp_path / "keys" / "vault.lock").symlink_to(target)
    with pytest.raises(KeyInvalid), private_file.locked(tmp_path / "keys" / "vault.lock"):
        pass
    assert not target.exists()
