"""Sealed bundles as people with sticks and keys type them."""

from __future__ import annotations

from pathlib import Path

import pytest
from fix_command import Run
from fix_hub import HubWorld
from fix_stick import HUB_SIDE, PLAIN, Desk


@pytest.fixture
def desk(hub_world: HubWorld, tmp_path: Path) -> Desk:
    return Desk(tmp_path, hub_world.dsn)


@pytest.fixture
def friends(desk: Desk) -> Desk:
    """Machine a and the warehouse's side have each other's keys."""
    desk.run("a", "write", "for the stick", "--scope", "org")
    desk.introduce("a")
    return desk


def export(desk: Desk, name: str = "a", file: str = "up") -> Run:
    return desk.run(name, "sync", "export", "--for", "hub", desk.stick(file), "--yes")


def refused(run: Run, code: str, exit_code: int = 4) -> str:
    """The message and hint of an error, of which nothing was printed on stdout."""
    assert (run.code, run.out, run.error["code"]) == (exit_code, "", code)
    return run.error["message"] + "\n" + run.error["hint"]


def test_two_machines_meet_by_sealed_sticks(desk: Desk) -> None:
    written = {}
    for name in ("a", "b"):
        written[name] = desk.run(name, "write", f"by {name}", "--scope", "org").json["id"]
        desk.introduce(name)
    for name in ("a", "b", "a"):
        steps = desk.trip(name, sealed=True)
        assert [(step.code, step.err) for step in steps] == [(0, "")] * 4
    for name, other in (("a", "b"), ("b", "a")):
        (item,) = desk.run(name, "memory", "get", written[other]).json["items"]
        assert item["content"] == f"by {other}"
    assert desk.run("a", "sync", "status").json["pending"] == {}
    assert b"by a" not in Path(desk.stick("a.up")).read_bytes()


def test_imported_twice_it_changes_nothing(friends: Desk, hub_world: HubWorld) -> None:
    export(friends)
    query, held = b"SELECT id, change_seq, content FROM satchel.memory", []
    for _ in range(2):
        assert friends.at_hub("sync", "import", friends.stick("up")).code == 0
        held.append(hub_world.psql().execute(query).fetchall())
    assert held[0] == held[1]
    assert len(held[0]) == 1


def test_without_the_recipients_key_nothing_is_written(desk: Desk) -> None:
    desk.run("a", "write", "for the stick")
    message = refused(export(desk), "bundle_refused")
    assert "no key of the warehouse is trusted here" in message
    assert "satchel key export FILE --as hub" in message
    assert "satchel key trust" in message
    assert PLAIN in message
    assert not Path(desk.stick("up")).exists()
    desk.trip("a")
    back = desk.at_hub("sync", "export", "--for", desk.id("a"), desk.stick("down"))
    assert f"no key of the replica {desk.id('a')} is trusted" in refused(back, "bundle_refused")
    assert not Path(desk.stick("down")).exists()


def test_a_signer_who_is_not_trusted_is_refused(friends: Desk) -> None:
    export(friends)
    friends.at_hub("key", "trust", "--remove", "a")
    message = refused(friends.at_hub("sync", "import", friends.stick("up")), "signer_unknown")
    assert friends.run("a", "key", "list").json["items"][0]["fingerprint"] in message
    friends.introduce("a")
    assert friends.at_hub("sync", "import", friends.stick("up")).code == 0


def test_a_trusted_machine_does_not_speak_for_another(friends: Desk) -> None:
    friends.run("b", "write", "by b", "--scope", "org")
    friends.introduce("b", of="cd" * 16)
    export(friends, "b")
    message = refused(friends.at_hub("sync", "import", friends.stick("up")), "bundle_refused")
    assert "signed by 'b', whose key does not speak for the replica" in message
    friends.introduce("b")
    assert friends.at_hub("sync", "import", friends.stick("up")).code == 4, "it stays as it was set"
    friends.introduce("b", of=friends.id("b"))
    assert friends.at_hub("sync", "import", friends.stick("up")).code == 0


def test_a_trusted_machine_does_not_speak_for_the_warehouse(friends: Desk) -> None:
    friends.trip("a", sealed=True)
    friends.introduce("a", hub_side="mallory", of_hub="ef" * 16)
    down = friends.stick("down")
    made = friends.at_hub("sync", "export", "--for", friends.id("a"), down, name="mallory")
    assert made.code == 0
    message = refused(friends.run("a", "sync", "import", down), "bundle_refused")
    assert "whose key does not speak for the warehouse" in message


def test_a_bundle_for_another_machine_does_not_open(friends: Desk) -> None:
    friends.run("b", "write", "by b", "--scope", "org")
    friends.introduce("b")
    friends.trip("a", sealed=True)
    message = refused(friends.run("b", "sync", "import", friends.stick("a.down")), "bundle_refused")
    assert "no key of this machine is among these" in message
    found = friends.run("b", "sync", "inspect", friends.stick("a.down")).json
    assert (found["signer"]["who"], found["opens_here"], found["damage"]) == (
        "trusted",
        False,
        None,
    )


