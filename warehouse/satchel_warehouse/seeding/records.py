"""What a hub knows beside the rows: machines, their syncs, conflicts, audit chains."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from satchel_crypto.audit_record import BEGAN, CHAINS, FIRST_LINK, READ, READS, body_of
from satchel_sync.changes import Left
from satchel_sync.digest import audit_link
from satchel_sync.stamp import CREATED, Stamp
from satchel_sync.tables import KINDS
from satchel_sync.tally import PASSING_EXIT, Tally
from satchel_warehouse.seeding import words
from satchel_warehouse.seeding.cast import DAY_MS, HOUR_MS, Cast
from satchel_warehouse.seeding.draw import Draw
from satchel_warehouse.seeding.story import Known, Story

Record = tuple[Any, ...]

ATTEMPTS, CONFLICTS, AUDITED = 0.02, 0.003, 0.06
"""Of the rows: syncs, conflicts, records of each of the two audit chains."""
LATE_DAYS = 20
STOPPED, HELD_BACK = 5, 6
"""Of the last syncs: stopped on the machine that fails, with rows held back on some."""
READ_TOOLS = ("memory_search", "memory_get", "memory_list", "chatlog_search", "task_list")
WRITE_TOOLS = ("memory_write", "memory_update", "task_create", "task_update", "memory_link")
PATHS = ("push", "pull", "bundle", "reconcile")


def login(cast: Cast, machine: int) -> str:
    """The login of a machine: no such role is made, so nobody can come in by it."""
    return f"{cast.tenant}/{machine + 1:02}"


def is_late(cast: Cast, machine: int) -> bool:
    """The last of four or more machines has not synced for weeks."""
    return cast.machines >= 4 and machine == cast.machines - 1


def is_failing(cast: Cast, machine: int) -> bool:
    """The one before it meets the hub, but its last syncs stopped."""
    return cast.machines >= 4 and machine == cast.machines - 2


def is_revoked(cast: Cast, machine: int) -> bool:
    """The one before that was shut out."""
    return cast.machines >= 4 and machine == cast.machines - 3


def logins(cast: Cast) -> Iterator[Record]:
    """Name, tenant, when it was granted."""
    for at in range(cast.machines):
        yield login(cast, at), cast.tenant, cast.begin_ms


def machines(cast: Cast) -> Iterator[Record]:
    """Tenant, id, login, host, version, first seen, last seen, revoked."""
    for at, replica_id in enumerate(cast.replica_ids):
        last = _last_sync(cast, at)
        revoked = (last + cast.end_ms) // 2 if is_revoked(cast, at) else None
        version = f"0.{4 + at % 3}.{at % 2}"
        first = cast.begin_ms + at * HOUR_MS
        name, host = login(cast, at), cast.host(at)
        yield cast.tenant, replica_id, name, host, version, first, last, revoked


def attempts(cast: Cast, rows: int) -> Iterator[Record]:
    """Tenant, attempt, machine, begun, ended, its report as JSON: an hour apart, up to the last."""
    count = min(max(3, int(rows * ATTEMPTS / cast.machines)), 24 * (LATE_DAYS + 150))
    for machine, replica_id in enumerate(cast.replica_ids):
        draw, last = cast.draw("attempts", machine), _last_sync(cast, machine)
        for back in range(count - 1, -1, -1):
            begun = last - back * HOUR_MS - draw.below(60_000)
            took = draw.between(80, 900)
            stopped = is_failing(cast, machine) and back < STOPPED
            ended = None if stopped and back == 0 else begun + took
            left = _left(draw, machine, back, stopped=stopped)
            report = json.dumps(_report(draw, took, left, stopped=stopped))
            named = (cast.tenant, draw.data(16).hex(), replica_id)
            yield *named, begun, ended, report if ended else None


def conflicts(cast: Cast, rows: int, story: Story) -> Iterator[Record]:
    """Kind, key, version that lost, lineage, its content, the winner, path, when, machine."""
    draw = cast.draw("conflicts")
    for _ in range(int(rows * CONFLICTS) if story.known else 0):
        is_task = draw.chance(0.3) and bool(story.tasks)
        one = draw.pick(story.tasks if is_task else story.known)
        machine = draw.early(range(cast.machines))
        at = one.at + draw.between(HOUR_MS, DAY_MS)
        if at > cast.end_ms:
            at = draw.between(one.at, cast.end_ms)
        text = words.text(draw, 3)
        lost_row = {"title": text} if is_task else {"type": "note", "content": text, "scope": "org"}
        content = json.dumps(lost_row)
        lost, won = (
            Stamp(CREATED, (when << 16) + draw.below(99), cast.replica_ids[where], draw.data(8))
            for when, where in ((at - 1_000, machine), (at, one.machine))
        )
        path, replica_id = draw.early(PATHS), cast.replica_ids[machine]
        key = ("task" if is_task else "memory", one.key)
        yield *key, lost.hex(), "", content, won.hex(), path, at, replica_id


def audits(cast: Cast, rows: int, known: Sequence[Known]) -> Iterator[Record]:
    """Machine, chain, number, when, body, link, MAC (of no key), when it came."""
    for machine, replica_id in enumerate(cast.replica_ids):
        for chain in CHAINS:
            draw = cast.draw("audit", machine, chain)
            count = max(1, int(rows * AUDITED * _weight(cast, machine)))
            moments = sorted(cast.moment(draw, at / count) for at in range(count))
            link = FIRST_LINK
            for number, at in enumerate(moments, start=1):
                body = _body(cast, draw, known, machine, chain, number, at, number / count)
                link = audit_link(link, body)
                yield replica_id, chain, number, at, body, link, draw.data(32), at + HOUR_MS


def _body(
    cast: Cast,
    draw: Draw,
    known: Sequence[Known],
    machine: int,
    chain: str,
    number: int,
    at: int,
    part: float,
) -> str:
    """The first record of a chain says that it began; then rows were read, or written."""
    replica_id = cast.replica_ids[machine].hex()
    if number == 1:
        return body_of(chain, replica_id, 1, at, BEGAN, None, None, (), 0, {"why": "first"})
    there = int(len(known) * part)
    named = draw.between(1, 10 if chain == READS else 2)
    rows = {("memory", known[draw.below(there)].key): None for _ in range(named if there else 0)}
    actor = draw.early(cast.agents[machine])
    action = READ if chain == READS else draw.early(("changed", "updated", "created"))
    tool = draw.early(READ_TOOLS if chain == READS else WRITE_TOOLS)
    stamp = at << 16
    detail = {} if chain == READS else {"stamps": f"{stamp}-{stamp + 1}"}
    more = draw.between(1, 90) if chain == READS and draw.chance(0.02) else 0
    return body_of(chain, replica_id, number, at, action, actor, tool, rows, more, detail)


def _left(draw: Draw, machine: int, back: int, *, stopped: bool) -> Left:
    """What waits on a machine after a sync, so many before its last."""
    held: dict[str, int] = {}
    if machine % 4 == 1 and back < HELD_BACK:
        held = {"memory": 1 + machine % 3, "task": 1}
    elif draw.chance(0.02):
        held = {"memory": 1}
    if stopped:
        return Left(held, (STOPPED - back) * HOUR_MS / 1000)
    return Left(held, 5.0 * draw.between(1, 900) if draw.chance(0.1) or machine % 4 == 1 else None)


def _report(draw: Draw, took_ms: int, left: Left, *, stopped: bool) -> dict[str, Any]:
    """A report as a real sync makes it."""
    tally = Tally(clock_offset_ms=draw.between(-400, 400), digest="equal")
    tally.ms = {"handshake": 20, "push": took_ms // 2, "pull": took_ms // 3, "digest": 15}
    for kind in KINDS if draw.chance(0.5) else ():
        sent, pulled = draw.below(40), draw.below(200)
        tally.add(kind, sent=sent, accepted=sent, pulled=pulled, applied=pulled)
        tally.bytes_out, tally.bytes_in = sent * 700, pulled * 700
    for kind, count in left.held_back.items():
        tally.add(kind, quarantined=count)
        tally.held_back += count
    if stopped:
        tally.error = {"code": "warehouse_unreachable", "message": "[seeded] the hub was away"}
        tally.stopped_exit = PASSING_EXIT
    tally.left = left
    return tally.report()


def _last_sync(cast: Cast, machine: int) -> int:
    """Within the last hour, but for a machine that is late."""
    days = LATE_DAYS if is_late(cast, machine) else 0
    return cast.end_ms - days * DAY_MS - machine * 60_000 - 60_000


def _weight(cast: Cast, machine: int) -> float:
    """The part of all work that a machine does: as `Draw.early` picks it."""
    return float(((machine + 1) / cast.machines) ** 0.5 - (machine / cast.machines) ** 0.5)
