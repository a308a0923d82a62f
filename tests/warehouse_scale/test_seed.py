"""The made-up warehouse: as large as asked for, the same for the same seed, sound, never real."""

from __future__ import annotations

from collections import Counter
from dataclasses import astuple, replace
from pathlib import Path
from typing import Any

import psycopg
import pytest
from fix_audit import openssl
from fix_command import run
from fix_hub import HubWorld

from satchel.store.connection import SYSTEM_CLOCK, Store
from satchel.store.endpoint import SqliteReplica
from satchel_sync.errors import SyncError
from satchel_sync.session import sync
from satchel_sync.stamp import CREATED
from satchel_sync.tables import KINDS, TABLES, History, Memory, Task
from satchel_warehouse.admin import audit as look
from satchel_warehouse.endpoint import WarehouseHub
from satchel_warehouse.errors import WarehouseNotMigrated, WarehouseRefused
from satchel_warehouse.seeding import words
from satchel_warehouse.seeding.cast import DAY_MS, DAYS, Cast
from satchel_warehouse.seeding.draw import Draw
from satchel_warehouse.seeding.facts import OLDER_DAYS_MAX
from satchel_warehouse.seeding.seed import Seeded, seed
from satchel_warehouse.seeding.story import Story

ROWS, MACHINES = 1_200, 5
END_MS = 1_790_000_000_000


@pytest.fixture(scope="module")
def seeded(world: HubWorld) -> Seeded:
    """The answer to a small one."""
    return seed(world.dsn, rows=ROWS, machines=MACHINES, until_ms=END_MS)


def test_it_holds_what_was_asked_for(world: HubWorld, seeded: Seeded) -> None:
    assert sum(seeded.rows.values()) == ROWS
    assert set(seeded.rows) == set(KINDS)
    with world.psql() as db:
        for table in TABLES:
            found = counted(db, f"{table.name} WHERE tenant = 'seeded'")
            assert found == seeded.rows[table.name] > 0
            assert counted(db, f"{table.name} WHERE tenant <> 'seeded'") == 0
            last = counted(db, f"{table.name} WHERE received_at > {END_MS + 90_000}")
            assert last == 0, "nothing happened after its end"
        for name, told in (
            ("replica WHERE login LIKE 'seeded/%'", MACHINES),
            ("attempt WHERE tenant = 'seeded'", seeded.attempts),
            ("conflict WHERE tenant = 'seeded'", seeded.conflicts),
            ("audit WHERE tenant = 'seeded'", seeded.audit_records),
            ("replica WHERE revoked_at IS NOT NULL", 1),
        ):
            assert counted(db, name) == told > 0


def test_rows_fit_their_versions(world: HubWorld, seeded: Seeded) -> None:
    with world.psql() as db:
        for table in TABLES:
            damaged = f"{table.name} r WHERE satchel.is_damaged_{table.name}(r)"
            assert counted(db, damaged) == 0
        every = " UNION ALL ".join(f"SELECT change_seq FROM satchel.{kind}" for kind in KINDS)
        found = db.execute(every.encode())
        assert sorted(seq for (seq,) in found) == list(range(1, ROWS + 1))


def test_every_part_of_a_report_has_something_to_show(world: HubWorld, seeded: Seeded) -> None:
    with world.psql() as db:
        for name in (
            "replica WHERE revoked_at", "attempt WHERE finished_at", "conflict WHERE at",
            "audit WHERE at",
        ):  # fmt: skip
            assert counted(db, f"{name} > {END_MS}") == 0, "nothing happened after its end"
        kinds = "SELECT DISTINCT kind FROM satchel.conflict WHERE tenant = 'seeded' ORDER BY 1"
        assert db.execute(kinds.encode()).fetchall() == [("memory",), ("task",)]
        held = "SELECT DISTINCT kind FROM report.quarantine WHERE tenant = 'seeded' ORDER BY 1"
        assert db.execute(held).fetchall() == [("memory",), ("task",)]
        waits = "report.machines WHERE tenant = 'seeded' AND oldest_unsent_s > 0"
        failing = f"SELECT count(*) FROM {waits} AND status = 'failing'"
        assert db.execute(failing).fetchone() == (1,)


def test_a_machine_takes_all_of_it_and_adds_to_it(
    world: HubWorld, seeded: Seeded, tmp_path: Path
) -> None:
    login = world.login(seeded.tenant)
    with Store.open(tmp_path / "replica.db") as store, WarehouseHub(login) as hub:
        report = sync(SqliteReplica(store), hub, SYSTEM_CLOCK)
        assert report["exit"] == 0
        assert report["digest"] == "equal"
        for kind, rows in seeded.rows.items():
            assert report["kinds"][kind]["pulled"] == rows


def test_its_audit_chains_have_no_fault(world: HubWorld, seeded: Seeded) -> None:
    chains = [one for one in look(world.dsn, openssl()) if one.name.tenant == seeded.tenant]
    assert len(chains) == 2 * MACHINES
    assert sum(one.records for one in chains) == seeded.audit_records
    assert [fault for one in chains for fault in one.faults] == []


