"""An installed module is used as it was installed, or not at all."""

from __future__ import annotations

import json
import os
import shutil
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from fix_command import run
from fix_fips import BUILD_TIMEOUT_S, FipsHome, fips_home

from satchel_crypto.errors import FipsRefused
from satchel_crypto.fips import install, module

pytestmark = pytest.mark.timeout(BUILD_TIMEOUT_S)


def rewritten(path: Path, change: Callable[[bytes], bytes]) -> None:
    mode = stat.S_IMODE(path.stat().st_mode)
    path.chmod(0o600)
    path.write_bytes(change(path.read_bytes()))
    path.chmod(mode)


def test_a_command_starts_again_with_the_module(home: FipsHome) -> None:
    status = home.satchel("crypto", "fips", "status").json
    assert (status["wanted"], status["active"]) == (True, True)
    assert status["module"] == "OpenSSL FIPS Provider 3.1.2"
    copies = list(status["libraries"].values())
    assert len(set(copies)) == len(copies) == 2, "each OpenSSL has a copy of its own"
    assert "ready, not validated" in status["validated"]
    assert "4985" in status["validated"]


def test_the_file_can_say_so_too(own_home: FipsHome) -> None:
    (own_home.path / "config.toml").write_text("[crypto]\nfips_mode = true\n")
    for words in (["--home", str(own_home.path)], [f"--home={own_home.path}"]):
        assert run("crypto", "fips", "status", *words).json["active"]
    assert run(*words, "write", "a note", "--scope", "org").code == 0


def test_what_is_read_from_stdin_is_not_lost(home: FipsHome) -> None:
    told = home.satchel("write", "-", "--scope", "org", stdin="said on stdin, once")
    assert told.code == 0, told
    assert home.satchel("search", "stdin").json["hits"][0]["snippet"] == "said on stdin, once"


def test_files_are_their_owners(home: FipsHome) -> None:
    for path in [home.folder, *home.folder.rglob("*")]:
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o400), path


@pytest.mark.parametrize(
    ("name", "change", "words"),
    [
        ("fips.so", lambda data: data[:-1] + bytes([data[-1] ^ 1]), ""),
        ("second/fips.so", lambda data: data[:-1] + bytes([data[-1] ^ 1]), ""),
        ("fips.so", lambda data: b"", ""),
        ("openssl.cnf", lambda data: data.replace(b"fips=yes", b"fips=no"), "not in FIPS mode"),
        (
            "openssl.cnf",
            lambda data: data.replace(b"base = base_sect\n", b""),
            "openssl.cnf is not",
        ),
        (
            "openssl.cnf",
            lambda data: data.replace(b"base = base", b"default = base"),
            "openssl.cnf is not",
        ),
        (
            "fipsmodule.cnf",
            lambda data: data.replace(b"security-checks = 1", b"security-checks = 0"),
            "fipsmodule.cnf is not",
        ),
        ("module.json", lambda data: data.replace(b'"sha256": "', b'"sha256": "0'), ""),
        ("module.json", lambda data: b"{}", "none that satchel writes"),
        ("module.json", lambda data: b"[" * 100_000, "none that satchel writes"),
        ("module.json", lambda data: b"\xff", "none that satchel writes"),
    ],
)  # fmt: skip
def test_any_change_of_it_is_refused(
    own_home: FipsHome, name: str, change: Callable[[bytes], bytes], words: str
) -> None:
    rewritten(own_home.folder / name, change)
    refused = own_home.satchel("write", "a note")
    assert (refused.code, refused.error["code"]) == (4, "fips_refused"), refused
    assert words in refused.error["message"]
    assert {path.name for path in own_home.path.iterdir()} == {"fips"}


@pytest.mark.parametrize("name", ["fips.so", "openssl.cnf", "module.json"])
def test_what_others_may_write_does_not_count(own_home: FipsHome, name: str) -> None:
    (own_home.folder / name).chmod(0o666)
    refused = own_home.satchel("write", "a note")
    assert (refused.code, refused.error["code"]) == (4, "fips_refused")
    assert "can be written by others" in refused.error["message"]


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root can give files away")
@pytest.mark.parametrize("name", ["fips.so", "fipsmodule.cnf"])
def test_what_another_account_owns_does_not_count(own_home: FipsHome, name: str) -> None:
    os.chown(own_home.folder / name, 65534, 65534)
    refused = own_home.satchel("write", "a note")
    assert (refused.code, refused.error["code"]) == (4, "fips_refused")
    assert "belongs to another account" in refused.error["message"]


