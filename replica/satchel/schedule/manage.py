"""Install, look at and remove the timer of a replica: what `satchel schedule` does."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from satchel import config, duration, secret_store
from satchel.config import Settings
from satchel.errors import ConfigInvalid, EngineUnavailable, NotFound, Refused
from satchel.memory.moments import iso
from satchel.schedule.contract import Runner, Scheduler
from satchel.schedule.job import PERIOD_S_MIN, job_of, name_of
from satchel.schedule.launchd import Launchd
from satchel.schedule.runner import Programs
from satchel.schedule.systemd import Systemd
from satchel.schedule.windows import TaskScheduler


def scheduler_of(
    settings: Settings, *, platform: str = sys.platform, runner: Runner | None = None
) -> Scheduler:
    """This operating system's. Raises EngineUnavailable for one that we do not know."""
    runner = runner or Programs()
    if platform == "linux":
        return Systemd(_systemd_folder(), runner)
    if platform == "darwin":
        return Launchd(Path.home() / "Library" / "LaunchAgents", os.getuid(), runner)
    if platform == "win32":
        return TaskScheduler(settings.home / "schedule", runner)
    raise EngineUnavailable(
        f"there is no timer here for {platform}",
        hint="run `satchel sync` from cron, or `satchel sync --every 1h`",
    )


def install(settings: Settings, every: str, scheduler: Scheduler) -> dict[str, Any]:
    """Make a timer that syncs this home. Done again, it changes what differs.

    Raises InvalidInput for a bad `every`, Refused or ConfigInvalid where the timer's runs could
    not find the warehouse, StoreUnusable, and SatchelError when the system says no.
    """
    period_s = duration.seconds(every, field="every", least_s=PERIOD_S_MIN)
    notes = _check_warehouse(settings)
    job = job_of(settings.home, period_s)
    outcome = scheduler.install(job)
    return {
        "installed": True,
        "changed": outcome.changed,
        "active": outcome.active,
        "manager": scheduler.manager,
        "name": job.name,
        "every": duration.spelled(period_s),
        "command": list(job.command),
        "files": _named(scheduler, job.name),
        "run": list(outcome.run),
        "notes": [*([outcome.why] if outcome.why else []), *notes],
    }


def status(settings: Settings, scheduler: Scheduler) -> dict[str, Any]:
    """How the timer of this home stands; what the system does not tell is null."""
    name = name_of(settings.home)
    state = scheduler.state(name)
    if state is None:
        return {"installed": False, "manager": scheduler.manager, "name": name}
    return {
        "installed": True,
        "active": state.active,
        "manager": scheduler.manager,
        "name": name,
        "every": duration.spelled(state.period_s) if state.period_s else None,
        "command": list(state.command) if state.command else None,
        "files": _named(scheduler, name),
        "last_run": _iso(state.last_run_ms),
        "next_run": _iso(state.next_run_ms),
        "last_exit": state.last_exit,
    }


def remove(settings: Settings, scheduler: Scheduler) -> dict[str, Any]:
    """Stop and delete the timer of this home. Raises NotFound when there is none."""
    name = name_of(settings.home)
    if scheduler.state(name) is None:
        raise NotFound(
            f"nothing is installed: {scheduler.manager} has no timer {name} for {settings.home}",
            hint="another home has another timer: name it with --home",
        )
    removed = _named(scheduler, name)
    outcome = scheduler.remove(name)
    return {
        "removed": removed,
        "manager": scheduler.manager,
        "name": name,
        "run": list(outcome.run),
        "notes": [outcome.why] if outcome.why else [],
    }


def _check_warehouse(settings: Settings) -> list[str]:
    """What the user should know of the settings that a timer's runs will see: config.toml only."""
    settings.require_built()
    alone = config.load(flags={"home": str(settings.home)}, environ={})
    file = settings.home / config.CONFIG_FILE
    if not alone.warehouse_dsn and settings.warehouse_dsn:
        raise Refused(
            "the warehouse's DSN is only in this shell's environment, which a timer does not have",
            hint=f'write it into {file}: under [warehouse], dsn = "postgresql://…", or '
            'dsn = "service=NAME" with the rest in ~/.pg_service.conf and ~/.pgpass',
            field="warehouse.dsn",
        )
    if not alone.warehouse_dsn and not secret_store.has_secret(alone, "warehouse.dsn"):
        raise ConfigInvalid(
            "no warehouse is configured",
            hint=f'write it into {file}: under [warehouse], dsn = "postgresql://…"',
            field="warehouse.dsn",
        )
    here_only = [
        one.origin.removeprefix("env ") for one in settings.sourced if one.origin.startswith("env ")
    ] + config.libpq_variables()
    unseen = [f"a timer does not see {name}, which is set here" for name in here_only]
    return unseen + secret_store.notes_for_timers(alone)


def _systemd_folder() -> Path:
    from platformdirs.unix import Unix  # it heeds XDG_CONFIG_HOME; on Linux only

    return Unix("systemd").user_config_path / "user"


def _named(scheduler: Scheduler, name: str) -> list[str]:
    return [str(path) for path in scheduler.files(name) if path.exists()]


def _iso(time_ms: int | None) -> str | None:
    return None if time_ms is None else iso(time_ms)
