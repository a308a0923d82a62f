"""`satchel audit` as a person and a script meet it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from fix_command import Run, run
from home import Home

from satchel.audit.log import in_words
from satchel_crypto.audit_record import WRITES


def audit(folder: Path, *arguments: str, **variables: str) -> Run:
    return run("audit", *arguments, SATCHEL_HOME=str(folder), **variables)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A home with a memory that was written, searched and got, by commands."""
    folder = tmp_path / "home"
    key = run("write", "the kettle is blue", SATCHEL_HOME=str(folder)).json["id"]
    assert run("search", "kettle", SATCHEL_HOME=str(folder)).code == 0
    assert run("memory", "get", key, SATCHEL_HOME=str(folder), SATCHEL_AGENT="ann").code == 0
    return folder


def test_log_shows_who_did_what_and_no_text(folder: Path) -> None:
    shown = audit(folder, "log")
    assert shown.code == 0
    items = shown.json["items"]
    assert [(one["chain"], one["action"], one["tool"]) for one in items] == [
        ("reads", "read", "memory_get"),
        ("reads", "read", "memory_search"),
        ("reads", "began", None),
        ("writes", "created", "memory_write"),
        ("writes", "began", None),
    ]
    assert "kettle" not in shown.out
    assert items[0]["actor"] == "ann"


def test_log_can_be_narrowed(folder: Path) -> None:
    (got, *_, created, _) = audit(folder, "log").json["items"]
    key = created["rows"][0].split()[1]

    def tools(*arguments: str) -> list[str | None]:
        return [one["tool"] for one in audit(folder, "log", *arguments).json["items"]]

    assert tools("--actor", "ann") == ["memory_get"]
    assert tools("--chain", "writes") == ["memory_write", None]
    assert tools("--row", key[-8:], "--chain", "reads") == ["memory_get", "memory_search"]
    assert tools("--row", key) == ["memory_get", "memory_search", "memory_write"]
    assert tools("--row", key[:7]) == []
    assert tools("-n", "1") == ["memory_get"]
    assert tools("--since", got["at"]) == ["memory_get"]
    assert tools("--until", created["at"]) == []
    assert tools("--since", "2100-01-01") == []


def test_a_record_with_rows_that_it_does_not_name_may_be_about_any(tmp_path: Path) -> None:
    with Home(tmp_path / "home") as home:
        home.by_hand(
            WRITES,
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 250)"
            " INSERT INTO memory(id, content) SELECT printf('memory%04d', i), 'many' FROM n",
        )
        home.write("a pot")
    for row, maybe in (("memory0007", None), ("memory0249", True), ("memory9999", True)):
        (found,) = audit(tmp_path / "home", "log", "--row", row).json["items"]
        assert (found["action"], found["more"], found.get("maybe")) == ("by hand", 150, maybe)


def test_a_terminal_shows_the_detail_in_words() -> None:
    row = {"at": "now", "chain": "writes", "seq": 7, "action": "anchor", "more": 0}
    detail = {"chain": "reads", "seq": 12, "link": "ab" * 32, "stamps": "1-2"}
    shown = in_words(row | {"detail": detail, "replica_id": "00" * 16})
    assert shown == {
        "at": "now", "chain": "writes", "seq": 7, "action": "anchor",
        "detail": "chain reads, seq 12, link abababab",
    }  # fmt: skip
    told = in_words(row | {"more": 150, "maybe": True, "detail": {"created": 250}})
    assert told["detail"] == "maybe, 150 more rows, created 250"


@pytest.mark.parametrize("damaged", ["x", "[1]", '"text"', "7", "{", b"\xff", '{"writes": "9"}'])
def test_a_damaged_note_of_what_was_sent_breaks_no_door(folder: Path, damaged: str | bytes) -> None:
    from satchel.audit import beside

    with Home(folder) as home:
        insert = "INSERT OR REPLACE INTO meta(name, value) VALUES('audit_sent', ?)"
        home.by_hand(WRITES, insert, (damaged,))
        assert beside.sent(home.replica.store) == {}
        assert beside.waiting(home.replica.store)["writes"] > 0


