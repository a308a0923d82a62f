"""A row that the database says no to stays behind alone, whoever wrote the rule that it breaks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from fix_hub import HubWorld, row_of, titled
from fix_machines import Fleet

from satchel.store import quarantine
from satchel_sync.errors import BatchRefused, KindRefused
from satchel_sync.tables import MEMORY, SPACE, TASK
from satchel_warehouse.endpoint import WarehouseHub

RAISES = """
CREATE FUNCTION public.refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.content LIKE 'bad%%' THEN {refuse}; END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER a_rule_of_the_house BEFORE INSERT OR UPDATE ON satchel.memory
FOR EACH ROW EXECUTE FUNCTION public.refuse();
"""
NO_MORE = "DROP TRIGGER a_rule_of_the_house ON satchel.memory; DROP FUNCTION public.refuse()"
RULES = {
    "check": (
        "ALTER TABLE satchel.memory ADD CONSTRAINT no_bad CHECK (content NOT LIKE 'bad%%')",
        "ALTER TABLE satchel.memory DROP CONSTRAINT no_bad",
        'violates check constraint "no_bad"',
    ),
    "raise": (RAISES.format(refuse="RAISE 'not in this house'"), NO_MORE, "not in this house"),
    "skip": (RAISES.format(refuse="RETURN NULL"), NO_MORE, "a trigger of somebody left some out"),
    "cast": (
        RAISES.format(refuse="NEW.title := (1 / 0)::text"), NO_MORE, "division by zero",
    ),
    "unique": (
        "CREATE UNIQUE INDEX once ON satchel.memory (title) WHERE content LIKE 'bad%%'",
        "DROP INDEX satchel.once",
        'violates unique constraint "once"',
    ),
}  # fmt: skip


@contextmanager
def rule(world: HubWorld, name: str) -> Iterator[str]:
    """The rule in force; what it says."""
    make, end, says = RULES[name]
    world.psql().execute(make.replace("%%", "%").encode())
    try:
        yield says
    finally:
        world.psql().execute(end.encode())


@pytest.mark.parametrize("name", RULES)
def test_a_rule_of_the_house_keeps_one_row_out_and_lets_the_rest_in(
    world: HubWorld, tmp_path: Path, name: str
) -> None:
    """Through a whole sync: one row in the quarantine with its reason, the others at the hub."""
    fleet = Fleet(world, tmp_path)
    machine = fleet.machine("a")
    try:
        with rule(world, name) as says:
            for n in range(40):
                machine.put(f"{name} {n:02}", f"fine {n}")
            machine.put(f"{name} 23", "bad: the only copy of this text")
            if name == "unique":
                world.psql().execute("INSERT INTO satchel.memory (id, content) VALUES ('u', 'bad')")
                world.psql().execute("UPDATE satchel.memory SET title = 't' WHERE id = 'u'")
                with machine.store.write() as db:
                    db.execute("UPDATE memory SET title = 't' WHERE id = ?", (f"{name} 23",))
            report = machine.sync()
            assert (report["exit"], report["quarantined"]) == (11, 1)
            counts = report["kinds"]["memory"]
            assert (counts["sent"], counts["accepted"], counts["quarantined"]) == (40, 39, 1)
            with machine.store.read() as db:
                (held,) = quarantine.listed(db)
            assert (held.key, says in held.reason) == (f"{name} 23", True)
            assert "only copy" not in held.reason
            again = machine.sync()
            assert (again["exit"], again["kinds"]["memory"]["sent"]) == (11, 0), "no retry loop"
            machine.put(f"{name} 23", "good now")
            assert machine.sync()["exit"] == 0
    finally:
        fleet.close()
        world.psql().execute("DELETE FROM satchel.memory")


def test_bad_rows_among_many_cost_few_pushes(
    world: HubWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    from satchel_sync.phases.push import push_batch

    hub, pushes = world.replica(1), list[int]()
    real = WarehouseHub.push

    def counted(self: WarehouseHub, table: object, rows: list[object]) -> object:
        pushes.append(len(rows))
        return real(self, table, rows)  # type: ignore[arg-type]

    monkeypatch.setattr(WarehouseHub, "push", counted)
    rows = [row_of(MEMORY, f"r{n}", titled(MEMORY, content=str(n))) for n in range(1000)]
    for n in (3, 500, 999):
        rows[n] = row_of(MEMORY, f"r{n}", titled(MEMORY, content="bad"))
    with rule(world, "check"):
        answer = push_batch(hub, MEMORY, rows)
    assert {refusal.key for refusal in answer.refused} == {"r3", "r500", "r999"}
    assert len(answer.accepted) == 997
    assert len(pushes) < 2 * 3 * 11


def test_a_batch_that_is_refused_leaves_nothing(world: HubWorld) -> None:
    hub = world.replica(2)
    rows = [row_of(MEMORY, f"half {n}", titled(MEMORY, content=c)) for n, c in enumerate("xb")]
    rows.append(row_of(MEMORY, "half 2", titled(MEMORY, content="bad")))
    with rule(world, "check"), pytest.raises(BatchRefused) as caught:
        hub.push(MEMORY, rows)
    assert (caught.value.exit_code, caught.value.__class__.__name__) == (1, "WarehouseBatchRefused")
    assert "half" not in str(caught.value), "the row itself is not quoted"
    assert hub.fetch(MEMORY, [row.key for row in rows]).rows == ()


def test_a_kind_or_a_door_that_the_hub_lacks_is_left_out(
    world: HubWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub, db = world.replica(3), world.psql()
    db.execute("DROP FUNCTION satchel_api.damaged_space(text, text, integer)")
    db.execute("DROP FUNCTION satchel_api.push_begin_space(text)")
    for call in (
        lambda: hub.damaged(SPACE),
        lambda: hub.push(SPACE, [row_of(SPACE, "s", titled(SPACE))]),
    ):
        with pytest.raises(KindRefused) as caught:
            call()
        assert caught.value.exit_code == 13
    assert hub.push(TASK, [row_of(TASK, "t", titled(TASK))]).accepted == ("t",)
    assert hub._session is not None
    lacking = {k: v for k, v in hub._session.layouts.items() if k != "space"}
    monkeypatch.setattr(hub, "_session", type(hub._session)(hub._session.attempt, lacking))
    for call in (
        lambda: hub.pull(SPACE, 0, 9),
        lambda: hub.manifest(SPACE, [1]),
        lambda: hub.fetch(SPACE, ["s"]),
        lambda: hub.digests({"space": []}),
        lambda: hub.heal(SPACE, []),
    ):
        with pytest.raises(KindRefused):
            call()
