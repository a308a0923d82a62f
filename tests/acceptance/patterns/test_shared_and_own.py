"""Three ways to share: one space for all, rows of one's own that others may ask, and promotion."""

from __future__ import annotations

from fix_patterns import Team

FUNDING = "Competitor Nimbus raised 50 million dollars in March 2026."


def test_a_shared_space(team: Team) -> None:
    """A crew writes into one pool and reads from it; who is not in the crew sees nothing of it."""
    crew = ("researcher", "analyst", "author")
    team.cast(*crew)
    team.ask("researcher", "space_members", name="research-crew", add=["analyst", "author"])
    key = team.write("researcher", FUNDING, type="semantic", space="research-crew",
                     metadata={"topic": "competitors"})  # fmt: skip
    team.carry("researcher", "analyst")
    question = "what do we know about competitor funding?"
    (hit,) = team.hits("analyst", question, spaces=["research-crew"])
    assert (hit["id"], hit["agent_id"], hit["space"]) == (key, "researcher", "research-crew")

    # What a second one says in its own name is one memory, and surer; its own finding is beside.
    merged = team.ask("analyst", "memory_write", text=FUNDING, type="semantic",
                      space="research-crew", source="the filing")  # fmt: skip
    assert (merged["outcome"], merged["id"]) in [("exists", key), ("merged", key)]
    growth = "Nimbus grows 35 percent a year."
    team.write("analyst", growth, type="semantic", space="research-crew")
    team.carry("analyst", "author")
    landscape = team.found("author", "competitive landscape: Nimbus", spaces=["research-crew"])
    assert sorted(landscape) == sorted([FUNDING, growth])
    assert team.found("passer-by", question) == []
    asked = team.ask("passer-by", "memory_search", query=question, spaces=["research-crew"])
    assert asked["hits"] == []
    assert "no space 'research-crew'" in asked["notices"][0]
    error = team.refused("passer-by", "memory_write", text="rumour", space="research-crew")
    assert error["code"] == "not_found", "as if there were none: it is closed to them"


def test_a_blackboard(team: Team) -> None:
    """Loosely coupled: each adds what it saw for everyone, and anybody may look at any time."""
    watchers = {
        "door-watcher": "The harbour door was opened at 6 o'clock.",
        "tide-watcher": "The harbour tide was high at 7 o'clock.",
        "ship-watcher": "The harbour pilot left at 8 o'clock.",
    }
    team.cast(*watchers)
    for agent, text in watchers.items():
        team.write(agent, text, type="observation", scope="org")
    team.carry("tide-watcher", "door-watcher", "tide-watcher")
    for agent in watchers:
        found = team.hits(agent, "what happened at the harbour?")
        assert {(hit["agent_id"], hit["snippet"]) for hit in found} == set(watchers.items())


def test_isolated_agents_that_can_be_asked(team: Team) -> None:
    """Each keeps its own memory; who coordinates asks all of them in one ranking, others do not."""
    findings = {
        "scout": "Five competitors are in the market for agent memory.",
        "counter": "Three of those competitors sell to hospitals.",
        "scribe": "A chapter on competitors is due in June.",
    }
    team.cast("coordinator", *findings)
    team.as_supervisor("overseer")
    for agent, text in findings.items():
        team.ask(agent, "agent_register", id=agent)
        team.write(agent, text, type="semantic")
    # A grant from whom it concerns, on the machine where that one lives.
    for agent in ("scout", "counter"):
        team.ask(agent, "space_grant", name=f"agent:{agent}", agents=["coordinator"])
    team.carry("scout", "counter", "scout")

    def asked(agent: str, *others: str) -> tuple[set[tuple[str, str]], list[str]]:
        answer = team.ask(agent, "memory_search", query="competitors", agents=list(others))
        hits = {(hit["agent_id"], hit["snippet"]) for hit in answer["hits"]}
        scores = [hit["score"] for hit in answer["hits"]]
        assert scores == sorted(scores, reverse=True)
        return hits, answer["notices"]

    everyone = tuple(findings)
    hits, notices = asked("overseer", *everyone)
    assert (hits, notices) == (set(findings.items()), [])
    hits, notices = asked("coordinator", *everyone)
    assert hits == {(agent, findings[agent]) for agent in ("scout", "counter")}
    assert len(notices) == 1
    assert "only scribe may see" in notices[0]
    hits, notices = asked("scribe", *everyone)
    assert hits == {("scribe", findings["scribe"])}
    assert "only scout, counter may see" in notices[0]
    assert team.found("scribe", "competitors") == [findings["scribe"]]


def test_a_hierarchy_with_promotion(team: Team) -> None:
    """Private first; what all should know is promoted, with who and why; demotion undoes it."""
    team.cast("junior", "senior")
    text = "The rival Cirrus launched enterprise features."
    own = team.write("junior", text, type="semantic")
    private = "I should ask Dana about the price of Cirrus."
    team.write("junior", private)
    team.carry("junior", "senior")
    assert team.found("senior", "news of Cirrus") == []

    promoted = team.ask("junior", "memory_promote", id=own, reason="all teams compete with it")
    assert (promoted["outcome"], promoted["scope"]) == ("created", "org")
    assert team.ask("junior", "memory_promote", id=own)["id"] == promoted["id"]
    team.carry("junior", "senior")
    (hit,) = team.hits("senior", "news of Cirrus")
    assert (hit["id"], hit["scope"], hit["agent_id"]) == (promoted["id"], "org", "junior")
    (row,) = team.ask("senior", "memory_get", ids=[hit["id"]])["items"]
    assert row["metadata"]["promoted"]["reason"] == "all teams compete with it"
    assert row["metadata"]["promoted"]["by"] == "junior"
    # The one who has both gets it once, the nearer one, and its own beside it.
    assert {one["id"] for one in team.hits("junior", "news of Cirrus")} >= {own}
    assert sorted(team.found("junior", "Cirrus")) == sorted([text, private])

    team.ask("junior", "memory_demote", id=promoted["id"])
    team.carry("junior", "senior")
    assert team.found("senior", "news of Cirrus") == []
    assert team.ask("senior", "memory_get", ids=[promoted["id"]])["missing"] == [promoted["id"]]
    assert text in team.found("junior", "news of Cirrus")
