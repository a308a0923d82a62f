"""Audit chains at both hubs: what follows is appended, what does not is refused and kept."""

from __future__ import annotations

from dataclasses import replace

import pytest
from fix_audit import Chain, Signer, fork
from fix_hub import hello_of
from fix_sides import Doors

from satchel_sync.changes import AuditPart, AuditRecord
from satchel_sync.ports import Hub

ME = b"\x01" * 16


@pytest.fixture
def chain() -> Chain:
    """Five records of machine 1."""
    return Chain(ME).grow(5)


def test_a_chain_is_appended_and_told_at_the_next_hello(
    doors: Doors, hub: Hub, chain: Chain
) -> None:
    reads = Chain(ME, "reads", signer=chain.signer).grow(2)
    answer = hub.audit([chain.part(), reads.part()])
    assert (answer.taken, answer.refused) == (7, {})
    assert answer.held == {"writes": chain.held, "reads": reads.held}
    hub.bye({})
    again = doors.connect(1).hello(hello_of(1, "next", last_attempt="attempt"))
    assert again.audit == {"writes": chain.held, "reads": reads.held}
    assert doors.trouble() == []


def test_a_machine_that_is_new_has_nothing_there(doors: Doors) -> None:
    assert doors.connect(2).hello(hello_of(2, "first")).audit == {}


def test_a_retry_changes_nothing(doors: Doors, hub: Hub, chain: Chain) -> None:
    hub.audit([chain.part()])
    for _ in range(2):
        answer = hub.audit([chain.part()])
        assert (answer.taken, answer.refused, answer.held) == (0, {}, {"writes": chain.held})
    chain.grow(2)
    assert hub.audit([chain.part(3)]).taken == 2
    assert doors.audit(ME) == [("writes", one) for one in chain.records]
    assert doors.trouble() == []


def test_the_last_records_come_with_the_goodbye(doors: Doors, hub: Hub, chain: Chain) -> None:
    answer = hub.bye({"exit": 0}, [chain.part()])
    assert (answer.taken, answer.held, answer.refused) == (5, {"writes": chain.held}, {})
    assert [seq for seq, _ in doors.audit_heads(ME)] == [5]


def test_a_goodbye_without_records_says_nothing(hub: Hub) -> None:
    answer = hub.bye({})
    assert (answer.taken, answer.held, answer.refused) == (0, {}, {})


REFUSED = {
    "a fork": (lambda c: fork(c, 3).grow(3).part(3), "fork", 4, 5),
    "a fork at the end": (lambda c: fork(c, 4).grow(1).part(4), "fork", 5, 5),
    "a gap": (lambda c: c.grow(3).part(6), "gap", 7, 5),
    "a wrong link": (lambda c: _with(c.grow(2), 6, link=b"\x09" * 32), "link", 6, 5),
    "another body": (lambda c: _body(c.grow(2), 6, '"una"', '"eve"'), "link", 6, 5),
    "swapped": (lambda c: AuditPart("writes", (*c.grow(2).records[6:], c.record(6))), "gap", 7, 5),
    "another machine": (lambda c: _body(c.grow(), 6, "01" * 16, "02" * 16), "shape", 6, 5),
    "another chain": (lambda c: _body(c.grow(), 6, '"writes"', '"reads"'), "shape", 6, 5),
    "another number": (lambda c: _body(c.grow(), 6, '"seq":6', '"seq":7'), "shape", 6, 5),
    "no JSON": (lambda c: _with(c.grow(), 6, body="{"), "shape", 6, 5),
    "nested without end": (lambda c: _with(c.grow(), 6, body="[" * 100_000), "shape", 6, 5),
    "no object": (lambda c: _with(c.grow(), 6, body="[6]"), "shape", 6, 5),
    "a time that is none": (lambda c: _body(c.grow(), 6, '"at":', '"at":"x","as":'), "shape", 6, 5),
    "a short link": (lambda c: _with(c.grow(), 6, link=b"\x09"), "shape", 6, 5),
    "a short MAC": (lambda c: _with(c.grow(), 6, mac=b""), "shape", 6, 5),
    "too long": (lambda c: _body(c.grow(), 6, '"una"', f'"{"u" * 1_100_000}"'), "shape", 6, 5),
    "another link in the head": (
        lambda c: replace(c.grow().part(5), head=replace(c.head(), link=b"\x09" * 32)),
        "head", 6, 6,
    ),
    "a head of a record that is not there": (
        lambda c: AuditPart("writes", (), c.grow().head()), "head", 6, 5,
    ),
    "a signature that is none": (
        lambda c: replace(c.grow().part(5), head=replace(c.head(), signature="[]")), "head", 6, 6,
    ),
    "another key": (lambda c: _signed_by(c.grow(), Signer.new()).part(5), "key", 6, 6),
}  # fmt: skip


