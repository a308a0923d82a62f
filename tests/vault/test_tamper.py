"""What somebody does to the file who does not have its key is found, and told from a wrong word."""

from __future__ import annotations

import json
import shutil
import traceback
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fix_vault import RIGHT, VALUE, Said, document_of, forge, vault_in

from satchel_crypto.errors import CryptoError, KeyInvalid, PassphraseWrong, VaultDamaged
from satchel_crypto.registry import provider
from satchel_crypto.vault import sealing

NAME = "warehouse.password"
OTHER = "api.token"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A vault with two secrets, one of them with an earlier version."""
    vault = vault_in(tmp_path)
    vault.set(NAME, "an older value")
    vault.set(OTHER, "t0ken")
    vault.set(NAME, VALUE)
    return tmp_path


def refused(folder: Path, match: str | None = None) -> VaultDamaged:
    """What a reader and a writer are told."""
    before = (folder / "vault.json").read_bytes()
    with pytest.raises(VaultDamaged, match=match):
        vault_in(folder).set("third", "x")
    with pytest.raises(VaultDamaged, match=match) as caught:
        vault_in(folder).get(NAME)
    assert (folder / "vault.json").read_bytes() == before
    assert str(folder / "vault.json") in str(caught.value)
    assert caught.value.hint
    return caught.value


# ---- damage -------------------------------------------------------------------------------------


def test_each_damaged_byte_is_found_before_a_passphrase_is_asked(folder: Path) -> None:
    whole = (folder / "vault.json").read_bytes()
    said = Said()
    for position in [*range(0, len(whole), 7), len(whole) - 2, len(whole) - 1]:
        for flipped in (whole[position] ^ 1, whole[position] ^ 0x80, 0x20):
            if flipped == whole[position]:
                continue
            data = whole[:position] + bytes([flipped]) + whole[position + 1 :]
            (folder / "vault.json").write_bytes(data)
            with pytest.raises(VaultDamaged):
                vault_in(folder, said).get(NAME)
    assert said.asked == []
    (folder / "vault.json").write_bytes(whole)
    assert vault_in(folder).get(NAME) == VALUE


def test_each_cut_is_found(folder: Path) -> None:
    whole = (folder / "vault.json").read_bytes()
    for length in [*range(0, len(whole), 41), len(whole) - 1]:
        (folder / "vault.json").write_bytes(whole[:length])
        with pytest.raises(VaultDamaged):
            vault_in(folder).list()


@pytest.mark.parametrize(
    "rewrite",
    [
        lambda data: data + b" ",
        lambda data: data.replace(b'","', b'", "', 1),
        lambda data: json.dumps(json.loads(data), indent=1).encode(),
        lambda data: b"\xef\xbb\xbf" + data,
        lambda data: data.rstrip(b"\n"),
        lambda data: data.replace(b'"revision":3', b'"revision":3.0'),
        lambda data: data.replace(b'"revision":3', b'"revision":3,"revision":3'),
    ],
)
def test_another_spelling_of_the_same_content_is_damage(
    rewrite: Callable[[bytes], bytes], folder: Path
) -> None:
    path = folder / "vault.json"
    path.write_bytes(rewrite(path.read_bytes()))
    refused(folder)


# ---- forgery: the checksum is made to fit -------------------------------------------------------


def moved(document: dict[str, Any]) -> None:
    rows = document["secrets"]
    rows[NAME]["sealed"] = rows[OTHER]["sealed"]


def swapped(document: dict[str, Any]) -> None:
    rows = document["secrets"]
    rows[NAME], rows[OTHER] = rows[OTHER], rows[NAME]


def renamed(document: dict[str, Any]) -> None:
    document["secrets"]["third"] = document["secrets"].pop(OTHER)


def removed(document: dict[str, Any]) -> None:
    del document["secrets"][OTHER]


def dated(document: dict[str, Any]) -> None:
    document["secrets"][OTHER]["updated_at"] += 1


def numbered(document: dict[str, Any]) -> None:
    document["secrets"][OTHER]["version"] += 1


def advanced(document: dict[str, Any]) -> None:
    document["revision"] += 1


def keyed(document: dict[str, Any]) -> None:
    document["key_id"] = "00" * 16


def given_a_device(document: dict[str, Any]) -> None:
    document["device"] = document["passphrase"]["wrapped"]


FORGERIES = [moved, swapped, renamed, removed, dated, numbered, advanced, keyed, given_a_device]


@pytest.mark.parametrize("unseen", [False, True])
@pytest.mark.parametrize("forgery", FORGERIES)
def test_a_forged_table_is_refused(
    forgery: Callable[[dict[str, Any]], None], unseen: bool, folder: Path
) -> None:
    document = document_of(folder)
    forgery(document)
    forge(folder, document, unseen=unseen)
    refused(folder)


@pytest.mark.parametrize("unseen", [False, True])
@pytest.mark.parametrize("version", [1, 2])
def test_an_older_value_of_one_name_is_refused(version: int, unseen: bool, tmp_path: Path) -> None:
    vault = vault_in(tmp_path)
    vault.set(NAME, "an older value")
    older = document_of(tmp_path)["secrets"][NAME]
    vault.set(NAME, VALUE)
    document = document_of(tmp_path)
    document["secrets"][NAME] = {**older, "version": version}
    forge(tmp_path, document, unseen=unseen)
    refused(tmp_path)


def test_a_row_does_not_open_elsewhere_even_with_the_key(folder: Path) -> None:
    """The MAC aside: each ciphertext is bound to its name and version."""
    vault = vault_in(folder)
    document = vault._required()
    key = vault._key(document)
    row, of = document.rows[NAME], provider()
    assert sealing.open_row(of, key, document.vault_id, NAME, row) == VALUE
    for vault_id, name, other in (
        (document.vault_id, OTHER, row),
        (document.vault_id, NAME, replace(row, version=row.version - 1)),
        (bytes(16), NAME, row),
    ):
        with pytest.raises(VaultDamaged, match="changed or moved"):
            sealing.open_row(of, key, vault_id, name, other)


def test_a_forged_check_is_damage_where_the_last_change_is_known(folder: Path) -> None:
    document = document_of(folder)
    document["passphrase"]["salt"] = "11" * 16
    document["mac"] = "22" * 32
    forge(folder, document)
    assert "not what satchel wrote last" in str(refused(folder))
    # Where nothing remembers it, it cannot be told from a wrong passphrase; it opens for nobody.
    (folder / "vault.seen").unlink()
    with pytest.raises(PassphraseWrong):
        vault_in(folder).get(NAME)


def test_a_check_that_opens_before_a_key_that_does_not_is_damage(folder: Path) -> None:
    document = document_of(folder)
    slot = document["passphrase"]
    slot["wrapped"] = slot["check"]
    forge(folder, document)
    assert "does not open by its passphrase" in str(refused(folder))


# ---- the whole file -----------------------------------------------------------------------------


def test_an_older_file_put_back_is_refused(folder: Path) -> None:
    older = (folder / "vault.json").read_bytes()
    vault_in(folder).set(NAME, "newer")
    (folder / "vault.json").write_bytes(older)
    error = refused(folder, match=r"older than this machine's last change to it \(3, not 4\)")
    assert "vault.seen" in error.hint
    (folder / "vault.seen").unlink()  # as the hint says, for a backup that is meant
    assert vault_in(folder).get(NAME) == VALUE


def test_a_file_from_before_a_rotation_is_refused(folder: Path) -> None:
    older = (folder / "vault.json").read_bytes()
    vault_in(folder, Said(fresh="another passphrase")).rotate(new_passphrase=True)
    (folder / "vault.json").write_bytes(older)
    refused(folder, match="older")


def test_a_branch_of_the_same_length_is_refused(folder: Path, tmp_path: Path) -> None:
    branch = tmp_path / "branch"
    branch.mkdir()
    for name in ("vault.json", "vault.seen"):
        shutil.copy2(folder / name, branch / name)
    vault_in(branch).set(OTHER, "on the branch")
    vault_in(folder).set(NAME, "newer")
    (folder / "vault.json").write_bytes((branch / "vault.json").read_bytes())
    refused(folder, match="not what satchel wrote last")


def test_another_vault_in_its_place_is_refused(folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    vault_in(other).set(NAME, "theirs")
    (folder / "vault.json").write_bytes((other / "vault.json").read_bytes())
    refused(folder, match="another vault")


def test_a_vault_that_is_gone_is_not_made_anew(folder: Path) -> None:
    (folder / "vault.json").unlink()
    for attempt in (
        lambda: vault_in(folder).get(NAME),
        lambda: vault_in(folder).set(NAME, "x"),
        lambda: vault_in(folder).list(),
    ):
        with pytest.raises(VaultDamaged, match="gone"):
            attempt()
    assert not (folder / "vault.json").exists()


def test_folder_and_all_put_back_is_not_seen(folder: Path, tmp_path: Path) -> None:
    """The limit: a state of the whole folder that was true once opens (docs/CRYPTO.md)."""
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy, ignore=shutil.ignore_patterns("copy"))
    vault_in(folder).set(NAME, "newer")
    assert vault_in(copy).get(NAME) == VALUE


@pytest.mark.parametrize("data", [b"", b"[]", b"{", b'["a",1]', b"\xff", b"[" * 900])
def test_a_spoilt_memory_of_the_last_change_is_told(data: bytes, folder: Path) -> None:
    (folder / "vault.seen").write_bytes(data)
    with pytest.raises(VaultDamaged, match=r"vault\.seen") as caught:
        vault_in(folder).get(NAME)
    assert "remove" in caught.value.hint


# ---- what errors hold ---------------------------------------------------------------------------


def all_of(error: BaseException | None) -> Iterator[str]:
    """Words, arguments and fields of an error, and of all that hangs on it."""
    while error is not None:
        yield f"{error!r} {error} {error.args!r} {vars(error)!r}"
        yield from traceback.format_exception(error)
        error = error.__context__ or error.__cause__


def test_no_error_and_no_repr_holds_a_secret(folder: Path) -> None:
    vault = vault_in(folder)
    told = [repr(vault), repr(vault._file), repr(vault._required()), repr(vault.list())]
    told.append(repr(vault._key(vault._required())))
    document = document_of(folder)
    for kind, attempt in (
        (PassphraseWrong, lambda: vault_in(folder, Said("wr0ng horse")).get(NAME)),
        (CryptoError, lambda: vault.set(NAME, VALUE + "\0")),
        (CryptoError, lambda: vault.set("PASS=" + VALUE, "x")),
        (KeyInvalid, lambda: vault_in(folder, Said(RIGHT, "\ud800")).rotate(new_passphrase=True)),
        (VaultDamaged, lambda: (moved(document), forge(folder, document), vault.get(NAME))),
        (VaultDamaged, lambda: vault.rotate()),
    ):
        with pytest.raises(kind) as caught:
            attempt()
        told += all_of(caught.value)
    assert len(told) > 15
    for word in (VALUE, RIGHT, "wr0ng"):
        assert word not in "".join(line for line in told if "lambda" not in line)
