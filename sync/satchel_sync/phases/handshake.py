"""Handshake: who we are, whether versions fit, how far apart the clocks are."""

from __future__ import annotations

from satchel_sync.changes import Welcome
from satchel_sync.errors import HubReadOnly, VersionsDiffer
from satchel_sync.ports import Clock, Hub, Replica
from satchel_sync.tally import Tally
from satchel_sync.version import PROTOCOL


def handshake(replica: Replica, hub: Hub, clock: Clock, tally: Tally) -> Welcome:
    """Say hello, check the answer, measure the clock offset against the middle of the round trip.

    Raises VersionsDiffer, HubReadOnly, NeedsReconcile or HubRefused.
    """
    hello = replica.hello()
    asked_ms = clock.now_ms()
    welcome = hub.hello(hello)
    tally.clock_offset_ms = (asked_ms + clock.now_ms()) // 2 - welcome.now_ms
    if welcome.protocol != PROTOCOL:
        raise VersionsDiffer(
            f"the warehouse speaks sync protocol {welcome.protocol}, this satchel {PROTOCOL}",
            hint="upgrade the older of the two (`satchel warehouse migrate` for the warehouse)",
        )
    if welcome.read_only:
        raise HubReadOnly("the warehouse accepts no writes now", hint="try again later")
    replica.welcome(welcome)
    return welcome
