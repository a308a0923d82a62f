"""What must hold in every story: the list of docs/SYNC.md, checked by one who knows everything."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from simulation.machines import Machine
from simulation.texts import mark
from simulation.truth import Write, rows_of

from satchel_sync.changes import Row
from satchel_sync.in_memory.file import File
from satchel_sync.in_memory.hub_merge import is_about_forgotten
from satchel_sync.in_memory.hub_state import HubState
from satchel_sync.merge import UNJOURNALED_KINDS
from satchel_sync.stamp import SCRUBBED
from satchel_sync.tables import BY_NAME, KINDS

if TYPE_CHECKING:
    from simulation.world import World


class Broken(AssertionError):
    """An invariant does not hold."""


def require(holds: bool, otherwise: str) -> None:
    """Raise Broken unless it holds."""
    if not holds:
        raise Broken(otherwise)


# ---- after every sync ---------------------------------------------------------------------------


def check_report(world: World, machine: Machine, report: Mapping[str, Any]) -> None:
    """A sync that came to its end says what happened, and nothing else."""
    # Residue: two copies whose hub was set back count as one file until their next syncs. Their
    # chains tell them apart at once.
    forked = bool(report["audit"]["refused"]) and machine.suspect
    exit_code = 1 if forked else 11 if report["quarantined"] else 0
    require(report["exit"] == exit_code, f"exit {report['exit']}: {report}")
    for event in report["identity"]:
        check_event(world, machine, event)
    # Residue: a hub set back twice, the second time into a reconcile; or set back while a row is
    # in quarantine, which a reconcile leaves out.
    if world.cuts == 0 or (world.cuts == 1 and not world.has_spoilt):
        require(not report["repaired"], f"the net caught {report['repaired']}")


def check_event(world: World, machine: Machine, event: str) -> None:
    """No restored file, no rewind, no other epoch is reported unless there was one."""
    if "older or a second copy" in event:
        require(machine.suspect, "a restored file is reported where none was")
    elif "audit chain" in event:
        require(machine.suspect, "an audit chain was refused of a file that nobody copied")
    elif "set back" in event:
        require(world.cuts > 0, "a rewind is reported where none was")
    else:
        require(world.cuts > 0 or machine.taken_back, "another epoch is reported where none was")


def check_cursors(world: World, machine: Machine) -> None:
    """All that lies below a cursor was applied (or is beaten by what is held)."""
    if world.cuts or machine.replica.file.due:
        return
    for kind in KINDS:
        kept = machine.replica.kinds[kind]
        for key, seq in world.hub.state.seqs[kind].items():
            if seq > kept.cursor:
                break
            held, theirs = kept.rows.get(key), world.hub.state.rows[kind][key]
            covered = held is not None and (
                held.stamp >= theirs.stamp
                or theirs.stamp.hex() in held.lineage
                or kept.unsent(key)  # stamped anew: its push will bring what beats it
            )
            require(covered, f"the cursor of {kind} is ahead of {key} on {machine.number}")


# ---- at the end ---------------------------------------------------------------------------------


def check_converged(world: World) -> None:
    """Every side holds the same rows, byte for byte, and nothing waits.

    Two copies of a file may stamp a delete alike and build it on different versions: the lineage,
    which is no part of a version, may differ then.
    """
    copies = any(machine.suspect for machine in world.machines)
    truth = {kind: dict(rows) for kind, rows in world.hub.state.rows.items()}
    for machine in world.machines:
        for kind, kept in machine.replica.kinds.items():
            place = f"{kind} of machine {machine.number}"
            require(not kept.outbox, f"stuck in the outbox: {place} {list(kept.outbox)}")
            require(not kept.quarantine, f"in quarantine: {place} {kept.quarantine}")
            differ = set(kept.rows.keys() ^ truth[kind].keys())
            for key in kept.rows.keys() & truth[kind].keys():
                mine, theirs = kept.rows[key], truth[kind][key]
                same = (mine.stamp, mine.values) == (theirs.stamp, theirs.values)
                if not same or (mine != theirs and not copies):
                    differ.add(key)
            require(not differ, f"{place} differs in {sorted(differ)}")
        require(not machine.replica.file.due, f"machine {machine.number} is never reconciled")


def check_digests(world: World) -> None:
    """Equal digests mean equal versions, and the reverse."""
    for machine in world.machines:
        for kind in KINDS:
            mine, theirs = machine.replica.kinds[kind].rows, world.hub.state.rows[kind]
            stamps = {k: r.stamp for k, r in mine.items()} == {
                k: r.stamp for k, r in theirs.items()
            }
            require((mine.sums == theirs.sums) == stamps, f"digests of {kind} lie")


def check_identities(world: World) -> None:
    """No two living files write under one id."""
    ids = [machine.replica.replica_id for machine in world.machines]
    require(len(ids) == len(set(ids)), "two living files have one id")


def check_audit(world: World) -> None:
    """The hub holds every audit record of every living file, in one chain without a hole."""
    for machine in world.machines:
        file = machine.replica.file
        kept = world.hub.state.audit.records
        for chain, records in file.audit.items():
            same = kept.get((file.replica_id, chain), []) == records
            require(same, f"the hub holds another chain of {chain} than machine {machine.number}")


def check_writes(world: World) -> None:
    """Every write won, is built on by what won, or is in the hub's journal."""
    kept = world.truth.carried(world.hub.state, ()) | world.truth.deleted()
    kept |= {write for write in world.truth.writes.values() if is_no_loss(write, kept)}
    for write in world.truth.writes.values():
        if not write.lost:
            check_write(world, write, is_kept=write in kept)