def test_the_environment_of_another_module_is_replaced(home: FipsHome, tmp_path: Path) -> None:
    (tmp_path / "openssl.cnf").write_text("openssl_conf = none\n[none]\n")
    done = home.satchel(
        "crypto", "fips", "status",
        OPENSSL_CONF=str(tmp_path / "openssl.cnf"), OPENSSL_MODULES=str(tmp_path),
    )  # fmt: skip
    assert done.json["active"]


def test_it_starts_again_once_only(home: FipsHome) -> None:
    """A process that says it has is judged by what it has."""
    program = """
    import os, sys
    os.environ["SATCHEL_FIPS_RESTARTED"] = str(os.getpid())
    from satchel.cli.main import run
    sys.argv = ["satchel", "write", "a note"]
    run()
    """
    done = home.python(program, SATCHEL_FIPS="1", OPENSSL_CONF="/dev/null")
    assert (done.code, done.error["code"]) == (4, "fips_refused")
    assert f"OPENSSL_CONF={home.folder}/openssl.cnf" in done.error["hint"]


@pytest.mark.parametrize(
    ("name", "old", "new", "words"),
    [
        ("fipsmodule.cnf", "checks = 1", "checks = 0", "does not run with its checks"),
        ("openssl.cnf", "base = base_sect\n", "base = base_sect\ndefault = base_sect\n", "default"),
        ("openssl.cnf", "fips=yes", "?fips=yes", "not in FIPS mode"),
    ],
)
def test_another_configuration_of_the_same_module(
    home: FipsHome, tmp_path: Path, name: str, old: str, new: str, words: str
) -> None:
    """A library's user sets the variables; what they lead to is seen in what OpenSSL does."""
    for file in ("openssl.cnf", "fipsmodule.cnf"):
        text = (home.folder / file).read_text().replace(str(home.folder), str(tmp_path))
        (tmp_path / file).write_text(text.replace(old, new) if file == name else text)
    program = "from satchel import config\nconfig.load().require_built()"
    done = home.python(program, SATCHEL_FIPS="1", OPENSSL_CONF=str(tmp_path / "openssl.cnf"))
    assert done.code == 1
    assert "FipsRefused: FIPS mode cannot be proved" in done.err
    assert words in done.err


SWAPPED = """
import os, sys
from pathlib import Path
conf, good, weak, second = (Path(one) for one in sys.argv[1:5])
import ssl; ssl.RAND_status()
conf.write_bytes(weak.read_bytes())
modules, os.environ["OPENSSL_MODULES"] = os.environ["OPENSSL_MODULES"], str(second)
from cryptography.hazmat.bindings._rust import openssl
openssl.is_fips_enabled()
os.environ["OPENSSL_MODULES"] = modules
conf.write_bytes(good.read_bytes())
from satchel import config
config.load().require_built()
print("believed")
"""


@pytest.mark.parametrize(("checks", "believed"), [("0", False), ("1", True)])
def test_another_configuration_between_two_libraries(
    own_home: FipsHome, tmp_path: Path, checks: str, believed: bool
) -> None:
    """The OpenSSL inside `cryptography` reads the files itself, later than Python's."""
    conf = own_home.folder / "openssl.cnf"
    good, weak, module_conf = (tmp_path / name for name in ("good.cnf", "weak.cnf", "fips.cnf"))
    good.write_bytes(conf.read_bytes())
    recorded = own_home.folder / "fipsmodule.cnf"
    said = recorded.read_text().replace("security-checks = 1", f"security-checks = {checks}")
    module_conf.write_text(said)
    weak.write_text(good.read_text().replace(str(recorded), str(module_conf)))
    conf.chmod(0o600)
    words = [str(one) for one in (conf, good, weak, own_home.folder / "second")]
    done = own_home.python(SWAPPED, *words, SATCHEL_FIPS="1")
    if believed:
        assert done.out == "believed\n", done
    else:
        assert (done.code, done.out) == (1, "")
        assert "the OpenSSL of `cryptography` still signs with P-192" in done.err


# ---- installing ---------------------------------------------------------------------------------