@pytest.mark.parametrize("story", REFUSED)
def test_what_does_not_follow_is_refused_and_kept(
    doors: Doors, hub: Hub, chain: Chain, story: str
) -> None:
    make, what, seq, held = REFUSED[story]
    hub.audit([chain.part()])
    before = doors.audit(ME)
    part = make(chain)
    for _ in range(2):
        answer = hub.audit([part])
        assert set(answer.refused) == {"writes"}
        assert answer.held["writes"].seq == held
    assert str(seq) in answer.refused["writes"] or what == "key"
    assert doors.trouble() == [(ME, "writes", what, seq)]
    assert doors.audit(ME)[:5] == before


def test_what_came_before_the_first_trouble_is_kept_and_the_other_chain_goes_on(
    doors: Doors, hub: Hub, chain: Chain
) -> None:
    reads = Chain(ME, "reads", signer=chain.signer).grow(3)
    broken = _with(chain, 4, link=b"\x09" * 32, after=0)
    answer = hub.audit([broken, reads.part()])
    assert (answer.taken, set(answer.refused)) == (6, {"writes"})
    assert (answer.held["writes"].seq, answer.held["reads"].seq) == (3, 3)
    mended = hub.audit([chain.part(3)])
    assert (mended.taken, mended.refused, mended.held["writes"]) == (2, {}, chain.held)


def test_a_chain_that_was_pruned_before_it_came_says_so_itself(
    doors: Doors, hub: Hub, chain: Chain
) -> None:
    hub.audit([replace(chain.part(), records=tuple(chain.records[:2]), head=None)])
    told = chain.prune(4)
    assert hub.audit([chain.part()]).refused.keys() == {"writes"}
    answer = hub.audit([chain.part(cut=told)])
    assert (answer.taken, answer.refused, answer.held["writes"]) == (2, {}, chain.held)
    assert [one.seq for _, one in doors.audit(ME)] == [1, 2, 5, 6]
    assert doors.cuts() == [(ME, "writes", 4)]


@pytest.mark.parametrize("lie", ["no rotation", "another number", "another link"])
def test_a_cut_that_no_record_tells_of_is_a_gap(hub: Hub, chain: Chain, lie: str) -> None:
    cut = chain.prune(3)
    cuts = {
        "no rotation": chain.record(5),
        "another number": _changed(cut, body=cut.body.replace('"seq":3', '"seq":2')),
        "another link": _changed(cut, body=cut.body.replace(chain.cut.link.hex(), "09" * 32)),
    }
    answer = hub.audit([chain.part(cut=cuts[lie])])
    assert (answer.taken, answer.refused.keys()) == (0, {"writes"})


def test_what_was_pruned_after_it_came_leaves_no_cut(doors: Doors, hub: Hub, chain: Chain) -> None:
    hub.audit([chain.part()])
    told = chain.prune(5)
    assert (told.seq, hub.audit([chain.part()]).refused) == (6, {})
    assert doors.cuts() == []


def test_the_chains_of_another_machine_are_not_touched(doors: Doors, hub: Hub) -> None:
    hub.audit([Chain(ME).grow(3).part()])
    other = doors.connect(2)
    other.hello(hello_of(2, "two"))
    theirs = Chain(b"\x02" * 16).grow(2)
    assert other.audit([Chain(ME).grow(4).part()]).refused.keys() == {"writes"}
    assert other.audit([theirs.part()]).held == {"writes": theirs.held}
    assert len(doors.audit(ME)) == 3


def test_a_chain_of_a_newer_program_stops_nothing(doors: Doors, hub: Hub, chain: Chain) -> None:
    other = Chain(ME, "exports", signer=chain.signer).grow(1)
    answer = hub.bye({}, [other.part(), chain.part()])
    assert (answer.taken, answer.refused.keys()) == (5, {"exports"})
    assert doors.trouble() == []


def test_a_text_that_only_unicode_has_comes_back_as_it_was(
    doors: Doors, hub: Hub, chain: Chain
) -> None:
    chain.grow(1, "wrïte ☃ \x01 \\u0000 '\"", why="𝔘\n")
    hub.audit([chain.part()])
    assert doors.audit(ME)[-1] == ("writes", chain.records[-1])
    assert hub.audit([chain.part()]).taken == 0


def _changed(record: AuditRecord, **given: object) -> AuditRecord:
    return replace(record, **given)  # type: ignore[arg-type]


def _with(chain: Chain, seq: int, *, after: int = 5, **given: object) -> AuditPart:
    """The part behind `after` with one record changed, without a head."""
    records = [
        _changed(one, **given) if one.seq == seq else one
        for one in chain.records
        if one.seq > after
    ]
    return AuditPart(chain.chain, tuple(records))


def _body(chain: Chain, seq: int, old: str, new: str) -> AuditPart:
    body = chain.record(seq).body
    assert old in body
    return _with(chain, seq, body=body.replace(old, new))


def _signed_by(chain: Chain, signer: Signer) -> Chain:
    chain.signer = signer
    return chain
