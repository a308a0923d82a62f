"""Who may search what, and what is kept of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import psycopg
import pytest
from fix_hub import HubWorld
from fix_searched import Machines, machines

from satchel.memory import write
from satchel_warehouse import tenants
from satchel_warehouse.errors import WarehouseError, WarehouseRefused
from satchel_warehouse.search.desk import opened

SECRET = "heliotrope"


@pytest.fixture(scope="module")
def pair(world: HubWorld, tmp_path_factory: pytest.TempPathFactory) -> Machines:
    made = machines(world, tmp_path_factory.mktemp("pair"))
    tenants.add(world.dsn, "other")
    other = Machines(world, tmp_path_factory.mktemp("other"), made.embedder, [world.login("other")])
    with other.on(0) as replica:
        write.write(replica, f"The {SECRET} grows behind the vault.", scope="org")
    other.embed(0)
    other.sync(0)
    made.index()
    return made


def test_a_searcher_sees_its_tenant_and_nothing_of_another(pair: Machines) -> None:
    ours, theirs = (
        pair.login("reporter", tenant=tenant, search=True) for tenant in ("default", "other")
    )
    assert pair.search(SECRET, dsn=ours, mode="keyword")["hits"] == []
    assert pair.search("vault", dsn=theirs)["tenant"] == "other"
    assert len(pair.search(SECRET, dsn=theirs)["hits"]) == 1
    assert len(pair.search("deploy key vault", dsn=ours)["hits"]) > 1
    ids = {hit["id"] for hit in pair.search("vault", dsn=theirs)["hits"]}
    assert not ids & {hit["id"] for hit in pair.search("vault", dsn=ours)["hits"]}


def test_an_administrator_searches_any_tenant(pair: Machines) -> None:
    assert len(pair.search(SECRET, tenant="other")["hits"]) == 1
    assert pair.search(SECRET, mode="keyword")["hits"] == []


def test_another_tenant_is_refused_in_the_same_words_whether_it_exists(pair: Machines) -> None:
    dsn = pair.login("reporter", search=True)
    said = set()
    for tenant in ("other", "nobody"):
        with pytest.raises(WarehouseRefused) as refused:
            pair.search("vault", dsn=dsn, tenant=tenant)
        said.add(f"{refused.value} {refused.value.hint}")
    assert len(said) == 1


@pytest.mark.parametrize("kind", ["replica", "reporter", "auditor"])
def test_who_was_not_granted_it_may_not_search(pair: Machines, kind: str) -> None:
    with pytest.raises(WarehouseError) as refused:
        pair.search("vault", dsn=pair.login(kind))
    assert refused.value.code == "hub_refused"


def test_no_table_of_search_can_be_read_by_a_searcher(pair: Machines) -> None:
    tables = [
        name
        for (name,) in pair.rows(
            "SELECT relname FROM pg_class WHERE relnamespace = 'satchel'::regnamespace"
            " AND relname ~ '^(search|nearest_|turn_vector)' AND relkind IN ('r', 'p')"
        )
    ]
    assert len(tables) >= 5
    with psycopg.connect(pair.login("reporter", search=True), autocommit=True) as db:
        for name in tables:
            for statement in (f"SELECT FROM satchel.{name}", f"DELETE FROM satchel.{name}"):
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    db.execute(statement.encode())
        for call in ("satchel.index_memory('default', 1, false)", "satchel.about('true')"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                db.execute(f"SELECT {call}".encode())


def test_a_search_is_its_logins_own_and_ends(pair: Machines) -> None:
    mine, other = (pair.login("reporter", search=True) for _ in range(2))
    with (
        opened(mine, tenant=None, machine=None, kinds=["memory"]) as desk,
        psycopg.connect(other, autocommit=True) as db,
    ):
        door = b"SELECT satchel_search.size(%s, %s, 'memory')"
        with pytest.raises(psycopg.errors.ObjectNotInPrerequisiteState):
            db.execute(door, (desk.tenant, desk._search))
        assert desk.size("memory") > 0
        desk.close([])
        with pytest.raises(psycopg.Error):
            desk.size("memory")
        desk._db.close()


def test_nothing_is_given_in_a_transaction_that_may_be_rolled_back(pair: Machines) -> None:
    with psycopg.connect(pair.login("reporter", search=True)) as db:
        made = db.execute("SELECT satchel_search.open(NULL, 'm', '{memory}')").fetchone()
        assert made is not None
        of = (made[0]["tenant"], made[0]["search"])
        for door in (
            "rows_memory(%s, %s, '{}')",
            "by_id_memory(%s, %s, '', '', 9)",
            "vectors(%s, %s, 'memory', 'm', 1, 0, 9)",
            "stems(%s, %s, 'memory', 'a', 1, 9)",
        ):
            with pytest.raises(psycopg.errors.ObjectNotInPrerequisiteState), db.transaction():
                db.execute(f"SELECT satchel_search.{door}".encode(), of)
        db.commit()
        assert db.execute("SELECT satchel_search.by_id_memory(%s, %s, '', '', 9)", of).fetchall()


def test_it_is_kept_who_searched_and_what_was_given_never_what_was_asked(pair: Machines) -> None:
    dsn = pair.login("reporter", search=True)
    asked = "where lies the deploy key quinquennium"
    answer = pair.search(asked, dsn=dsn)
    (found,) = pair.rows(
        "SELECT tenant, login, machine, kinds, given, rows_read, ended_at >= at, row_to_json(s)"
        " FROM satchel.searched s ORDER BY at DESC LIMIT 1"
    )
    tenant, login, machine, kinds, given, rows_read, ended, whole = found
    assert (tenant, login, kinds, ended) == ("default", _user(dsn), ["memory", "chatlog"], True)
    assert machine
    assert given == [[hit["kind"], hit["id"]] for hit in answer["hits"]]
    assert rows_read >= len(given) > 0
    assert "quinquennium" not in json.dumps(whole)
    queries = pair.rows("SELECT query FROM pg_stat_activity WHERE pid <> pg_backend_pid()")
    assert not any("quinquennium" in str(query) for query in queries)


def test_a_search_that_ended_badly_is_kept_too(pair: Machines) -> None:
    dsn = pair.login("reporter", search=True)
    with opened(dsn, tenant=None, machine="left-open", kinds=["memory"]) as desk:
        desk.rows(_memory(), [key for key, _ in pair.there("vault", kind="memory")])
    found = pair.rows(
        "SELECT rows_read > 0, ended_at FROM satchel.searched WHERE machine = 'left-open'"
    )
    assert found == [(True, None)]


def _memory() -> Any:
    from satchel_sync.tables import MEMORY

    return MEMORY


def _user(dsn: str) -> str:
    return str(psycopg.conninfo.conninfo_to_dict(dsn)["user"])


def test_without_a_dsn_it_says_which(tmp_path: Path) -> None:
    from fix_memory import settings

    from satchel.errors import ConfigInvalid
    from satchel.warehouse.searching import Wanted, search

    with pytest.raises(ConfigInvalid, match="DSN for reports"):
        search(settings(tmp_path), Wanted("vault"))
