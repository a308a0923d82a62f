"""Messages between agents, and sessions that agents share until one memory is left of them."""

from __future__ import annotations

from fix_patterns import Team


def test_message_passing(team: Team) -> None:
    """A mailbox each: in order, with answers in their thread, read by nobody else."""
    team.cast("sender", "receiver")
    for text in ("Analysis is done.", "Five players were found."):
        team.ask("sender", "message_send", to="receiver", content=text)
    urgent = team.ask("sender", "message_send", to="receiver", content="Start with Nimbus.",
                      priority=5)["id"]  # fmt: skip
    team.carry("sender", "receiver")

    inbox = team.ask("receiver", "message_inbox")
    assert [(one["from_agent"], one["content"]) for one in inbox["items"]] == [
        ("sender", "Start with Nimbus."),
        ("sender", "Analysis is done."),
        ("sender", "Five players were found."),
    ]
    assert team.ask("eavesdropper", "message_inbox")["items"] == []
    assert team.refused("eavesdropper", "message_get", id=urgent)["code"] == "not_found"

    team.ask("receiver", "message_ack", ids=[urgent])
    team.ask("receiver", "message_send", to="sender", content="On it.", thread_id=urgent)
    team.carry("receiver", "sender")
    thread = team.ask("sender", "message_thread", id=urgent)["items"]
    assert [one["content"] for one in thread] == ["Start with Nimbus.", "On it."]
    assert thread[0]["acked_at"] is not None
    assert [one["content"] for one in team.ask("sender", "message_inbox")["items"]] == ["On it."]
    assert team.ask("receiver", "message_inbox")["unread"] == 2


def test_a_session_that_ends_in_one_memory(team: Team) -> None:
    """Working notes are shared while it lasts; what is left is one episode that names them all."""
    team.cast("host", "guest")
    session = team.ask("host", "session_start", title="Market sizing", agents=["guest"])["id"]
    size = "The market size is 2 billion dollars by 2027."
    first = team.write("host", size, type="working", session=session)
    team.carry("host", "guest")
    (hit,) = team.hits("guest", "how large is the market?", session=session)
    assert (hit["id"], hit["scope"]) == (first, "session")
    growth = "We take a growth of 35 percent a year, which the filing confirms."
    second = team.write("guest", growth, type="decision", session=session)
    assert team.found("stranger", "market size") == []
    team.carry("guest", "host")

    # Both end it, each on its machine, before they hear of each other: one summary.
    closed = {agent: team.ask(agent, "session_end", id=session) for agent in ("host", "guest")}
    summaries = {one["summary_memory_id"] for one in closed.values()}
    assert len(summaries) == 1
    (summary,) = summaries
    team.carry("guest", "host", "guest")
    again = team.ask("host", "session_end", id=session)
    assert again["summary_memory_id"] == summary
    for agent in ("host", "guest"):
        (row,) = team.ask(agent, "memory_get", ids=[summary])["items"]
        assert row["type"] == "episodic"
        for part in ("Market sizing", size, growth, "host", "guest"):
            assert part in row["content"]
        edges = team.ask(agent, "memory_graph", id=summary)["edges"]
        assert {edge["to_id"] for edge in edges if edge["type"] == "derived_from"} == {
            first, second,
        }  # fmt: skip
        assert summary in [one["id"] for one in team.hits(agent, "market sizing")]
        episodes = team.ask(agent, "memory_list", type="episodic", session=session)["items"]
        assert [one["id"] for one in episodes] == [summary]
    got = team.ask("host", "memory_get", ids=[first])["items"]
    assert got[0]["expires_at"] is not None, "working notes end by themselves"
    assert team.found("stranger", "market sizing") == []


def test_who_joins_later_sees_what_was_said(team: Team) -> None:
    team.cast("opener", "latecomer")
    session = team.ask("opener", "session_start", title="Standup", space="standups")["id"]
    text = "Yesterday the importer was rewritten."
    team.write("opener", text, type="working", session=session)
    team.carry("opener", "latecomer")
    team.ask("latecomer", "session_join", id=session)
    assert team.found("latecomer", "what about the importer?", session=session) == [text]
    team.ask("latecomer", "chatlog_write", conversation_id=session, text="Great, I test it today.")
    team.carry("latecomer", "opener")
    assert team.ask("opener", "session_get", id=session)["agent_ids"] == ["opener", "latecomer"]
    ended = team.ask("opener", "session_end", id=session)
    (episode,) = team.ask("opener", "memory_get", ids=[ended["summary_memory_id"]])["items"]
    assert "importer" in episode["content"]
    assert team.refused("latecomer", "session_join", id="00000000")["code"] == "not_found"


def test_agents_may_have_any_name(team: Team) -> None:
    """Names are text: with blanks, signs and letters of any script, from end to end."""
    names = ("Ada Lovelace", "渡辺@laptop/2", 'o\'Brien "the %_" 🦊')
    team.cast(*names)
    first, second, third = names
    for agent in names:
        team.ask(agent, "agent_register", id=agent)
    note = team.write(first, f"Only for {second}: the engine needs oil.")
    session = team.ask(first, "session_start", title="Names", agents=[second, third])["id"]
    task = team.ask(first, "task_create", title="Oil the engine", owner=second)["id"]
    team.ask(first, "message_send", to=second, kind="handoff", content="oil", context_ids=[note])
    team.ask(first, "space_grant", name=f"agent:{first}", agents=[third])
    team.carry(first, second)
    assert team.ask(second, "memory_get", ids=[note])["missing"] == []
    assert team.ask(second, "task_claim", id=task)["claimed_by"] == second
    team.ask(second, "task_complete", id=task)
    team.write(second, "The engine has oil now.", session=session)
    (item,) = team.ask(second, "message_inbox", kind="handoff")["items"]
    team.ask(second, "message_ack", ids=[item["id"]])
    team.carry(second, third)
    assert sorted(team.found(third, "engine oil", agents=[first, second])) == [
        f"Only for {second}: the engine needs oil.", "The engine has oil now.",
    ]  # fmt: skip
    listed = {one["agent_id"] for one in team.ask(third, "agent_list")["items"]}
    assert set(names) <= listed
    ended = team.ask(third, "session_end", id=session)
    (episode,) = team.ask(third, "memory_get", ids=[ended["summary_memory_id"]])["items"]
    assert all(name in episode["content"] for name in names)
