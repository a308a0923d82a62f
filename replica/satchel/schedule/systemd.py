"""A user's timer of systemd: two unit files and a few words with `systemctl --user`.

systemd.unit(5), systemd.service(5) (quoting of ExecStart), systemd.timer(5), systemd.exec(5).
"""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from satchel import duration
from satchel.errors import SatchelError
from satchel.schedule import files
from satchel.schedule.contract import Outcome, Ran, Runner, State
from satchel.schedule.job import PERIOD_S_MIN, RUN_S_MAX, Job, whole

SYSTEMCTL = ("systemctl", "--user")
HOUR_S, DAY_S = 3600, 86_400
_EXIT = "ExecMainStatus,ExecMainExitTimestampMonotonic"


@dataclass(frozen=True, slots=True)
class Systemd:
    """`folder` is the user's for units: ~/.config/systemd/user."""

    folder: Path
    runner: Runner
    manager: str = "systemd"

    def files(self, name: str) -> tuple[Path, ...]:
        """The service and its timer."""
        return self.folder / f"{name}.service", self.folder / f"{name}.timer"

    def render(self, job: Job) -> dict[Path, bytes]:
        """Both units."""
        service, timer = self.files(job.name)
        return {service: service_unit(job).encode(), timer: timer_unit(job).encode()}

    def install(self, job: Job) -> Outcome:
        """Write the units; load, enable and start the timer where a user manager answers."""
        again = any(path.exists() for path in self.files(job.name))
        changed = files.write_all(self.render(job))
        timer = f"{job.name}.timer"
        steps = [(*SYSTEMCTL, "daemon-reload"), (*SYSTEMCTL, "enable", "--now", timer)]
        if again and changed:  # a timer that runs keeps its old times otherwise
            steps.append((*SYSTEMCTL, "restart", timer))
        if why := self._silent():
            told = tuple(shlex.join(step) for step in steps[:2])
            return Outcome(changed=changed, active=False, run=told, why=why)
        for step in steps:
            _checked(step, self.runner.run(step))
        return Outcome(changed=changed, active=True)

    def state(self, name: str) -> State | None:
        """What the units say and, where a manager answers, when the timer ran and will run."""
        service, timer = self.files(name)
        texts = [content for path in (service, timer) if (content := files.read(path)) is not None]
        if not texts:
            return None
        lines = b"\n".join(texts).decode("utf-8", "replace").splitlines()
        said = dict(line.split("=", 1) for line in lines if "=" in line)
        every, command = said.get("X-Every"), said.get("ExecStart")
        return State(
            period_s=whole(every or ""),
            command=tuple(unquoted(command)) if command else None,
            **({} if self._silent() else self._told(name)),
        )

    def remove(self, name: str) -> Outcome:
        """Stop and disable the timer, then delete the units."""
        timer = f"{name}.timer"
        reload = (*SYSTEMCTL, "daemon-reload")
        if why := self._silent():
            files.delete_all((*self.files(name), self._wanted(name)))
            told = (shlex.join((*SYSTEMCTL, "stop", timer)), shlex.join(reload))
            return Outcome(changed=True, active=False, run=told, why=why)
        if (self.folder / timer).exists():
            disable = (*SYSTEMCTL, "disable", "--now", timer)
            _checked(disable, self.runner.run(disable))
        files.delete_all(self.files(name))
        _checked(reload, self.runner.run(reload))
        return Outcome(changed=True, active=False)

    def _wanted(self, name: str) -> Path:
        """The link that `enable` makes; `disable` cannot be asked where no manager answers."""
        return self.folder / "timers.target.wants" / f"{name}.timer"

    def _silent(self) -> str:
        """Why no user manager answers, or nothing when one does."""
        if not self.runner.has(SYSTEMCTL[0]):
            return "this machine has no systemctl"
        asked = self.runner.run((*SYSTEMCTL, "show", "--property=Version"))
        return "" if asked.code == 0 else f"systemd's user manager does not answer: {asked.words}"

    def _told(self, name: str) -> dict[str, Any]:
        """Fields of a `State` that only the manager knows."""
        timers = self.runner.run(
            (*SYSTEMCTL, "list-timers", "--all", "--output=json", f"{name}.timer")
        )
        shown = self.runner.run((*SYSTEMCTL, "show", f"{name}.service", f"--property={_EXIT}"))
        active = self.runner.run((*SYSTEMCTL, "is-active", f"{name}.timer"))
        row = _only_row(timers)
        exit_ = dict(line.split("=", 1) for line in shown.out.splitlines() if "=" in line)
        ended = exit_.get("ExecMainExitTimestampMonotonic", "0") != "0"
        status = exit_.get("ExecMainStatus", "")
        return {
            "active": active.code == 0,
            "last_run_ms": _ms(row.get("last")),
            "next_run_ms": _ms(row.get("next")),
            "last_exit": int(status) if ended and status.isdecimal() else None,
        }


