"""Key files: what a stranger's says, who signed it, and every way in which it is none."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from fix_keys import LINES, MADE_AT, Owner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from satchel_crypto.canonical import canonical
from satchel_crypto.errors import AlgorithmRefused, CryptoError, KeyInvalid, SignatureInvalid
from satchel_crypto.key_file import BYTES_MAX, KeyFile

Document = dict[str, Any]


@pytest.fixture(params=LINES, ids=lambda line: f"{line[0]}-{line[1].name}")
def owner(request: pytest.FixtureRequest, tmp_path: Path) -> Owner:
    return Owner.make(tmp_path / "owner", *request.param)


@pytest.fixture
def ours(tmp_path: Path) -> Owner:
    return Owner.make(tmp_path / "ours")


def test_it_says_what_the_machine_has(owner: Owner) -> None:
    file = owner.read(owner.public("a desk", "hub"))
    assert (file.name, file.of, file.made_at) == ("a desk", "hub", MADE_AT)
    assert [one.suite for one in file.suites] == owner.keys.suites
    assert file.suites[0].sign == owner.keys.signing().public
    assert file.suites[0].agree == owner.keys.agreement().public
    assert (file.fingerprint, file.previous) == (owner.keys.signing().id.hex(), ())


def test_the_same_keys_are_published_again_and_nothing_secret(owner: Owner) -> None:
    one, two = owner.public(), owner.public()
    assert owner.read(one).suites == owner.read(two).suites
    for key in (owner.keys.signing(), owner.keys.agreement()):
        assert key.private not in one
        assert key.private.hex().encode() not in one


def test_newer_keys_are_vouched_for_by_all_older_ones(owner: Owner) -> None:
    first = owner.keys.signing()
    owner.keys.rotate()
    second = owner.keys.signing()
    owner.keys.rotate()
    file = owner.read(owner.public())
    older = [key for key in file.previous if key[0] == first.algorithm]
    assert older == [(first.algorithm, second.public), (first.algorithm, first.public)]
    assert file.suites[0].sign not in {first.public, second.public}


# ---- changed ------------------------------------------------------------------------------------

CHANGES: dict[str, Callable[[Document], object]] = {
    "another name": lambda d: d.update(name="somebody else"),
    "another machine": lambda d: d.update(of="hub"),
    "another time": lambda d: d.update(made_at="2027-01-01T00:00:00Z"),
    "a name that is not known": lambda d: d.update(more=1),
    "another key to seal for": lambda d: d["suites"][0].update(agree=d["suites"][1]["agree"]),
    "no signatures": lambda d: d.update(signatures=[]),
    "one signature of two": lambda d: d["signatures"].pop(),
    "a signature by another key": lambda d: d["signatures"].reverse() or d["signatures"].pop(),
    "an older key that did not sign": lambda d: d.update(previous=d["signatures"][:1]),
    "no format": lambda d: d.pop("format"),
    "another format": lambda d: d.update(format="satchel-key-2"),
    "no name": lambda d: d.pop("name"),
    "a name that is a number": lambda d: d.update(name=5),
    "an empty name": lambda d: d.update(name=""),
    "a name of many lines": lambda d: d.update(name="a\nb"),
    "a name without end": lambda d: d.update(name="x" * 65),
    "an id of 31 digits": lambda d: d.update(of="a" * 31),
    "no suites": lambda d: d.update(suites=[]),
    "suites that are a map": lambda d: d.update(suites={}),
    "too many suites": lambda d: d.update(suites=d["suites"] * 5),
    "a suite that is text": lambda d: d.update(suites=["p256-aes256gcm"]),
    "a suite without a name": lambda d: d["suites"][0].pop("suite"),
    "a suite whose name is a list": lambda d: d["suites"][0].update(suite=[]),
    "a key that is no base64": lambda d: d["suites"][0].update(sign="?" * 88),
    "a key of the wrong length": lambda d: d["suites"][0].update(sign="AAAA"),
    "a key without end": lambda d: d["suites"][0].update(sign="A" * 4000),
    "a key that is a number": lambda d: d["suites"][0].update(sign=7),
    "signatures that are a map": lambda d: d.update(signatures={}),
    "a signature that is text": lambda d: d.update(signatures=["x"]),
    "a signature of an unknown sort": lambda d: d["signatures"][0].update(algorithm="rsa"),
    "a signature whose sort is a list": lambda d: d["signatures"][0].update(algorithm=[]),
    "a signature that is a number": lambda d: d["signatures"][0].update(value=7),
    "previous that is missing": lambda d: d.pop("previous"),
    "previous without end": lambda d: d.update(previous=d["signatures"] * 20),
    "a lone surrogate": lambda d: d.update(name="\ud800"),
    "a huge number": lambda d: d.update(more=2**60),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_changed_file_is_refused(name: str, ours: Owner) -> None:
    document = json.loads(ours.public())
    CHANGES[name](document)
    with pytest.raises((KeyInvalid, SignatureInvalid)) as told:
        ours.read(json.dumps(document).encode())
    assert str(told.value)


RAW = {
    "nothing": b"",
    "no JSON": b"nothing of the sort",
    "a list": b"[]",
    "not UTF-8": b'{"format": "\xff"}',
    "a key twice": b'{"format": "satchel-key-1", "format": "satchel-key-1"}',
    "NaN": b'{"format": NaN}',
    "a fraction": b'{"format": 1.5}',
    "an endless number": b'{"format": ' + b"9" * 5000 + b"}",
    "100000 deep": b'{"format":' + b"[" * 60_000,
    "too large": b" " * (BYTES_MAX + 1),
}


@pytest.mark.parametrize("name", RAW)
def test_what_is_no_key_file_is_refused(name: str, ours: Owner) -> None:
    with pytest.raises(KeyInvalid, match="key file"):
        ours.read(RAW[name])


def test_nobody_puts_the_key_of_another_into_a_file_of_his_own(ours: Owner, tmp_path: Path) -> None:
    """Or what the other signs would be taken for his."""
    victim, thief = json.loads(ours.public()), Owner.make(tmp_path / "thief")
    document = json.loads(thief.public("thief"))
    body = {name: document[name] for name in document if name not in ("signatures", "previous")}
    body["suites"][1] = victim["suites"][1]
    signed = thief.keys.sign("key", canonical(body)).as_dict(thief.keys.provider)
    stolen = body | {"signatures": [signed, victim["signatures"][1]], "previous": []}
    with pytest.raises(SignatureInvalid, match="p384"):
        ours.read(canonical(stolen))


def test_a_suite_that_nobody_knows_is_left_out(ours: Owner) -> None:
    document = json.loads(ours.public())
    body = {name: document[name] for name in document if name not in ("signatures", "previous")}
    body["suites"].append({"suite": "of tomorrow", "sign": "x", "agree": [1]})
    keys = [ours.keys.signing(suite) for suite in ours.keys.suites]
    signed = [key.sign(ours.keys.provider, "key", canonical(body)) for key in keys]
    document = body | {
        "signatures": [one.as_dict(ours.keys.provider) for one in signed],
        "previous": [],
    }
    assert [one.suite for one in ours.read(canonical(document)).suites] == ours.keys.suites
    document["suites"].reverse()
    with pytest.raises(AlgorithmRefused, match="of tomorrow"):
        ours.read(canonical(document))


def test_keys_of_the_other_provider_can_verify_and_nothing_else(
    ours: Owner, tmp_path: Path
) -> None:
    theirs = Owner.make(tmp_path / "theirs", "nacl")
    file = ours.read(theirs.public())
    assert [one.sign for one in file.suites] == [theirs.keys.signing().public]
    with pytest.raises(AlgorithmRefused, match="suite 'p256-aes256gcm', which nacl"):
        theirs.read(ours.public())


# ---- at random ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Owner, bytes]:
    owner = Owner.make(tmp_path_factory.mktemp("keys"))
    return owner, owner.public()


@settings(max_examples=300, deadline=1000)
@given(st.binary(max_size=300))
def test_any_bytes_are_no_key_file(whole: tuple[Owner, bytes], data: bytes) -> None:
    with pytest.raises(CryptoError):
        whole[0].read(data)


@settings(max_examples=300, deadline=1000, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_any_change_is_refused_or_says_the_same(
    whole: tuple[Owner, bytes], data: st.DataObject
) -> None:
    owner, public = whole
    changed = bytearray(public)
    at = data.draw(st.integers(0, len(public) - 1))
    changed[at] = data.draw(st.integers(0, 255))
    with suppress(CryptoError):
        assert parsed(owner, bytes(changed)) == parsed(owner, public)


def parsed(owner: Owner, data: bytes) -> KeyFile:
    return owner.read(data)