def test_install_prints_the_environment(built: Path, tmp_path: Path) -> None:
    done = run("crypto", "fips", "install", str(built), SATCHEL_HOME=str(tmp_path / "home"))
    assert done.code == 0, done
    folder = tmp_path / "home" / "fips"
    assert done.json["environment"] == {
        "OPENSSL_CONF": f"{folder}/openssl.cnf", "OPENSSL_MODULES": str(folder)
    }  # fmt: skip
    record = json.loads((folder / "module.json").read_text())
    assert record["source"]["crate"] == "openssl-src 300.1.3+3.1.2"
    assert record["sha256"] == done.json["sha256"]
    assert "FIPS mode is off" in done.err


def test_install_elsewhere(built: Path, tmp_path: Path) -> None:
    more = {
        "SATCHEL_HOME": str(tmp_path / "home"),
        "SATCHEL_CRYPTO_FIPS_MODULE": str(tmp_path / "m"),
    }
    assert run("crypto", "fips", "install", str(built), **more).code == 0
    assert run("crypto", "fips", "status", SATCHEL_FIPS="1", **more).json["active"]


def test_a_module_is_replaced_whole(own_home: FipsHome, built: Path) -> None:
    rewritten(own_home.folder / "fips.so", lambda data: data[:100])
    install.install(built, own_home.folder)
    assert own_home.satchel("crypto", "fips", "status").json["active"]
    assert [path.name for path in own_home.path.iterdir()] == ["fips"]


def test_a_broken_module_can_be_mended_in_fips_mode(own_home: FipsHome, built: Path) -> None:
    """The command itself runs in the environment of the broken one."""
    rewritten(own_home.folder / "fips.so", lambda data: data[:100])
    assert own_home.satchel("write", "a note").code == 4
    assert own_home.satchel("crypto", "fips", "install", str(built)).code == 0
    assert own_home.satchel("write", "a note").code == 0


def test_a_folder_with_other_things_is_never_replaced(built: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years")
    with pytest.raises(FipsRefused, match=r"holds other things than a FIPS module: thesis\.txt"):
        install.install(built, tmp_path / "mine")
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "years"


def given(built: Path, tmp_path: Path) -> Path:
    """A copy of what was built, as an operator would have it from elsewhere."""
    folder = tmp_path / "given"
    shutil.copytree(built, folder)
    (folder / "source.json").unlink()
    return folder


def test_a_module_from_elsewhere_is_not_called_ours(built: Path, tmp_path: Path) -> None:
    home = fips_home(tmp_path / "home", given(built, tmp_path))
    told = home.satchel("crypto", "fips", "status").json
    assert told["active"]
    assert "given as it is" in told["validated"]


@pytest.mark.parametrize(
    ("name", "change", "words"),
    [
        ("fips.so", lambda data: data[: len(data) // 2], "does not work"),
        ("fips.so", lambda data: data[:-1] + bytes([data[-1] ^ 1]), "does not work"),
        ("fipsmodule.cnf", lambda data: data.replace(b"mac = ", b"mac = 00:"), "says module-mac"),
        ("fipsmodule.cnf", lambda data: data.replace(b"checks = 1", b"checks = 0"), "checks = 0"),
        ("fipsmodule.cnf", lambda data: b"[fips_sect]\nactivate = 1\n", "does not say"),
        ("fipsmodule.cnf", lambda data: data + b".include /etc/passwd\n", "none of it"),
        ("fipsmodule.cnf", lambda data: b"\x00\xff" * 50, "none of it"),
        ("fipsmodule.cnf", None, "cannot be read"),
        ("fips.so", None, "cannot be read"),
    ],
)
def test_what_does_not_work_is_not_installed(
    built: Path, tmp_path: Path, name: str, change: Callable[[bytes], bytes] | None, words: str
) -> None:
    folder = given(built, tmp_path)
    if change is None:
        (folder / name).unlink()
    else:
        rewritten(folder / name, change)
    with pytest.raises(FipsRefused, match=words):
        install.install(folder, tmp_path / "home" / "fips")
    assert not (tmp_path / "home" / "fips").exists()


@pytest.mark.parametrize("name", ["a b", "a#b", "a$b", "a'b", 'a"b', "a\\b"])
def test_a_name_that_openssl_cannot_read(built: Path, tmp_path: Path, name: str) -> None:
    with pytest.raises(FipsRefused, match="cannot name the folder"):
        install.install(built, tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_a_record_says_what_it_is(home: FipsHome) -> None:
    read = module.read(home.folder)
    assert module.record(read) == (home.folder / "module.json").read_bytes()
