"""The walk-through of docs/WAREHOUSE.md, "Backup, and after a restore"; machines refill the hub."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from fix_command import environment
from fix_hub import HubWorld, embedded_cluster
from fix_operations import Kept, due, dumped, libpq, restore
from psycopg import conninfo

from satchel_sync.changes import Standing
from satchel_sync.phases.handshake import EVENTS
from satchel_sync.tables import MEMORY
from satchel_warehouse import admin
from satchel_warehouse.errors import WarehouseRefused
from satchel_warehouse.functions import AUDITORS, OWNER, REPLICAS, REPORTERS, SEARCHERS
from satchel_warehouse.operations import doctoring
from satchel_warehouse.operations.restored import mark

PAGE = Path(__file__).parents[2] / "docs/WAREHOUSE.md"
MOVED = EVENTS[Standing.MOVED]


def walk_through() -> tuple[list[str], list[str]]:
    """The commands of the page: how a backup is made, and what is done after a disaster."""
    section = PAGE.read_text("utf-8").split("\n## Backup, and after a restore\n")[1]
    backup, after = re.findall(r"^```sh\n(.*?)^```$", section.split("\n## ")[0], re.M | re.S)
    commands = [re.sub(r"\s+#.*", "", line) for line in (backup + "\n" + after).splitlines()]
    split = next(n for n, one in enumerate(commands) if one.startswith("dropdb"))
    return [one for one in commands[:split] if one], [one for one in commands[split:] if one]


def typed(world: HubWorld, folder: Path, commands: list[str]) -> list[dict[str, Any]]:
    """Run commands as a DBA types them; the answers of satchel's own."""
    found = libpq(world)
    path = os.pathsep.join((str(Path(sys.executable).parent), found["PATH"]))
    given = environment(
        SATCHEL_HOME=str(folder / "home"), SATCHEL_WAREHOUSE_ADMIN_DSN=world.dsn,
        **(found | {"PATH": path, "PGDATABASE": "postgres"}),
    )  # fmt: skip
    answers = []
    for command in commands:
        line = re.sub(r"\bmemory\b(?!\.)", world.name, command)
        done = subprocess.run(
            ["bash", "-c", line], cwd=folder, env=given, capture_output=True, text=True
        )
        assert done.returncode == 0, (command, done.stdout, done.stderr)
        if command.startswith("satchel"):
            answers.append(json.loads(done.stdout))
    return answers


def rights(dsn: str) -> str:
    """What the doctor says of the rights."""
    (found,) = (check for check in doctoring.examine(dsn) if check.name == "rights")
    return found.ok


def test_the_walk_through_brings_back_all_that_machines_hold(kept: Kept, tmp_path: Path) -> None:
    backup, after = walk_through()
    a, b = kept.pair()
    still = kept.machine("c")
    for key in ("kept", "edited", "deleted"):
        a.put(key, "one")
    kept.quiet()
    before = kept.epoch()
    kept.hang_up()
    (checked,) = typed(kept.world, tmp_path, backup)
    assert (checked["ok"], checked["rows"]["memory"], checked["why_not"]) == (True, 3, "")
    a.put("edited", "two")
    a.put("lost with the backup", "by a")
    a.delete(MEMORY, "deleted")
    for machine in (a, b):
        machine.sync()
    kept.hang_up()
    *commands, marking = after
    assert typed(kept.world, tmp_path, commands) == []
    assert rights(kept.world.dsn) == "fail", "a dump has no rights on the database"
    (told,) = typed(kept.world, tmp_path, [marking])
    assert rights(kept.world.dsn) == "ok"
    assert told["epochs"] == {"default": kept.epoch()} != {"default": before}
    assert (told["logins_missing"], told["revoked"]) == ([], [])
    assert told["reaches_at"][:10] == checked["reaches_at"][:10]
    for machine in (b, still, a):
        report = machine.sync()
        assert (report["exit"], report["identity"], due(machine)) == (0, [MOVED], "")
        assert "reconcile" in report["ms"]
    kept.quiet()
    assert kept.epoch() == told["epochs"]["default"], "one restore, one epoch"
    for machine in (a, b, still):
        assert (machine.text("kept"), machine.text("edited")) == ("one", "two")
        assert (machine.text("deleted"), machine.text("lost with the backup")) == (None, "by a")
    assert kept.journal() == []


