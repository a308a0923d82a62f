"""A signature beside a file: openssl takes it as it lies there, and a changed byte is found."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from fix_command import Run, run
from fix_keys import LINES, Owner
from hypothesis import given, settings
from hypothesis import strategies as st

from satchel_crypto import detached
from satchel_crypto.algorithms import Signature
from satchel_crypto.errors import KeyInvalid, SignatureInvalid

DATA = b"0" * 64 + b"  kit.json\n"


@pytest.fixture(params=LINES, ids=lambda line: f"{line[0]}-{line[1].name}")
def owner(request: pytest.FixtureRequest, tmp_path: Path) -> Owner:
    return Owner.make(tmp_path / "owner", *request.param)


def signed_files(owner: Owner, folder: Path) -> tuple[Path, Path, Path, Signature]:
    """A file, its signature, the public key, and the algorithm."""
    signed = detached.sign(owner.keys.provider, owner.keys.signing(), DATA)
    signature, pem = detached.write(signed)
    paths = folder / "SUMS", folder / "SUMS.sig", folder / "signer.pem"
    for path, data in zip(paths, (DATA, signature, pem), strict=True):
        path.write_bytes(data)
    return *paths, signed.algorithm


def openssl_says(file: Path, signature: Path, pem: Path, algorithm: Signature) -> bool:
    digest = {Signature.ECDSA_P256: "-sha256", Signature.ECDSA_P384: "-sha384"}.get(algorithm)
    if digest:
        words = ["dgst", digest, "-verify", pem, "-signature", signature, file]
    else:
        words = ["pkeyutl", "-verify", "-rawin", "-pubin", "-inkey", pem, "-in", file]
        words += ["-sigfile", signature]
    return subprocess.run(["openssl", *words], capture_output=True, check=False).returncode == 0


@pytest.mark.skipif(shutil.which("openssl") is None, reason="there is no program openssl here")
def test_openssl_takes_it(owner: Owner, tmp_path: Path) -> None:
    file, signature, pem, algorithm = signed_files(owner, tmp_path)
    assert openssl_says(file, signature, pem, algorithm)
    file.write_bytes(DATA + b"\n")
    assert not openssl_says(file, signature, pem, algorithm)


def test_it_comes_back_and_fits_nothing_else(owner: Owner, tmp_path: Path) -> None:
    _, signature, pem, _ = signed_files(owner, tmp_path)
    signed = detached.read(signature.read_bytes(), pem.read_bytes())
    provider = owner.keys.provider
    assert owner.keys.signed_here(signed)
    assert detached.fits(provider, signed, DATA)
    assert not detached.fits(provider, signed, DATA.replace(b"0", b"1", 1))
    assert not signed.fits(provider, "certificate", DATA), "it is no statement's signature"
    statement = owner.keys.sign("certificate", DATA)
    assert not detached.fits(provider, statement, DATA), "a statement's signature is no file's"


def test_what_looks_like_a_statement_is_neither_signed_nor_checked(owner: Owner) -> None:
    said = b"satchel\0certificate\0{}"
    statement = owner.keys.sign("certificate", b"{}")
    with pytest.raises(SignatureInvalid):
        detached.sign(owner.keys.provider, owner.keys.signing(), said)
    with pytest.raises(SignatureInvalid):
        detached.fits(owner.keys.provider, statement, said)


@given(signature=st.binary(max_size=80), cut=st.integers(0, 150))
@settings(max_examples=60, deadline=None)
def test_anything_else_is_refused_by_type(signature: bytes, cut: int) -> None:
    key = ec.generate_private_key(ec.SECP256R1()).public_key()
    pem = key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    for no_pem in (pem[:cut], signature):
        with pytest.raises(KeyInvalid):
            detached.read(signature, no_pem)
    try:
        signed = detached.read(signature, pem)
    except SignatureInvalid:
        return
    assert detached.write(signed) == (signature, pem), "what is taken is a signature, whole"


@pytest.mark.parametrize(
    "key",
    [
        rsa.generate_private_key(public_exponent=65537, key_size=2048).public_key(),
        ec.generate_private_key(ec.SECP521R1()).public_key(),
    ],
    ids=["rsa", "p521"],
)
def test_keys_of_other_kinds_are_refused(key: rsa.RSAPublicKey | ec.EllipticCurvePublicKey) -> None:
    pem = key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    with pytest.raises(KeyInvalid):
        detached.read(b"x" * 64, pem)


def test_the_commands(tmp_path: Path) -> None:
    """Signed here, checked elsewhere: a stranger's until his key is trusted, then found changed."""
    file = tmp_path / "SHA256SUMS"
    file.write_bytes(DATA)

    def satchel(home: str, *words: str) -> Run:
        return run(*words, SATCHEL_HOME=str(tmp_path / home))

    told = satchel("maker", "key", "sign", str(file)).json
    assert told["signature"] == f"{file}.sig"
    assert (told["algorithm"], len(told["key_id"])) == ("ecdsa-p256-sha256", 32)
    again = satchel("maker", "key", "sign", str(file))
    assert (again.code, again.error["code"]) == (4, "confirm_needed")
    assert satchel("maker", "key", "sign", str(file), "--yes").code == 0
    assert satchel("maker", "key", "verify", str(file)).json["signer"]["who"] == "this machine"
    stranger = satchel("site", "key", "verify", str(file))
    assert (stranger.code, stranger.error["code"]) == (4, "signer_unknown")
    assert satchel("maker", "key", "export", str(tmp_path / "maker.json")).code == 0
    trusted = satchel(
        "site", "key", "trust", str(tmp_path / "maker.json"), "--name", "maker", "--yes"
    )
    assert trusted.code == 0, trusted.err
    pem = satchel("site", "key", "trust", str(tmp_path / "signer.pem"), "--yes")
    assert (pem.code, "is a public key in PEM" in pem.error["message"]) == (2, True)
    signer = satchel("site", "key", "verify", str(file)).json["signer"]
    assert (signer["who"], signer["name"]) == ("trusted", "maker")
    file.write_bytes(DATA + b"more")
    changed = satchel("site", "key", "verify", str(file))
    assert (changed.code, changed.error["code"]) == (1, "signature_invalid")
    file.with_name("signer.pem").unlink()
    gone = satchel("site", "key", "verify", str(file))
    assert (gone.code, gone.error["code"]) == (2, "invalid_input")
