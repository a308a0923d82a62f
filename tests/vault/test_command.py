"""`satchel secret`: values come in by files, pipes and prompts, and go out on stdout alone."""

from __future__ import annotations

import json
import os
import stat
import subprocess
from pathlib import Path
from time import monotonic, sleep

import pytest
from fix_command import COMMAND, Run, environment, run
from fix_vault import RIGHT, VALUE, document_of, vault_in

NAME = "warehouse.password"
POSIX = pytest.mark.skipif(os.name != "posix", reason="modes and terminals are POSIX's")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def passphrase(tmp_path: Path) -> Path:
    return private(tmp_path / "passphrase", RIGHT + "\n")


def private(path: Path, text: str) -> Path:
    path.write_text(text, "utf-8")
    path.chmod(0o600)
    return path


def satchel(home: Path, *arguments: str, stdin: str | bytes = b"", **variables: str) -> Run:
    return run(*arguments, stdin=stdin, SATCHEL_HOME=str(home), **variables)


def kept(home: Path, passphrase: Path, *more: str, value: str = VALUE) -> Run:
    """A secret, in an encrypted file that this machine opens: later calls derive no key."""
    one = ("--passphrase-file", str(passphrase))
    made = satchel(home, "secret", "set", NAME, *one, *more, stdin=value)
    assert made.code == 0, made.err
    assert satchel(home, "secret", "unlock", *one).code == 0
    return made


def test_set_get_list_delete(home: Path, passphrase: Path, tmp_path: Path) -> None:
    place = str(home / "keys/vault.json")
    made = kept(home, passphrase, value=VALUE + "\n")
    assert made.json == {
        "name": NAME,
        "version": 1,
        "updated_at": made.json["updated_at"],
        "place": place,
    }
    assert (satchel(home, "secret", "get", NAME).out, made.err) == (VALUE + "\n", "")
    assert satchel(home, "secret", "get", NAME, "--json").json == {"name": NAME, "value": VALUE}
    file = private(tmp_path / "pem", "-----BEGIN\nx\n-----END\n")
    assert satchel(home, "secret", "set", "tls.key", "--from-file", str(file)).code == 0
    assert satchel(home, "secret", "get", "tls.key").out == file.read_text()
    listed = satchel(home, "secret", "list").json
    assert [one["name"] for one in listed["items"]] == ["tls.key", NAME]
    assert set(listed["items"][0]) == {"name", "version", "updated_at"}
    assert listed["place"] == place
    unconfirmed = satchel(home, "secret", "delete", NAME)
    assert (unconfirmed.code, unconfirmed.error["code"]) == (4, "confirm_needed")
    assert satchel(home, "secret", "delete", NAME, "--yes").json["deleted"] is True
    gone = satchel(home, "secret", "get", NAME)
    assert (gone.code, gone.error["code"], gone.out) == (3, "secret_missing", "")


@pytest.mark.parametrize(
    "arguments",
    [
        ("set", NAME, VALUE),
        ("set", NAME, "--", "-" + VALUE),
        ("set", NAME, "a", VALUE),
        ("get", NAME, VALUE),
        ("delete", NAME, VALUE, "--yes"),
        ("rotate", "--passphrase", VALUE),
        ("unlock", VALUE),
        ("lock", VALUE),
        ("list", VALUE),
    ],
)
def test_a_secret_as_an_argument_is_refused_and_not_repeated(
    arguments: tuple[str, ...], home: Path
) -> None:
    for verbose in ((), ("--verbose",)):
        refused = satchel(home, "secret", *arguments, *verbose[: "--" not in arguments])
        assert (refused.code, refused.error["code"]) == (2, "invalid_input")
        assert VALUE not in refused.out + refused.err
        assert "--from-file" in refused.error["hint"]
    assert not (home / "keys").exists()


@pytest.mark.parametrize("given", [("--value", VALUE), (f"--value={VALUE}",), (f"-p{VALUE}",)])
def test_an_option_that_is_none_is_not_repeated_with_its_value(
    given: tuple[str, ...], home: Path
) -> None:
    refused = satchel(home, "secret", "set", NAME, *given)
    assert refused.code == 2
    assert VALUE not in refused.out + refused.err


@pytest.mark.parametrize(
    ("value", "code"),
    [(b"", 1), (b"\n", 1), (b"\0", 1), (b"\xffhunter2", 2), (b"hunter2" * 30_000, 2)],
)
def test_bad_values_are_not_repeated(value: bytes, code: int, home: Path, passphrase: Path) -> None:
    refused = satchel(
        home, "secret", "set", NAME, "--passphrase-file", str(passphrase), "--verbose", stdin=value
    )
    assert refused.code == code
    assert "hunter2" not in refused.out + refused.err
    assert "Traceback" not in refused.err
    assert not (home / "keys/vault.json").exists()


def test_without_a_passphrase_nothing_is_asked_or_made(home: Path) -> None:
    refused = satchel(home, "secret", "set", NAME, stdin=VALUE)
    assert (refused.code, refused.error["code"]) == (4, "vault_locked")
    assert "--passphrase-file" in refused.error["hint"]
    assert "SATCHEL_SECRETS_PASSPHRASE_FILE" in refused.error["hint"]
    assert not (home / "keys/vault.json").exists()


