"""What is old goes; nothing goes by which a machine is known, or that one has not seen yet."""

from __future__ import annotations

import psycopg
import pytest
from fix_files import put_back, saved
from fix_hub import HubWorld
from fix_machines import DAY_MS, Machine
from fix_operations import Kept, due, own_journal

from satchel_sync.changes import Standing
from satchel_sync.errors import HubUnreachable
from satchel_sync.phases.handshake import EVENTS
from satchel_sync.tables import MEMORY
from satchel_warehouse import admin
from satchel_warehouse.operations.retaining import Retention

AWAY_DAYS = 500
PRUNED = {"conflict", "attempt", "operation"}
"""Tables that retention changes in these tests, where nobody's audit is kept."""


def test_a_machine_that_was_away_for_500_days_is_known(kept: Kept) -> None:
    """Its last link, its token and its cursors are older than all that is kept."""
    a, b = kept.pair()
    a.put("a", "by a")
    b.put("b", "by b")
    kept.quiet()
    epoch = kept.epoch()
    for number in range(3):
        a.put("a", f"{number}")
        a.sync()
    kept.later(AWAY_DAYS)
    assert kept.retain().reports > 0
    b.put("b", "after all that time")
    report = b.sync()
    assert (report["exit"], report["identity"], due(b)) == (0, [], "")
    assert "reconcile" not in report["ms"]
    kept.quiet()
    assert kept.epoch() == epoch
    assert (a.text("b"), b.text("a")) == ("after all that time", "2")


def test_a_lost_answer_of_500_days_ago_is_a_retry(kept: Kept) -> None:
    a, b = kept.pair()
    a.put("a", "one")
    kept.quiet()
    a.put("a", "two")
    for call in (1, 2):  # hello's answer, then the push's
        with pytest.raises(HubUnreachable):
            a.sync(a.lossy(call, answer_lost=True))
    kept.later(AWAY_DAYS)
    kept.retain()
    assert (a.sync()["identity"], kept.journal()) == ([], [])
    kept.quiet()
    assert b.text("a") == "two"


@pytest.mark.parametrize("noticed", [True, False], ids=["noticed", "unnoticed"])
def test_a_file_of_500_days_ago_is_still_told_from_a_rewound_hub(kept: Kept, noticed: bool) -> None:
    a, b = kept.pair()
    a.put("x", "one")
    a.sync()
    backup = saved(a)
    for text in ("two", "three"):
        a.put("x", text)
        a.sync()
    kept.later(AWAY_DAYS)
    a.put("x", "four")
    a.sync()
    kept.retain()
    epoch = kept.epoch()
    put_back(a, backup, noticed=noticed)
    a.put("new", "after the restore")
    (event,) = a.sync()["identity"]
    assert event not in (EVENTS[Standing.REWOUND], EVENTS[Standing.MOVED])
    kept.quiet()
    assert kept.epoch() == epoch
    assert [(m.text("x"), m.text("new")) for m in (a, b)] == [("four", "after the restore")] * 2


def test_deletes_hold_after_retention(kept: Kept) -> None:
    a, b = kept.pair()
    for key in ("deleted", "edited"):
        a.put(key, "one")
    kept.quiet()
    a.delete(MEMORY, "deleted")
    a.delete(MEMORY, "edited")
    a.sync()
    kept.later(AWAY_DAYS)
    kept.retain()
    dead = "SELECT count(*) FROM satchel.memory WHERE (life >> 16) % 2 = 0"
    assert kept.value(dead) == 2, "at once: a later sync would mend it"
    b.put("edited", "by one who had not seen that it was deleted")
    kept.quiet()
    for machine in (a, b):
        assert (machine.text("deleted"), machine.text("edited")) == (None, None)
    assert kept.value(dead) == 2


def conflict(kept: Kept) -> tuple[Machine, Machine]:
    """Two machines; a's edit was at the hub when b's, which had not seen it, won."""
    a, b = kept.pair()
    a.put("x", "one")
    kept.quiet()
    a.put("x", "by a")
    a.sync()
    b.clock.at_ms += 5_000
    b.put("x", "by b, later")
    b.sync()
    assert kept.journal() == [("memory", "x")]
    return a, b


def test_a_conflict_stays_until_its_machine_has_seen_that_it_lost(kept: Kept) -> None:
    a, b = conflict(kept)
    kept.later(AWAY_DAYS)
    b.sync()
    found = kept.retain()
    assert (found.journal, found.journal_waiting) == (0, 1)
    assert kept.journal() == [("memory", "x")]
    assert own_journal(a) == []
    a.sync()
    assert [key for key, _ in own_journal(a)] == ["x"]
    assert "by a" in own_journal(a)[0][1]
    found = kept.retain()
    assert (found.journal, found.journal_waiting, kept.journal()) == (1, 0, [])
    kept.quiet()
    assert kept.journal() == [], "nobody sends it again"
    assert [key for key, _ in own_journal(a)] == ["x"], "the machine keeps its own"


def test_a_sync_that_had_begun_before_the_conflict_does_not_count(kept: Kept) -> None:
    """It may have pulled before the row was beaten."""
    a, b = kept.pair()
    a.put("x", "one")
    kept.quiet()
    a.put("x", "by a")
    a.sync()
    b.clock.at_ms += 5_000
    b.put("x", "by b, later")
    quiet = a.lossy(99, answer_lost=False)
    a.sync(quiet)
    again = a.lossy(99, answer_lost=False)
    again.meanwhile = lambda call: b.sync() and None if call == quiet.calls - 1 else None
    a.sync(again)
    assert again.calls == quiet.calls
    ended_after = (
        "SELECT max(finished_at) > (SELECT received_at FROM satchel.conflict) FROM satchel.attempt"
        " WHERE replica_id = %s"
    )
    assert kept.value(ended_after, a.store.replica_id)
    assert own_journal(a) == []
    kept.later(AWAY_DAYS)
    assert kept.retain().journal_waiting == 1
    a.sync()
    assert [key for key, _ in own_journal(a)] == ["x"]
    assert kept.retain().journal == 1