def check_write(world: World, write: Write, is_kept: bool) -> None:
    """One write. A delete holds whatever the clocks say; what was forgotten is gone for good."""
    kind, key = write.place
    winner = world.hub.state.rows[kind].get(key)
    if is_about_forgotten(world.hub.state, BY_NAME[kind], write.row):
        return
    require(winner is not None, f"{write.place} of {write.row.stamp} is nowhere")
    assert winner is not None
    if winner.stamp == SCRUBBED:
        return
    require(write.row.stamp != SCRUBBED, f"{write.place} was forgotten, and is back")
    require(winner.stamp.life >= write.row.stamp.life, f"the life of {write.place} went back")
    if write.row.stamp.dead or kind in UNJOURNALED_KINDS:
        return
    require(is_kept, f"{write.place} {text_of(write.row)} is lost")


def is_no_loss(write: Write, kept: set[Write]) -> bool:
    """Whether only `last_seen` of an agent went."""
    if write.place[0] != "agent":
        return False
    at = BY_NAME["agent"].names.index("last_seen")
    mine = write.row.values[:at]
    return any(one.place == write.place and one.row.values[:at] == mine for one in kept)


def text_of(row: Row) -> str:
    """The texts of a row."""
    return " ".join(str(value) for value in row.values if isinstance(value, str))


def check_forgotten(world: World) -> None:
    """The text of a forgotten memory is in no row and no journal of any side."""
    rows = world.hub.state.rows["memory"]
    marks = [mark(key) for key, row in rows.items() if row.stamp == SCRUBBED]
    ends: list[HubState | File] = [world.hub.state, *(m.replica.file for m in world.machines)]
    for end in ends if marks else ():
        texts = [(kind, row) for kind, row in rows_of(end)]
        texts += [(loser.kind, loser.row) for loser in end.losers.values()]
        for kind, row in texts:
            if is_of_deleted_edge(world, kind, row):
                continue
            quotes = any(one in str(value) for value in row.values for one in marks)
            require(not quotes, f"{kind} {row.key} quotes what was forgotten")


def is_of_deleted_edge(world: World, kind: str, row: Row) -> bool:
    """History of an edge that is a mere tombstone: nothing tells any more what the edge was about.

    Known residue: docs/SYNC.md.
    """
    if kind != "history" or row.values[0] != "relationship":
        return False
    edge = world.hub.state.rows["relationship"].get(str(row.values[1]))
    return edge is not None and edge.stamp.dead and edge.stamp != SCRUBBED


def check_journal(world: World) -> None:
    """No retry and no chain of edits is in a journal."""
    ends: list[HubState | File] = [world.hub.state, *(m.replica.file for m in world.machines)]
    for end in ends:
        for loser in end.losers.values():
            require(
                not world.truth.is_false(loser),
                f"the journal has {loser.kind} {loser.row.key}, on which its winner was built",
            )