def test_a_restore_is_marked_in_every_tenant_and_twice_does_no_harm(
    kept: Kept, tmp_path: Path
) -> None:
    a = kept.machine("a")
    kept.world.psql().execute("SELECT satchel.add_tenant('apart')")
    other = kept.world.replica(9, "apart")
    a.put("x", "one")
    a.sync()
    admin.revoke_replica(kept.world.dsn, b"\x09" * 16)
    kept.hang_up()
    file = dumped(kept.world, tmp_path / "tar", "--format=tar")
    restore(kept.world, file)
    found = [mark(kept.world.dsn) for _ in range(2)]
    assert found[0].epochs.keys() == found[1].epochs.keys() == {"default", "apart"}
    assert len({one.epochs[name] for one in found for name in one.epochs}) == 4
    assert found[1].revoked == ["09" * 16]
    report = a.sync()
    assert (report["exit"], report["identity"]) == (0, [MOVED])
    assert a.sync()["identity"] == []
    assert other


def test_a_sequence_that_a_restore_left_behind_is_lifted(kept: Kept) -> None:
    """Somebody restored the tables and not the sequences, or set one by hand."""
    a, b = kept.pair()
    for number in range(9):
        a.put(f"{number}", "x")
    kept.quiet()
    kept.world.psql().execute("SELECT setval('satchel.change_seq_1', 3)")
    names = {check.name: check.ok for check in doctoring.examine(kept.world.dsn)}
    assert names["change numbers"] == "fail"
    mark(kept.world.dsn)
    names = {check.name: check.ok for check in doctoring.examine(kept.world.dsn)}
    assert names["change numbers"] == "ok"
    a.put("new", "after that")
    kept.quiet()
    assert b.text("new") == "after that"


def test_a_restore_without_its_owner_is_told_so(kept: Kept) -> None:
    """As `pg_restore --no-owner` leaves it; init would stop half way, with less of a reason."""
    kept.world.psql().execute("ALTER SCHEMA satchel OWNER TO CURRENT_USER")
    with pytest.raises(WarehouseRefused, match="belongs to postgres") as caught:
        mark(kept.world.dsn)
    assert "--no-owner" in caught.value.hint


@pytest.fixture(scope="module")
def other_cluster() -> Iterator[str]:
    with embedded_cluster() as dsn:
        yield dsn


def test_in_another_cluster_roles_come_first_and_logins_that_lack_are_named(
    kept: Kept, tmp_path: Path, other_cluster: str
) -> None:
    a = kept.machine("a")
    a.put("x", "one")
    a.sync()
    login = conninfo.conninfo_to_dict(a.hub._dsn)["user"]
    kept.hang_up()
    file = dumped(kept.world, tmp_path / "dump")
    roles = subprocess.run(
        ["pg_dumpall", "--roles-only", "--no-role-passwords"], env=libpq(kept.world),
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    there = HubWorld(other_cluster)
    with psycopg.connect(other_cluster, autocommit=True) as db:
        for group in (OWNER, REPLICAS, REPORTERS, AUDITORS, SEARCHERS):
            db.execute(f"CREATE ROLE {group}".encode())
    subprocess.run(
        ["pg_restore", "--exit-on-error", f"--dbname={there.name}", file], env=libpq(there),
        check=True,
    )  # fmt: skip
    assert login in mark(other_cluster).logins_missing
    with psycopg.connect(other_cluster, autocommit=True) as db:
        for line in roles.splitlines():
            if line.startswith(("CREATE ROLE", "ALTER ROLE", "GRANT")) and f"{login}" in line:
                db.execute(line.encode())
    assert login not in mark(other_cluster).logins_missing
    a.hub = type(a.hub)(conninfo.make_conninfo(other_cluster, user=login))
    report = a.sync()
    assert (report["exit"], report["identity"]) == (0, [MOVED])
