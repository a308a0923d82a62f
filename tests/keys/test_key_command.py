"""`satchel key` as a person types it."""

from __future__ import annotations

import json
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from fix_command import Run, run

from satchel.settings import BY_NAME as BY_SETTING
from satchel_crypto.algorithms import SUITES

Satchel = Callable[..., Run]


@pytest.fixture
def a(tmp_path: Path) -> Satchel:
    return lambda *words, **more: run(*words, SATCHEL_HOME=str(tmp_path / "a"), **more)


@pytest.fixture
def b(tmp_path: Path) -> Satchel:
    return lambda *words, **more: run(*words, SATCHEL_HOME=str(tmp_path / "b"), **more)


def error(done: Run, code: str, exit_code: int) -> str:
    """Message and hint of an error."""
    assert (done.code, done.out, done.error["code"]) == (exit_code, "", code)
    return done.error["message"] + "\n" + done.error["hint"]


def test_keys_are_made_listed_and_made_anew(a: Satchel, tmp_path: Path) -> None:
    assert a("key", "list").json == {"items": [], "keys": []}
    assert not (tmp_path / "a").exists(), "to look makes nothing"
    made = a("key", "init", "--name", "laptop").json
    assert (made["made"], made["rotated"], made["name"]) == (True, False, "laptop")
    own = a("key", "list").json
    ((_, who), *first) = own["items"][0].items()
    assert (who, dict(first)) == ("this machine", {name: made[name] for name, _ in first})
    assert made["fingerprint"].replace(" ", "") == own["keys"][0]["key_id"]
    again = a("key", "init").json
    assert (again["made"], again["name"], again["keys"]) == (False, "laptop", own["keys"])
    rotated = a("key", "init", "--rotate").json
    assert (rotated["rotated"], rotated["name"]) == (True, "laptop")
    old = {one["key_id"] for one in rotated["keys"] if not one["now"]}
    assert old == {one["key_id"] for one in own["keys"]}
    for file in (tmp_path / "a" / "keys").iterdir():
        assert stat.S_IMODE(file.stat().st_mode) == 0o600, file
    for folder in (tmp_path / "a", tmp_path / "a" / "keys"):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700, folder


def test_the_first_rotation_makes_the_first_keys(a: Satchel) -> None:
    made = a("key", "init", "--rotate").json
    assert (made["made"], made["rotated"]) == (True, False)
    assert all(one["now"] for one in made["keys"])


def test_a_key_is_exported_to_a_file_or_stdout(a: Satchel, tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    told = a("key", "export", str(file)).json
    assert told["of"] is None, "there is no replica yet"
    a("write", "a fact")
    shown = a("key", "export", "-")
    document = json.loads(shown.out)
    assert document["of"] == a("sync", "status").json["replica_id"]
    message = error(a("key", "export", str(file)), "confirm_needed", 4)
    assert "--yes" in message
    assert a("key", "export", str(file), "--yes", "--as", "hub").json["of"] == "hub"
    assert json.loads(file.read_bytes())["of"] == "hub"
    error(a("key", "export", str(tmp_path), "--yes"), "invalid_input", 2)
    error(a("key", "export", str(tmp_path / "no" / "x")), "output_failed", 1)
    error(a("key", "export", "-", "--as", "somebody"), "invalid_input", 2)


def test_trust_wants_the_fingerprint_compared(a: Satchel, b: Satchel, tmp_path: Path) -> None:
    file = str(tmp_path / "a.json")
    fingerprint = a("key", "export", file, "--as", "hub").json["fingerprint"]
    message = error(b("key", "trust", file), "confirm_needed", 4)
    assert fingerprint in message
    assert "--fingerprint" in message
    wrong = fingerprint.replace(fingerprint[0], "x")
    assert fingerprint in error(b("key", "trust", file, "--fingerprint", wrong), "refused", 4)
    assert b("key", "list").json["items"] == []
    for said in (fingerprint, fingerprint.replace(" ", "").upper(), fingerprint.replace(" ", ":")):
        taken = b("key", "trust", file, "--fingerprint", said, "--name", "the hub")
        assert (taken.code, taken.json["of"], taken.json["name"]) == (0, "hub", "the hub")
    (one,) = b("key", "list").json["items"]
    assert one["fingerprint"] == fingerprint
    gone = b("key", "trust", "--remove", "the hub")
    assert (gone.json["trusted"], gone.json["fingerprint"]) == (False, fingerprint)
    assert "the hub" in error(b("key", "trust", "--remove", "the hub"), "key_missing", 3)


def test_the_suite_is_a_setting(a: Satchel, b: Satchel) -> None:
    stronger = a("key", "init", SATCHEL_CRYPTO_SUITE="p384-aes256gcm").json
    assert (stronger["suite"], stronger["keys"][0]["suite"]) == ("p384-aes256gcm",) * 2
    assert {one["suite"] for one in stronger["keys"]} == {"p256-aes256gcm", "p384-aes256gcm"}
    missing = a("key", "list", SATCHEL_CRYPTO_SUITE="x25519-xchacha")
    assert "p256-aes256gcm" in error(missing, "algorithm_refused", 4)
    named = BY_SETTING["crypto.suite"].choices
    assert named == ("auto", *(suite.name for suite in SUITES))


def test_a_key_comes_by_a_pipe_too(a: Satchel, b: Satchel) -> None:
    public = a("key", "export", "-", "--as", "hub").out
    assert b("key", "trust", "-", "--yes", stdin=public).json["of"] == "hub"


def test_keys_that_the_old_ones_signed_need_no_comparison_and_speak_for_nobody_else(
    a: Satchel, b: Satchel
) -> None:
    b("key", "trust", "-", "--yes", "--as", "ab" * 16, stdin=a("key", "export", "-").out)
    a("key", "init", "--rotate")
    newer = a("key", "export", "-", "--as", "hub").out
    taken = b("key", "trust", "-", stdin=newer).json
    assert taken["follows"] is not None
    assert taken["of"] == "ab" * 16, "whom a key speaks for is said here, not there"
    assert b("key", "trust", "-", "--as", "hub", stdin=newer).json["of"] == "hub"


def test_what_cannot_be_meant_is_refused(a: Satchel, b: Satchel, tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    a("key", "export", str(file), "--as", "hub")
    error(b("key", "trust"), "invalid_input", 2)
    error(b("key", "trust", str(file), "--remove", "x"), "invalid_input", 2)
    error(b("key", "trust", str(tmp_path / "nothing")), "invalid_input", 2)
    error(b("key", "trust", str(tmp_path)), "invalid_input", 2)
    error(b("key", "trust", str(file), "--yes", "--as", "abc"), "invalid_input", 2)
    error(b("key", "trust", str(file), "--yes", "--name", "a\nb"), "key_invalid", 1)
    error(a("key", "init", "--name", "x" * 65), "key_invalid", 1)
    file.write_bytes(file.read_bytes().replace(b'"hub"', b'"'))
    error(b("key", "trust", str(file), "--yes"), "key_invalid", 1)
    a("key", "export", str(file), "--as", "hub", "--yes")
    file.write_bytes(file.read_bytes().replace(b'"hub"', b'""'))
    error(b("key", "trust", str(file), "--yes"), "signature_invalid", 1)
    assert b("key", "list").json["items"] == []
