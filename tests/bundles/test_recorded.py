"""A bundle that leaves is in the audit of the machine, before it has its name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from fix_command import run
from fix_hub import HubWorld
from fix_stick import Desk


def recorded(home: Path) -> list[dict[str, Any]]:
    """What the audit says of bundles."""
    items = run("audit", "log", SATCHEL_HOME=str(home)).json["items"]
    return [one for one in items if one["action"] == "exported"]


def test_a_bundle_in_the_clear_is_recorded(tmp_path: Path) -> None:
    home, file = tmp_path / "home", tmp_path / "up"
    assert run("write", "one", "--scope", "org", SATCHEL_HOME=str(home)).code == 0
    command = ("sync", "export", str(file), "--for", "hub", "--insecure-plain")
    made = run(*command, SATCHEL_HOME=str(home), SATCHEL_USER="una")
    assert made.code == 0, made.err
    (one,) = recorded(home)
    assert (one["actor"], one["chain"]) == ("una", "writes")
    assert one["detail"] == {
        "bundle_id": made.json["bundle_id"],
        "for": "hub",
        "suite": "plain",
        "rows": 1,
    }
    assert run("audit", "verify", SATCHEL_HOME=str(home)).code == 0


def test_a_sealed_bundle_is_recorded(tmp_path: Path) -> None:
    home, hub, key = tmp_path / "home", tmp_path / "hub", tmp_path / "hub.key"
    assert run("key", "export", str(key), "--as", "hub", SATCHEL_HOME=str(hub)).code == 0
    trusted = run("key", "trust", str(key), "--yes", "--name", "hub", SATCHEL_HOME=str(home))
    if trusted.code:
        trusted = run("key", "trust", str(key), "--yes", "--name", "desk", SATCHEL_HOME=str(home))
    assert trusted.code == 0, trusted.err
    command = ("sync", "export", str(tmp_path / "up"), "--for", "hub")
    made = run(*command, SATCHEL_HOME=str(home))
    assert made.code == 0, made.err
    (one,) = recorded(home)
    assert (one["detail"]["suite"], one["detail"]["rows"]) == (made.json["suite"], 0)


def test_what_could_not_get_its_name_was_recorded_before(tmp_path: Path, monkeypatch: Any) -> None:
    """The record is first: no bundle is ever in its place without one."""
    from satchel import carrying
    from satchel.config import Settings

    seen: list[bool] = []
    file = tmp_path / "up"
    record = carrying._record

    def looking(*arguments: Any) -> None:
        seen.append(file.exists())
        record(*arguments)

    monkeypatch.setattr(carrying, "_record", looking)
    settings = Settings(home=tmp_path / "home", embedding="off")
    made = carrying.export(settings, "hub", file, plain=True)
    assert (seen, file.exists()) == ([False], True)
    assert json.loads(json.dumps(made))["suite"] == "plain"


def test_what_syncs_do_to_rows_is_no_alarm(hub_world: HubWorld, tmp_path: Path) -> None:
    """Conflicts, deletions and rows that come back: nothing is stamped here without a record."""
    desk = Desk(tmp_path, hub_world.dsn)
    shared = desk.run("a", "write", "first", "--scope", "org").json["id"]
    for name in ("a", "b"):
        desk.trip(name)
    for name in ("a", "b"):
        desk.run(name, "memory", "update", shared, "--title", f"by {name}")
    for name in ("b", "a", "b"):
        desk.trip(name)
    desk.run("b", "memory", "delete", shared, "--yes")
    desk.run("a", "memory", "update", shared, "--title", "again")
    for name in ("a", "b", "a", "b"):
        desk.trip(name)
    for name in ("a", "b"):
        done = desk.run(name, "audit", "verify")
        assert (done.code, done.json["ok"]) == (0, True), done.err
