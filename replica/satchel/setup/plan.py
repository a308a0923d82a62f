"""What setup would do: each host's files as they are and as they are to be, nothing written yet."""

from __future__ import annotations

import difflib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Literal, NamedTuple

from satchel.errors import SatchelError, explain
from satchel.plain_file import read_bytes
from satchel.setup.errors import Malformed, Unreadable
from satchel.setup.host import Host, SettingsFile
from satchel.setup.machine import Machine
from satchel.setup.program import Program

BACKUP_SUFFIX: Final = ".satchel-backup"
FILE_BYTES_MAX: Final = 64 * 1024 * 1024
DIFF_LINES_AROUND: Final = 2
_EMPTY: Final = ("", "{}", "[]")
_BOM: Final = "\ufeff"

What = Literal["create", "update", "same", "restore", "delete"]


class Change(NamedTuple):
    """One file: its bytes now and then (None = no file), and the text of the difference.

    `path` is the file itself where the host's is a link to it. `saves` tells whether `before` is to
    be kept beside it, `undoes` whether what is kept there has served.
    """

    path: Path
    what: What
    before: bytes | None
    after: bytes | None
    diff: str = ""
    saves: bool = False
    undoes: bool = False

    @property
    def backup(self) -> Path:
        """Where what was there before is kept."""
        return backup_of(self.path)


class Plan(NamedTuple):
    """One host: its changes, or why it is left alone."""

    host: Host
    changes: tuple[Change, ...]
    refusal: dict[str, str] | None
    notes: tuple[str, ...]

    @property
    def changed(self) -> list[Change]:
        """Those that change something."""
        return [one for one in self.changes if one.what != "same"]


def plan(host: Host, machine: Machine, program: Program, *, remove: bool) -> Plan:
    """What one host's files become; one that cannot be read leaves all of them alone."""
    changes: list[Change] = []
    for file in host.files(machine, program):
        try:
            changes.append(_removal(file) if remove else _addition(file))
        except (SatchelError, OSError) as error:
            return Plan(host, (), _told(error, file.path), ())
    notes = () if remove or not any(one.what != "same" for one in changes) else host.notes(machine)
    return Plan(host, tuple(changes), None, tuple(notes))


def backup_of(path: Path) -> Path:
    """Where what a file was before is kept."""
    return path.with_name(path.name + BACKUP_SUFFIX)


def content(path: Path) -> bytes | None:
    """A file's bytes; None where there is none. Raises Malformed, OSError."""
    try:
        raw = read_bytes(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    if len(raw) > FILE_BYTES_MAX:
        raise Malformed(f"it has more than {FILE_BYTES_MAX} bytes", hint="is it the right file?")
    return raw


def _addition(file: SettingsFile) -> Change:
    path = Path(os.path.realpath(file.path))
    before = content(path)
    old = _text(before)
    new = file.put(old)
    if before is not None and new == old:
        return Change(path, "same", before, before)
    what: What = "create" if before is None else "update"
    # A backup of an earlier setup is still what was there before satchel, unless more has changed.
    kept, theirs = _kept(path), file.take(old)
    is_all_ours = theirs != old and theirs.strip() in _EMPTY
    saves = before is not None and kept != theirs and not (kept is None and is_all_ours)
    return Change(path, what, before, _bytes(new, before), _diff(path, old, new), saves)


def _removal(file: SettingsFile) -> Change:
    path = Path(os.path.realpath(file.path))
    before, kept = content(path), _kept(path)
    if before is None:
        return Change(path, "same", None, None)
    old = _text(before)
    if kept is not None and _is_undone_by(file, old, kept):
        raw = content(backup_of(path))
        return Change(path, "restore", before, raw, _diff(path, old, kept), undoes=True)
    new = file.take(old)
    if new == old:
        return Change(path, "same", before, before)
    if kept is None and new.strip() in _EMPTY:
        return Change(path, "delete", before, None, _diff(path, old, ""), undoes=True)
    diff = _diff(path, old, new)
    return Change(path, "update", before, _bytes(new, before), diff, undoes=True)


def _kept(path: Path) -> str | None:
    """What is kept from before; a copy that cannot be read is as good as none."""
    try:
        raw = content(backup_of(path))
        return None if raw is None else _text(raw)
    except (Malformed, OSError):
        return None


def _is_undone_by(file: SettingsFile, old: str, kept: str) -> bool:
    """Whether what is kept differs from the file by our entries alone."""
    try:
        return file.put(kept) == old and file.take(kept) == kept
    except SatchelError:  # it is not what setup once kept
        return False


def _text(raw: bytes | None) -> str:
    """The text of a file, without a byte order mark. Raises Malformed."""
    try:
        return (raw or b"").decode("utf-8").removeprefix(_BOM)
    except UnicodeDecodeError as error:
        raise Malformed(f"it is not UTF-8 at byte {error.start}", hint="save it as UTF-8") from None


def _bytes(text: str, before: bytes | None) -> bytes:
    mark = _BOM if (before or b"").startswith(_BOM.encode()) else ""
    return (mark + text).encode("utf-8")


def _diff(path: Path, old: str, new: str) -> str:
    """As `diff -u` shows it; what looks like a secret in the lines around is masked."""
    from satchel.redaction import redact

    lines = difflib.unified_diff(
        old.splitlines(),
        new.splitlines(),
        str(path),
        str(path),
        n=DIFF_LINES_AROUND,
        lineterm="",
    )
    return redact("\n".join(lines)).text


def _told(error: Exception, path: Path) -> dict[str, str]:
    if isinstance(error, OSError):
        hint = "this user must be able to read it, as a plain file"
        error = Unreadable(error.strerror or str(error), hint=hint)
    shown, _ = explain(error)
    return {
        "code": shown["code"],
        "message": f"{path}: {shown['message']}: nothing was changed",
        "hint": shown["hint"],
    }


def shown(plans: Sequence[Plan]) -> str:
    """The differences of all, one after the other."""
    return "\n".join(one.diff for each in plans for one in each.changed if one.diff)
