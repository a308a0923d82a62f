"""An auditor's look: what a DBA or a machine did to the chains is found, and where first."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import psycopg
import pytest
from fix_audit import Chain, Signer, fork, openssl
from fix_hub import HubWorld

from satchel_crypto.algorithms import Signature
from satchel_crypto.errors import AlgorithmRefused
from satchel_warehouse.admin import audit as look
from satchel_warehouse.audit import found
from satchel_warehouse.audit.found import Own
from satchel_warehouse.endpoint import WarehouseHub

ME = b"\x01" * 16
DAY_MS = 86_400_000


@pytest.fixture
def chain() -> Chain:
    """Ten records of machine 1, three of them signed heads."""
    return Chain(ME)


@pytest.fixture
def hub(hub_world: HubWorld, chain: Chain) -> WarehouseHub:
    """A warehouse that has them, and both chains of machine 2."""
    made = hub_world.replica(1)
    for count in (3, 3, 4):
        made.audit([chain.grow(count).part(chain.held.seq - count)])
    other = hub_world.replica(2)
    reads = Chain(b"\x02" * 16, "reads").grow(5)
    other.audit([reads.part(), Chain(b"\x02" * 16, signer=reads.signer).grow(2).part()])
    return made


@contextmanager
def as_dba(world: HubWorld) -> Iterator[psycopg.Connection[Any]]:
    """A session that passes by the triggers."""
    with psycopg.connect(world.dsn, autocommit=True) as db:
        db.execute("SET session_replication_role = replica")
        yield db


def looked(
    world: HubWorld, own: dict[tuple[str, str], Own] | None = None, me: bytes = ME
) -> found.Chain:
    """What is found of machine 1; of the others nothing is wrong."""
    chains = look(world.dsn, openssl(), own=own)
    for one in chains:
        assert one.name.replica_id == me.hex() or one.faults == [], one
    return next(one for one in chains if one.name.replica_id == me.hex())


def firsts(world: HubWorld) -> list[tuple[int, str]]:
    return [(one.seq, one.fault) for one in looked(world).faults]


def test_whole_chains_are_whole(hub_world: HubWorld, hub: WarehouseHub, chain: Chain) -> None:
    chains = look(hub_world.dsn, openssl())
    assert [
        (c.name.replica_id[:2], c.name.chain, c.records, c.first, c.last, c.signed, c.host)
        for c in chains
    ] == [
        ("01", "writes", 10, 1, 10, 10, "host-1"),
        ("02", "writes", 2, 1, 2, 2, "host-2"),
        ("02", "reads", 5, 1, 5, 5, "host-2"),
    ]  # fmt: skip
    assert all(c.faults == [] and c.notes == [] and c.holes == [] for c in chains)
    assert all(len(c.key_id) == 32 for c in chains)


MINE = "WHERE replica_id = decode(repeat('01', 16), 'hex')"
DBA = {
    "a byte of a body": (
        "UPDATE satchel.audit SET body = replace(body, 'una', 'eve') {mine} AND seq = 4",
        (4, "changed"),
    ),
    "a byte of a link": (
        """UPDATE satchel.audit SET link = set_byte(link, 5, get_byte(link, 5) # 1)
        {mine} AND seq = 4""",
        (4, "changed"),
    ),
    "a time": ("UPDATE satchel.audit SET at = at + 1 {mine} AND seq = 4", (4, "changed")),
    "a row": ("DELETE FROM satchel.audit {mine} AND seq = 4", (4, "removed")),
    "the first row": ("DELETE FROM satchel.audit {mine} AND seq = 1", (1, "removed")),
    "the end": ("DELETE FROM satchel.audit {mine} AND seq > 8", (9, "cut off")),
    "all of it": ("DELETE FROM satchel.audit {mine}", (1, "cut off")),
    "two swapped": (
        """UPDATE satchel.audit a SET body = b.body, link = b.link, mac = b.mac, at = b.at
        FROM satchel.audit b WHERE a.replica_id = b.replica_id AND a.chain = b.chain
        AND a.replica_id = decode(repeat('01', 16), 'hex')
        AND (a.seq, b.seq) IN ((4, 5), (5, 4))""",
        (4, "swapped"),
    ),
    "the row of another machine": (
        """UPDATE satchel.audit SET body = (SELECT body FROM satchel.audit
        WHERE replica_id = decode(repeat('02', 16), 'hex') AND chain = 'writes' AND seq = 2)
        {mine} AND seq = 2""",
        (2, "changed"),
    ),
    "the last row with its link": (
        """DELETE FROM satchel.audit {mine} AND seq = 10;
        INSERT INTO satchel.audit SELECT tenant, replica_id, chain, 10, at, new.body,
            satchel.audit_link(link, new.body), mac, received_at
        FROM satchel.audit a, replace(a.body, '"seq":9', '"seq":10') AS new (body)
        {mine} AND seq = 9""",
        (10, "wrong head"),
    ),
    "the time of a head": (
        "UPDATE satchel.audit_head SET at = at + 1 {mine} AND seq = 6", (6, "wrong head"),
    ),
    "a signature that is none": (
        "UPDATE satchel.audit_head SET signature = '[' {mine} AND seq = 6", (6, "wrong head"),
    ),
    "the pinned key": (
        """UPDATE satchel.audit_key SET public_key = (SELECT public_key FROM satchel.audit_key
        WHERE replica_id = decode(repeat('02', 16), 'hex')) {mine}""",
        (3, "other key"),
    ),
    "a hole with a cut that no record tells of": (
        """INSERT INTO satchel.audit_cut
        SELECT tenant, replica_id, chain, seq, link, 'pruned', '', 0
        FROM satchel.audit {mine} AND seq = 5;
        DELETE FROM satchel.audit {mine} AND seq IN (4, 5)""",
        (4, "removed"),
    ),
    "the end, and a cut where there is no hole": (
        """INSERT INTO satchel.audit_cut
        SELECT tenant, replica_id, chain, seq, link, 'pruned', '', 0
        FROM satchel.audit {mine} AND seq = 5;
        DELETE FROM satchel.audit {mine} AND seq > 7""",
        (8, "cut off"),
    ),
    "a hole with an expiry in the middle": (
        """INSERT INTO satchel.audit_cut
        SELECT tenant, replica_id, chain, seq, link, 'expired', '', 0
        FROM satchel.audit {mine} AND seq = 5;
        DELETE FROM satchel.audit {mine} AND seq IN (4, 5)""",
        (4, "removed"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", DBA)
def test_what_a_dba_does_is_found(hub_world: HubWorld, hub: WarehouseHub, what: str) -> None:
    statement, first = DBA[what]
    with as_dba(hub_world) as db:
        db.execute(statement.replace("{mine}", MINE).encode())
    assert firsts(hub_world)[0] == first


def test_a_row_that_was_replaced_with_all_links_is_found_by_the_heads(
    hub_world: HubWorld, hub: WarehouseHub, chain: Chain
) -> None:
    """Links need no key: whoever may write SQL can reckon them anew, but not sign the head."""
    forged = fork(chain, 4).grow(6, "forged")
    with as_dba(hub_world) as db:
        for record in forged.records[4:]:
            db.execute(
                "UPDATE satchel.audit SET body = %s, link = %s, at = %s"
                f" {MINE} AND seq = %s".encode(),
                (record.body, record.link, chain.at + 1000 + record.seq - 4, record.seq),
            )
    assert firsts(hub_world)[0] == (6, "wrong head")


def test_who_also_removes_the_heads_leaves_records_under_none(
    hub_world: HubWorld, hub: WarehouseHub
) -> None:
    with as_dba(hub_world) as db:
        db.execute(f"DELETE FROM satchel.audit_head {MINE} AND seq > 3".encode())
    one = looked(hub_world)
    assert (one.faults, one.signed) == ([], 3)
    assert one.notes == ["records 4 to 10 are under no signed head"]


# ---- beside the caller's machine -------------------------------------------------------------


def own_of(chain: Chain, *, sent: int) -> dict[tuple[str, str], Own]:
    links: dict[int, bytes] = {one.seq: one.link for one in chain.records}
    held: Callable[[int], bytes | None] = links.get
    return {(ME.hex(), "writes"): Own(last=chain.held.seq, sent=sent, link_at=held)}


def test_a_machine_that_holds_the_same_or_more_finds_nothing(
    hub_world: HubWorld, hub: WarehouseHub, chain: Chain
) -> None:
    for _ in range(2):
        one = looked(hub_world, own_of(chain, sent=10))
        assert (one.faults, one.compared) == ([], True)
        chain.grow(2)


def test_a_break_is_told_once_also_beside_a_machine(
    hub_world: HubWorld, hub: WarehouseHub, chain: Chain
) -> None:
    with as_dba(hub_world) as db:
        db.execute(f"UPDATE satchel.audit SET at = 7 {MINE} AND seq = 4".encode())
    (one,) = looked(hub_world, own_of(chain, sent=10)).faults
    assert (one.seq, one.fault) == (4, "changed")


def test_a_file_that_was_set_back_is_told_from_the_warehouse(
    hub_world: HubWorld, hub: WarehouseHub, chain: Chain
) -> None:
    (one,) = looked(hub_world, own_of(fork(chain, 6), sent=6)).faults
    assert (one.seq, one.fault) == (7, "set back")


@pytest.mark.parametrize("at", [0, 1, 4, 8, 9])
def test_the_first_record_of_a_fork_is_named(
    hub_world: HubWorld, hub: WarehouseHub, chain: Chain, at: int
) -> None:
    (one,) = looked(hub_world, own_of(fork(chain, at).grow(14 - at, "else"), sent=9)).faults
    assert (one.seq, one.fault) == (at + 1, "fork")


def test_a_fork_behind_what_was_pruned_here_is_found(
    hub_world: HubWorld, hub: WarehouseHub, chain: Chain
) -> None:
    other = fork(chain, 4).grow(6, "else")
    other.records = other.records[7:]
    (one,) = looked(hub_world, own_of(other, sent=9)).faults
    assert (one.seq, one.fault) == (8, "fork")


def test_only_the_machine_itself_knows_that_everything_is_gone(
    hub_world: HubWorld, hub: WarehouseHub, chain: Chain
) -> None:
    with as_dba(hub_world) as db:
        for table in ("audit", "audit_head", "audit_key", "audit_cut", "audit_trouble"):
            db.execute(f"DELETE FROM satchel.{table} {MINE}".encode())
    assert ME.hex() not in [one.name.replica_id for one in look(hub_world.dsn, openssl())]
    (one,) = looked(hub_world, own_of(chain, sent=10)).faults
    assert (one.seq, one.fault) == (1, "cut off")


# ---- what machines do --------------------------------------------------------------------------


def test_what_was_refused_is_told(hub_world: HubWorld, hub: WarehouseHub, chain: Chain) -> None:
    hub.audit([replace(fork(chain, 8).grow(3, "else").part(8), head=None)])
    (one,) = looked(hub_world).faults
    assert (one.seq, one.fault) == (9, "refused")
    assert "another one than the warehouse holds" in one.message
    assert any(f"login {login}," in one.message for login in hub_world.logins)


def test_a_hole_that_the_chain_tells_of_is_one(
    hub_world: HubWorld, hub: WarehouseHub, chain: Chain
) -> None:
    chain.grow(6)
    told = chain.prune(14)
    hub.audit([chain.part(cut=told)])
    chain.grow(5)
    told = chain.prune(20)
    hub.audit([chain.part(cut=told)])
    one = looked(hub_world)
    assert (one.faults, one.holes) == ([], [(11, 14), (18, 20)])
    assert (one.first, one.last, one.signed) == (1, chain.held.seq, chain.held.seq)


def test_a_chain_that_begins_with_a_hole(hub_world: HubWorld) -> None:
    hub = hub_world.replica(1)
    chain = Chain(ME).grow(5)
    told = chain.prune(3)
    hub.audit([chain.part(cut=told)])
    one = looked(hub_world)
    assert (one.faults, one.holes, one.first) == ([], [(1, 3)], 4)


def test_what_was_pruned_after_it_came_is_here_and_whole(
    hub_world: HubWorld, hub: WarehouseHub, chain: Chain
) -> None:
    chain.prune(7)
    hub.audit([chain.grow(2).part()])
    one = looked(hub_world, own_of(chain, sent=10))
    assert (one.faults, one.holes, one.records) == ([], [], 13)


def test_what_expired_by_retention_is_no_fault(
    hub_world: HubWorld, hub: WarehouseHub, chain: Chain
) -> None:
    with as_dba(hub_world) as db:
        for upto, left in ((4, 6), (10, 0)):
            db.execute(
                f"UPDATE satchel.audit SET received_at = 0 {MINE} AND seq <= {upto}".encode()
            )
            db.execute("SET session_replication_role = origin")
            db.execute("SELECT satchel.expire_audit(30)")
            db.execute("SET session_replication_role = replica")
            one = looked(hub_world, own_of(chain, sent=10))
            assert (one.faults, one.expired, one.records) == ([], upto, left)
    hub.audit([chain.grow(2).part(10)])
    one = looked(hub_world)
    assert (one.faults, one.first, one.last, one.expired) == ([], 11, 12, 10)


def test_a_machine_that_began_its_chain_anew_is_told(
    hub_world: HubWorld, hub: WarehouseHub, chain: Chain
) -> None:
    hub.audit([chain.grow(1, "began", why="key").part(10)])
    (one,) = looked(hub_world).faults
    assert (one.seq, one.fault) == (11, "began anew")


def test_a_new_id_follows_the_old_one(hub_world: HubWorld, hub: WarehouseHub, chain: Chain) -> None:
    stories = {3: "it follows record 10", 4: "another one", 5: "which is not here"}
    for number, told in stories.items():
        new = Chain(bytes([number]) * 16, signer=chain.signer)
        link = "09" * 32 if number == 4 else chain.held.link.hex()
        seq = 11 if number == 5 else 10
        new.grow(1, "began", why="succeeded", replica_id=ME.hex(), seq=seq, link=link)
        hub_world.replica(number).audit([new.part()])
        one = looked(hub_world, me=new.replica_id)
        assert one.faults == []
        assert told in one.notes[0]


def test_a_key_that_this_provider_cannot_check_is_told(hub_world: HubWorld) -> None:
    """As a machine with another provider, looked at in FIPS mode; here: no algorithm at all."""
    chain = Chain(ME, signer=Signer.new(Signature.ED25519)).grow(2)
    hub_world.replica(1).audit([chain.part()])
    assert looked(hub_world).faults == []

    class Approved:
        def __getattr__(self, name: str) -> Any:
            return getattr(openssl(), name)

        def verify(self, algorithm: Signature, *given: bytes) -> bool:
            raise AlgorithmRefused(f"{algorithm} is not here")

    (one,) = look(hub_world.dsn, Approved())  # type: ignore[arg-type]
    assert "cannot be checked here" in one.faults[0].message


def test_a_look_writes_nothing(hub_world: HubWorld, hub: WarehouseHub) -> None:
    with psycopg.connect(hub_world.dsn, autocommit=True) as db:
        count = "SELECT pg_current_wal_insert_lsn()"
        look(hub_world.dsn, openssl())
        before = db.execute(count).fetchone()
        look(hub_world.dsn, openssl())
        assert db.execute(count).fetchone() == before
