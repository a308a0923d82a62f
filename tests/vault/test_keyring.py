"""Secrets in a keyring: a small backend in memory stands where the session's would.

Where the session has a keyring of its own, one test uses that.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path
from time import monotonic

import keyring
import pytest
from fix_keyring import Forgetful, Memory, Plaintext, Refusing, Silent, memory, session
from fix_vault import VALUE
from keyring.backend import KeyringBackend
from keyring.backends.chainer import ChainerBackend

from satchel_crypto.errors import CryptoError, SecretMissing, VaultDamaged, VaultLocked
from satchel_crypto.vault import KeyringStore
from satchel_crypto.vault.keyring_store import usable_backend

NAME = "warehouse.password"
__all__ = ["memory", "session"]


def store_in(folder: Path) -> KeyringStore:
    return KeyringStore(folder / "keys", folder, timeout_s=2)


def test_a_round_trip(memory: Memory, tmp_path: Path) -> None:
    store = store_in(tmp_path)
    assert not store.there
    assert store.set(NAME, VALUE).version == 1
    assert store.set(NAME, "another").version == 2
    store.set("api.token", VALUE)
    assert store_in(tmp_path).get(NAME) == "another"
    assert [(one.name, one.version) for one in store.list()] == [("api.token", 1), (NAME, 2)]
    assert store.delete("api.token").version == 1
    assert set(memory.entries) == {("satchel", f"{NAME} of {tmp_path}")}
    with pytest.raises(SecretMissing):
        store.get("api.token")


def test_two_homes_have_their_own(memory: Memory, tmp_path: Path) -> None:
    one, two = store_in(tmp_path / "one"), store_in(tmp_path / "two")
    one.set(NAME, "1")
    two.set(NAME, "2")
    two.delete(NAME)
    assert one.get(NAME) == "1"


def test_the_index_tells_no_value(memory: Memory, tmp_path: Path) -> None:
    store_in(tmp_path).set(NAME, VALUE)
    index = tmp_path / "keys/keyring.json"
    assert VALUE.encode() not in index.read_bytes()
    if os.name == "posix":
        assert stat.S_IMODE(index.stat().st_mode) == 0o600


def test_a_name_that_is_not_listed_asks_no_keyring(session: None, tmp_path: Path) -> None:
    keyring.set_keyring(Silent())
    began = monotonic()
    with pytest.raises(SecretMissing):
        store_in(tmp_path).get(NAME)
    assert monotonic() - began < 1


def test_what_was_deleted_in_the_keyring_is_told(memory: Memory, tmp_path: Path) -> None:
    store = store_in(tmp_path)
    store.set(NAME, VALUE)
    memory.entries.clear()
    with pytest.raises(SecretMissing, match="gone from the keyring"):
        store.get(NAME)
    store.delete(NAME)
    assert store.list() == []


@pytest.mark.parametrize("backend", [Plaintext, lambda: keyring.backends.fail.Keyring()])
def test_what_keeps_nothing_or_in_the_clear_is_no_keyring(
    backend: Callable[[], KeyringBackend], session: None, tmp_path: Path
) -> None:
    keyring.set_keyring(backend())
    assert usable_backend(2) is None
    with pytest.raises(VaultLocked, match="no keyring in this session"):
        store_in(tmp_path).set(NAME, VALUE)
    assert not store_in(tmp_path).there


def test_the_null_backend_is_none(session: None) -> None:
    from keyring.backends.null import Keyring

    keyring.set_keyring(Keyring())
    assert usable_backend(2) is None


def test_of_a_chain_the_best_is_taken_alone(
    session: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The chain itself would fall back to a plain file."""
    plain, good = Plaintext(), Memory()
    monkeypatch.setattr("keyring.backend.get_all_keyring", lambda: [plain, good])
    keyring.set_keyring(ChainerBackend())
    store_in(tmp_path).set(NAME, VALUE)
    assert (len(good.entries), len(plain.entries)) == (1, 0)
    monkeypatch.setattr("keyring.backend.get_all_keyring", lambda: [plain])
    assert usable_backend(2) is None


def test_a_refusal_does_not_quote_the_secret(session: None, tmp_path: Path) -> None:
    keyring.set_keyring(Refusing())
    with pytest.raises(VaultLocked, match="PasswordSetError") as caught:
        store_in(tmp_path).set(NAME, VALUE)
    error: BaseException | None = caught.value
    while error is not None:
        assert VALUE not in f"{error!r}{error}{getattr(error, 'hint', '')}"
        error = error.__context__
    assert store_in(tmp_path).list() == []


def test_a_keyring_that_waits_for_its_user_is_given_up(session: None, tmp_path: Path) -> None:
    backend = Silent()
    keyring.set_keyring(backend)
    store = KeyringStore(tmp_path / "keys", tmp_path, timeout_s=0.2)
    began = monotonic()
    with pytest.raises(VaultLocked, match=r"no answer within 0\.2 s"):
        store.set(NAME, VALUE)
    assert monotonic() - began < 2


def test_a_keyring_that_forgets_is_noticed(session: None, tmp_path: Path) -> None:
    keyring.set_keyring(Forgetful())
    with pytest.raises(CryptoError, match="does not give back"):
        store_in(tmp_path).set(NAME, VALUE)
    assert store_in(tmp_path).list() == []


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b"{}",
        b"[" * 9000,
        b'{"format":"satchel keyring index"}',
        b'{"format":"satchel keyring index","secrets":{"a":1}}',
        b'{"format":"satchel keyring index","secrets":[["A",1,1]]}',
        b'{"format":"satchel keyring index","secrets":[["a",0,1]]}',
        b'{"format":"satchel keyring index","secrets":[["a",1,-1]]}',
        b'{"format":"satchel keyring index","secrets":[["a",true,1]]}',
        b'{"format":"satchel keyring index","secrets":[["a",1]]}',
        b'{"format":"satchel keyring index","secrets":[[[],1,1]]}',
        b'{"format":"satchel vault","secrets":[]}',
        b"\xff\xff",
    ],
)
def test_a_foreign_index_is_refused(data: bytes, memory: Memory, tmp_path: Path) -> None:
    store = store_in(tmp_path)
    store.set(NAME, VALUE)
    (tmp_path / "keys/keyring.json").write_bytes(data)
    with pytest.raises(VaultDamaged, match=r"keyring\.json"):
        store.list()
    with pytest.raises(VaultDamaged):
        store.set(NAME, "x")
    assert (tmp_path / "keys/keyring.json").read_bytes() == data


def test_the_keyring_of_this_session(tmp_path: Path) -> None:
    if usable_backend(5) is None:
        pytest.skip("this session has no keyring")
    store = store_in(tmp_path)
    store.set(NAME, VALUE)
    try:
        assert store.get(NAME) == VALUE
    finally:
        store.delete(NAME)
    with pytest.raises(SecretMissing):
        store.get(NAME)
