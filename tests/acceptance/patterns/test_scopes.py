"""Scopes: what an agent keeps for itself, what the team shares, what is about the user."""

from __future__ import annotations

from fix_patterns import Team

CONTRACT = "GET /health returns 200 OK and the build number."
SCRATCH = "Maybe /health should read the build number from the environment?"
PREFERENCE = "The user wants terse release notes without emoji."
HEALTH = "what does /health return?"


def test_planner_and_implementer(team: Team) -> None:
    """Both see the requirement; the planner's scratch notes are its own, wherever it works."""
    team.cast("planner", "implementer")
    contract = team.write("planner", CONTRACT, type="decision", scope="org")
    scratch = team.write("planner", SCRATCH)
    team.write("planner", PREFERENCE, type="preference", scope="user")
    team.carry()

    assert set(team.found("planner", HEALTH)) == {CONTRACT, SCRATCH}
    assert team.found("implementer", HEALTH) == [CONTRACT]
    assert team.found("implementer", "how long should release notes be?") == [PREFERENCE]
    for elsewhere in team.machines:
        assert SCRATCH in team.found("planner", HEALTH, on=elsewhere)
        assert team.found("implementer", HEALTH, on=elsewhere) == [CONTRACT]

    got = team.ask("implementer", "memory_get", ids=[contract, scratch])
    assert [item["agent_id"] for item in got["items"]] == ["planner"]
    assert got["missing"] == [scratch]
    assert team.refused("implementer", "memory_history", id=scratch)["code"] == "not_found"


def test_a_scope_only_narrows(team: Team) -> None:
    team.cast("architect", "builder")
    shared = "The gateway speaks gRPC to the ledger service."
    private = "I doubt that gRPC suits the ledger gateway."
    team.write("architect", shared, scope="org")
    team.write("architect", private)
    team.carry()
    question = "how do gateway and ledger talk?"
    assert team.found("architect", question, scope="org") == [shared]
    assert team.found("architect", question, scope="agent") == [private]
    assert team.found("builder", question, scope="agent") == []
    answer = team.ask("builder", "memory_search", query=question, agents=["architect"])
    assert [hit["snippet"] for hit in answer["hits"]] == [shared]
    assert any("only architect may see" in notice for notice in answer["notices"])


def test_a_local_memory_never_leaves_its_machine(team: Team) -> None:
    team.cast("courier", "clerk")
    kept = "The vault on this laptop opens with the brass key."
    team.write("courier", kept, scope="org", local=True)
    team.carry()
    here = {machine for machine in team.machines if team.found("clerk", "brass key", on=machine)}
    assert here == {team.place("courier")}