@pytest.mark.parametrize(
    ("arguments", "code", "error"),
    [
        (("log", "--since", "yesterday"), 2, "invalid_input"),
        (("log", "--chain", "both"), 2, "invalid_input"),
        (("log", "-n", "0"), 2, "usage"),
        (("export",), 2, "usage"),
        (("export", "/nowhere/at/all"), 1, "output_failed"),
        (("verify", "/nowhere/at/all"), 2, "invalid_input"),
    ],
)
def test_bad_input(tmp_path: Path, arguments: tuple[str, ...], code: int, error: str) -> None:
    refused = audit(tmp_path / "home", *arguments)
    assert (refused.code, refused.error["code"]) == (code, error)


@pytest.mark.parametrize("verb", ["log", "verify", "export -"])
def test_an_agent_may_not_look(folder: Path, verb: str) -> None:
    refused = audit(folder, *verb.split(), SATCHEL_AGENT="ann")
    assert (refused.code, refused.error["code"], refused.out) == (4, "refused", "")


def test_verify_says_what_is_whole(folder: Path) -> None:
    done = audit(folder, "verify")
    assert (done.code, done.json["ok"]) == (0, True)
    assert [(one["chain"], one["records"]) for one in done.json["chains"]] == [
        ("writes", 2), ("reads", 3),
    ]  # fmt: skip


def test_verify_names_the_first_broken_link(folder: Path) -> None:
    with Home(folder) as home:
        home.by_hand(WRITES, "UPDATE audit SET body = replace(body, 'created', 'updated')")
    broken = audit(folder, "verify")
    assert (broken.code, broken.error["code"]) == (1, "audit_broken")
    assert "writes at record 2: changed" in broken.error["message"]
    writes, reads = broken.json["chains"]
    assert (writes["broken"]["seq"], writes["broken"]["fault"]) == (2, "changed")
    assert reads["ok"]
    (told,) = [
        one
        for one in run("doctor", "--offline", SATCHEL_HOME=str(folder)).json["checks"]
        if one["name"] == "audit"
    ]
    assert (told["ok"], "record 2" in told["found"]) == ("fail", True)


def test_doctor_says_that_reads_are_not_recorded(folder: Path) -> None:
    for file in folder.glob("activity.db*"):
        file.unlink()
    (folder / "activity.db").mkdir()
    (told,) = [
        one
        for one in run("doctor", "--offline", SATCHEL_HOME=str(folder)).json["checks"]
        if one["name"] == "audit"
    ]
    assert told["ok"] == "fail"
    assert "activity.db cannot be read" in told["found"]


def test_an_empty_home_is_whole(tmp_path: Path) -> None:
    done = audit(tmp_path / "home", "verify")
    assert (done.code, done.json) == (0, {"ok": True, "chains": [], "changed_rows": []})


# ---- export -------------------------------------------------------------------------------------


@pytest.fixture
def exported(folder: Path, tmp_path: Path) -> Path:
    file = tmp_path / "audit.jsonl"
    assert audit(folder, "export", str(file)).json == {"file": str(file), "records": 5}
    assert file.stat().st_mode & 0o777 == 0o600
    return file


def test_an_export_is_verified_where_it_was_made(folder: Path, exported: Path) -> None:
    done = audit(folder, "verify", str(exported))
    assert (done.code, done.json["ok"]) == (0, True)
    assert [one["signer"]["who"] for one in done.json["chains"]] == ["this machine"] * 2
    again = audit(folder, "export", str(exported))
    assert (again.code, again.error["code"]) == (4, "confirm_needed")
    lines = audit(folder, "export", "-").out.splitlines()
    assert [json.loads(one) for one in lines[1:3]] == [
        json.loads(one) for one in exported.read_text().splitlines()[1:3]
    ]


