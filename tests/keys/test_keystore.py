"""The machine's own keys: made once, rotated, kept; and those of others, by eight processes."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest
from fix_keys import ID, LINES, MADE_AT, Owner
from fix_processes import workers

from satchel_crypto import private_file
from satchel_crypto.algorithms import P256, P384, X25519
from satchel_crypto.errors import AlgorithmRefused, KeyInvalid, KeyMissing
from satchel_crypto.signed import Signed
from satchel_crypto.trusted import grouped

WORKERS = workers()


@pytest.fixture(params=LINES, ids=lambda line: f"{line[0]}-{line[1].name}")
def owner(request: pytest.FixtureRequest, tmp_path: Path) -> Owner:
    return Owner.make(tmp_path / "owner", *request.param)


# ---- own keys -----------------------------------------------------------------------------------


def test_keys_are_made_when_they_are_needed_and_stay(owner: Owner) -> None:
    assert not owner.keys.exists()
    assert list(owner.keys.agreements(owner.keys.suite)) == []
    assert not owner.keys.secrets.folder.exists(), "to look makes nothing"
    key = owner.keys.signing()
    assert owner.keys.exists()
    assert owner.keys.signing() == key
    assert len(key.id) == 16
    files = list(owner.keys.secrets.folder.iterdir())
    assert [stat.S_IMODE(file.stat().st_mode) for file in files] == [0o600]


def test_what_it_signs_fits_and_is_known_as_its_own(owner: Owner, tmp_path: Path) -> None:
    signed = owner.keys.sign("certificate", b"what was said")
    provider = owner.keys.provider
    assert signed.fits(provider, "certificate", b"what was said")
    assert not signed.fits(provider, "bundle", b"what was said")
    assert not signed.fits(provider, "certificate", b"what was not")
    assert owner.keys.signed_here(signed)
    assert Signed.parse(signed.as_dict(provider), provider) == signed
    other = Owner.make(tmp_path / "other", provider.name, owner.keys.suite)
    assert not owner.keys.signed_here(other.keys.sign("certificate", b"x"))


def test_old_keys_are_kept_and_new_ones_used(owner: Owner) -> None:
    suite = owner.keys.suite
    signed, old = owner.keys.sign("x", b"1"), owner.keys.agreement()
    owner.keys.rotate()
    assert owner.keys.signing().public != signed.public
    assert owner.keys.signed_here(signed), "by a key that it had"
    assert [key.generation for key in owner.keys.agreements(suite)] == [2, 1]
    assert [key.id for key in owner.keys.agreements(suite)] == [owner.keys.agreement().id, old.id]
    for _ in range(9):
        owner.keys.rotate()
    assert owner.keys.signing().generation == 11, "numbers, not letters, are compared"


@pytest.mark.parametrize("written", range(4))
def test_a_rotation_that_was_cut_short_leaves_whole_keys(
    written: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner = Owner.make(tmp_path / "owner")
    owner.keys.make()
    signed, left = owner.keys.sign("x", b"1"), iter(range(written))
    add = private_file.add

    def full(path: Path, secret: bytes) -> None:
        if next(left, None) is None:
            raise KeyInvalid("the disk is full")
        add(path, secret)

    with monkeypatch.context() as disk:
        disk.setattr(private_file, "add", full)
        with pytest.raises(KeyInvalid, match="full"):
            owner.keys.rotate()
    found = owner.read(owner.public())
    assert [one.suite for one in found.suites] == owner.keys.suites
    assert owner.keys.signed_here(signed)
    owner.keys.rotate()
    assert owner.keys.signing().generation == 2 + (written >= 2)


def test_an_old_key_that_was_removed_is_not_made_anew(owner: Owner) -> None:
    owner.keys.make()
    owner.keys.rotate()
    now = owner.keys.agreement()
    (owner.keys.secrets.folder / f"agree.{owner.keys.suite.agreement}.key").unlink()
    assert [key.id for key in owner.keys.agreements(owner.keys.suite)] == [now.id]


def test_no_key_is_shown(owner: Owner) -> None:
    for key in (owner.keys.signing(), owner.keys.agreement()):
        assert repr(key.private) not in repr(key)
        assert key.private.hex() not in repr(key)


def test_a_suite_that_the_provider_lacks_is_refused(tmp_path: Path) -> None:
    with pytest.raises(AlgorithmRefused, match="x25519-xchacha"):
        Owner.make(tmp_path, "openssl", X25519)
    assert Owner.make(tmp_path, "openssl", P384).keys.suites == [P384, P256]


def test_a_damaged_or_open_key_is_refused(owner: Owner) -> None:
    owner.keys.signing()
    path = owner.keys.secrets.folder / f"sign.{owner.keys.suite.signature}.key"
    whole = path.read_bytes()
    for damaged in (b"", whole[:-1], whole + b"x", whole * 200):
        path.write_bytes(damaged)
        with pytest.raises(KeyInvalid) as told:
            owner.keys.signing()
        assert damaged.hex() not in str(told.value) or not damaged
    path.write_bytes(whole)
    path.chmod(0o644)
    with pytest.raises(KeyInvalid, match="others"):
        owner.keys.signing()


def test_the_name_is_kept_and_checked(owner: Owner) -> None:
    assert owner.keys.name == ""
    owner.keys.rename("Büro 7")
    assert owner.keys.name == "Büro 7"
    for name in ("", " x", "a\nb", "x" * 65, "\x1b[31m"):
        with pytest.raises(KeyInvalid, match="name"):
            owner.keys.rename(name)
    (owner.keys.secrets.folder / "own.json").write_text("{")
    with pytest.raises(KeyInvalid, match=r"own\.json"):
        assert owner.keys.name


# ---- trusted keys -------------------------------------------------------------------------------


@pytest.fixture
def ours(tmp_path: Path) -> Owner:
    return Owner.make(tmp_path / "ours")


def test_who_is_trusted_is_kept_with_its_keys(owner: Owner, ours: Owner, tmp_path: Path) -> None:
    ours = Owner.make(tmp_path / "ours", owner.keys.provider.name, owner.keys.suite)
    assert ours.keys.trusted.all() == ()
    ours.trust(owner, "laptop", "hub")
    (one,) = ours.keys.trusted.all()
    assert (one.name, one.of, one.added_at) == ("laptop", "hub", MADE_AT)
    assert one.fingerprint == owner.keys.fingerprint()
    found = one.keys_of(owner.keys.suite)
    assert found is not None
    assert found.agree == owner.keys.agreement().public
    assert one.signs_with(owner.keys.suite.signature, owner.keys.signing().public)
    assert not one.signs_with(owner.keys.suite.signature, ours.keys.signing().public)
    path = ours.keys.secrets.folder / "trusted.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert ours.keys.trusted.remove("laptop") == one
    assert ours.keys.trusted.all() == ()


def test_newer_keys_take_the_place_of_the_older_ones_that_signed(
    ours: Owner, tmp_path: Path
) -> None:
    owner = Owner.make(tmp_path / "owner")
    ours.trust(owner)
    old = owner.keys.sign("bundle", b"x")
    for _ in range(3):
        owner.keys.rotate()
        ours.trust(owner)
    (one,) = ours.keys.trusted.all()
    assert one.fingerprint == owner.keys.fingerprint()
    assert one.signs_with(old.algorithm, old.public), "sticks may be on their way"
    assert len(one.previous) == 3 * 2


def test_a_name_and_a_machine_belong_to_one_key(ours: Owner, tmp_path: Path) -> None:
    one, two = Owner.make(tmp_path / "1"), Owner.make(tmp_path / "2")
    ours.trust(one, "laptop", "hub")
    before = ours.keys.trusted.all()
    with pytest.raises(KeyInvalid, match="'laptop' belongs to another key"):
        ours.trust(two, "laptop", ID)
    with pytest.raises(KeyInvalid, match="the hub has another trusted key"):
        ours.trust(two, "other", "hub")
    assert ours.keys.trusted.all() == before
    ours.trust(two, "other", "")
    ours.trust(Owner.make(tmp_path / "3"), "third", "")
    ours.trust(one, "renamed", ID)
    assert [(each.name, each.of) for each in ours.keys.trusted.all()] == [
        ("other", ""),
        ("third", ""),
        ("renamed", ID),
    ]


@pytest.mark.parametrize("name", ["LAPTOP", "Ｌaptop", "lаptop", "hub", "HUB", "ｈｕｂ"])
def test_no_name_looks_like_that_of_another(name: str, ours: Owner, tmp_path: Path) -> None:
    ours.trust(Owner.make(tmp_path / "1"), "laptop", ID)
    before = ours.keys.trusted.all()
    with pytest.raises(KeyInvalid) as caught:
        ours.trust(Owner.make(tmp_path / "2"), name, "")
    assert caught.value.field == "name"
    assert ours.keys.trusted.all() == before


def test_a_name_that_was_taken_before_is_read(ours: Owner, tmp_path: Path) -> None:
    ours.trust(Owner.make(tmp_path / "1"), "laptop", ID)
    path = ours.keys.secrets.folder / "trusted.json"
    path.write_text(path.read_text().replace('"laptop"', '"lаptop Ω"'))
    assert [one.name for one in ours.keys.trusted.all()] == ["lаptop Ω"]


def test_a_name_may_have_letters_of_any_alphabet(ours: Owner, tmp_path: Path) -> None:
    for number, name in enumerate(("ноутбук 7", "φορητός", "机器 B", "Büro", "क-7")):
        ours.trust(Owner.make(tmp_path / str(number)), name, "")
    assert len(ours.keys.trusted.all()) == 5


def test_who_is_meant_is_told_by_name_or_fingerprint(ours: Owner, tmp_path: Path) -> None:
    for name in ("a", "b"):
        ours.trust(Owner.make(tmp_path / name), name, "")
    first, second = ours.keys.trusted.all()
    for said in ("", "c", "nobody", first.fingerprint[:7], "0" * 32):
        with pytest.raises(KeyMissing, match="is meant by"):
            ours.keys.trusted.remove(said)
    assert ours.keys.trusted.remove(grouped(second.fingerprint)) == second
    assert ours.keys.trusted.remove(first.fingerprint[:8].upper()) == first


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "[]",
        '{"format": "satchel-trusted-2", "keys": []}',
        '{"format": "satchel-trusted-1"}',
        '{"format": "satchel-trusted-1", "keys": 5}',
        '{"format": "satchel-trusted-1", "keys": [5]}',
        '{"format": "satchel-trusted-1", "keys": [{"name": "x"}]}',
        '{"format": "satchel-trusted-1", "keys": [], "keys": []}',
    ],
)
def test_a_damaged_list_is_refused_and_not_written_over(
    content: str, ours: Owner, tmp_path: Path
) -> None:
    path = ours.keys.secrets.folder / "trusted.json"
    path.parent.mkdir(parents=True)
    path.write_text(content)
    path.chmod(0o600)
    with pytest.raises(KeyInvalid, match=r"trusted\.json"):
        ours.keys.trusted.all()
    with pytest.raises(KeyInvalid, match=r"trusted\.json"):
        ours.trust(Owner.make(tmp_path / "a"))
    assert path.read_text() == content


def test_every_changed_value_in_the_list_is_refused_or_read(ours: Owner, tmp_path: Path) -> None:
    ours.trust(Owner.make(tmp_path / "a"))
    path = ours.keys.secrets.folder / "trusted.json"
    whole = json.loads(path.read_text())
    for name in whole["keys"][0]:
        for value in (None, 5, [], {}, [[]], [5], [["ed25519"]], [["ed25519", "AAAA"]]):
            if (name, value) in (("suites", []), ("previous", [])):
                continue
            changed = json.loads(path.read_text()) | {"keys": [whole["keys"][0] | {name: value}]}
            path.write_text(json.dumps(changed))
            with pytest.raises(KeyInvalid, match="damaged"):
                ours.keys.trusted.all()


@pytest.mark.skipif(os.name != "posix", reason="modes are POSIX's")
def test_a_list_that_others_may_write_is_not_relied_on(ours: Owner, tmp_path: Path) -> None:
    ours.trust(Owner.make(tmp_path / "a"))
    path = ours.keys.secrets.folder / "trusted.json"
    path.chmod(0o666)
    with pytest.raises(KeyInvalid, match="open to others"):
        ours.keys.trusted.all()


# ---- several processes --------------------------------------------------------------------------


def _trust_many(folder: Path, files: list[bytes], begin: int) -> None:
    ours = Owner.make(folder)
    for number, data in enumerate(files):
        file = ours.read(data)
        ours.keys.trusted.add(file, name=f"{begin}-{number}", of="", added_at=MADE_AT)


def _sign(folder: Path, results: object) -> None:
    results.put(Owner.make(folder).keys.signing().public)  # type: ignore[attr-defined]


def test_several_processes_add_to_one_list(tmp_path: Path) -> None:
    files = [[Owner.make(tmp_path / f"{p}-{n}").public() for n in range(4)] for p in range(4)]
    running = [
        WORKERS.Process(target=_trust_many, args=(tmp_path / "ours", mine, number))
        for number, mine in enumerate(files)
    ]
    for one in running:
        one.start()
    for one in running:
        one.join(60)
    assert [one.exitcode for one in running] == [0] * 4
    names = {one.name for one in Owner.make(tmp_path / "ours").keys.trusted.all()}
    assert names == {f"{p}-{n}" for p in range(4) for n in range(4)}


def test_several_processes_make_one_key(tmp_path: Path) -> None:
    results = WORKERS.Queue()
    running = [WORKERS.Process(target=_sign, args=(tmp_path / "ours", results)) for _ in range(4)]
    for one in running:
        one.start()
    assert len({results.get(timeout=60) for _ in running}) == 1
    for one in running:
        one.join(60)
