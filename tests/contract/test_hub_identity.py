"""How a hub judges the past of a file: the stories of docs/SYNC.md, on both hubs.

Files are those of the replica in memory, and the real session runs between the two.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from fix_hub import hello_of
from fix_sides import Doors
from fix_sync import FakeClock, digest_of, memory_row, memory_values

from satchel_sync.changes import Access, Row, Standing
from satchel_sync.errors import HubRefused, NeedsReconcile, VersionsDiffer
from satchel_sync.in_memory.replica import MemoryReplica
from satchel_sync.session import sync
from satchel_sync.stamp import CREATED, SCRUBBED, Stamp
from satchel_sync.tables import MEMORY
from satchel_sync.version import PROTOCOL, SCHEMA_MIN

STRANGER = b"\x77" * 16


class Machine:
    """A machine with a file, which comes to the hub through a login of its own."""

    def __init__(self, doors: Doors, number: int = 1) -> None:
        self.file = MemoryReplica(bytes([number]) * 16, FakeClock())
        self.hub = doors.connect(number)

    def write(self, key: str, text: str) -> Row:
        return self.file.put(MEMORY, key, memory_values(text))

    def sync(self) -> list[str]:
        """Sync, all is well afterwards; the identity events."""
        report = sync(self.file, self.hub, self.file.clock)
        assert (report["exit"], report["digest"]) == (0, "equal"), report
        assert report["repaired"] == {}
        return list(report["identity"])

    def standing(self) -> Standing:
        """What the hub says to the file as it is; nothing is done about it."""
        return self.hub.hello(self.file.hello()).standing


@pytest.fixture
def machine(doors: Doors) -> Machine:
    """A machine whose file was synced with a row in it."""
    machine = Machine(doors)
    machine.write("k", "x")
    assert machine.sync() == []
    return machine


def test_a_file_that_goes_on_is_known(machine: Machine) -> None:
    for _ in range(3):
        assert machine.sync() == []
        machine.write("k", "more")
    assert machine.sync() == []


def test_a_hello_whose_answer_was_lost_is_said_again(machine: Machine) -> None:
    for _ in range(3):
        assert machine.standing() is Standing.KNOWN
    assert machine.sync() == []
    assert machine.file.file.predecessors == ()


def test_a_file_restored_from_a_backup_takes_a_new_id(machine: Machine) -> None:
    backup = machine.file.snapshot()
    machine.write("later", "after the backup")
    machine.sync()
    machine.file.restore(backup)
    machine.write("k", "after the restore")
    (event,) = machine.sync()
    assert "older or a second copy" in event
    assert machine.file.file.predecessors == (b"\x01" * 16,)
    assert machine.file.kinds["memory"].rows["later"].stamp.origin == b"\x01" * 16
    assert machine.sync() == []


def test_a_file_restored_to_before_its_first_sync_takes_a_new_id(doors: Doors) -> None:
    machine = Machine(doors)
    backup = machine.file.snapshot()
    machine.sync()
    machine.file.restore(backup)
    (event,) = machine.sync()
    assert "older or a second copy" in event


def test_of_two_copies_the_second_takes_a_new_id_and_both_go_on(
    machine: Machine, doors: Doors
) -> None:
    twin = Machine(doors)
    twin.file.restore(machine.file.snapshot())
    unsent = twin.write("k", "the twin's, under the old id")
    assert machine.sync() == []
    (event,) = twin.sync()
    assert "older or a second copy" in event
    assert twin.file.kinds["memory"].rows["k"] == unsent
    for both in (machine, twin, machine, twin):
        assert both.sync() == []
    assert machine.file.kinds["memory"].rows["k"].values == unsent.values


def test_an_older_token_tells_of_a_restored_file(machine: Machine) -> None:
    old = machine.file.file.token
    machine.write("k", "y")
    machine.sync()
    machine.sync()
    file = machine.file.file
    file.token = old
    assert machine.standing() is Standing.RESTORED


def test_no_token_is_no_old_token(machine: Machine) -> None:
    machine.write("k", "y")
    machine.sync()
    machine.sync()
    machine.file.file.token = ""
    assert machine.standing() is Standing.KNOWN


def test_an_attempt_that_the_hub_never_saw_tells_of_a_rewind(machine: Machine) -> None:
    machine.file.file.last_attempt = "an attempt after the backup"
    assert machine.standing() is Standing.REWOUND


def test_a_token_that_the_hub_never_gave_tells_of_a_rewind(machine: Machine) -> None:
    machine.file.file.token = "f" * 32
    assert machine.standing() is Standing.REWOUND


def test_a_cursor_beyond_what_was_delivered_tells_of_a_rewind(machine: Machine) -> None:
    machine.file.kinds["memory"].cursor += 1
    assert machine.standing() is Standing.REWOUND


@pytest.mark.parametrize("evidence", ["token", "last_attempt", "cursor"])
def test_a_rewind_is_reconciled_once_and_then_over(machine: Machine, evidence: str) -> None:
    before = machine.hub.hello(machine.file.hello()).epoch
    if evidence == "cursor":
        machine.file.kinds["memory"].cursor += 7
    else:
        setattr(machine.file.file, evidence, "f" * 32)
    (event,) = machine.sync()
    assert "set back" in event
    assert machine.file.file.epoch not in ("", before)
    assert [machine.sync() for _ in range(2)] == [[], []]
    machine.write("k", "and on")
    assert machine.sync() == []


def test_who_was_in_the_epoch_of_before_reconciles_and_opens_no_other(
    machine: Machine, doors: Doors
) -> None:
    other = Machine(doors, 2)
    other.sync()
    machine.file.file.token = "f" * 32
    machine.sync()
    (event,) = other.sync()
    assert "another epoch" in event
    assert other.file.file.epoch == machine.file.file.epoch
    assert [machine.sync(), other.sync()] == [[], []]


def test_a_rewind_found_by_an_attempt_that_died_still_opens_an_epoch(machine: Machine) -> None:
    file, hub = machine.file, machine.hub
    epoch = file.file.epoch
    file.file.last_attempt = "an attempt after the backup"
    welcome = hub.hello(file.hello())
    assert welcome.standing is Standing.REWOUND
    file.welcome(welcome)
    machine.sync()
    assert file.file.epoch not in ("", epoch)
    assert machine.sync() == []


def test_the_reconcile_door_answers_the_same_twice(machine: Machine) -> None:
    machine.file.file.token = "f" * 32
    assert machine.standing() is Standing.REWOUND
    assert machine.hub.reconcile() == machine.hub.reconcile()


def test_a_replica_that_was_taken_back_reconciles_once(machine: Machine, doors: Doors) -> None:
    replica_id = machine.file.replica_id
    assert machine.standing() is Standing.KNOWN
    doors.revoke(replica_id)
    with pytest.raises(HubRefused):
        machine.hub.push(MEMORY, [machine.write("k", "in mid-sync")])
    with pytest.raises(HubRefused):
        machine.sync()
    doors.take_back(replica_id)
    epoch = machine.file.file.epoch
    assert len(machine.sync()) == 1
    assert machine.sync() == []
    assert machine.file.file.epoch == epoch


def test_a_revoked_file_does_not_come_back_under_a_new_id(machine: Machine, doors: Doors) -> None:
    doors.revoke(machine.file.replica_id)
    machine.file.succeed("a test")
    with pytest.raises(HubRefused):
        machine.sync()


def test_what_came_of_a_revoked_file_before_is_shut_out_too(machine: Machine, doors: Doors) -> None:
    machine.sync()
    first = machine.file.replica_id
    machine.file.succeed("a test")
    machine.sync()
    doors.revoke(first)
    with pytest.raises(HubRefused):
        machine.sync()


def test_a_page_counts_as_delivered_before_it_is_applied(machine: Machine, doors: Doors) -> None:
    other = Machine(doors, 2)
    other.hub.hello(other.file.hello())
    bound = other.hub.bound()["memory"]
    assert other.hub.pull(MEMORY, 0, bound).cursor == bound
    other.file.kinds["memory"].cursor = bound
    assert other.standing() is Standing.KNOWN
    other.file.kinds["memory"].cursor = bound + 1
    assert other.standing() is Standing.REWOUND


def test_every_push_brings_another_token(machine: Machine) -> None:
    machine.standing()
    row = machine.write("k", "y")
    tokens = {machine.hub.push(MEMORY, [row]).token for _ in range(3)}
    assert len(tokens) == 3
    assert all(len(token) == 32 for token in tokens)


def foreign(key: str) -> Row:
    """A row of a replica that the hub does not know."""
    bare = memory_row(key, "x", Stamp(CREATED, 1, STRANGER, b"\0" * 8))
    return Row(key, bare.stamp._replace(digest=digest_of(MEMORY, bare)), "", bare.values)


def test_a_row_of_an_unknown_origin_is_refused(machine: Machine, doors: Doors) -> None:
    machine.standing()
    (refusal,) = machine.hub.push(MEMORY, [foreign("z")]).refused
    assert (refusal.key, refusal.reason) == ("z", "invalid")
    assert STRANGER.hex() in refusal.detail
    assert doors.relayed() == 0


def test_a_row_of_an_unknown_origin_is_taken_in_a_reconcile(machine: Machine, doors: Doors) -> None:
    machine.standing()
    machine.hub.reconcile()
    assert machine.hub.push(MEMORY, [foreign("z")]).accepted == ("z",)
    assert doors.relayed() == 1


def test_what_was_forgotten_has_no_origin(machine: Machine) -> None:
    machine.standing()
    assert machine.hub.push(MEMORY, [memory_row("z", None, SCRUBBED)]).accepted == ("z",)


def test_a_predecessor_is_an_origin(doors: Doors) -> None:
    machine = Machine(doors)
    row = machine.write("k", "before the file got its new id")
    machine.file.succeed("a test")
    assert machine.sync() == []
    other = Machine(doors, 2)
    other.sync()
    assert other.file.kinds["memory"].rows["k"] == row


@pytest.mark.parametrize("protocol", [0, PROTOCOL - 1, PROTOCOL + 1])
def test_another_protocol_is_told_to_upgrade(doors: Doors, protocol: int) -> None:
    hub = doors.connect(1)
    welcome = hub.hello(replace(hello_of(1, "a"), protocol=protocol))
    assert (welcome.access, welcome.protocol) == (Access.UPGRADE_REQUIRED, PROTOCOL)
    assert hub.hello(hello_of(1, "b")).standing is Standing.KNOWN, "nothing was written"


def test_a_schema_of_before_may_only_pull(doors: Doors) -> None:
    hub = doors.connect(1)
    welcome = hub.hello(replace(hello_of(1, "a"), schema=SCHEMA_MIN - 1))
    assert welcome.access is Access.READ_ONLY
    assert hub.pull(MEMORY, 0, hub.bound()["memory"]).rows == ()
    with pytest.raises(VersionsDiffer):
        hub.push(MEMORY, [foreign("k")])


def test_a_file_of_another_warehouse_is_refused(machine: Machine) -> None:
    machine.file.file.hub_id = b"\x99" * 16
    with pytest.raises(NeedsReconcile):
        machine.sync()


def test_a_file_of_another_warehouse_is_adopted_where_it_is_told_to(
    machine: Machine, doors: Doors
) -> None:
    machine.file.file.hub_id = b"\x99" * 16
    machine.file.file.kinds["memory"].cursor = 10**6
    machine.file.adopt = True
    machine.write("mine", "from elsewhere")
    machine.sync()
    assert machine.sync() == []
    other = Machine(doors, 2)
    other.sync()
    assert {"k", "mine"} <= other.file.kinds["memory"].rows.keys()


def test_a_file_with_rows_of_others_and_no_warehouse_is_adopted_only_where_told_to(
    machine: Machine, doors: Doors
) -> None:
    other = Machine(doors, 2)
    other.file.kinds["memory"].rows["foreign"] = foreign("foreign")
    with pytest.raises(NeedsReconcile):
        other.sync()
    other.file.adopt = True
    other.sync()
    machine.sync()
    assert machine.file.kinds["memory"].rows["foreign"] == foreign("foreign")
    assert doors.relayed() == 1
