"""What was made of a marked row goes with it, whichever comes first: both hubs, both replicas."""

from __future__ import annotations

from dataclasses import replace

import pytest
from fix_made_of import MADE, MARKED, NO_JSON, OTHERS, history, memory
from fix_sides import Doors, Side

from satchel_sync.changes import Loser
from satchel_sync.ports import Hub
from satchel_sync.stamp import SCRUBBED
from satchel_sync.tables import HISTORY, MEMORY, RELATIONSHIP

KINDS = {"memory": (MEMORY, memory), "history": (HISTORY, history)}
KEPT = {**OTHERS, "no JSON": NO_JSON}


@pytest.mark.parametrize("marked_first", [True, False], ids=["mark first", "mark last"])
@pytest.mark.parametrize("kind", KINDS)
def test_at_the_hub(hub: Hub, kind: str, marked_first: bool) -> None:
    table, made = KINDS[kind]
    rows = [made(name, told) for name, told in {**MADE, **KEPT}.items()]
    pushes = [(RELATIONSHIP, [MARKED]), (table, rows)]
    for where, some in pushes if marked_first else pushes[::-1]:
        hub.push(where, some)
    held = hub.fetch(table, [row.key for row in rows]).rows
    assert {row.key for row in held if row.stamp == SCRUBBED} == set(MADE)
    bound = hub.bound()
    hub.push(RELATIONSHIP, [MARKED])
    hub.push(table, rows)
    assert bound == hub.bound(), "a replay changes nothing"


@pytest.mark.parametrize("marked_first", [True, False], ids=["mark first", "mark last"])
def test_the_journal_of_the_hub(hub: Hub, doors: Doors, marked_first: bool) -> None:
    now = memory("made anew", {"note": "harmless"})
    lost = memory("made anew", MADE["quoted"])
    hub.push(MEMORY, [now])
    loser = Loser("memory", lost, now.stamp, "pull", 1)
    if marked_first:
        hub.push(RELATIONSHIP, [MARKED])
    hub.journal([loser])
    assert len(doors.journal()) == (not marked_first)
    hub.push(RELATIONSHIP, [MARKED])
    assert doors.journal() == []
    (held,) = hub.fetch(MEMORY, ["made anew"]).rows
    assert held == now


@pytest.mark.parametrize("marked_first", [True, False], ids=["mark first", "mark last"])
@pytest.mark.parametrize("kind", KINDS)
def test_on_a_replica(side: Side, kind: str, marked_first: bool) -> None:
    table, made = KINDS[kind]
    rows = [made(name, told) for name, told in {**MADE, **KEPT}.items()]
    pulls = [(RELATIONSHIP, [MARKED]), (table, rows)]
    for where, some in pulls if marked_first else pulls[::-1]:
        side.replica.apply(where, some, 1)
    scrubbed = {row.key for row in rows if side.held(row.key, table).stamp == SCRUBBED}
    assert scrubbed == set(MADE)
    waits = side.waiting(kind)
    assert sorted(waits) == (sorted(MADE) if marked_first else []), "what the hub brought whole"


def test_the_journal_of_a_replica(side: Side) -> None:
    side.replica.apply(MEMORY, [memory("made anew", MADE["quoted"])], 1)
    side.replica.requeue(MEMORY, ["made anew"])
    now = memory("made anew", {"note": "harmless"})
    side.replica.apply(MEMORY, [replace(now, stamp=now.stamp._replace(hlc=1 << 62 >> 1))], 2)
    assert [loser.row.key for loser in side.replica.losers()] == ["made anew"]
    side.replica.apply(RELATIONSHIP, [MARKED], 1)
    assert list(side.replica.losers()) == []
