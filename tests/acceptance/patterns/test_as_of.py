"""Time travel: what was true then, what was believed then, and an undo, on every machine."""

from __future__ import annotations

from fix_patterns import Team

SEASONS = (
    ("The user prefers the light theme.", "2026-01-10T09:00:00+00:00"),
    ("The user prefers the dark theme.", "2026-02-20T14:30:00+00:00"),
    ("The user prefers the dark theme with high contrast.", "2026-04-01T11:00:00+00:00"),
)
THEN = ("2026-01-20T00:00:00Z", "2026-03-15T12:00:00Z", "2026-05-01T00:00:00Z")
THEME = "which theme does the user prefer?"


def test_what_was_true_on_a_day(team: Team) -> None:
    team.cast("designer", "auditor")
    first = key = team.write("designer", SEASONS[0][0], scope="org", valid_from=SEASONS[0][1])
    for text, since in SEASONS[1:]:
        done = team.ask("designer", "memory_supersede", id=key, text=text, valid_from=since)
        assert (done["outcome"], done["superseded"]) == ("superseded", [key])
        key = done["id"]
    team.carry("designer", "auditor")
    for agent in ("designer", "auditor"):
        for (text, _), day in zip(SEASONS, THEN, strict=True):
            assert team.found(agent, THEME, as_of=day) == [text]
        assert team.found(agent, THEME, as_of="2025-12-31T00:00:00Z") == []
        (hit,) = team.hits(agent, THEME)
        assert (hit["id"], hit["current"], hit["valid_to"]) == (key, True, None)
    events = [one["event"] for one in team.ask("auditor", "memory_history", id=first)["items"]]
    assert events == ["supersede", "created"]


def test_what_was_believed_then_is_another_question(team: Team) -> None:
    """In May somebody learns that the rate had changed in March: two axes, four answers."""
    team.cast("bookkeeper", "inspector")
    old, new = "The customs rate is 4 percent.", "The customs rate is 7 percent."
    key = team.write("bookkeeper", old, scope="org", valid_from="2026-01-01T00:00:00Z")
    (row,) = team.ask("bookkeeper", "memory_get", ids=[key])["items"]
    believed = row["recorded_at"]
    changed = team.ask("bookkeeper", "memory_supersede", id=key, text=new,
                       valid_from="2026-03-01T00:00:00Z", reason="the office's letter")  # fmt: skip
    team.carry("bookkeeper", "inspector")
    asked = [
        ({}, new),
        ({"as_of": "2026-02-01T00:00:00Z"}, old),
        ({"known_at": believed}, old),
        ({"as_of": "2026-04-01T00:00:00Z", "known_at": believed}, old),
        ({"as_of": "2026-04-01T00:00:00Z"}, new),
    ]
    for times, expected in asked:
        assert team.found("inspector", "customs rate", **times) == [expected], times

    history = team.ask("inspector", "memory_history", id=key)["items"]
    assert (history[0]["event"], history[0]["reason"]) == ("supersede", "the office's letter")

    # The letter was a mistake: the other machine undoes it, and the first one learns of that.
    team.ask("inspector", "memory_restore", id=key)
    team.carry("inspector", "bookkeeper")
    assert team.found("bookkeeper", "customs rate") == [old]
    history = team.ask("bookkeeper", "memory_history", id=key)["items"]
    assert [(one["event"], one["actor"]) for one in history] == [
        ("reopen", "inspector"), ("supersede", "bookkeeper"), ("created", "bookkeeper"),
    ]  # fmt: skip
    assert not team.ask("bookkeeper", "memory_get", ids=[changed["id"]])["items"][0]["current"]


def test_two_corrections_that_did_not_know_of_each_other(team: Team) -> None:
    """On one machine the second one is told of the first; on two both stand until one gives way."""
    team.cast("porter", "guard")
    key = team.write("porter", "The office closes at 5 pm.", scope="org")
    team.carry("porter", "guard")
    six, seven = "The office closes at 6 pm.", "The office closes at 7 pm."
    first = team.ask("porter", "memory_supersede", id=key, text=six)["id"]
    if len(team.machines) == 1:
        error = team.refused("guard", "memory_supersede", id=key, text=seven)
        assert (error["code"], first in error["hint"]) == ("conflict", True)
        return
    team.ask("guard", "memory_supersede", id=key, text=seven)
    team.carry("porter", "guard", "porter")
    for agent in ("porter", "guard"):
        assert sorted(team.found(agent, "when does the office close?")) == [six, seven]
    team.ask("guard", "memory_supersede", id=first, text="The office closes at 7 pm on Fridays.")
    team.carry("guard", "porter")
    assert six not in team.found("porter", "when does the office close?")
