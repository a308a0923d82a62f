"""Certificates of erasure: signed, checked without a store or a network, and never with a text."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from fix_command import Run, run
from fix_keys import LINES, Owner
from hypothesis import given, settings
from hypothesis import strategies as st

from satchel_crypto.certificate import Certificate, certified
from satchel_crypto.errors import AlgorithmRefused, CryptoError, SignatureInvalid

Document = dict[str, Any]
SAYS: Document = {
    "at": "2026-11-30T04:00:00.000+00:00",
    "replica_id": "ab" * 16,
    "hub_id": None,
    "actor": "una",
    "rows": [{"kind": "memory", "key": "k-1", "digest": "00" * 8}],
    "wiped": True,
    "backups": ["backups/satchel-schema-0001.db"],
}


@pytest.fixture(params=LINES, ids=lambda line: f"{line[0]}-{line[1].name}")
def owner(request: pytest.FixtureRequest, tmp_path: Path) -> Owner:
    return Owner.make(tmp_path / "owner", *request.param)


def made(owner: Owner) -> Document:
    return certified(owner.keys.provider, owner.keys.signing(), SAYS)


def parsed(owner: Owner, document: object) -> Certificate:
    return Certificate.parse(json.dumps(document).encode(), owner.keys.provider)


def test_it_comes_back_with_its_signer(owner: Owner) -> None:
    document = made(owner)
    for shape in (document, {"certificate": document, "linked": []}):
        found = parsed(owner, shape)
        assert found.document == SAYS | {
            "format": "satchel-erasure-1",
            "signature": document["signature"],
        }
        assert owner.keys.signed_here(found.signed)


CHANGES: dict[str, Callable[[Document], object]] = {
    "another row": lambda d: d["rows"][0].update(key="k-2"),
    "another digest": lambda d: d["rows"][0].update(digest="01" * 8),
    "a row more": lambda d: d["rows"].append(d["rows"][0]),
    "no rows": lambda d: d.update(rows=[]),
    "a row with a text": lambda d: d["rows"][0].update(text="what was forgotten"),
    "a row that is text": lambda d: d.update(rows=["k-1"]),
    "another time": lambda d: d.update(at="2020-01-01T00:00:00.000+00:00"),
    "another machine": lambda d: d.update(replica_id="cd" * 16),
    "a machine of 31 digits": lambda d: d.update(replica_id="c" * 31),
    "another hub": lambda d: d.update(hub_id="cd" * 16),
    "not wiped": lambda d: d.update(wiped=False),
    "wiped, perhaps": lambda d: d.update(wiped=1),
    "no backups": lambda d: d.update(backups=[]),
    "another actor": lambda d: d.update(actor="bob"),
    "more than certificates have": lambda d: d.update(text="what was forgotten"),
    "less": lambda d: d.pop("actor"),
    "no signature": lambda d: d.pop("signature"),
    "an empty signature": lambda d: d.update(signature=None),
    "a signature that is text": lambda d: d.update(signature="AAAA"),
    "a signature of zeros": lambda d: d["signature"].update(value="A" * 86 + "=="),
    "the id of another key": lambda d: d["signature"].update(key_id="00" * 16),
    "another format": lambda d: d.update(format="satchel-erasure-2"),
    "a huge number": lambda d: d.update(actor=2**70),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_changed_one_is_refused(name: str, tmp_path: Path) -> None:
    owner = Owner.make(tmp_path / "owner")
    document = json.loads(json.dumps(made(owner)))
    CHANGES[name](document)
    with pytest.raises(SignatureInvalid):
        parsed(owner, document)


def test_a_signature_for_another_purpose_is_none(tmp_path: Path) -> None:
    owner = Owner.make(tmp_path / "owner")
    provider, document = owner.keys.provider, made(owner)
    from satchel_crypto.canonical import canonical

    unsigned = {name: one for name, one in document.items() if name != "signature"}
    other = owner.keys.sign("audit-head", canonical(unsigned)).as_dict(provider)
    with pytest.raises(SignatureInvalid, match="changed"):
        parsed(owner, document | {"signature": other})


def test_an_algorithm_that_is_not_here_is_told(tmp_path: Path) -> None:
    owner, reader = Owner.make(tmp_path / "owner"), Owner.make(tmp_path / "reader", "nacl")
    with pytest.raises(AlgorithmRefused):
        parsed(reader, made(owner))


RAW = {
    "nothing": b"",
    "no JSON": b"nothing of the sort",
    "a list": b"[]",
    "a number": b"5",
    "not UTF-8": b'{"format": "\xff"}',
    "a key twice": b'{"format": 1, "format": 1}',
    "deep": b"[" * 200_000,
    "deep maps": b'{"certificate":' * 100_000,
    "an endless number": b'{"format": ' + b"9" * 100_000 + b"}",
}


@pytest.mark.parametrize("name", RAW)
def test_what_is_none_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(SignatureInvalid, match="certificate"):
        Certificate.parse(RAW[name], Owner.make(tmp_path).keys.provider)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Owner, bytes]:
    owner = Owner.make(tmp_path_factory.mktemp("keys"))
    return owner, json.dumps(made(owner)).encode()


@settings(max_examples=300, deadline=1000)
@given(st.data())
def test_any_change_is_refused_or_says_the_same(
    whole: tuple[Owner, bytes], data: st.DataObject
) -> None:
    owner, signed = whole
    changed = bytearray(signed)
    at = data.draw(st.integers(0, len(signed) - 1))
    changed[at] = data.draw(st.integers(0, 255))
    with suppress(CryptoError):
        found = Certificate.parse(bytes(changed), owner.keys.provider)
        said = {name: found.document[name] for name in SAYS}
        assert said == SAYS


# ---- as a person has it -------------------------------------------------------------------------

TEXT = "the launch code is zebra-umbrella-42"


def verified(home: Path, file: Path) -> Run:
    return run("audit", "verify-certificate", str(file), SATCHEL_HOME=str(home))


def test_who_forgot_can_prove_it_to_those_who_trust_him(tmp_path: Path) -> None:
    home, other, file = tmp_path / "home", tmp_path / "other", tmp_path / "certificate.json"
    key = run("write", TEXT, SATCHEL_HOME=str(home)).json["id"]
    answer = run("memory", "forget", key, "--yes", SATCHEL_HOME=str(home))
    assert TEXT not in answer.out
    file.write_text(answer.out)
    here = verified(home, file)
    assert (here.code, here.json["signature"]) == (0, "fits")
    assert here.json["signer"]["who"] == "this machine"
    assert here.json["certificate"]["rows"][0]["key"] == key
    elsewhere = verified(other, file)
    assert (elsewhere.code, elsewhere.json["signer"]["who"]) == (4, "unknown")
    assert not (other / "satchel.db").exists()
    public = tmp_path / "home.json"
    run("key", "export", str(public), SATCHEL_HOME=str(home))
    run("key", "trust", str(public), "--name", "una", "--yes", SATCHEL_HOME=str(other))
    trusted = verified(other, file)
    assert (trusted.code, trusted.json["signer"]["name"]) == (0, "una")
    run("key", "trust", "--remove", "una", SATCHEL_HOME=str(other))
    whom = ("--as", "cd" * 16, "--name", "una", "--yes")
    run("key", "trust", str(public), *whom, SATCHEL_HOME=str(other))
    for_another = verified(other, file)
    assert (for_another.code, for_another.error["code"]) == (4, "signer_unknown")
    assert "'una'" in for_another.error["message"], "trusted, and not for this machine"
    run("key", "init", "--rotate", SATCHEL_HOME=str(home))
    assert verified(home, file).json["signer"]["who"] == "this machine", "by a key that it had"
    file.write_text(answer.out.replace('"wiped": true', '"wiped": false'))
    broken = verified(other, file)
    assert (broken.code, broken.error["code"]) == (1, "signature_invalid")
    missing = verified(other, tmp_path / "nothing")
    assert (missing.code, missing.error["code"]) == (2, "invalid_input")


def test_without_a_usable_key_nothing_is_forgotten(tmp_path: Path) -> None:
    home = tmp_path / "home"
    key = run("write", TEXT, SATCHEL_HOME=str(home)).json["id"]
    run("key", "init", SATCHEL_HOME=str(home))
    (signing,) = (home / "keys").glob("sign.ecdsa-p256*")
    signing.write_bytes(b"damaged, and that is all")
    refused = run("memory", "forget", key, "--yes", SATCHEL_HOME=str(home))
    assert (refused.code, refused.error["code"]) == (1, "key_invalid")
    (item,) = run("memory", "get", key, SATCHEL_HOME=str(home)).json["items"]
    assert item["content"] == TEXT
