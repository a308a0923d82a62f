"""Documents of strangers: key files, the trusted list, certificates, vaults and what lies by them.

Each is given noise, changed bytes, odd values in every place, and, where a signature or a checksum
would hide what lies behind it, odd values that were signed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from fix_fuzz import (
    EXAMPLES,
    HOSTILE_JSON,
    MEGABYTE,
    NOISE,
    as_json,
    bounded,
    changed,
    cuts,
    odd_documents,
    refused,
)
from fix_keys import MADE_AT, Owner
from fix_vault import BOUNDS, VALUE, forged, vault_in
from hypothesis import given
from hypothesis import strategies as st

from satchel_crypto.canonical import canonical
from satchel_crypto.certificate import Certificate, certified
from satchel_crypto.errors import CryptoError, KeyInvalid, VaultDamaged
from satchel_crypto.key_file import PURPOSE as KEY_PURPOSE
from satchel_crypto.key_file import KeyFile
from satchel_crypto.registry import provider
from satchel_crypto.trusted import TrustedKeys
from satchel_crypto.vault import KeyringStore
from satchel_crypto.vault.document import parse as parse_vault
from satchel_crypto.vault.file import VaultFile

OPENSSL = provider("openssl")
SAYS: dict[str, Any] = {
    "at": MADE_AT,
    "replica_id": "ab" * 16,
    "hub_id": None,
    "actor": "una",
    "rows": [{"kind": "memory", "key": "k-1", "digest": "00" * 8}],
    "wiped": True,
    "backups": ["backups/satchel-schema-0001.db"],
}


@dataclass(frozen=True, repr=False)
class Parser:
    """A parser under test: what it reads, a good one, and the same of odd content made to fit."""

    parse: Callable[[bytes], object]
    good: bytes
    fitted: Callable[[Any], bytes]


def put(path: Path, data: bytes) -> None:
    """A file that only its owner reads."""
    path.write_bytes(data)
    os.chmod(path, 0o600)  # noqa: PTH101 (200 times a test)


def in_file(path: Path, read: Callable[[], object]) -> Callable[[bytes], object]:
    def parse(data: bytes) -> object:
        put(path, data)
        return read()

    return parse


def every(folder: Path) -> dict[str, Parser]:
    """All the parsers, each with files of its own below `folder`."""
    owner, friend = Owner.make(folder / "owner"), Owner.make(folder / "friend")
    key = owner.keys.signing()

    def signed_key_file(document: Any) -> bytes:
        if not isinstance(document, dict):
            return as_json(document)
        said = {one: document[one] for one in document if one not in ("signatures", "previous")}
        signatures = [
            owner.keys.signing(suite).sign(OPENSSL, KEY_PURPOSE, canonical(said)).as_dict(OPENSSL)
            for suite in owner.keys.suites
        ]
        older = document.get("previous", [])
        return as_json(document | {"signatures": signatures, "previous": older})

    def signed_certificate(document: Any) -> bytes:
        if not isinstance(document, dict):
            return as_json(document)
        rest = {one: document[one] for one in document if one != "signature"}
        return as_json(certified(OPENSSL, key, rest))

    def vault_of(name: str) -> Path:
        place = folder / name
        vault_in(place).set("warehouse.password", VALUE)
        return place

    owner.trust(friend)
    at = {name: vault_of(name) for name in ("vault", "seen")}
    index = folder / "keyring"
    index.mkdir()
    listed = {"format": "satchel keyring index", "secrets": [["github", 1, 5]]}
    vault_bytes = (at["vault"] / "vault.json").read_bytes()
    seen = VaultFile(at["seen"], OPENSSL, BOUNDS)
    return {
        "key file": Parser(
            lambda data: KeyFile.parse(data, OPENSSL), owner.public(), signed_key_file
        ),
        "trusted list": Parser(
            in_file(folder / "owner" / "trusted.json", TrustedKeys(folder / "owner").all),
            (folder / "owner" / "trusted.json").read_bytes(),
            as_json,
        ),
        "certificate": Parser(
            lambda data: Certificate.parse(data, OPENSSL),
            as_json(certified(OPENSSL, key, SAYS)),
            signed_certificate,
        ),
        "vault": Parser(
            lambda data: parse_vault(data, OPENSSL, BOUNDS),
            vault_bytes,
            lambda document: forged(document) if isinstance(document, dict) else as_json(document),
        ),
        "vault.seen": Parser(
            in_file(at["seen"] / "vault.seen", seen.read),
            (at["seen"] / "vault.seen").read_bytes(),
            as_json,
        ),
        "keyring index": Parser(
            in_file(index / "keyring.json", KeyringStore(index, home=folder).list),
            canonical(listed),
            as_json,
        ),
    }


NAMES = ["key file", "trusted list", "certificate", "vault", "vault.seen", "keyring index"]


@pytest.fixture(scope="module")
def parsers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Parser]:
    made = every(tmp_path_factory.mktemp("fuzz"))
    assert list(made) == NAMES
    for parser in made.values():
        assert parser.parse(parser.good) is not None
        assert parser.parse(parser.fitted(json.loads(parser.good))) is not None
    return made


@pytest.mark.parametrize("name", NAMES)
@EXAMPLES
@given(data=NOISE)
def test_noise(parsers: dict[str, Parser], name: str, data: bytes) -> None:
    assert refused(parsers[name].parse, data, CryptoError)


@pytest.mark.parametrize("name", NAMES)
def test_every_beginning_of_a_good_one(parsers: dict[str, Parser], name: str) -> None:
    for data in cuts(parsers[name].good.rstrip()):
        assert refused(parsers[name].parse, data, CryptoError)


@pytest.mark.parametrize("name", NAMES)
@EXAMPLES
@given(data=st.data())
def test_a_good_one_that_was_changed(
    parsers: dict[str, Parser], name: str, data: st.DataObject
) -> None:
    parser = parsers[name]
    tokens = (b'"', b"}", b"null", b'"\\ud800"', b"1e9", b"[[[[", b"-")
    refused(parser.parse, data.draw(changed(parser.good, tokens)), CryptoError)


@pytest.mark.parametrize("name", NAMES)
@EXAMPLES
@given(data=st.data())
def test_odd_values_in_every_place(
    parsers: dict[str, Parser], name: str, data: st.DataObject
) -> None:
    parser = parsers[name]
    odd = data.draw(odd_documents(json.loads(parser.good)))
    refused(parser.parse, as_json(odd), CryptoError)


@pytest.mark.parametrize("name", NAMES)
@EXAMPLES
@given(data=st.data())
def test_odd_values_that_are_signed(
    parsers: dict[str, Parser], name: str, data: st.DataObject
) -> None:
    """A stranger signs with a key of his own: the signature fits, and proves nothing."""
    parser = parsers[name]
    odd = data.draw(odd_documents(json.loads(parser.good)))
    with suppress(CryptoError, TypeError, UnicodeEncodeError):  # nobody can sign that
        refused(parser.parse, parser.fitted(odd), CryptoError)


@pytest.mark.parametrize("number", range(len(HOSTILE_JSON)))
@pytest.mark.parametrize("name", NAMES)
def test_hostile_json(parsers: dict[str, Parser], name: str, number: int) -> None:
    assert refused(parsers[name].parse, HOSTILE_JSON[number], CryptoError, times=40)


@pytest.mark.parametrize("name", NAMES)
def test_a_file_of_a_hundred_megabytes(parsers: dict[str, Parser], name: str) -> None:
    """Parsers that are given bytes refuse them unread; those of a file read no more than may be."""
    with pytest.raises(CryptoError), bounded(b"", bytes_max=40 * MEGABYTE):
        parsers[name].parse(b"[" + b" " * (100 * MEGABYTE) + b"]")


def test_a_certificate_of_many_megabytes_costs_no_gigabyte() -> None:
    digest = {"kind": "memory", "key": "k", "digest": "ab" * MEGABYTE}
    data = as_json({**SAYS, "format": "satchel-erasure-1", "rows": [digest], "signature": None})
    with bounded(data), pytest.raises(CryptoError, match="not signed"):
        Certificate.parse(data, OPENSSL)


@EXAMPLES
@given(data=NOISE)
def test_the_file_of_a_private_key(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    folder = tmp_path_factory.getbasetemp() / "private"
    folder.mkdir(exist_ok=True)
    put(folder / "sign.ecdsa-p256-sha256.key", data)
    owner = Owner.make(folder)
    error = refused(lambda _: owner.keys.signing(), data, KeyInvalid)
    if error is not None and len(data) > 8:
        assert data.hex() not in str(error)
        assert repr(data)[2:-1] not in str(error)


def test_a_vault_names_no_error_but_damage(parsers: dict[str, Parser]) -> None:
    error = refused(parsers["vault"].parse, parsers["vault"].good[:-10], VaultDamaged)
    assert isinstance(error, VaultDamaged)