def test_nobody_takes_it_for_real(world: HubWorld, seeded: Seeded) -> None:
    with world.psql() as db:
        own = "replica WHERE login LIKE 'seeded/%'"
        assert counted(db, own) == counted(db, f"{own} AND host LIKE '%.invalid'") == MACHINES
        assert counted(db, f"memory WHERE left(content, 8) <> '{words.MARK}'") == 0
        logins = "login l JOIN pg_roles r ON r.rolname = l.role_name WHERE l.tenant = 'seeded'"
        replicas = counted(db, f"{logins} AND r.rolname NOT LIKE 'satchel_test_%'")
        assert replicas == 0, "a role by which somebody could come in"


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"tenant": "default"}, "could be taken for a real one"),
        ({"tenant": ""}, "could be taken for a real one"),
        ({"tenant": "seeded"}, "is in use: it has rows of"),
        ({"rows": 99}, "99 rows cannot be made"),
        ({"rows": 10**9}, "1000000000 rows cannot be made"),
        ({"machines": 0}, "0 machines cannot be made"),
        ({"until_ms": 946_684_799_999}, "a made-up past ends in the past"),
        ({"until_ms": 4_102_444_800_000}, "a made-up past ends in the past"),
        ({"until_ms": 253_402_300_799_999}, "a made-up past ends in the past"),
        ({"machines": 6}, "6 machines cannot be made"),
        ({"rows": 100_000, "machines": 1_001}, "1001 machines cannot be made"),
        ({"tenant": "seeded\0"}, "could be taken for a real one"),
        ({"tenant": "seeded-" + "x" * 60}, "could be taken for a real one"),
    ],
)
def test_refused(world: HubWorld, seeded: Seeded, wrong: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {"rows": 100, "tenant": "seeded-refused", **wrong}
    with pytest.raises(WarehouseRefused, match=message) as caught:
        seed(world.dsn, **given)
    assert isinstance(caught.value, SyncError)
    assert caught.value.hint


def test_all_of_it_or_nothing(world: HubWorld) -> None:
    def stop(_: str, __: str, done: int, ___: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        seed(world.dsn, rows=600, tenant="seeded-again", progress=stop)
    with world.psql() as db:
        assert counted(db, "tenant WHERE name = 'seeded-again'") == 0
        assert counted(db, "memory WHERE tenant = 'seeded-again'") == 0
    steps: list[int] = []
    made = seed(
        world.dsn,
        rows=600,
        tenant="seeded-again",
        progress=lambda a, b, done, of: steps.append(done),
    )
    assert (sum(made.rows.values()), steps[-1]) == (600, 600)


def test_without_a_warehouse(cluster: str) -> None:
    with pytest.raises(WarehouseNotMigrated):
        seed(cluster, rows=100)


def test_the_command(hub_world: HubWorld, tmp_path: Path) -> None:
    command = ("warehouse", "seed", "--rows", "150", "--machines", "2", "--until", "2026-11-01")
    told = {"SATCHEL_HOME": str(tmp_path), "SATCHEL_WAREHOUSE_ADMIN_DSN": hub_world.dsn}
    done = run(*command, **told)
    assert done.code == 0, done.err
    assert sum(done.json["rows"].values()) == 150
    assert done.json["until"].startswith("2026-1")
    again = run(*command, **told)
    assert (again.code, again.error["code"]) == (4, "hub_refused")
    wrong = run("warehouse", "seed", "--rows", "150", "--until", "soon", **told)
    assert (wrong.code, wrong.error["field"]) == (2, "until")


# ---- what is made, without a warehouse ---------------------------------------------------------


def story(number: int = 1, tenant: str = "seeded", rows: int = 1_000) -> list[Any]:
    return list(Story(Cast(tenant, number, 4, END_MS), rows).told())


def test_the_same_seed_makes_the_same() -> None:
    first = story()
    assert first == story()
    assert first != story(number=2)
    assert not {one.row.id for one in first if isinstance(one.row, Memory)} & {
        one.row.id for one in story(tenant="seeded-2") if isinstance(one.row, Memory)
    }


def test_chance_is_splitmix64() -> None:
    draw = Draw("any")
    draw._state = 1234567
    # The reference implementation's first numbers for that seed (Vigna, splitmix64.c).
    assert [draw.bits() for _ in range(3)] == [
        6457827717110365317, 3203168211198807973, 9817491932198370423,
    ]  # fmt: skip


def test_a_plausible_organisation() -> None:
    made = story(rows=4_000)
    rows = [one.row for one in made]
    assert len({(type(row), astuple(row)[0]) for row in rows}) == len(rows), "a key twice"
    memories = [row for row in rows if isinstance(row, Memory)]
    states = Counter(
        (row.content is None, row.retired_at is not None, row.expires_at is not None)
        for row in memories
    )
    assert len(states) >= 4, "alive, dead, retired and expiring ones"
    replaced = {row.supersedes for row in memories if row.supersedes}
    assert replaced <= {row.id for row in memories if row.retired_at}
    tasks = {row.id: row for row in rows if isinstance(row, Task)}
    assert {row.status for row in tasks.values()} >= {"pending", "completed", "in_progress"}
    assert {row.parent_id for row in tasks.values()} <= {None, *tasks}
    times = [one.at for one in made]
    begin = END_MS - (DAYS + 1 + OLDER_DAYS_MAX + 60) * DAY_MS
    assert begin <= min(times) < END_MS - DAYS * DAY_MS < max(times) <= END_MS
    dead = {type(one.row).__name__ for one in made if one.life >= 2 * CREATED}
    assert dead == {"Memory", "Task", "Embedding", "Relationship"}
    late = [row.at for row in rows if isinstance(row, History) and row.at == END_MS]
    assert len(late) <= 1, "what would come later is left out, not put at the end"
    machines = Counter(one.machine for one in made)
    assert machines[0] > 1.5 * machines[3] > 0, "the first work most"


def test_machines_differ_between_tenants() -> None:
    cast = Cast("seeded", 1, 3, END_MS)
    others = replace(cast, tenant="seeded-2").replica_ids + replace(cast, seed=2).replica_ids
    assert len({*cast.replica_ids, *others}) == 9


def counted(db: psycopg.Connection[Any], of: str) -> int:
    """How many rows of satchel.`of`."""
    row = db.execute(f"SELECT count(*) FROM satchel.{of}".encode()).fetchone()
    assert row is not None
    return int(row[0])