def test_the_passphrase_by_setting_and_variable(home: Path, passphrase: Path) -> None:
    named = {"SATCHEL_SECRETS_PASSPHRASE_FILE": str(passphrase)}
    assert satchel(home, "secret", "set", NAME, stdin=VALUE, **named).code == 0
    assert satchel(home, "secret", "get", NAME, **named).out == VALUE + "\n"
    assert satchel(home, "config", "set", "secrets.passphrase_file", str(passphrase)).code == 0
    assert satchel(home, "secret", "get", NAME).out == VALUE + "\n"


def test_the_passphrase_itself_is_no_setting(home: Path) -> None:
    shown = satchel(home, "config", "show", SATCHEL_SECRETS_PASSPHRASE=RIGHT)
    assert "SATCHEL_SECRETS_PASSPHRASE is set, but is no setting" in shown.err
    assert RIGHT not in shown.out + shown.err


def test_a_wrong_passphrase(home: Path, passphrase: Path, tmp_path: Path) -> None:
    one = ("--passphrase-file", str(passphrase))
    assert satchel(home, "secret", "set", NAME, *one, stdin=VALUE).code == 0
    wrong = private(tmp_path / "wrong", "wr0ng horse\n")
    refused = satchel(home, "secret", "get", NAME, "--passphrase-file", str(wrong), "--verbose")
    assert (refused.code, refused.error["code"]) == (4, "passphrase_wrong")
    assert "horse" not in refused.err
    assert refused.out == ""


@POSIX
def test_a_passphrase_file_that_all_may_read_is_refused(home: Path, passphrase: Path) -> None:
    passphrase.chmod(0o644)
    refused = satchel(
        home, "secret", "set", NAME, "--passphrase-file", str(passphrase), stdin=VALUE
    )
    assert (refused.code, refused.error["code"]) == (2, "invalid_input")
    assert "chmod 600" in refused.error["hint"]


@pytest.mark.parametrize("fault", ["missing", "folder", "no UTF-8", "empty"])
def test_a_passphrase_file_that_is_none(fault: str, home: Path, tmp_path: Path) -> None:
    path = tmp_path / "passphrase"
    match fault:
        case "folder":
            path.mkdir(mode=0o700)
        case "no UTF-8":
            path.write_bytes(b"horse\xff")
        case "empty":
            path.write_bytes(b"\n")
    if path.is_file():
        path.chmod(0o600)
    refused = satchel(home, "secret", "set", NAME, "--passphrase-file", str(path), stdin=VALUE)
    assert refused.code in (1, 2)
    assert "horse" not in refused.err
    assert "Traceback" not in refused.err


def test_value_and_passphrase_cannot_both_be_stdin(home: Path) -> None:
    refused = satchel(home, "secret", "set", NAME, "--passphrase-file", "-", stdin=VALUE)
    assert (refused.code, refused.error["code"]) == (2, "invalid_input")
    assert VALUE not in refused.err


def test_rotation_with_a_new_passphrase(home: Path, passphrase: Path, tmp_path: Path) -> None:
    one = ("--passphrase-file", str(passphrase))
    assert satchel(home, "secret", "set", NAME, *one, stdin=VALUE).code == 0
    fresh = private(tmp_path / "fresh", "another passphrase")
    other = ("--new-passphrase-file", str(fresh))
    rotated = satchel(home, "secret", "rotate", *one, *other)
    assert (rotated.code, rotated.json["passphrase_changed"], rotated.json["rotated"]) == (
        0,
        True,
        1,
    )
    assert "still has the old passphrase" in rotated.err
    got = satchel(home, "secret", "get", NAME, "--passphrase-file", "-", stdin="another passphrase")
    assert got.out == VALUE + "\n"
    assert satchel(home, "secret", "get", NAME, *one).error["code"] == "passphrase_wrong"
    nobody = satchel(home, "secret", "rotate", "--passphrase", "--passphrase-file", str(fresh))
    assert (nobody.code, nobody.error["code"]) == (4, "vault_locked")
    assert "--new-passphrase-file" in nobody.error["hint"]


def test_lock_takes_unlock_back(home: Path, passphrase: Path) -> None:
    kept(home, passphrase)
    assert satchel(home, "secret", "lock", "--passphrase-file", str(passphrase)).code == 0
    refused = satchel(home, "secret", "get", NAME)
    assert (refused.code, refused.error["code"]) == (4, "vault_locked")


def test_damage_is_told_with_the_path(home: Path, passphrase: Path) -> None:
    kept(home, passphrase)
    path = home / "keys/vault.json"
    path.write_bytes(path.read_bytes()[:-40])
    for verb in (("get", NAME), ("list",), ("set", "x")):
        refused = satchel(home, "secret", *verb, stdin="x")
        assert (refused.code, refused.error["code"]) == (1, "vault_damaged")
        assert str(path) in refused.error["message"]


