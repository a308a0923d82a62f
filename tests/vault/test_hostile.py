"""A file that somebody made to hang, to crash or to weaken us: refused at once, always typed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from fix_vault import RIGHT, VALUE, Said, document_of, forge, forged, vault_in

from satchel_crypto.algorithms import PBKDF2_ITERATIONS_MIN
from satchel_crypto.errors import KeyInvalid, VaultDamaged
from satchel_crypto.registry import provider
from satchel_crypto.vault import Vault

NAME = "warehouse.password"
OTHER = "api.token"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A vault with two secrets."""
    vault = vault_in(tmp_path)
    vault.set(OTHER, "t0ken")
    vault.set(NAME, VALUE)
    return tmp_path


def hostile(document: dict[str, Any], where: str, value: Any) -> bytes:
    place: Any = document
    *path, last = where.split("/")
    for step in path:
        place = place[step]
    place[last] = value
    try:
        return forged(document)
    except Exception:  # noqa: BLE001 (what has no canonical form is written as plain JSON)
        return json.dumps(document).encode()


@pytest.mark.parametrize(
    ("where", "value"),
    [
        ("passphrase/passes", 599_999),
        ("passphrase/passes", 10_000_001),
        ("passphrase/passes", 2**62),
        ("passphrase/passes", 10**400),
        ("passphrase/passes", -1),
        ("passphrase/passes", True),
        ("passphrase/passes", 600_000.0),
        ("passphrase/passes", "600000"),
        ("passphrase/memory_kib", 2**40),
        ("passphrase/memory_kib", 1),
        ("passphrase/derivation", "argon2id"),
        ("passphrase/derivation", "hkdf-sha-256"),
        ("passphrase/derivation", "scrypt"),
        ("passphrase/derivation", {}),
        ("passphrase/salt", ""),
        ("passphrase/salt", "zz" * 16),
        ("passphrase/salt", "00" * 17),
        ("passphrase/check", "!!"),
        ("passphrase/check", "A" * 200_000),
        ("passphrase/more", 1),
        ("passphrase", None),
        ("device", ""),
        ("device", 5),
        ("revision", 0),
        ("revision", 2**53),
        ("revision", 2**80),
        ("vault_id", "00"),
        ("key_id", 7),
        ("mac", "00" * 31),
        ("mac", None),
        ("secrets", []),
        ("secrets", {"../x": {}}),
        ("secrets", {"A": {}}),
        ("secrets", {"a": None}),
        ("secrets", {f"n{number}": {} for number in range(1001)}),
        ("secrets/api.token/version", 0),
        ("secrets/api.token/version", 2**31),
        ("secrets/api.token/updated_at", -1),
        ("secrets/api.token/sealed", "\u00e9"),
        ("secrets/api.token/sealed", None),
        ("secrets/api.token/more", None),
        ("version", 2),
        ("format", "satchel keyring index"),
        ("more", None),
    ],
)
def test_a_hostile_value_is_refused_at_once(where: str, value: Any, folder: Path) -> None:
    document = document_of(folder)
    document["passphrase"]["passes"] = PBKDF2_ITERATIONS_MIN
    forge(folder, document, unseen=True)
    said = Said()
    vault = Vault(folder, provider(), said)
    assert [one.name for one in vault.list()] == [OTHER, NAME]  # so far it is one that could be
    (folder / "vault.json").write_bytes(hostile(document, where, value))
    with pytest.raises(VaultDamaged):
        vault.get(OTHER)
    assert said.asked == []


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"null",
        b"[]",
        b"{}",
        b'"satchel vault"',
        b"1e999",
        b"NaN",
        b"-" * 1000,
        b"9" * 10_000,
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b'{"format":"satchel vault"}',
        b'{"format":"satchel vault","version":1}',
        b'{"version":3,"keys":[]}',
        b"\xff\xfe{\0}\0",
        b"\0" * 1000,
        b'{"format":"\\ud800"}',
    ],
)
def test_foreign_files_are_refused(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "vault.json"
    path.write_bytes(data)
    path.chmod(0o600)
    with pytest.raises(VaultDamaged):
        vault_in(tmp_path).list()
    with pytest.raises(VaultDamaged):
        vault_in(tmp_path).set(NAME, VALUE)
    assert path.read_bytes() == data


def test_an_endless_file_is_not_read_whole(tmp_path: Path) -> None:
    with (tmp_path / "vault.json").open("wb") as file:
        file.truncate(20 * 1024**3)
    (tmp_path / "vault.json").chmod(0o600)
    with pytest.raises(KeyInvalid, match="more than"):
        vault_in(tmp_path).list()


def test_a_cheap_vault_is_refused_by_one_that_was_not_told_to_take_it(folder: Path) -> None:
    vault_in(folder).unlock()
    with pytest.raises(VaultDamaged, match="key derivation"):
        Vault(folder, provider(), Said(RIGHT)).get(NAME)
