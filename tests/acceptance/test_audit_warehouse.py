"""`satchel audit verify --warehouse`: an administrator looks at the chains of all machines."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import psycopg
from fix_command import Run
from fix_hub import HubWorld

On = Callable[..., Run]


def busy(on: On, *machines: str) -> None:
    """Each of these writes, searches and syncs."""
    for name in machines:
        assert on(name, "memory", "write", "--title", name, f"written on {name}").code == 0
        assert on(name, "memory", "search", "written").code == 0
        assert on(name, "sync").code == 0


def test_chains_of_two_machines_are_whole_until_a_byte_is_changed(
    on: On, hub_world: HubWorld
) -> None:
    busy(on, "laptop", "desktop")
    admin = {"SATCHEL_WAREHOUSE_ADMIN_DSN": hub_world.dsn}
    told = on("laptop", "audit", "verify", "--warehouse", **admin)
    assert told.code == 0, told.err
    assert told.json["ok"] is True
    chains = told.json["chains"]
    assert [one["chain"] for one in chains] == ["writes", "reads"] * 2
    assert [one["compared"] for one in chains] == [True, True, False, False]
    assert all(one["signed"] == one["last"] == one["records"] > 0 for one in chains)

    with psycopg.connect(hub_world.dsn, autocommit=True) as db:
        db.execute("SET session_replication_role = replica")
        db.execute("UPDATE satchel.audit SET body = replace(body, '\"read\"', '\"gave\"')")
    told = on("desktop", "audit", "verify", "--warehouse", **admin)
    assert (told.code, told.error["code"]) == (1, "audit_broken")
    assert "reads of" in told.error["message"]
    assert told.json["ok"] is False
    faults = [one["faults"][0]["fault"] for one in told.json["chains"] if one["faults"]]
    assert faults == ["changed", "changed"]


def test_what_it_needs_and_who_may(on: On, hub_world: HubWorld) -> None:
    without = on("laptop", "audit", "verify", "--warehouse")
    assert (without.code, without.error["code"]) == (2, "config_invalid")
    admin = {"SATCHEL_WAREHOUSE_ADMIN_DSN": hub_world.dsn}
    agent = on("laptop", "audit", "verify", "--warehouse", **admin, SATCHEL_AGENT="scout")
    assert agent.code == 4
    nothing = on("laptop", "audit", "verify", "--warehouse", **admin)
    assert (nothing.code, nothing.json) == (0, {"ok": True, "chains": []})


def test_a_lost_activity_db_is_told_by_sync_and_status(
    on: On, hub_world: HubWorld, tmp_path: Path
) -> None:
    busy(on, "laptop")
    for file in (tmp_path / "laptop").glob("activity.db*"):
        file.unlink()
    assert on("laptop", "sync", "status").json["audit_refused"] == {}
    told = on("laptop", "sync")
    assert told.code == 1
    assert set(told.json["audit"]["refused"]) == {"reads"}
    assert set(on("laptop", "sync", "status").json["audit_refused"]) == {"reads"}
    assert on("laptop", "sync").code == 0
    admin = {"SATCHEL_WAREHOUSE_ADMIN_DSN": hub_world.dsn}
    kept = on("laptop", "audit", "verify", "--warehouse", **admin)
    assert kept.code == 1
    assert "refused" in kept.error["message"]
