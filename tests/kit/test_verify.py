"""A kit that somebody touched is refused, whatever it was, before anything of it runs."""

from __future__ import annotations

import os
import py_compile
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fix_command import run
from fix_kit import changed, code_of, needs_openssl, resum, shipped, start
from hypothesis import given, settings
from hypothesis import strategies as st

VERIFY = shipped("verify")
pytestmark = pytest.mark.timeout(600)  # the first one waits for the kit


def refusal(kit: Path, signer: Path | None = None) -> tuple[str, str]:
    """The code and the words that a kit is refused with."""
    with pytest.raises(VERIFY.Refused) as refused:
        VERIFY.check(kit, signer)
    return refused.value.code, str(refused.value)


def test_an_untouched_kit_is_taken(kit: Path) -> None:
    done = start(kit, "--verify")
    assert (done.returncode, done.stderr) == (0, "")
    assert "files of the kit are as they were made" in done.stdout
    assert not list(kit.rglob("__pycache__"))
    sums = subprocess.run(["sha256sum", "--check", "--strict", "SHA256SUMS"], cwd=kit, check=False,
                          capture_output=True)  # fmt: skip
    assert sums.returncode == 0, sums.stderr


def test_a_changed_byte_is_found_in_each_file(small: Path) -> None:
    names = list(VERIFY.read_sums(small))
    assert len(names) > 100
    for name in names:
        data = bytearray((small / name).read_bytes() or b"\0")
        data[len(data) // 2] ^= 1
        with changed(small / name, bytes(data)):
            assert refusal(small) == ("kit_damaged", f"changed since the kit was made: {name}")
    VERIFY.check_files(small)


def wheels(kit: Path) -> list[Path]:
    return sorted((kit / "wheels").iterdir())


def swap(one: Path, other: Path) -> None:
    """Each under the other's name."""
    kept = one.read_bytes()
    one.write_bytes(other.read_bytes())
    other.write_bytes(kept)


def add_line(kit: Path, name: str) -> None:
    """A line for a file of that name, which has what is at that path."""
    with (kit / "SHA256SUMS").open("a") as file:
        file.write(f"{'0' * 64}  {name}\n")


def link(path: Path, to: Path) -> None:
    path.unlink()
    path.symlink_to(to)


def move_away(kit: Path) -> None:
    """A folder that is a link to where its files are now."""
    shutil.move(kit / "licences", kit.parent / "elsewhere")
    (kit / "licences").symlink_to(kit.parent / "elsewhere")


def drop_pin(kit: Path) -> None:
    """A wheel that requirements.txt does not name, with sums made anew."""
    lines = (kit / "requirements.txt").read_text().splitlines(keepends=True)
    (kit / "requirements.txt").write_text("".join(lines[1:]))
    resum(kit)


ATTACKS: dict[str, tuple[Callable[[Path], object], str]] = {
    "a file more": (lambda kit: (kit / "wheels/evil.whl").write_bytes(b"x"), "not of this kit: wh"),
    "a file more, hidden": (lambda kit: (kit / ".hidden").write_bytes(b""), "not of this kit: .hi"),
    "a folder for Python": (
        lambda kit: ((kit / "json").mkdir(), (kit / "json/__init__.py").touch()),
        "not of this kit: json/__init__.py",
    ),
    "no wheel": (lambda kit: wheels(kit)[0].unlink(), "missing: wheels/"),
    "no installer": (lambda kit: shutil.rmtree(kit / "installer"), "missing: installer/pip"),
    "no sums": (lambda kit: (kit / "SHA256SUMS").unlink(), "cannot be read"),
    "names swapped": (lambda kit: swap(*wheels(kit)[:2]), "changed since the kit was made: wheels"),
    "a link": (lambda kit: link(kit / "kit.json", Path("/etc/passwd")), "kit.json is a link"),
    "a link to the same": (lambda kit: link(kit / "LINK", kit / "kit.json"), "LINK is a link"),
    "a folder by a link": (move_away, "licences is a link"),
    "a pipe": (lambda kit: os.mkfifo(kit / "pipe"), "pipe is a link or no file"),
    "a path out": (lambda kit: add_line(kit, "../outside"), "line "),
    "a path in and out": (lambda kit: add_line(kit, "wheels/../../outside"), "line "),
    "a path from the root": (lambda kit: add_line(kit, "/etc/passwd"), "line "),
    "a path of Windows": (lambda kit: add_line(kit, "wheels\\x"), "line "),
    "a drive of Windows": (lambda kit: add_line(kit, "C:/x"), "line "),
    "a name twice": (lambda kit: add_line(kit, "kit.json"), "names kit.json twice"),
    "its own sum": (lambda kit: add_line(kit, "SHA256SUMS"), "line "),
    "a wheel that no pin names": (drop_pin, "names other wheels"),
}  # fmt: skip


@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_is_found(name: str, small: Path) -> None:
    attack, told = ATTACKS[name]
    (small / "LINK").touch()
    resum(small)
    attack(small)
    code, message = refusal(small)
    assert (code, told in message) == ("kit_damaged", True), message


MANIFESTS = {
    "no JSON": b"{",
    "no map": b"[]",
    "no text": b"\xff",
    "too deep": b"[" * 100_000,
    "nothing said": b'{"format": 1}',
    "a number for a text": b'{"format": 1, "satchel": 1}',
}


@pytest.mark.parametrize("name", MANIFESTS)
def test_a_manifest_that_is_none_is_refused_by_code(name: str, small: Path) -> None:
    (small / "kit.json").write_bytes(MANIFESTS[name])
    resum(small)
    code, message = refusal(small)
    assert (code, message.startswith("kit.json")) == ("kit_damaged", True), message


SHADOWS = ("hashlib", "json", "argparse", "__future__", "stat", "verify", "pathlib")


@pytest.mark.parametrize("isolated", [True, False], ids=["-I", "plain"])
@pytest.mark.parametrize("script", ["install.py", "verify.py"])
def test_a_file_that_was_added_does_not_run_before_it_is_refused(
    script: str, isolated: bool, small: Path, tmp_path: Path
) -> None:
    """Neither in the place of a module of Python, nor as the compiled form of one of the kit."""
    ran = tmp_path / "ran"
    evil = f"open({str(ran)!r}, 'w').write(__name__)\nraise SystemExit(0)\n"
    for name in SHADOWS:
        if name != "verify":
            (small / f"{name}.py").write_text(evil)
        (tmp_path / "evil.py").write_text(evil)
        compiled = small / "__pycache__" / f"{name}.{sys.implementation.cache_tag}.pyc"
        py_compile.compile(
            str(tmp_path / "evil.py"), str(compiled),
            invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
        )  # fmt: skip
    words = ["--verify"] if script == "install.py" else []
    done = subprocess.run(
        [sys.executable, *(["-I"] if isolated else []), small / script, *words], cwd=small,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, code_of(done)) == (4, "kit_damaged"), done.stdout
    assert "not of this kit" in done.stderr
    assert not ran.exists()


def test_a_newer_format_is_refused_with_advice(small: Path) -> None:
    manifest = (small / "kit.json").read_text()
    (small / "kit.json").write_text(manifest.replace('"format": 1', '"format": 2'))
    resum(small)
    assert refusal(small) == ("kit_unfit", "the kit has the format 2, and this knows 1")


@given(text=st.text(max_size=200))
@settings(max_examples=100, deadline=None)
def test_any_sums_are_read_or_refused(text: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    kit = tmp_path_factory.getbasetemp()
    (kit / "SHA256SUMS").write_bytes(text.encode("utf-8", "surrogatepass"))
    with pytest.raises(VERIFY.Refused):
        VERIFY.read_sums(kit)


# ---- signatures ---------------------------------------------------------------------------------


def sign(kit: Path, home: str, **variables: str) -> None:
    """Sign with the key of a home, as `kit.py sign` does."""
    sums = str(kit / "SHA256SUMS")
    done = run("key", "sign", sums, "--yes", SATCHEL_HOME=home, **variables)
    assert done.code == 0, done.err


def lines_of(kit: Path) -> list[str]:
    """The commands that `verify` prints."""
    said = start(kit, "--verify").stdout
    return [line.partition(": ")[2].strip() for line in said.splitlines() if "openssl" in line]


def test_the_line_that_verify_prints_verifies(small: Path, kit: Path) -> None:
    needs_openssl()
    maker = str(kit.parent / "maker")
    for provider in ("openssl", "nacl"):
        home = maker if provider == "openssl" else f"{maker}-{provider}"
        sign(small, home, SATCHEL_CRYPTO_PROVIDER=provider)
        (line,) = lines_of(small)
        assert ("pkeyutl" in line) is (provider == "nacl")

        def shell(command: str = line) -> int:
            return subprocess.run(
                ["sh", "-c", command], cwd=small, capture_output=True, check=False
            ).returncode

        assert shell() == 0
        VERIFY.check(small, small / "signer.pem")
        with changed(small / "SHA256SUMS", (small / "SHA256SUMS").read_bytes() + b"\n"):
            assert shell() != 0


def test_sums_made_anew_have_another_signer(small: Path, kit: Path, tmp_path: Path) -> None:
    """Who can write to a kit can sign it; he has another key than the one that the site has."""
    needs_openssl()
    maker = tmp_path / "maker.pem"
    shutil.copyfile(kit / "signer.pem", maker)
    VERIFY.check(kit, maker)
    assert refusal(small, maker) == ("signature_refused", "the signature does not fit")
    sign(small, str(tmp_path / "mallory"))
    VERIFY.check(small, small / "signer.pem")
    assert refusal(small, maker)[0] == "signature_refused"
    done = start(small, "--target", tmp_path / "target", "--signer", maker)
    assert (done.returncode, code_of(done)) == (4, "signature_refused")
    assert not (tmp_path / "target").exists()


Change = Callable[[Path, Path], Any]
SIGNERS: dict[str, tuple[Change, str]] = {
    "no signature": (lambda kit, _: (kit / "SHA256SUMS.sig").unlink(), "is not signed"),
    "no PEM": (lambda _, pem: pem.write_text("-----BEGIN"), "is no key that signs kits"),
    "another kind": (
        lambda _, pem: pem.write_text(pem.read_text().replace("MFkw", "MIIB")),
        "is no key that signs kits",
    ),
    "a signature cut": (
        lambda kit, _: (kit / "SHA256SUMS.sig").write_bytes(b"0"),
        "does not fit",
    ),
}  # fmt: skip


def test_a_signer_that_is_not_there_is_wrong_usage(small: Path) -> None:
    done = start(small, "--verify", "--signer", small.parent / "no.pem")
    assert (done.returncode, code_of(done)) == (2, "wrong_usage")


@pytest.mark.parametrize("name", SIGNERS)
def test_a_signature_that_cannot_be_checked_is_refused(
    name: str, small: Path, tmp_path: Path
) -> None:
    needs_openssl()
    change, told = SIGNERS[name]
    pem = tmp_path / "maker.pem"
    shutil.copyfile(small / "signer.pem", pem)
    change(small, pem)
    code, message = refusal(small, pem)
    assert (code, told in message) == ("signature_refused", True), message


def test_without_openssl_a_named_signer_refuses(
    small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    code, message = refusal(small, small / "signer.pem")
    assert (code, "no program openssl" in message) == ("signature_refused", True)
