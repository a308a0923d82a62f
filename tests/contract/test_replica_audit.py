"""What waits of the audit chains of both replicas: from where, how much, with which head."""

from __future__ import annotations

import json

from fix_audit_sides import AuditSide, audit_side, small_calls

from satchel_sync.audit import FIRST_LINK, cut_of
from satchel_sync.changes import (
    AuditBatch,
    AuditHeld,
    AuditRecord,
)
from satchel_sync.digest import audit_link

__all__ = ["audit_side", "small_calls"]


def of(batch: AuditBatch, name: str = "writes") -> tuple[AuditRecord, ...]:
    """The records of one chain in a batch."""
    return next((part.records for part in batch.parts if part.chain == name), ())


def numbers(batch: AuditBatch, name: str = "writes") -> list[int]:
    return [record.seq for record in of(batch, name)]


def last(batch: AuditBatch, name: str = "writes") -> AuditHeld:
    record = of(batch, name)[-1]
    return AuditHeld(record.seq, record.link)


def test_nothing_waits_in_a_file_that_has_no_records(side: AuditSide) -> None:
    assert side.replica.audit_waiting({}) == AuditBatch()


def test_both_chains_are_sent_from_their_beginning_with_their_heads(side: AuditSide) -> None:
    side.note("writes", 2)
    side.note("reads", 3)
    batch = side.replica.audit_waiting({})
    assert not batch.more
    for part in batch.parts:
        link = FIRST_LINK
        for number, record in enumerate(part.records, start=1):
            link = audit_link(link, record.body)
            assert (record.seq, record.link) == (number, link)
            body = json.loads(record.body)
            assert (body["chain"], body["seq"]) == (part.chain, number)
            assert body["replica_id"] == side.replica_id().hex()
        assert part.head is not None
        assert (part.head.seq, part.head.link) == (part.records[-1].seq, part.records[-1].link)
        assert json.loads(part.head.signature)["public_key"]
    assert {part.chain for part in batch.parts} == {"writes", "reads"}


def test_only_what_the_hub_lacks_is_sent(side: AuditSide) -> None:
    side.note("writes", 3)
    held = {"writes": last(side.replica.audit_waiting({}))}
    assert side.replica.audit_waiting(held) == AuditBatch()
    side.note("writes", 1)
    assert numbers(side.replica.audit_waiting(held)) == [held["writes"].seq + 1]


def test_a_long_chain_goes_in_bounded_calls_the_head_with_the_last(
    side: AuditSide, small: None
) -> None:
    side.note("writes", 9)
    held: dict[str, AuditHeld] = {}
    sizes, heads = [], []
    while (batch := side.replica.audit_waiting(held)).parts:
        sizes.append(len(of(batch)))
        heads.append(batch.parts[0].head is not None)
        assert batch.more is not heads[-1]
        held = {"writes": last(batch)}
    assert (max(sizes), sum(sizes)) == (4, held["writes"].seq)
    assert heads == [False] * (len(heads) - 1) + [True]


def test_both_chains_share_the_room_of_a_call(side: AuditSide, small: None) -> None:
    side.note("writes", 1)
    side.note("reads", 5)
    batch = side.replica.audit_waiting({})
    assert sum(len(part.records) for part in batch.parts) == 4
    assert batch.more


def test_a_chain_that_is_left_out_does_not_stop_the_other(side: AuditSide) -> None:
    side.note("writes", 1)
    side.note("reads", 1)
    batch = side.replica.audit_waiting({}, ["writes"])
    assert [part.chain for part in batch.parts] == ["reads"]


def test_a_file_that_has_less_than_the_hub_shows_its_end_as_evidence(side: AuditSide) -> None:
    side.note("writes", 2)
    end = last(side.replica.audit_waiting({}))
    ahead = {"writes": AuditHeld(99, b"\x09" * 32), "reads": AuditHeld(9, b"\x09" * 32)}
    batch = side.replica.audit_waiting(ahead)
    writes, reads = sorted(batch.parts, key=lambda part: part.chain, reverse=True)
    assert [one.seq for one in writes.records] == [end.seq]
    assert writes.head is not None
    assert AuditHeld(writes.head.seq, writes.head.link) == end
    assert reads.records == ()
    assert reads.head is not None
    assert AuditHeld(reads.head.seq, reads.head.link) == AuditHeld()


def test_another_record_than_the_hub_holds_is_sent_as_evidence(side: AuditSide) -> None:
    side.note("writes", 4)
    whole = side.replica.audit_waiting({})
    seq = of(whole)[-2].seq
    batch = side.replica.audit_waiting({"writes": AuditHeld(seq, b"\x09" * 32)})
    assert numbers(batch) == [seq, seq + 1]


def test_pruned_records_that_the_hub_has_leave_no_hole(side: AuditSide) -> None:
    side.note("writes", 4)
    held = {"writes": last(side.replica.audit_waiting({}))}
    side.prune("writes", held["writes"].seq - 1)
    (part,) = side.replica.audit_waiting(held).parts
    assert ([one.seq for one in part.records], part.cut) == ([held["writes"].seq + 1], None)


def test_pruned_records_that_the_hub_lacks_come_with_the_record_that_tells_of_it(
    side: AuditSide,
) -> None:
    side.note("writes", 4)
    cut = of(side.replica.audit_waiting({}))[2]
    side.prune("writes", cut.seq)
    (part,) = side.replica.audit_waiting({}).parts
    assert part.records[0].seq == cut.seq + 1
    assert part.cut is not None
    assert cut_of(part.cut.body) == AuditHeld(cut.seq, cut.link)


def test_what_was_sent_is_kept(side: AuditSide) -> None:
    side.note("writes", 3)
    seq = last(side.replica.audit_waiting({})).seq
    side.replica.audit_sent({"writes": AuditHeld(seq, b"\x09" * 32)})
    assert side.sent()["writes"] == seq
