"""SyncError and its family: what can stop a sync, each with the exit code of its kind.

SyncError
├── HubUnreachable      10  no connection, or another passing trouble
├── SyncBusy            10  another sync of this file is running
├── HubReadOnly         10  the hub cannot commit
├── NeedsReconcile      12  this file's past and the hub's do not fit together
├── VersionsDiffer      13  one side must be upgraded first
│   └── KindRefused     13  one side does not know a kind; the others go on
├── BatchRefused         1  a row of a batch is at fault, and it cannot be said which
└── HubRefused           4  the hub's policy says no
"""

from __future__ import annotations


class SyncError(Exception):
    """The sync stopped. `code` is for programs, `exit_code` for the shell, `hint` for people."""

    code = "sync_failed"
    exit_code = 1

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class HubUnreachable(SyncError):
    """The hub does not answer; nothing is lost and the next sync goes on."""

    code = "hub_unreachable"
    exit_code = 10


class SyncBusy(SyncError):
    """Another sync of this replica is running."""

    code = "sync_busy"
    exit_code = 10


class HubReadOnly(SyncError):
    """The hub accepts no commit now (a standby, or maintenance)."""

    code = "hub_read_only"
    exit_code = 10


class NeedsReconcile(SyncError):
    """The replica's record of the hub does not fit the hub that answered."""

    code = "needs_reconcile"
    exit_code = 12


class VersionsDiffer(SyncError):
    """Replica and hub speak different versions."""

    code = "versions_differ"
    exit_code = 13


class KindRefused(VersionsDiffer):
    """One side does not know a kind, or not so; the other kinds can still be synced."""

    code = "kind_refused"


class BatchRefused(SyncError):
    """A row of a pushed batch cannot be stored and it cannot be said which: halve the batch."""

    code = "batch_refused"


class HubRefused(SyncError):
    """The hub refused this replica (revoked, or bound to another login)."""

    code = "hub_refused"
    exit_code = 4
