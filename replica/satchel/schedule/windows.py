"""A task of the Windows Task Scheduler: its XML and a few words with `schtasks`.

The schema is in [MS-TSCH] 2.5; `schtasks /Create /XML` wants UTF-16.
"""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

from satchel.errors import Refused, SatchelError
from satchel.schedule import files
from satchel.schedule.contract import Outcome, Ran, Runner, State
from satchel.schedule.job import RUN_S_MAX, Job, whole

SCHTASKS, POWERSHELL = "schtasks", "powershell"
NAMESPACE = "http://schemas.microsoft.com/windows/2004/02/mit/task"
START = "2020-01-01T00:00:00"
"""Long ago: the task runs from when it is made, at every interval since then."""
NEVER_YEAR = 1999
"""Task Scheduler's time of a task that has not run yet lies in this year."""


@dataclass(frozen=True, slots=True)
class TaskScheduler:
    """`folder` is where the XML is kept that a task was made of."""

    folder: Path
    runner: Runner
    manager: str = "task scheduler"

    def files(self, name: str) -> tuple[Path, ...]:
        """The task's XML."""
        return (self.folder / f"{name}.xml",)

    def render(self, job: Job) -> dict[Path, bytes]:
        """The task's XML. Raises Refused for a path that Windows would expand."""
        for word in job.command:
            if "%" in word or "$(" in word:
                raise Refused(
                    f"{word!r}: the Task Scheduler takes % and $( for variables",
                    hint="move it to a path without them",
                )
        return {path: task_xml(job) for path in self.files(job.name)}

    def install(self, job: Job) -> Outcome:
        """Write the XML and make the task of it, in place of an older one."""
        changed = files.write_all(self.render(job))
        (path,) = self.files(job.name)
        make = (SCHTASKS, "/Create", "/TN", job.name, "/XML", str(path), "/F")
        if not self.runner.has(SCHTASKS):
            told = subprocess.list2cmdline(make)
            why = "this machine has no schtasks"
            return Outcome(changed=changed, active=False, run=(told,), why=why)
        _checked(make, self.runner.run(make))
        return Outcome(changed=changed, active=True)

    def state(self, name: str) -> State | None:
        """What the XML says, and what the Task Scheduler knows of the task's runs."""
        (path,) = self.files(name)
        content = files.read(path)
        known = self.runner.has(SCHTASKS) and self._known(name)
        if content is None and not known:
            return None
        said = _parsed(content or b"")
        return State(
            period_s=whole(said.get("Interval", "").removeprefix("PT").removesuffix("S")),
            command=_command(said),
            active=known,
            **(self._told(name) if known else {}),
        )

    def remove(self, name: str) -> Outcome:
        """Delete the task and its XML."""
        if self.runner.has(SCHTASKS) and self._known(name):
            drop = (SCHTASKS, "/Delete", "/TN", name, "/F")
            _checked(drop, self.runner.run(drop))
        files.delete_all(self.files(name))
        return Outcome(changed=True, active=False)

    def _known(self, name: str) -> bool:
        return self.runner.run((SCHTASKS, "/Query", "/TN", name)).code == 0

    def _told(self, name: str) -> dict[str, Any]:
        """Times from PowerShell: what schtasks prints is in the user's language."""
        ran = self.runner.run(
            (POWERSHELL, "-NoProfile", "-NonInteractive", "-Command", _asked(name))
        )
        try:
            said = json.loads(ran.out) if ran.code == 0 else {}
        except json.JSONDecodeError:
            said = {}
        last_ms = _ms(said.get("last"))
        return {
            "last_run_ms": last_ms,
            "next_run_ms": _ms(said.get("next")),
            "last_exit": said.get("result") if last_ms is not None else None,
        }


# ---- the task -----------------------------------------------------------------------------------


def task_xml(job: Job) -> bytes:
    """The task: only while its user is logged on, with no more rights than theirs."""
    program, *arguments = job.command
    content = {
        "RegistrationInfo": {"Description": "Reconcile this machine's satchel with its warehouse"},
        "Triggers": {
            "TimeTrigger": {
                "Repetition": {"Interval": f"PT{job.period_s}S", "StopAtDurationEnd": "false"},
                "StartBoundary": START,
                "Enabled": "true",
                "RandomDelay": f"PT{job.spread_s}S",
            }
        },
        "Principals": {
            "Principal": {"LogonType": "InteractiveToken", "RunLevel": "LeastPrivilege"}
        },
        "Settings": {
            "MultipleInstancesPolicy": "IgnoreNew",
            "DisallowStartIfOnBatteries": "false",
            "StopIfGoingOnBatteries": "false",
            "StartWhenAvailable": "true",
            "Enabled": "true",
            "ExecutionTimeLimit": f"PT{RUN_S_MAX}S",
            "Priority": "7",
        },
        "Actions": {"Exec": {"Command": program, "Arguments": subprocess.list2cmdline(arguments)}},
    }
    task = ET.Element("Task", {"version": "1.2", "xmlns": NAMESPACE})
    _fill(task, content)
    task.find("Principals/Principal").set("id", "Author")  # type: ignore[union-attr]
    task.find("Actions").set("Context", "Author")  # type: ignore[union-attr]
    ET.indent(task)
    text = ET.tostring(task, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-16"?>\n{text}\n'.encode("utf-16")


def _fill(parent: ET.Element, content: dict[str, Any]) -> None:
    """Children in the order of the dictionary: the schema has an order."""
    for tag, value in content.items():
        child = ET.SubElement(parent, tag)
        if isinstance(value, dict):
            _fill(child, value)
        else:
            child.text = value


def _parsed(content: bytes) -> dict[str, str]:
    """Tag -> text of a task's XML; empty when it is none."""
    try:
        root = ET.fromstring(content)
    except ET.ParseError:
        return {}
    return {one.tag.rpartition("}")[2]: one.text or "" for one in root.iter()}


def _command(said: dict[str, str]) -> tuple[str, ...] | None:
    """The program and its arguments in one text: only Windows knows how it takes them apart."""
    return (said["Command"], said.get("Arguments", "")) if "Command" in said else None


# ---- the system's answers -----------------------------------------------------------------------


def _checked(step: tuple[str, ...], ran: Ran) -> None:
    if ran.code:
        raise SatchelError(
            f"`{subprocess.list2cmdline(step)}` failed: {ran.words}",
            hint="run it by hand to see more",
        )


def _asked(name: str) -> str:
    """A line of PowerShell; a name has nothing that would have to be quoted."""
    when = "if ($i.{0}) {{ $i.{0}.ToUniversalTime().ToString('o') }}"
    last, following = when.format("LastRunTime"), when.format("NextRunTime")
    return (
        f"$i = Get-ScheduledTaskInfo -TaskName '{name}'; @{{ last = $({last}); "
        f"next = $({following}); result = $i.LastTaskResult }} | ConvertTo-Json -Compress"
    )


def _ms(text: Any) -> int | None:
    """PowerShell's `o` has seven digits of a second; Python takes six."""
    if not isinstance(text, str):
        return None
    try:
        moment = datetime.fromisoformat(text[:23] + "+00:00")
    except ValueError:
        return None
    return None if moment.year <= NEVER_YEAR else int(moment.timestamp() * 1000)
