"""What a user asks of a sync, each as a command in its own process: verify, explain, conflicts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
from fix_hub import HubWorld

Run = Any
Command = Callable[..., Run]


def past_the_triggers(home: Path, statement: str, *given: str) -> None:
    """A write that no version tells of, as a tool does it that drops what is in its way."""
    db = apsw.Connection(str(home / "satchel.db"))
    db.execute("UPDATE control SET applying = 1")
    db.execute(statement, given)
    db.execute("UPDATE control SET applying = 0")
    db.close()


def test_verify_names_damage_on_either_side_and_repair_heals_it(
    on: Callable[..., Run], tmp_path: Path, hub_world: HubWorld
) -> None:
    here, there = (on("laptop", "write", text, "--scope", "org").json["id"] for text in "ab")
    for name in ("laptop", "desktop"):
        on(name, "sync")
    assert on("laptop", "sync", "verify").json["digest"] == "equal"

    damage = "UPDATE memory SET content = 'damaged' WHERE id = ?"
    past_the_triggers(tmp_path / "laptop", damage, here)
    with hub_world.psql() as psql:
        psql.execute("ALTER TABLE satchel.memory DISABLE TRIGGER USER")
        psql.execute("UPDATE satchel.memory SET content = 'damaged' WHERE id = %s", (there,))
        psql.execute("ALTER TABLE satchel.memory ENABLE TRIGGER USER")
    assert on("laptop", "sync").json["digest"] == "equal"  # versions alone tell nothing

    found = on("laptop", "sync", "verify")
    assert (found.code, sorted(found.json["damaged"]["memory"])) == (1, sorted([here, there]))
    assert on("laptop", "memory", "get", here).json["items"][0]["content"] == "damaged"

    healed = on("laptop", "sync", "verify", "--repair")
    assert (healed.code, sorted(healed.json["repaired"]["memory"])) == (0, sorted([here, there]))
    assert healed.json["damaged"] == {}
    for text, key in (("a", here), ("b", there)):
        assert on("laptop", "memory", "get", key).json["items"][0]["content"] == text
    assert on("desktop", "sync").json["noop"] is True


def test_verify_says_later_while_something_waits(on: Callable[..., Run]) -> None:
    on("laptop", "sync")
    on("laptop", "write", "not sent yet", "--scope", "org")
    told = on("laptop", "sync", "verify").json
    assert (told["digest"], told["exit"], told["ok"]) == ("later", 10, False)
    assert told["later"] == ["memory"]
    assert on("laptop", "sync", "status").json["pending"]["memory"] == 1


def test_explain_says_where_a_row_stands(on: Callable[..., Run]) -> None:
    key = on("laptop", "write", "a fact", "--scope", "org").json["id"]
    told = on("laptop", "sync", "explain", key).json
    assert (told["kind"], told["state"], told["written_by"]) == (
        "memory",
        "waiting",
        "this machine",
    )
    for name in ("laptop", "desktop"):
        on(name, "sync")
    assert on("laptop", "sync", "explain", key[-8:]).json["state"] == "level"
    laptop = on("laptop", "sync", "status").json["replica_id"]
    assert on("desktop", "sync", "explain", key).json["written_by"] == f"replica {laptop}"
    on("laptop", "memory", "delete", key, "--yes")
    assert on("laptop", "sync", "explain", key).json["is"] == "deleted"
    secret = on("laptop", "write", "stays", "--local", "--scope", "org").json["id"]
    assert on("laptop", "sync", "explain", secret).json["state"] == "local"
    assert on("laptop", "sync", "explain", "0" * 36).code == 3


def test_a_conflict_is_shown_and_restored_on_both_machines(on: Callable[..., Run]) -> None:
    key = on("laptop", "write", "first", "--scope", "org").json["id"]
    for name in ("laptop", "desktop"):
        on(name, "sync")
    on("laptop", "memory", "update", key, "--text", "of the laptop")
    on("desktop", "memory", "update", key, "--text", "of the desktop")
    for name in ("laptop", "desktop", "laptop"):
        on(name, "sync")
    shown = on("laptop", "sync", "conflicts", "show", key).json
    assert shown["differs"]["content"] == {"lost": "of the laptop", "held": "of the desktop"}
    restored = on("laptop", "sync", "conflicts", "restore", shown["version"])
    assert (restored.code, restored.json["outcome"]) == (0, "restored")
    for name in ("laptop", "desktop"):
        assert on(name, "sync").code == 0
        assert on(name, "memory", "get", key).json["items"][0]["content"] == "of the laptop"
    assert on("laptop", "sync", "conflicts", "show", "deadbeef").code == 3


def test_forget_reaches_the_other_machine(on: Callable[..., Run]) -> None:
    key = on("laptop", "write", "to be forgotten", "--scope", "org").json["id"]
    for name in ("laptop", "desktop"):
        on(name, "sync")
    assert on("laptop", "memory", "forget", key).code == 4
    answer = on("laptop", "memory", "forget", key, "--yes").json
    assert answer["certificate"]["rows"][0]["key"] == key
    on("desktop", "memory", "update", key, "--text", "edited, unseen")
    for name in ("laptop", "desktop", "laptop"):
        assert on(name, "sync").code == 0
    for name in ("laptop", "desktop"):
        assert on(name, "memory", "get", key).code == 3
        assert on(name, "memory", "restore", key).code in (3, 4)
        assert on(name, "sync", "explain", key).json["is"] == "forgotten"


def test_three_attempts_that_fail_are_told_loudly(on: Callable[..., Run]) -> None:
    nobody = {"SATCHEL_WAREHOUSE_DSN": "postgresql://me@127.0.0.1:9/none"}
    hints = []
    for _ in range(3):
        failed = on("laptop", "sync", **nobody)
        assert failed.code == 10
        hints.append(failed.error["hint"])
    assert ["3 attempts" in hint for hint in hints] == [False, False, True]
    assert "3 attempts" in on("laptop", "sync", "status").json["stuck"]
    checks = {check["name"]: check for check in on("laptop", "doctor", "--offline").json["checks"]}
    assert checks["sync"]["ok"] == "fail"
    assert on("laptop", "sync").code == 0
    assert on("laptop", "sync", "status").json["stuck"] is None
