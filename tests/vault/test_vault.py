"""What is kept comes back, by whichever way the vault opens, on each provider that is here."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fix_vault import RIGHT, VALUE, Said, document_of, provider_or_skip, vault_in
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from satchel_crypto.errors import (
    AlgorithmRefused,
    CryptoError,
    KeyInvalid,
    PassphraseWrong,
    SecretMissing,
    VaultLocked,
)
from satchel_crypto.provider import Provider
from satchel_crypto.registry import NAMES
from satchel_crypto.vault import Vault
from satchel_crypto.vault.store import NAMES_MAX, VALUE_BYTES_MAX

NAME = "warehouse.password"
NAMES_TAKEN = st.from_regex(r"[a-z0-9][a-z0-9._-]{0,20}", fullmatch=True)
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1)


@pytest.fixture(params=NAMES)
def of(request: pytest.FixtureRequest) -> Provider:
    return provider_or_skip(request.param)


def test_a_round_trip_on_each_provider(of: Provider, tmp_path: Path) -> None:
    vault = vault_in(tmp_path, of=of)
    kept = vault.set(NAME, VALUE)
    assert (kept.name, kept.version) == (NAME, 1)
    assert vault_in(tmp_path, of=of).get(NAME) == VALUE
    assert vault.set(NAME, "another").version == 2
    vault.set("api.token", "t")
    assert [(one.name, one.version) for one in vault.list()] == [("api.token", 1), (NAME, 2)]
    vault.rotate()
    vault.unlock()
    assert vault.get(NAME) == "another"
    vault.lock()
    assert vault.get(NAME) == "another"
    assert vault.delete(NAME).version == 2
    with pytest.raises(SecretMissing, match=r"warehouse\.password"):
        vault.get(NAME)


@pytest.mark.parametrize(
    ("writer", "reader", "opens"),
    [
        ("openssl", "wolfcrypt", True),
        ("wolfcrypt", "openssl", True),
        ("nacl", "openssl", False),
        ("openssl", "nacl", False),
    ],
)
def test_another_provider_opens_it_or_says_what_it_lacks(
    writer: str, reader: str, opens: bool, tmp_path: Path
) -> None:
    vault_in(tmp_path, of=provider_or_skip(writer)).set(NAME, VALUE)
    other = vault_in(tmp_path, of=provider_or_skip(reader))
    if opens:
        assert other.get(NAME) == VALUE
        other.rotate()
        return
    before = (tmp_path / "vault.json").read_bytes()
    for attempt in (lambda: other.get(NAME), lambda: other.set("x", "y"), other.rotate):
        with pytest.raises(AlgorithmRefused, match=reader):
            attempt()
    assert (tmp_path / "vault.json").read_bytes() == before


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(table=st.dictionaries(NAMES_TAKEN, TEXTS, min_size=1, max_size=5), gone=st.integers(0, 4))
def test_any_table_comes_back(
    table: dict[str, str], gone: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("vault")
    vault = vault_in(folder)
    for name, value in table.items():
        vault.set(name, value)
    vault.rotate()
    removed = sorted(table)[gone % len(table)]
    vault.delete(removed)
    del table[removed]
    again = vault_in(folder)
    assert {one.name: again.get(one.name) for one in again.list()} == table


def test_the_file_is_the_owners_and_tells_no_value(tmp_path: Path) -> None:
    vault = vault_in(tmp_path / "keys")
    vault.set(NAME, VALUE)
    vault.unlock()
    vault.rotate()
    folder = tmp_path / "keys"
    files = {path.name: path for path in folder.iterdir()}
    assert set(files) == {"vault.json", "vault.seen", "vault.lock", "vault.key"}
    if os.name == "posix":
        assert {stat.S_IMODE(path.stat().st_mode) for path in files.values()} == {0o600}
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    for path in files.values():
        assert VALUE.encode() not in path.read_bytes()
        assert RIGHT.encode() not in path.read_bytes()


def test_equal_values_are_not_seen_to_be_equal(tmp_path: Path) -> None:
    vault = vault_in(tmp_path)
    vault.set("one", VALUE)
    vault.set("two", VALUE)
    rows = document_of(tmp_path)["secrets"]
    assert rows["one"]["sealed"][40:] != rows["two"]["sealed"][40:]


@pytest.mark.skipif(os.name != "posix", reason="modes are POSIX's")
def test_a_file_that_others_may_read_is_refused(tmp_path: Path) -> None:
    vault = vault_in(tmp_path)
    vault.set(NAME, VALUE)
    (tmp_path / "vault.json").chmod(0o644)
    with pytest.raises(KeyInvalid, match="open to others") as caught:
        vault.get(NAME)
    assert "chmod 600" in caught.value.hint


# ---- passphrases --------------------------------------------------------------------------------


def test_a_wrong_passphrase_is_no_damage(tmp_path: Path) -> None:
    vault_in(tmp_path).set(NAME, VALUE)
    wrong = vault_in(tmp_path, Said("wrong horse"))
    for attempt in (
        lambda: wrong.get(NAME),
        lambda: wrong.set("other", "x"),
        lambda: wrong.delete(NAME),
        lambda: wrong.rotate(),
        lambda: wrong.unlock(),
    ):
        with pytest.raises(PassphraseWrong) as caught:
            attempt()
        assert "horse" not in str(caught.value) + caught.value.hint
    assert vault_in(tmp_path).get(NAME) == VALUE


def test_the_list_asks_nobody(tmp_path: Path) -> None:
    vault_in(tmp_path).set(NAME, VALUE)
    said = Said()
    assert [one.name for one in vault_in(tmp_path, said).list()] == [NAME]
    assert said.asked == []


def test_without_a_passphrase_it_is_locked(tmp_path: Path) -> None:
    class Nobody(Said):
        def current(self) -> str:
            raise VaultLocked("nobody is here")

    vault_in(tmp_path).set(NAME, VALUE)
    with pytest.raises(VaultLocked):
        vault_in(tmp_path, Nobody()).get(NAME)


def test_two_spellings_of_one_letter_are_one_passphrase(tmp_path: Path) -> None:
    vault_in(tmp_path, Said("caf\u00e9 au lait")).set(NAME, VALUE)
    assert vault_in(tmp_path, Said("cafe\u0301 au lait")).get(NAME) == VALUE


@pytest.mark.parametrize("bad", ["", "short", "nul\0nul\0nul", "\ud800" * 9, "x" * 5000])
def test_a_passphrase_that_cannot_be(bad: str, tmp_path: Path) -> None:
    with pytest.raises(KeyInvalid):
        vault_in(tmp_path, Said(bad)).set(NAME, VALUE)
    assert not (tmp_path / "vault.json").exists()


def test_a_new_passphrase_takes_the_place_of_the_old(tmp_path: Path) -> None:
    vault = vault_in(tmp_path, Said(fresh="another passphrase"))
    vault_in(tmp_path).set(NAME, VALUE)
    before = document_of(tmp_path)
    vault.rotate(new_passphrase=True)
    after = document_of(tmp_path)
    assert after["key_id"] != before["key_id"]
    assert after["passphrase"]["salt"] != before["passphrase"]["salt"]
    assert vault_in(tmp_path, Said("another passphrase")).get(NAME) == VALUE
    with pytest.raises(PassphraseWrong):
        vault_in(tmp_path).get(NAME)


def test_a_rotation_leaves_versions_and_dates(tmp_path: Path) -> None:
    vault = vault_in(tmp_path)
    vault.set(NAME, VALUE)
    vault.set(NAME, VALUE)
    before = vault.list()
    vault.rotate()
    assert vault.list() == before


# ---- by this machine ----------------------------------------------------------------------------


def test_an_unlocked_vault_asks_nobody(tmp_path: Path) -> None:
    vault_in(tmp_path).set(NAME, VALUE)
    vault_in(tmp_path).unlock()
    said = Said("not the passphrase")
    vault = vault_in(tmp_path, said)
    assert vault.opens_by_device
    assert vault.get(NAME) == VALUE
    vault.set("other", "x")
    vault.delete("other")
    assert said.asked == []
    vault_in(tmp_path).rotate()
    assert vault.get(NAME) == VALUE


def test_a_copy_of_the_key_does_not_open_what_is_written_after_lock(tmp_path: Path) -> None:
    vault = vault_in(tmp_path)
    vault.set(NAME, VALUE)
    vault.unlock()
    key, before = (tmp_path / "vault.key").read_bytes(), document_of(tmp_path)
    vault.lock()
    after = document_of(tmp_path)
    assert not (tmp_path / "vault.key").exists()
    assert (after["device"], vault.opens_by_device) == (None, False)
    assert after["key_id"] != before["key_id"]
    (tmp_path / "vault.key").write_bytes(key)
    (tmp_path / "vault.key").chmod(0o600)
    with pytest.raises(PassphraseWrong):
        vault_in(tmp_path, Said("not the passphrase")).get(NAME)


def test_a_lost_device_key_leaves_the_passphrase(tmp_path: Path) -> None:
    vault = vault_in(tmp_path)
    vault.set(NAME, VALUE)
    vault.unlock()
    (tmp_path / "vault.key").unlink()
    assert not vault.opens_by_device
    assert vault.get(NAME) == VALUE


# ---- what is refused ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["", "A", ".x", "-x", "a b", "ä", "x" * 64, "pass=hunter2", "a/b", "a\0", "..", "a\n"]
)
def test_a_name_that_cannot_be(name: str, tmp_path: Path) -> None:
    vault = vault_in(tmp_path)
    for attempt in (lambda: vault.set(name, "x"), lambda: vault.get(name)):
        with pytest.raises(CryptoError, match="cannot be the name") as caught:
            attempt()
        assert "hunter2" not in str(caught.value) + caught.value.hint
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("", "empty"),
        ("hunter2\0", "NUL at position 7"),
        ("hunter2\ud800", "lone surrogate at position 7"),
        ("hunter2" * (VALUE_BYTES_MAX // 7 + 1), f"at most {VALUE_BYTES_MAX}"),
    ],
)
def test_a_value_that_cannot_be(value: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(CryptoError, match=said) as caught:
        vault_in(tmp_path).set(NAME, value)
    assert "hunter2" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_a_full_vault_says_so_and_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    vault = vault_in(tmp_path)
    vault.set(NAME, VALUE)
    before = (tmp_path / "vault.json").read_bytes()
    monkeypatch.setattr("satchel_crypto.vault.vault.NAMES_MAX", 1)
    with pytest.raises(CryptoError, match="no more fit"):
        vault.set("other", "x")
    monkeypatch.setattr("satchel_crypto.vault.file.FILE_BYTES_MAX", 2000)
    with pytest.raises(CryptoError, match="the vault is full"):
        vault.set(NAME, "x" * 3000)
    assert (tmp_path / "vault.json").read_bytes() == before
    assert NAMES_MAX == 1000


@pytest.mark.parametrize("attempt", [Vault.rotate, Vault.unlock, Vault.lock])
def test_where_there_is_no_vault_none_is_made(
    attempt: Callable[[Vault], Any], tmp_path: Path
) -> None:
    with pytest.raises(CryptoError, match="there is no vault yet"):
        attempt(vault_in(tmp_path))
    with pytest.raises(SecretMissing):
        vault_in(tmp_path).delete(NAME)
    assert vault_in(tmp_path).list() == []
    assert list(tmp_path.iterdir()) == []
