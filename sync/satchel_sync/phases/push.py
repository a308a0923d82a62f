"""Push: mine to the hub. The hub commits first, then the outbox is cleared by compare."""

from __future__ import annotations

from collections.abc import Sequence

from satchel_sync.changes import PushAnswer, Refusal, Row
from satchel_sync.errors import BatchRefused
from satchel_sync.limits import PUSH_ROUNDS_MAX
from satchel_sync.phases.compare import fetch
from satchel_sync.ports import Hub, Replica
from satchel_sync.progress import Progress
from satchel_sync.tables import Table
from satchel_sync.tally import Tally


def push(
    replica: Replica, hub: Hub, tables: Sequence[Table], tally: Tally, progress: Progress
) -> bool:
    """Send every outbox entry that was there when a round began; rows stamped anew go again.

    Returns whether anything was sent.
    """
    before = tally.total("sent")
    for number in range(PUSH_ROUNDS_MAX):
        upto, restamped = replica.outbox_end(), 0
        for table in tables:
            with tally.kind(table.name):
                restamped += push_table(
                    replica, hub, table, upto, tally, progress, again=number > 0
                )
        if not restamped:
            break
    else:
        tally.begun = replica.outbox_end()  # what was stamped anew once too often waits as well
    return tally.total("sent") > before


def push_table(
    replica: Replica,
    hub: Hub,
    table: Table,
    upto: int,
    tally: Tally,
    progress: Progress,
    *,
    again: bool = False,
) -> int:
    """Send one kind, batch by batch; returns how many rows must be sent again.

    `again`: rows that were stamped anew in this sync. What beats one of them may lie below the
    cursor, so it is fetched; what beats any other row comes with the pull.
    """
    restamped, after = 0, 0
    while batch := replica.outgoing(table, after, upto):
        after = batch.last_seq
        tally.add(table.name, quarantined=batch.quarantined)
        if not batch.rows:
            continue
        answer = push_batch(hub, table, batch.rows)
        settled = replica.settle(table, batch.rows, answer, tally.clock_offset_ms)
        if again:
            fetch(replica, hub, table, tuple(answer.superseded), tally)
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


def push_batch(hub: Hub, table: Table, rows: Sequence[Row]) -> PushAnswer:
    """Push a batch; one that is refused as a whole is halved until the row at fault stands alone.

    So k bad rows among n cost about 2 k log2 n pushes, and the n - k others arrive.
    """
    try:
        return hub.push(table, rows)
    except BatchRefused as error:
        if len(rows) == 1:
            return PushAnswer((), refused=(Refusal(rows[0].key, "invalid", str(error)),))
    middle = len(rows) // 2
    return push_batch(hub, table, rows[:middle]).joined(push_batch(hub, table, rows[middle:]))
