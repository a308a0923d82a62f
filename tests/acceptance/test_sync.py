"""Two machines and a warehouse as a user has them: every step is a command in its own process."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import fasteners
import psycopg
import pytest
from fix_hub import HubWorld, fresh_database
from psycopg import conninfo

from satchel import peers
from satchel_sync.tables import TABLES

Run = Any
Command = Callable[..., Run]
COUNTS = {"sent", "accepted", "superseded", "quarantined", "pulled", "applied"}


def test_two_machines_agree_and_the_loser_is_kept(on: Callable[..., Run]) -> None:
    written = on("laptop", "write", "the build runs on Tuesdays", "--scope", "org").json
    first = on("laptop", "sync")
    assert (first.code, first.err) == (0, "")
    assert set(first.json["kinds"]) == {table.name for table in TABLES}
    assert all(set(counts) == COUNTS for counts in first.json["kinds"].values())
    assert first.json["kinds"]["memory"]["accepted"] == 1
    assert on("desktop", "sync").json["kinds"]["memory"]["applied"] == 1
    (hit,) = on("desktop", "search", "when is the build").json["hits"]
    assert hit["id"] == written["id"]

    on("laptop", "memory", "update", written["id"], "--text", "it runs on Wednesdays")
    on("desktop", "memory", "update", written["id"], "--text", "it runs on Fridays")
    for name in ("laptop", "desktop", "laptop"):
        assert on(name, "sync").code == 0
    for name in ("laptop", "desktop"):
        (item,) = on(name, "memory", "get", written["id"]).json["items"]
        assert item["content"] == "it runs on Fridays"
    (lost,) = on("laptop", "sync", "conflicts", "list").json["items"]
    assert lost["content"]["content"] == "it runs on Wednesdays"
    assert on("desktop", "sync").json["noop"] is True


def test_a_delete_travels_and_a_restore_brings_it_back(on: Callable[..., Run]) -> None:
    written = on("laptop", "write", "for a while", "--scope", "org").json["id"]
    for name in ("laptop", "desktop"):
        on(name, "sync")
    assert on("laptop", "memory", "delete", written, "--yes").code == 0
    for name in ("laptop", "desktop"):
        on(name, "sync")
    assert on("desktop", "memory", "get", written).code == 3
    assert on("desktop", "memory", "restore", written).code == 0
    for name in ("desktop", "laptop"):
        on(name, "sync")
    (item,) = on("laptop", "memory", "get", written).json["items"]
    assert item["content"] == "for a while"


def test_local_rows_stay_and_status_tells_what_waits(on: Callable[..., Run]) -> None:
    on("laptop", "write", "a secret of this machine", "--local", "--scope", "org")
    on("laptop", "write", "for everybody", "--scope", "org")
    status = on("laptop", "sync", "status").json
    assert (status["pending"], status["last_sync"]) == ({"memory": 1}, None)
    assert on("laptop", "sync").json["kinds"]["memory"]["sent"] == 1
    assert on("laptop", "sync", "status").json["pending"] == {}
    on("desktop", "sync")
    assert on("desktop", "search", "secret of this machine").json["hits"] == []


def refused(run: Run, code: int, error: str) -> dict[str, str]:
    """A typed error on stderr, nothing on stdout, with a way out."""
    assert (run.code, run.out, run.error["code"]) == (code, "", error), run
    assert run.error["hint"]
    assert "sesame" not in run.err
    shown: dict[str, str] = run.error
    return shown


def test_without_a_warehouse_or_out_of_its_reach(satchel: Command) -> None:
    refused(satchel("sync"), 2, "config_invalid")
    away = "postgresql://someone:sesame@127.0.0.1:1/nothing"
    refused(satchel("sync", SATCHEL_WAREHOUSE_DSN=away), 10, "hub_unreachable")


@pytest.mark.parametrize(
    ("dsn", "more", "code", "error"),
    [
        ("postgresql://u@hub.example:1/x?sslmode=require", {}, 4, "network_refused"),
        ("postgresql://u:sesame@hub.example/x?sslmode=verify-full", {}, 4, "hub_refused"),
        ("postgresql://u@/x", {"SATCHEL_NETWORK_MODE": "none"}, 4, "network_refused"),
        ("not a dsn sesame", {}, 2, "dsn_invalid"),
    ],
)
def test_what_the_network_policy_keeps_closed(
    satchel: Command, dsn: str, more: dict[str, str], code: int, error: str
) -> None:
    refused(satchel("sync", SATCHEL_WAREHOUSE_DSN=dsn, **more), code, error)


@pytest.mark.parametrize("command", [["write", "x"], ["sync"], ["warehouse", "status"]], ids=str)
def test_a_promise_that_cannot_be_kept_is_refused_before_anything(
    satchel: Command, home: Path, command: list[str]
) -> None:
    refused(satchel(*command, SATCHEL_FIPS="1"), 4, "fips_refused")
    assert not home.exists()


@pytest.mark.parametrize("name", ["", "n" * 64, "é" * 32])
def test_a_login_that_postgres_would_cut_off(
    satchel: Command, hub_world: HubWorld, name: str
) -> None:
    admin = {"SATCHEL_WAREHOUSE_ADMIN_DSN": hub_world.dsn}
    refused(satchel("warehouse", "grant", "--replica", name, **admin), 2, "login_invalid")


def test_a_login_that_is_not_there_is_no_passing_trouble(
    satchel: Command, hub_world: HubWorld
) -> None:
    strange = conninfo.make_conninfo(hub_world.dsn, user="satchel_test_nobody")
    refused(satchel("sync", SATCHEL_WAREHOUSE_DSN=strange), 4, "hub_refused")


WITHOUT_WAREHOUSE = """
import sys
sys.modules["psycopg"] = None
from satchel.cli.main import run
sys.exit(run())
"""


@pytest.mark.parametrize("command", [["sync"], ["warehouse", "status"], ["warehouse", "init"]])
def test_without_the_warehouse_extra_the_advice_is_to_install_it(
    env: Callable[..., dict[str, str]], command: list[str]
) -> None:
    dsn = "postgresql://u@/x"
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_WAREHOUSE, *command], capture_output=True, text=True,
        env=env(SATCHEL_WAREHOUSE_DSN=dsn, SATCHEL_WAREHOUSE_ADMIN_DSN=dsn), check=False,
    )  # fmt: skip
    error = json.loads(done.stderr.splitlines()[-1])["error"]
    assert (done.returncode, error["code"]) == (1, "engine_unavailable"), done.stderr
    assert "satchel[warehouse]" in error["hint"]


def test_a_database_that_is_no_warehouse(satchel: Command, cluster: str) -> None:
    with fresh_database(cluster) as dsn:
        refused(satchel("sync", SATCHEL_WAREHOUSE_DSN=dsn), 13, "warehouse_not_migrated")


def test_a_hub_of_another_version_changes_nothing(
    on: Callable[..., Run], hub_world: HubWorld
) -> None:
    on("laptop", "write", "waits", "--scope", "org")
    psql = hub_world.psql()
    psql.execute("UPDATE satchel.hub SET protocol = protocol - 1")
    refused(on("laptop", "sync"), 13, "versions_differ")
    assert on("laptop", "sync", "status").json["pending"] == {"memory": 1}
    psql.execute("UPDATE satchel.hub SET protocol = protocol + 1")
    assert on("laptop", "sync").code == 0


def test_another_hub_is_adopted_only_when_told(on: Callable[..., Run], hub_world: HubWorld) -> None:
    on("laptop", "write", "travels twice", "--scope", "org")
    on("laptop", "sync")
    psql = hub_world.psql()
    psql.execute("UPDATE satchel.tenant SET id = '\\xabababababababababababababababab'")
    refused(on("laptop", "sync"), 12, "needs_reconcile")
    assert on("laptop", "sync", "--adopt").code == 0
    assert on("laptop", "sync").json["noop"] is True


def test_a_read_only_hub_is_a_passing_trouble(on: Callable[..., Run], hub_world: HubWorld) -> None:
    on("laptop", "write", "waits", "--scope", "org")
    psql = hub_world.psql()
    name = psql.info.dbname
    psql.execute(f'ALTER DATABASE "{name}" SET default_transaction_read_only = on'.encode())
    assert on("laptop", "sync").code == 10
    psql.execute("SET default_transaction_read_only = off")
    psql.execute(f'ALTER DATABASE "{name}" RESET default_transaction_read_only'.encode())
    assert on("laptop", "sync").json["kinds"]["memory"]["accepted"] == 1


def test_one_sync_of_a_file_at_a_time(on: Callable[..., Run], tmp_path: Path) -> None:
    on("laptop", "write", "x", "--scope", "org")
    with fasteners.InterProcessLock(tmp_path / "laptop" / peers.LOCK_FILE):
        refused(on("laptop", "sync"), 10, "sync_busy")
    assert on("laptop", "sync").code == 0


@pytest.fixture
def served(env: Callable[..., dict[str, str]]) -> Iterator[dict[str, Any]]:
    """`satchel warehouse serve-embedded` in the foreground of a process of its own.

    Not under `tmp_path`: its parent may be closed to the account that the server runs as.
    """
    folder = Path(tempfile.mkdtemp(prefix="satchel_test_"))
    process = subprocess.Popen(
        [sys.executable, "-m", "satchel", "warehouse", "serve-embedded", folder / "hub"],
        stdout=subprocess.PIPE, text=True, env=env(),
    )  # fmt: skip
    try:
        assert process.stdout
        yield json.loads(process.stdout.readline())
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
        process.stdout.close()
        shutil.rmtree(folder)


def test_a_warehouse_from_nothing(satchel: Command, served: dict[str, Any]) -> None:
    assert set(served) == {"dsn", "pid", "data_dir"}
    admin = {"SATCHEL_WAREHOUSE_ADMIN_DSN": served["dsn"]}
    refused(satchel("warehouse", "status", **admin), 13, "warehouse_not_migrated")
    assert satchel("warehouse", "init", **admin).code == 0
    granted = satchel("warehouse", "grant", "--replica", "satchel_test_laptop", **admin).json
    assert (granted["login"], granted["tenant"]) == ("satchel_test_laptop", "default")
    assert len(granted["password"]) >= 32
    satchel("write", "one memory", "--scope", "org")
    login = served["dsn"].replace("postgres@", "satchel_test_laptop@", 1)
    assert satchel("sync", SATCHEL_WAREHOUSE_DSN=login).code == 0
    assert satchel("warehouse", "migrate", **admin).code == 0
    status = satchel("warehouse", "status", **admin).json
    assert status["rows"]["memory"] == {"alive": 1, "dead": 0}
    assert [machine["login"] for machine in status["machines"]] == ["satchel_test_laptop"]
    doctor = satchel("doctor", SATCHEL_WAREHOUSE_DSN=login).json
    found = {check["name"]: check["ok"] for check in doctor["checks"]}
    assert (found["warehouse"], found["clock"]) == ("ok", "ok")
    with psycopg.connect(login) as db, pytest.raises(psycopg.errors.InsufficientPrivilege):
        db.execute("SELECT * FROM satchel.memory")