def test_inspect_tells_all_that_needs_no_key_and_makes_none(friends: Desk) -> None:
    made = export(friends).json
    found = friends.run("nobody", "sync", "inspect", friends.stick("up"))
    assert found.code == 0
    own = friends.run("a", "key", "list").json
    (signing, sealed_for, *_) = [one["key_id"] for one in own["keys"]]
    seal = {"signature": "fits", "opens_here": False, "damage": None}
    signer = {"who": "unknown", "name": None, "of": None, "key_id": signing}
    signer |= {"algorithm": "ecdsa-p256-sha256"}
    told = {"quarantined": 0, "exit": 0}
    assert found.json | told == made | seal | {"signer": signer}
    assert (found.json["suite"], found.json["rows"]) == ("p256-aes256gcm", {"memory": 1})
    assert sealed_for in found.json["recipients"], "the sender can look into it too"
    assert len(found.json["recipients"]) == 2
    assert not (friends.folder / "nobody").exists()
    for name, who in (("a", "this machine"), (HUB_SIDE, "trusted")):
        found = friends.run(name, "sync", "inspect", friends.stick("up"))
        assert (found.json["signer"]["who"], found.json["opens_here"]) == (who, True)


def test_damage_is_named_by_inspect_and_refused_by_import(friends: Desk) -> None:
    export(friends)
    up = Path(friends.stick("up"))
    whole = up.read_bytes()
    cases = {100: "chunk 0 (bytes 72 to ", len(whole) - 1: "not what its sender signed"}
    for at, named in cases.items():
        data = bytearray(whole)
        data[at] ^= 1
        up.write_bytes(data)
        found = friends.run("nobody", "sync", "inspect", str(up))
        assert (found.code, named in found.json["damage"]) == (1, True)
        assert named in refused(friends.at_hub("sync", "import", str(up)), "bundle_invalid", 1)
    up.write_bytes(whole)
    assert friends.at_hub("sync", "import", str(up)).code == 0


def test_new_keys_are_taken_on_the_word_of_the_old_ones(friends: Desk) -> None:
    friends.trip("a", sealed=True)
    friends.run("a", "key", "init", "--rotate")
    export(friends)
    refused(friends.at_hub("sync", "import", friends.stick("up")), "signer_unknown")
    back = friends.at_hub("sync", "export", "--for", friends.id("a"), friends.stick("down"))
    assert back.code == 0
    old_key = friends.run("a", "sync", "import", friends.stick("down"))
    assert old_key.code == 0, "sealed for the old key"
    friends.run("a", "key", "export", friends.stick("a.json"), "--yes")
    taken = friends.at_hub("key", "trust", friends.stick("a.json"))
    assert (taken.code, taken.json["follows"], taken.json["older_keys"]) == (0, "a", 2)
    assert friends.at_hub("sync", "import", friends.stick("up")).code == 0


def test_a_plain_bundle_is_still_refused_unasked_and_sealed_ones_need_no_word(
    friends: Desk,
) -> None:
    friends.run("a", "sync", "export", "--for", "hub", friends.stick("up"), PLAIN)
    message = refused(friends.at_hub("sync", "import", friends.stick("up")), "bundle_refused")
    assert "in the clear" in message
    export(friends)
    assert friends.at_hub("sync", "import", friends.stick("up"), PLAIN).code == 0


def test_the_suite_is_the_senders_choice_among_those_of_both(friends: Desk) -> None:
    up = friends.stick("up")
    desk = Desk(friends.folder, friends.dsn, {}, {"SATCHEL_CRYPTO_SUITE": "p384-aes256gcm"})
    assert export(desk).json["suite"] == "p384-aes256gcm"
    assert friends.at_hub("sync", "import", up).code == 0


def test_both_may_use_the_other_provider(desk: Desk) -> None:
    desk = Desk(desk.folder, desk.dsn, {"a": "nacl", HUB_SIDE: "nacl"})
    desk.run("a", "write", "for the stick", "--scope", "org")
    desk.introduce("a")
    assert export(desk).json["suite"] == "x25519-xchacha"
    assert [step.code for step in desk.trip("a", sealed=True)] == [0] * 4


def test_providers_without_a_suite_in_common_say_so(desk: Desk) -> None:
    desk.run("a", "write", "for the stick", "--scope", "org")
    mixed = Desk(desk.folder, desk.dsn, {HUB_SIDE: "nacl"})
    hub = mixed.stick("hub.json")
    assert mixed.at_hub("key", "export", hub, "--as", "hub").code == 0
    assert mixed.run("a", "key", "trust", hub, "--yes").code == 0, "its signatures can be checked"
    message = refused(export(mixed), "bundle_refused")
    assert "no suite in common" in message
    assert "crypto.provider" in message