# ---- the units ----------------------------------------------------------------------------------


def service_unit(job: Job) -> str:
    """The service: one sync.

    The limits are those that a user's manager can set without rights or namespaces of its own.
    """
    return f"""\
[Unit]
Description=Reconcile this machine's satchel with its warehouse

[Service]
Type=oneshot
ExecStart={quoted(startable(job.command))}
# 10: the warehouse was out of reach; the next run goes on where this one ended.
SuccessExitStatus=10
TimeoutStartSec={RUN_S_MAX}
UMask=0077
Nice=10
NoNewPrivileges=yes
LockPersonality=yes
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK
SystemCallArchitectures=native
"""


def timer_unit(job: Job) -> str:
    """The timer; what begins with X- is for us, systemd passes over it."""
    return f"""\
[Unit]
Description=Reconcile this machine's satchel every {duration.spelled(job.period_s)}

[Timer]
{_when(job.period_s)}
RandomizedDelaySec={job.spread_s}
FixedRandomDelay=true
AccuracySec={min(60, job.period_s // 10)}
Persistent=true

[Install]
WantedBy=timers.target

[X-Satchel]
X-Every={job.period_s}
"""


def _when(period_s: int) -> str:
    """On the calendar where that can say it, as only such a timer makes up for a missed run.

    A period that does not go into a day counts from the last run, and begins anew with a session:
    the first run of it comes soon, or a machine that is off every night would never sync.
    """
    if period_s == DAY_S:
        return "OnCalendar=*-*-* 00:00:00"
    if period_s % HOUR_S == 0 and DAY_S % period_s == 0:
        return f"OnCalendar=*-*-* 00/{period_s // HOUR_S}:00:00"
    if period_s % 60 == 0 and HOUR_S % period_s == 0:
        return f"OnCalendar=*-*-* *:00/{period_s // 60}:00"
    return f"OnActiveSec={PERIOD_S_MIN}\nOnUnitActiveSec={period_s}"


def startable(command: tuple[str, ...]) -> tuple[str, ...]:
    """The same command, through `env` where systemd does not take such a path for a program."""
    return ("/usr/bin/env", *command) if set(command[0]) & set("'\"\\") else command


def quoted(command: tuple[str, ...]) -> str:
    """An argv as ExecStart takes it.

    The colon keeps `$` as it is; `%` begins a specifier, so it is doubled.
    """
    first, *rest = command
    return " ".join(_word(one) for one in (":" + first, *rest))


def _word(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return f'"{escaped}"'


def unquoted(line: str) -> list[str]:
    """The argv of an ExecStart that `quoted` wrote; empty when somebody else did, unreadably."""
    try:
        words = [word.replace("%%", "%") for word in shlex.split(line)]
    except ValueError:
        return []
    return [words[0].removeprefix(":"), *words[1:]] if words else []


# ---- the manager's answers ----------------------------------------------------------------------


def _checked(step: tuple[str, ...], ran: Ran) -> None:
    if ran.code:
        raise SatchelError(
            f"`{shlex.join(step)}` failed: {ran.words}",
            hint="the unit files are in place; run it by hand to see more",
        )


def _only_row(ran: Ran) -> dict[str, Any]:
    try:
        rows = json.loads(ran.out) if ran.code == 0 else []
    except json.JSONDecodeError:
        rows = []
    return rows[0] if isinstance(rows, list) and rows and isinstance(rows[0], dict) else {}


def _ms(value_us: Any) -> int | None:
    """systemd has microseconds, and 0 or null for never."""
    return value_us // 1000 if isinstance(value_us, int) and value_us > 0 else None