# ---- what else tells of it ----------------------------------------------------------------------


def checks(home: Path, **variables: str) -> dict[str, str]:
    """The line of the doctor."""
    shown = satchel(home, "doctor", **variables).json
    (found,) = [one for one in shown["checks"] if one["name"] == "secrets"]
    return dict(found)


def test_the_doctor_tells_where_how_many_and_how_they_open(home: Path, passphrase: Path) -> None:
    assert checks(home)["found"] == "none kept"
    one = ("--passphrase-file", str(passphrase))
    assert satchel(home, "secret", "set", NAME, *one, stdin=VALUE).code == 0
    place = home / "keys/vault.json"
    assert checks(home)["found"] == f"1 in {place}, opens by a passphrase only"
    named = {"SATCHEL_SECRETS_PASSPHRASE_FILE": str(passphrase)}
    assert "by the passphrase in" in checks(home, **named)["found"]
    assert satchel(home, "secret", "unlock", *one).code == 0
    assert checks(home)["found"].endswith("opens by this machine")
    (home / "keys/vault.key").write_bytes(b"x" * 32)
    assert checks(home)["ok"] == "fail"
    place.write_bytes(b"{}")
    assert checks(home)["ok"] == "fail"


def test_the_settings_show_no_password(home: Path, passphrase: Path) -> None:
    kept(home, passphrase)
    shown = satchel(
        home, "config", "show", "--origin", SATCHEL_WAREHOUSE_DSN=f"postgresql://u:{VALUE}@h/d"
    )
    assert VALUE not in shown.out + shown.err
    assert "********" in shown.out


def test_no_file_of_the_home_holds_it(home: Path, passphrase: Path) -> None:
    kept(home, passphrase)
    assert satchel(home, "write", "a memory").code == 0
    assert satchel(home, "secret", "get", NAME).out == VALUE + "\n"
    for path in home.rglob("*"):
        if path.is_file():
            assert VALUE.encode() not in path.read_bytes()
            assert RIGHT.encode() not in path.read_bytes()
            if os.name == "posix" and path.parent.name == "keys":
                assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="this system has no /proc")
def test_the_list_of_processes_does_not_show_it(home: Path, passphrase: Path) -> None:
    process = subprocess.Popen(
        [*COMMAND, "secret", "set", NAME, "--passphrase-file", str(passphrase)],
        env=environment(SATCHEL_HOME=str(home)), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdin
    process.stdin.write(VALUE.encode())
    process.stdin.flush()
    shown = b""
    deadline = monotonic() + 20
    while b"satchel" not in shown:
        assert monotonic() < deadline
        shown = Path(f"/proc/{process.pid}/cmdline").read_bytes()
        sleep(0.02)
    known = Path(f"/proc/{process.pid}/environ").read_bytes()
    process.communicate(timeout=60)
    assert process.returncode == 0
    for word in (VALUE, RIGHT):
        assert word.encode() not in shown + known


# ---- at a terminal ------------------------------------------------------------------------------


@POSIX
def test_at_a_terminal_both_are_asked_for_unseen(home: Path) -> None:
    from fix_terminal import typed

    where = {"SATCHEL_HOME": str(home), "SATCHEL_SECRETS_STORE": "file"}
    code, screen = typed(
        "secret", "set", NAME,
        answers=(
            ("value of", VALUE), ("once more", VALUE),
            ("new passphrase", RIGHT), ("once more", RIGHT),
        ),
        **where,
    )  # fmt: skip
    assert code == 0, screen
    assert VALUE not in screen
    assert RIGHT not in screen
    code, screen = typed("secret", "get", NAME, answers=(("passphrase of", RIGHT),), **where)
    assert code == 0
    assert RIGHT not in screen
    assert VALUE in screen
    assert "on this screen" in screen
    code, screen = typed(
        "secret", "get", NAME, answers=(("passphrase of", "wr0ng horse"),), **where
    )
    assert code == 4
    assert "horse" not in screen
    code, screen = typed(
        "secret", "set", "api.token", stdin=b"t0ken-Zz\n",
        answers=(("passphrase of", RIGHT),), **where,
    )  # fmt: skip
    assert code == 0, screen
    code, screen = typed(
        "secret", "set", "other", answers=(("value of", "one"), ("once more", "two")), **where
    )
    assert code == 2
    assert "not the same" in screen
    code, screen = typed("secret", "set", "other", answers=(("value of", "\x04"),), **where)
    assert (code, "no secret was typed" in screen) == (2, True), screen


def test_a_real_home_uses_the_floor(home: Path, passphrase: Path) -> None:
    kept(home, passphrase)
    slot = document_of(home / "keys")["passphrase"]
    assert (slot["derivation"], slot["passes"]) == ("pbkdf2-hmac-sha-256", 600_000)
    assert json.dumps(slot).isascii()
    cheap = home.parent / "cheap"
    vault_in(cheap / "keys").set(NAME, VALUE)
    refused = satchel(cheap, "secret", "get", NAME, "--passphrase-file", str(passphrase))
    assert (refused.code, refused.error["code"]) == (1, "vault_damaged")
