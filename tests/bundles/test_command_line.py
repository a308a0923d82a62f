"""`satchel sync export | import | inspect` as a person with a stick types them."""

from __future__ import annotations

import stat
from pathlib import Path

import apsw
import pytest
from fix_hub import HubWorld
from fix_stick import PLAIN, Desk


@pytest.fixture
def desk(hub_world: HubWorld, tmp_path: Path) -> Desk:
    return Desk(tmp_path, hub_world.dsn)


def test_two_homes_meet_by_a_stick(desk: Desk) -> None:
    written = {}
    for name in ("a", "b"):
        written[name] = desk.run(name, "write", f"by {name}", "--scope", "org").json["id"]
    for name in ("a", "b", "a"):
        steps = desk.trip(name)
        assert [(step.code, step.err) for step in steps] == [(0, "")] * 4
    for name, other in (("a", "b"), ("b", "a")):
        (item,) = desk.run(name, "memory", "get", written[other]).json["items"]
        assert item["content"] == f"by {other}"
    *_, last = desk.trip("a")
    assert (last.json["noop"], last.json["bundle"]) == (True, "ack")
    assert desk.run("a", "sync", "status").json["pending"] == {}


def test_inspect_needs_neither_key_nor_hub_and_imports_nothing(desk: Desk) -> None:
    desk.run("a", "write", "for the stick", "--scope", "org")
    up = desk.stick("up")
    made = desk.run("a", "sync", "export", "--for", "hub", up, PLAIN)
    found = desk.run("nobody", "sync", "inspect", up)
    assert found.code == 0
    told = {"quarantined": 0, "exit": 0}
    seal = {"suite": "plain", "signature": "none", "signer": None, "opens_here": True}
    assert found.json | told == made.json | seal | {"damage": None}
    assert (found.json["bundle"], found.json["rows"]["memory"]) == ("push", 1)
    assert found.json["import_at"] == "the warehouse"
    assert not (desk.folder / "nobody" / "satchel.db").exists()


def test_the_file_is_its_owners_and_is_not_written_over_unasked(desk: Desk) -> None:
    desk.run("a", "write", "for the stick")
    up = desk.stick("up")
    Path(up).write_text("SATCHELB: something else")
    refused = desk.run("a", "sync", "export", "--for", "hub", up, PLAIN)
    assert (refused.code, refused.error["code"]) == (4, "confirm_needed")
    assert Path(up).read_text() == "SATCHELB: something else"
    assert desk.run("a", "sync", "export", "--for", "hub", up, PLAIN, "--yes").code == 0
    assert stat.S_IMODE(Path(up).stat().st_mode) == 0o600
    assert [file.name for file in desk.folder.iterdir() if file.is_file()] == ["up"]


def test_rows_that_cannot_travel_are_told_of_and_the_others_go(desk: Desk) -> None:
    desk.run("a", "write", "this one is fine", "--scope", "org")
    db = apsw.Connection(str(desk.folder / "a" / "satchel.db"))
    db.execute("INSERT INTO memory(id, content, scope) VALUES('by hand', 'a' || char(0), 'org')")
    db.close()
    made = desk.run("a", "sync", "export", "--for", "hub", desk.stick("up"), PLAIN)
    assert (made.code, made.json["quarantined"], made.json["rows"]["memory"]) == (11, 1, 1)
    back = desk.trip("a")
    assert [step.code for step in back] == [11, 0, 0, 11]


def test_bundles_in_the_clear_are_for_those_who_ask_for_them(desk: Desk) -> None:
    desk.run("a", "write", "for the stick")
    up = desk.stick("up")
    refused = desk.run("a", "sync", "export", "--for", "hub", up)
    assert (refused.code, refused.error["code"]) == (4, "bundle_refused")
    assert "no key of the warehouse is trusted" in refused.error["message"]
    assert not Path(up).exists()
    desk.run("a", "sync", "export", "--for", "hub", up, PLAIN)
    refused = desk.at_hub("sync", "import", up)
    assert (refused.code, refused.error["code"]) == (4, "bundle_refused")
    assert desk.at_hub("sync", "import", up, PLAIN).code == 0


def test_a_damaged_bundle_is_refused_and_inspect_names_the_place(desk: Desk) -> None:
    desk.run("a", "write", "for the stick")
    up = Path(desk.stick("up"))
    desk.run("a", "sync", "export", "--for", "hub", str(up), PLAIN)
    data = bytearray(up.read_bytes())
    data[100] ^= 1
    up.write_bytes(data)
    refused = desk.at_hub("sync", "import", str(up), PLAIN)
    assert (refused.code, refused.error["code"]) == (1, "bundle_invalid")
    assert "chunk 0 (bytes 72 to " in refused.error["message"]
    found = desk.run("a", "sync", "inspect", str(up))
    assert found.code == 1
    assert "chunk 0 (bytes 72 to " in found.json["damage"]
    up.write_bytes(data[:-5])
    refused = desk.at_hub("sync", "import", str(up), PLAIN)
    assert f"ends at byte {len(data) - 5} of" in refused.error["message"]


def test_what_cannot_be_meant_is_refused_with_its_exit_code(desk: Desk) -> None:
    desk.run("a", "write", "for the stick")
    desk.run("b", "write", "for the stick")
    desk.trip("a")
    down, folder = desk.stick("a.down"), desk.stick("")
    cases = {
        2: [
            desk.at_hub("sync", "export", "--for", "somebody", desk.stick("x"), PLAIN),
            desk.at_hub("sync", "export", "--for", "abc", desk.stick("x"), PLAIN),
            desk.run("a", "sync", "export", "--for", "hub", desk.stick("no/x"), PLAIN),
            desk.run("a", "sync", "export", "--for", "hub", folder, PLAIN),
            desk.run("a", "sync", "import", desk.stick("nothing"), PLAIN),
            desk.run("a", "sync", "import", folder, PLAIN),
            desk.run("a", "sync", "import", desk.stick("a.up"), PLAIN),  # no hub is configured
        ],
        3: [desk.at_hub("sync", "export", "--for", "0" * 12, desk.stick("x"), PLAIN)],
        4: [desk.run("b", "sync", "import", down, PLAIN)],
    }
    (desk.folder / "a" / "config").write_text("this is no bundle")
    cases[1] = [desk.run("a", "sync", "import", desk.stick("a/config"), PLAIN)]
    for code, runs in cases.items():
        assert [(run.code, run.out) for run in runs] == [(code, "")] * len(runs), code
        assert all(run.error["message"] for run in runs)
    assert not Path(desk.stick("x")).exists()
