"""Audit between versions: a hub that keeps none, a replica that sends none, and the upgrade."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from fix_audited import Audience, Audited, gathered
from fix_hub import HubWorld, hello_of

from satchel_warehouse import admin, wire

OLDER = """
SET ROLE satchel_owner;
DROP FUNCTION satchel_api.audit(text, jsonb);
DROP FUNCTION satchel_api.bye(text, text, jsonb);
CREATE FUNCTION satchel_api.bye(_attempt text, _report text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    me record := satchel.caller(_attempt);
BEGIN
    UPDATE satchel.attempt SET finished_at = satchel.now_ms(), report = _report
    WHERE attempt = _attempt AND replica_id = me.replica_id;
END
$$;
ALTER FUNCTION satchel_api.hello(jsonb) RENAME TO hello_of_now;
CREATE FUNCTION satchel_api.hello(_hello jsonb) RETURNS jsonb
LANGUAGE sql SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp AS $$
    SELECT satchel_api.hello_of_now(_hello) - 'audit'
$$;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA satchel_api TO satchel_replica;
"""
"""The doors as they were at revision 0003."""


@pytest.fixture
def audience(hub_world: HubWorld, tmp_path: Path) -> Iterator[Audience]:
    """A hub whose audited machines are made when they are named."""
    with gathered(hub_world, tmp_path) as made:
        yield made


def test_a_hub_that_keeps_no_audit_is_synced_with_and_gets_it_after_its_upgrade(
    audience: Audience,
) -> None:
    machine = audience.machine("a")
    audience.world.psql().execute(OLDER)
    for number in range(3):
        machine.work(number)
        report = machine.sync()
        assert (report["exit"], report["audit"]["sent"]) == (0, 0)
        assert "keeps no audit yet" in report["audit"]["left_out"]
    admin.migrate(audience.world.dsn)
    assert "left_out" not in {key for key, told in machine.sync()["audit"].items() if told}
    audience.require_whole()


def test_a_replica_that_knows_of_no_audit_says_goodbye_as_ever(audience: Audience) -> None:
    """It reads nothing of the answers that it does not know."""
    hub = audience.world.replica(1)
    session = audience.world.psql(hub._dsn)
    said = json.dumps(wire.said(hello_of(1, "next", last_attempt="attempt-1")))
    hello = session.execute("SELECT satchel_api.hello(%s)", (said,)).fetchone()
    assert hello is not None
    assert hello[0]["audit"] == {}
    assert session.execute("SELECT * FROM satchel_api.bye(%s, %s)", ("next", "{}")).fetchall()
    told = audience.world.psql().execute(
        "SELECT report FROM satchel.attempt WHERE attempt = 'next'"
    )
    assert told.fetchone() == ("{}",)


def test_a_machine_that_was_audited_before_it_met_a_hub_sends_it_all(audience: Audience) -> None:
    machine: Audited = audience.machine("a")
    for number in range(4):
        machine.work(number)
    assert machine.sync()["audit"]["sent"] == 10
    audience.require_whole()
