"""Push: mine to the hub. The hub commits first, then the outbox is cleared by compare."""

from __future__ import annotations

from collections.abc import Callable

from satchel_sync.limits import PUSH_ROUNDS_MAX
from satchel_sync.ports import Hub, Replica
from satchel_sync.tables import TABLES, Table
from satchel_sync.tally import Tally

Progress = Callable[[str, str, int, int], None]


def push(replica: Replica, hub: Hub, tally: Tally, progress: Progress) -> bool:
    """Send every outbox entry that was there when a round began; rows stamped anew go again.

    Returns whether anything was sent.
    """
    for _ in range(PUSH_ROUNDS_MAX):
        upto = replica.outbox_end()
        restamped = sum(push_table(replica, hub, table, upto, tally, progress) for table in TABLES)
        if not restamped:
            break
    return tally.total("sent") > 0


def push_table(
    replica: Replica, hub: Hub, table: Table, upto: int, tally: Tally, progress: Progress
) -> int:
    """Send one kind, batch by batch; returns how many rows must be sent again."""
    restamped, after = 0, 0
    while batch := replica.outgoing(table, after, upto):
        after = batch.last_seq
        tally.add(table.name, quarantined=batch.quarantined)
        if not batch.rows:
            continue
        answer = hub.push(table, batch.rows)
        settled = replica.settle(table, batch.rows, answer, tally.clock_offset_ms)
        tally.add(
            table.name,
            sent=len(batch.rows),
            accepted=len(answer.accepted),
            superseded=len(answer.superseded),
            quarantined=settled.quarantined,
        )
        tally.conflicts += max(answer.conflicts, settled.conflicts)
        tally.bytes_out += answer.bytes_out
        restamped += settled.restamped
        progress("push", table.name, after, upto)
    tally.restamped += restamped
    return restamped
