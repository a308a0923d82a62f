"""The commands as an operator types them: what they answer, ask for and end with."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path
from time import monotonic, sleep

import pytest
from fix_command import COMMAND, Run, environment, run
from fix_hub import HubWorld
from fix_operations import Kept, dumped
from fix_terminal import typed

from satchel.cli.warehouse_status import TABLES_MAX, size


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def told(world: HubWorld, home: Path, *words: str, **variables: str) -> Run:
    """`satchel warehouse WORDS` with the administrator's DSN."""
    given = {"SATCHEL_HOME": str(home), "SATCHEL_WAREHOUSE_ADMIN_DSN": world.dsn, **variables}
    return run("warehouse", *words, **given)


def test_help_tells_each_command_in_a_whole_line() -> None:
    done = run("warehouse", "--help", COLUMNS="80")
    _, _, commands = done.out.partition("Commands:")
    assert "serve-embedded" in commands
    assert "..." not in commands


@pytest.mark.parametrize("verb", ["index", "refresh"])
def test_an_unknown_tenant_is_refused_alike(world: HubWorld, home: Path, verb: str) -> None:
    done = told(world, home, verb, "--tenant", "nosuch")
    assert (done.code, done.error["code"]) == (3, "tenant_unknown")


def test_status_tells_how_it_fares(world: HubWorld, home: Path) -> None:
    done = told(world, home, "status")
    assert (done.code, done.err) == (0, "")
    found = done.json
    assert {"hub_id", "revision", "rows", "conflicts", "machines"} <= found.keys()
    assert found["size_bytes"] > sum(found["table_bytes"].values()) > 0
    assert sum(found["connections"].values()) >= 1
    assert (found["standby"], found["standbys"], found["backup"]) == (False, [], None)
    assert found["archive"] == {"on": False, "last_at": None, "failed": 0, "last_failed_at": None}
    assert found["retention"] == {"journal_days": 400, "reports_days": 400, "audit_days": 400}
    assert found["at"].endswith("+00:00")


def test_doctor_fails_where_a_check_does(world: HubWorld, home: Path) -> None:
    done = told(world, home, "doctor")
    found = {one["name"]: one for one in done.json["checks"]}
    assert (done.code, done.json["ok"]) == (1, False)
    assert found["durability"] == {
        "name": "durability", "ok": "fail", "found": "off: fsync",
        "why": "a power cut can lose or damage what machines were told is safe",
        "fix": "set them on and restart",
    }  # fmt: skip
    assert found["rights"]["ok"] == "ok"


def test_retain_asks_first_and_takes_its_days_from_flags_and_settings(
    kept: Kept, home: Path
) -> None:
    world = kept.world
    a = kept.machine("a")
    for number in range(3):
        a.put("x", f"{number}")
        a.sync()
    kept.later(20)
    done = told(world, home, "retain")
    assert (done.code, done.error["code"]) == (4, "confirm_needed")
    days = {"SATCHEL_WAREHOUSE_RETAIN_REPORTS_DAYS": "10"}
    dry = told(world, home, "retain", "--dry-run", **days).json
    assert (dry["dry_run"], dry["reports"], dry["reports_days"], dry["audit_days"]) == (
        True, 2, 10, 400,
    )  # fmt: skip
    done = told(world, home, "retain", "--yes", "--reports-days", "30", **days)
    assert (done.code, done.json["reports"], done.json["reports_days"]) == (0, 0, 30)
    done = told(world, home, "retain", "--yes", **days)
    assert (done.code, done.json["reports"], done.json["dry_run"]) == (0, 2, False)
    last = told(world, home, "status").json["retained"]
    assert (last["who"], last["detail"]["reports"]) == ("postgres", 2)
    assert told(world, home, "retain", "--journal-days", "-1", "--yes").code == 2


def test_backup_check_ends_with_1_where_nothing_is_known(kept: Kept, home: Path) -> None:
    world = kept.world
    assert told(world, home, "backup-check").code == 1
    file = dumped(world, home.parent / "memory.dump")
    kept.hang_up()
    done = told(world, home, "backup-check", str(file), "--scratch", str(home.parent))
    assert done.code == 0, done.err
    assert (done.json["ok"], done.json["faults"]) == (True, [])
    done = told(world, home, "backup-check")
    assert (done.code, done.json["dump"]["detail"]["size_bytes"]) == (0, file.stat().st_size)
    assert [path.name for path in home.parent.glob("satchel-dump-*")] == []
    done = told(world, home, "backup-check", __file__)
    assert (done.code, done.error["code"]) == (2, "dump_invalid")


def test_a_backup_check_that_is_ended_leaves_no_copy(kept: Kept, tmp_path: Path) -> None:
    file = dumped(kept.world, tmp_path / "memory.dump")
    given = environment(SATCHEL_HOME=str(tmp_path / "home"))
    words = ["warehouse", "backup-check", str(file), "--scratch", str(tmp_path)]
    with subprocess.Popen([*COMMAND, *words], env=given) as process:
        until = monotonic() + 60
        while not list(tmp_path.glob("satchel-dump-*/copy/postmaster.pid")):
            assert monotonic() < until
            assert process.poll() is None
            sleep(0.05)
        process.terminate()
        assert process.wait(30) == 128 + signal.SIGTERM
    assert list(tmp_path.glob("satchel-dump-*")) == []


def test_mark_restored_asks_first(world: HubWorld, home: Path) -> None:
    done = told(world, home, "mark-restored")
    assert (done.code, done.error["code"]) == (4, "confirm_needed")
    before = told(world, home, "status").json["epochs"]
    done = told(world, home, "mark-restored", "--yes")
    assert (done.code, done.json["epochs"].keys()) == (0, before.keys())
    found = told(world, home, "status").json
    assert found["epochs"] == done.json["epochs"] != before
    assert found["restored"]["detail"]["logins_missing"] == 0


@pytest.mark.parametrize("words", [["doctor"], ["retain", "--dry-run"], ["metrics"]], ids=" ".join)
def test_without_an_administrators_dsn_they_say_which_setting_is_missing(
    home: Path, words: list[str]
) -> None:
    done = run("warehouse", *words, SATCHEL_HOME=str(home))
    assert (done.code, done.error["field"]) == (2, "warehouse.admin_dsn")


def test_status_at_a_terminal_tells_first_what_matters(world: HubWorld, home: Path) -> None:
    given = {"SATCHEL_HOME": str(home), "SATCHEL_WAREHOUSE_ADMIN_DSN": world.dsn}
    code, screen = typed("warehouse", "status", answers=(), **given)
    lines = [line.split(maxsplit=1) for line in screen.splitlines() if line.strip()]
    begins = [line[0] for line in lines]
    assert (code, begins[:4]) == (0, ["version", "hub", "size", "backup"])
    told = {line[0]: line[1].strip() for line in lines[:13]}
    assert told["backup"] == "none known" or "checked" in told["backup"]
    assert told["size"].endswith(" MB")
    assert "journal 400 days" in screen
    tables = begins[begins.index("table") + 1 :]
    assert len(tables) == TABLES_MAX + 1, "the largest, and all others in a line"


@pytest.mark.parametrize(
    ("count", "told"),
    [(0, "0 B"), (999, "999 B"), (1_000, "1.0 kB"), (999_960, "1.0 MB"), (124_524_223, "124.5 MB"),
     (5 * 10**18, "5000.0 PB")],
)  # fmt: skip
def test_sizes_for_people(count: int, told: str) -> None:
    assert size(count) == told