def test_an_export_is_verified_elsewhere_once_its_key_is_trusted(
    folder: Path, exported: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    stranger = audit(other, "verify", str(exported))
    assert (stranger.code, stranger.error["code"]) == (4, "signer_unknown")
    key = tmp_path / "machine.key"
    assert run("key", "export", str(key), SATCHEL_HOME=str(folder)).code == 0
    trusted = run("key", "trust", str(key), "--yes", "--name", "desk", SATCHEL_HOME=str(other))
    assert trusted.code == 0, trusted.err
    done = audit(other, "verify", str(exported))
    assert (done.code, {one["signer"]["name"] for one in done.json["chains"]}) == (0, {"desk"})


def test_nobody_signs_the_chains_of_another_machine(
    folder: Path, exported: Path, tmp_path: Path
) -> None:
    """Bob is trusted for his own replica; he signs an export of another one's chains."""
    bob, judge = tmp_path / "bob", tmp_path / "judge"
    assert run("write", "mine", SATCHEL_HOME=str(bob)).code == 0
    key = tmp_path / "bob.key"
    assert run("key", "export", str(key), SATCHEL_HOME=str(bob)).code == 0
    trusted = run("key", "trust", str(key), "--yes", "--name", "bob", SATCHEL_HOME=str(judge))
    assert trusted.code == 0, trusted.err
    _sign_anew(exported, bob)
    done = audit(judge, "verify", str(exported))
    assert (done.code, done.error["code"], done.json["ok"]) == (4, "signer_unknown", False)
    assert {(one["signer"]["who"], one["signer"]["name"]) for one in done.json["chains"]} == {
        ("unknown", "bob")
    }
    assert "cannot speak for this replica" in done.error["message"]
    own = tmp_path / "own.jsonl"
    assert audit(bob, "export", str(own)).code == 0
    assert audit(judge, "verify", str(own)).code == 0


def _sign_anew(exported: Path, signer: Path) -> None:
    """Every signature of an export, replaced by one of the machine whose home is `signer`."""
    from satchel.audit.exported import END_PURPOSE
    from satchel.config import Settings
    from satchel.protection import key_store
    from satchel_crypto.audit_record import HEAD_PURPOSE
    from satchel_crypto.canonical import canonical

    keys = key_store(Settings(home=signer))
    lines = [json.loads(one) for one in exported.read_text().splitlines()]
    for line in lines:
        purpose = HEAD_PURPOSE if "head" in line else END_PURPOSE
        if "signature" in line:
            data = canonical(line.get("head") or line["end"])
            line["signature"] = keys.sign(purpose, data).as_dict(keys.provider)
    exported.write_text("".join(json.dumps(one) + "\n" for one in lines))


def test_every_changed_line_of_an_export_is_found(folder: Path, exported: Path) -> None:
    lines = exported.read_text().splitlines()
    faults = []
    for number in range(1, len(lines)):
        digit = next(at for at, one in enumerate(lines[number]) if one in "0123456789abcdef")
        for at in (digit, len(lines[number]) // 2, len(lines[number]) - 4):
            changed = lines[number]
            other = "0" if changed[at] != "0" else "1"
            changed = changed[:at] + other + changed[at + 1 :]
            faults.append([*lines[:number], changed, *lines[number + 1 :]])
        faults.append([*lines[:number], *lines[number + 1 :]])
        faults.append(lines[:number])
    from satchel.audit.exported import read
    from satchel_crypto.errors import CryptoError
    from satchel_crypto.registry import provider

    whole = read(lines, provider())
    assert all(one.verdict.ok for one in whole)
    for fault in faults:
        try:
            found = read(fault, provider())
        except CryptoError:
            continue
        assert not all(one.verdict.ok for one in found) or _harmless(fault, lines), fault


def _harmless(fault: list[str], lines: list[str]) -> bool:
    """Where the key is not a MAC says nothing, and a key is known by itself, not by its id."""

    def without(line: str) -> object:
        found = json.loads(line)
        found.pop("mac", None)
        found.get("signature", {}).pop("key_id", None)
        return found

    return list(map(without, fault)) == list(map(without, lines))
