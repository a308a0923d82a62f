"""The report of one sync, as it grows: counts by kind, times by phase, events in words."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from satchel_sync.changes import Left
from satchel_sync.errors import KindRefused, SyncError
from satchel_sync.limits import NAMED_MAX
from satchel_sync.tables import KINDS

COUNTS = ("sent", "accepted", "superseded", "quarantined", "pulled", "applied")
FAILED_EXIT = 1
PASSING_EXIT = 10
QUARANTINED_EXIT = 11
RECONCILE_EXIT = 12
VERSIONS_EXIT = 13


@dataclass
class Tally:
    """What a sync did so far. `kinds` has every row kind with the six `COUNTS`.

    `repaired`, `different` and `damaged` name kind -> keys (at most `NAMED_MAX` each): those that
    were put right, those in another version on the other side, and those whose content does not fit
    their version. `failed` is kind -> why it was left out; `unsent` kind -> rows up to the local
    sequence `begun` that still wait at the end; `later` are kinds of which nothing can be said now
    (`asked`: somebody wanted to know); `due` why the file still has to be reconciled;
    `audit_sent` counts audit records that went, `audit_refused` is chain -> why no more of it goes,
    `audit_left_out` why none at all, `audit_anew` says that a new id lets it go on;
    `left` is what is still here when it is told; `access` what the hub lets this program do;
    `error` the code and message of what stopped it.
    """

    kinds: dict[str, dict[str, int]] = field(
        default_factory=lambda: {kind: dict.fromkeys(COUNTS, 0) for kind in KINDS}
    )
    ms: dict[str, int] = field(default_factory=dict)
    conflicts: int = 0
    restamped: int = 0
    bytes_out: int = 0
    bytes_in: int = 0
    clock_offset_ms: int = 0
    digest: str = "later"
    identity: list[str] = field(default_factory=list)
    repaired: dict[str, list[str]] = field(default_factory=dict)
    different: dict[str, list[str]] = field(default_factory=dict)
    damaged: dict[str, list[str]] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    cursor: dict[str, int] = field(default_factory=dict)
    held_back: int = 0
    left: Left | None = None
    begun: int = 0
    later: list[str] = field(default_factory=list)
    asked: bool = False
    unsent: dict[str, int] = field(default_factory=dict)
    due: str = ""
    access: str = "ok"
    audit_sent: int = 0
    audit_refused: dict[str, str] = field(default_factory=dict)
    audit_left_out: str = ""
    audit_anew: bool = False
    error: dict[str, str] | None = None
    stopped_exit: int = 0

    def add(self, kind: str, **counts: int) -> None:
        """Add to the counts of a kind."""
        for name, count in counts.items():
            self.kinds[kind][name] += count

    def total(self, name: str) -> int:
        """One count over all kinds."""
        return sum(counts[name] for counts in self.kinds.values())

    def name(self, place: dict[str, list[str]], kind: str, keys: Collection[str]) -> None:
        """Name keys of a kind in one of the three, each once; of too many the first."""
        named = place.setdefault(kind, []) if keys else []
        named.extend(sorted(set(keys) - set(named))[: NAMED_MAX - len(named)])

    @contextmanager
    def kind(self, kind: str) -> Iterator[None]:
        """Do something for one kind; if that kind is refused, the others go on."""
        try:
            yield
        except KindRefused as error:
            self.failed[kind] = str(error)

    def audited(self, taken: int, refused: Mapping[str, str], *, anew: bool = False) -> None:
        """Count audit records that went, and note chains of which no more goes."""
        self.audit_sent += taken
        self.audit_refused.update(refused)
        self.audit_anew = self.audit_anew or anew

    def stopped(self, error: SyncError) -> None:
        """Note what ended the sync before its end."""
        self.error = {"code": error.code, "message": str(error)}
        self.stopped_exit = error.exit_code

    @property
    def exit(self) -> int:
        """0 clean; else the first that holds.

        What stopped it, 12 a reconcile is still due (13 if it waits for an upgrade), 1 the sides
        differ, content is damaged or an audit chain does not go on at the hub, 13 versions left out
        a kind or the push, 11 rows are quarantined.
        """
        outdated = bool(self.failed) or self.access != "ok"
        if self.error:
            return self.stopped_exit
        if self.due:
            return VERSIONS_EXIT if outdated else RECONCILE_EXIT
        if self.digest == "different" or self.damaged or self.unsent or self.audit_refused:
            return FAILED_EXIT
        if outdated:
            return VERSIONS_EXIT
        if self.asked and self.later:
            return PASSING_EXIT
        return QUARANTINED_EXIT if self.held_back else 0

    def report(self) -> dict[str, Any]:
        """The JSON answer of `satchel sync`."""
        return {
            "ok": self.exit == 0,
            "exit": self.exit,
            "kinds": self.kinds,
            "conflicts": self.conflicts,
            "restamped": self.restamped,
            "quarantined": self.held_back,
            "held_back": dict(self.left.held_back) if self.left else {},
            "unsent": self.unsent,
            "oldest_unsent_s": self.left.oldest_unsent_s if self.left else None,
            "bytes_out": self.bytes_out,
            "bytes_in": self.bytes_in,
            "ms": self.ms,
            "clock_offset_ms": self.clock_offset_ms,
            "noop": not (self.total("sent") or self.total("pulled") or self.restamped),
            "digest": self.digest,
            "later": self.later,
            "repaired": self.repaired,
            "different": self.different,
            "damaged": self.damaged,
            "identity": self.identity,
            "reconcile_due": self.due or None,
            "audit": {
                "sent": self.audit_sent,
                "refused": self.audit_refused,
                "left_out": self.audit_left_out or None,
            },
            "access": self.access,
            "failed": self.failed,
            "cursor": self.cursor,
            "error": self.error,
        }
