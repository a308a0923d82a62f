"""Handshake: who we are, whether versions fit, what became of our past, how clocks differ."""

from __future__ import annotations

from satchel_sync.changes import Access, Standing, Welcome
from satchel_sync.errors import HubReadOnly, NeedsReconcile, VersionsDiffer
from satchel_sync.ports import Clock, Hub, Replica
from satchel_sync.tables import TABLES
from satchel_sync.tally import Tally
from satchel_sync.version import PROTOCOL

IDS_MAX = 3
"""Hellos of one sync: a restored file takes a new id, and the hub may find that one used too."""
EVENTS = {
    Standing.RESTORED: "this file is an older or a second copy of one that the warehouse knows:"
    " it took a new replica id",
    Standing.REWOUND: "the warehouse was set back to a backup: this replica fills it again",
    Standing.MOVED: "the warehouse is in another epoch than this replica: they reconcile",
}


def handshake(replica: Replica, hub: Hub, clock: Clock, tally: Tally) -> Welcome:
    """Say hello, check the answer, measure the clock offset against the middle of the round trip.

    Raises VersionsDiffer, HubReadOnly, NeedsReconcile or HubRefused.
    """
    for _ in range(IDS_MAX):
        welcome = greet(replica, hub, clock, tally)
        if welcome.standing is not Standing.KNOWN:
            tally.identity.append(EVENTS[welcome.standing])
        if welcome.standing is not Standing.RESTORED:
            replica.welcome(welcome)
            leave_out(welcome, tally)
            return welcome
        replica.succeed(EVENTS[Standing.RESTORED])
    raise NeedsReconcile(
        f"the warehouse took none of {IDS_MAX} new replica ids",
        hint="is another process syncing a copy of this file at this moment?",
    )


def greet(replica: Replica, hub: Hub, clock: Clock, tally: Tally) -> Welcome:
    """One hello and its answer."""
    hello = replica.hello()
    if hello.succeeded and hello.succeeded not in tally.identity:
        tally.identity.append(hello.succeeded)
    asked_ms = clock.now_ms()
    welcome = hub.hello(hello)
    tally.clock_offset_ms = (asked_ms + clock.now_ms()) // 2 - welcome.now_ms
    tally.access = welcome.access.value
    if welcome.access is Access.UPGRADE_REQUIRED:
        raise VersionsDiffer(
            f"the warehouse speaks sync protocol {welcome.protocol}, this satchel {PROTOCOL}",
            hint="upgrade the older of the two (`satchel warehouse migrate` for the warehouse)",
        )
    if welcome.standby:
        raise HubReadOnly("the warehouse accepts no writes now", hint="try again later")
    return welcome


def leave_out(welcome: Welcome, tally: Tally) -> None:
    """Name the kinds that the hub lacks, or knows with other types, also where nothing waits.

    The others are synced. A kind that only the hub has is no trouble.
    """
    for table in TABLES:
        theirs = welcome.columns.get(table.name)
        if theirs is None:
            tally.failed[table.name] = f"the warehouse does not know the kind {table.name!r}"
        elif others := [c.name for c in table.columns if theirs.get(c.name, c.tag) != c.tag]:
            names = ", ".join(others)
            tally.failed[table.name] = f"{table.name}: {names} has another type at the warehouse"