def test_nobody_waits_for_a_machine_that_is_revoked(kept: Kept) -> None:
    a, _ = conflict(kept)
    kept.later(AWAY_DAYS)
    assert admin.revoke_replica(kept.world.dsn, a.store.replica_id)
    found = kept.retain()
    assert (found.journal, found.journal_waiting) == (1, 0)


def test_the_sync_of_a_later_id_of_its_file_counts(kept: Kept) -> None:
    a, _ = conflict(kept)
    backup = saved(a)
    put_back(a, backup, noticed=True)
    kept.later(AWAY_DAYS)
    a.sync()
    assert kept.retain().journal == 1
    assert [key for key, _ in own_journal(a)] == ["x"]


def test_an_entry_counts_from_the_day_on_which_it_came(kept: Kept) -> None:
    """Its own time is when the machine met it: after a restore it hands in old ones again."""
    a, _ = conflict(kept)
    a.sync()
    kept.later(AWAY_DAYS)
    a.sync()
    assert kept.retain().journal == 1
    kept.rows("UPDATE satchel.tenant SET epoch = DEFAULT RETURNING 1")
    a.sync()
    at, received_at = kept.rows("SELECT at, received_at FROM satchel.conflict")[0]
    assert received_at - at > (AWAY_DAYS - 1) * DAY_MS
    a.sync()
    assert kept.retain().journal == 0
    kept.later(2)
    assert kept.retain().journal == 1


def test_reports_go_but_each_machines_newest_and_no_attempt_does(kept: Kept) -> None:
    a, _ = kept.pair()
    a.put("x", "one")
    kept.quiet()
    attempts = "SELECT attempt, replica_id, standing, epoch FROM satchel.attempt ORDER BY 1"
    before = kept.rows(attempts)
    kept.later(AWAY_DAYS)
    count = kept.value("SELECT count(report) FROM satchel.attempt")
    assert kept.retain().reports == count - 2
    assert kept.value("SELECT count(report) FROM satchel.attempt") == 2
    kept_ones = kept.rows(
        "SELECT replica_id FROM satchel.attempt a WHERE report IS NOT NULL AND started_at ="
        " (SELECT max(started_at) FROM satchel.attempt n WHERE n.replica_id = a.replica_id)"
    )
    assert len(kept_ones) == 2
    assert kept.rows(attempts) == before


def test_a_dry_run_counts_the_same_and_changes_nothing(kept: Kept) -> None:
    a, _ = conflict(kept)
    kept.later(AWAY_DAYS)
    a.sync()
    before = kept.copied()
    told = kept.retain(dry_run=True)
    assert kept.copied() == before
    done = kept.retain()
    assert (told.journal, told.journal_waiting, told.reports, told.audit) == (
        done.journal, done.journal_waiting, done.reports, done.audit
    )  # fmt: skip
    assert told.journal == 1
    assert told.reports > 0
    assert told.dry_run
    after = kept.copied()
    changed = {name for name in before.tables if before.tables[name] != after.tables[name]}
    assert changed == PRUNED


def test_0_days_keep_for_ever_and_what_was_done_is_written_down(kept: Kept) -> None:
    conflict(kept)
    kept.later(AWAY_DAYS)
    found = kept.retain(Retention(journal_days=0, reports_days=0, audit_days=0))
    assert (found.journal, found.reports, found.audit) == (0, 0, 0)
    (what, detail) = kept.rows("SELECT what, detail FROM satchel.operation")[0]
    assert (what, '"journal_days": 0' in detail) == ("retain", True)


def test_old_audit_and_searches_go_and_a_dry_run_counts_them(kept: Kept) -> None:
    """Of one chain the beginning, of another all; what would be audited is `test_audit.py`'s."""
    kept.machine("a").sync()
    kept.later(AWAY_DAYS)
    me = kept.machine("a").store.replica_id
    for chain, seq, days in (("writes", 1, 9), ("writes", 2, 9), ("writes", 3, 0), ("reads", 1, 9)):
        kept.rows(
            "INSERT INTO satchel.audit (tenant, replica_id, chain, seq, at, body, link, mac,"
            " received_at) VALUES ('default', %s, %s, %s, 0, '{}', '', '',"
            " satchel.now_ms() - %s * 86400000::bigint) RETURNING 1",
            me, chain, seq, days,
        )  # fmt: skip
    for name, days in (("old", 9), ("new", 0)):
        kept.rows(
            "INSERT INTO satchel.searched (tenant, id, at, login, kinds, opened_in) VALUES"
            " ('default', %s, satchel.now_ms() - %s * 86400000::bigint, 'una', '{memory}', 0)"
            " RETURNING 1",
            name, days,
        )  # fmt: skip
    told, done = kept.retain(dry_run=True), kept.retain()
    assert (told.audit, told.searches) == (done.audit, done.searches) == (3, 1)
    assert kept.rows("SELECT chain, seq FROM satchel.audit") == [("writes", 3)]
    assert kept.rows("SELECT id FROM satchel.searched") == [("new",)]
    assert kept.retain(dry_run=True).audit == 0


def test_no_replicas_login_prunes_or_looks(world: HubWorld) -> None:
    with psycopg.connect(world.login(), autocommit=True) as session:
        for statement in (
            "SELECT satchel.expire_journal(1)",
            "SELECT satchel.expire_reports(1)",
            "SELECT satchel.mark_restored()",
            "SELECT * FROM satchel.operation",
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                session.execute(statement.encode())
