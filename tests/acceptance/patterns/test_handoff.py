"""Turn by turn: planner, implementer and reviewer hand a piece of work on, each with its notes."""

from __future__ import annotations

from fix_patterns import Team

CONTRACT = "The endpoint GET /status answers 200 with the version; no new dependency."
PLAN = "Step 1: a handler in server.py. Step 2: a test that calls it."
NOTES = "I put the /status handler beside /metrics; the test client needs a fixed port."
RESULT = "GET /status is in server.py, with a test; no dependency was added."
APPROVAL = "Approved: /status keeps its contract."


def test_planner_implementer_reviewer(team: Team) -> None:
    team.cast("ada-planner", "ben-implementer", "cyd-reviewer")
    planner, implementer, reviewer = "ada-planner", "ben-implementer", "cyd-reviewer"
    for agent, skill in ((planner, "plan"), (implementer, "code"), (reviewer, "verify")):
        team.ask(agent, "agent_register", id=agent, capabilities=[skill], lease=3600)

    # The planner: a requirement for all, a plan of its own, a task, and both handed over.
    team.write(planner, CONTRACT, type="decision", scope="org")
    plan = team.write(planner, PLAN, type="plan")
    task = team.ask(planner, "task_create", title="Build GET /status", scope="org", priority=5)
    team.ask(planner, "task_assign", id=task["id"], owner=implementer)
    handed = team.ask(
        planner, "message_send", to=implementer, kind="handoff", title="GET /status",
        content="Your turn: the contract is in shared memory, my plan is attached.",
        conversation_id="release-2026-04", task_id=task["id"], context_ids=[plan],
    )["id"]  # fmt: skip
    team.carry(planner, implementer, by_command=True)

    # The implementer: reads its inbox and what came with it, works, keeps notes, hands on.
    alive = team.ask(implementer, "agent_list", state="alive", capability="plan")["items"]
    assert [one["agent_id"] for one in alive] == [planner]
    (told,) = team.ask(implementer, "notification_list")["items"]
    assert (told["title"], told["task_id"]) == ("task_assigned", task["id"])
    (item,) = team.ask(implementer, "message_inbox", kind="handoff")["items"]
    assert (item["id"], item["from_agent"]) == (handed, planner)
    assert item["conversation_id"] == "release-2026-04"
    context = team.ask(implementer, "memory_get", ids=item["context_ids"])["items"]
    assert [memory["content"] for memory in context] == [PLAN]
    assert CONTRACT in team.found(implementer, "what is the contract of /status?")
    assert team.ask(implementer, "task_claim", id=task["id"])["claimed_by"] == implementer
    team.ask(implementer, "message_ack", ids=[handed])
    assert team.ask(implementer, "message_ack", ids=[handed])["items"][0]["acked_at"]
    team.ask(implementer, "notification_ack", ids=[told["id"]])
    assert team.ask(implementer, "message_inbox")["unread"] == 0
    team.write(implementer, NOTES)
    result = team.write(implementer, RESULT, scope="org")
    team.ask(implementer, "task_complete", id=task["id"], result="merged", result_memory=result)
    team.ask(
        implementer, "message_send", to=reviewer, kind="handoff", task_id=task["id"],
        content="Please check against the contract.", thread_id=handed,
    )  # fmt: skip
    team.carry(implementer, reviewer)

    # The reviewer: contract and result, not the notes; what it finds is for all.
    (item,) = team.ask(reviewer, "message_inbox")["items"]
    assert item["from_agent"] == implementer
    seen = team.found(reviewer, "/status contract, handler and result")
    assert {CONTRACT, RESULT} <= set(seen)
    assert not {PLAN, NOTES} & set(seen)
    done = team.ask(reviewer, "task_get", id=item["task_id"])
    assert (done["status"], done["result"], done["result_memory_id"]) == (
        "completed", "merged", result,
    )  # fmt: skip
    approval = team.write(reviewer, APPROVAL, type="decision", scope="org")
    team.ask(reviewer, "memory_link", from_id=approval, to_id=result, type="supports")
    team.carry(reviewer, planner)

    # The planner hears of the end, sees who read its hand-off, and finds the approval.
    ended = [one["title"] for one in team.ask(planner, "notification_list")["items"]]
    assert ended == ["task_completed"]
    whole = team.ask(planner, "message_get", id=handed)
    assert whole["acked_at"] is not None
    assert APPROVAL in team.found(planner, "is /status approved?")
    edges = team.ask(planner, "memory_graph", id=result)["edges"]
    assert [(edge["from_id"], edge["type"]) for edge in edges] == [(approval, "supports")]


def test_the_same_by_the_names_of_m3(team: Team) -> None:
    """Agents that were written for m3-memory call its tools by their names and arguments."""
    team.cast("pia", "ivo", "rex")
    team.ask("pia", "agent_register", agent_id="pia", role="planner", capabilities=["plan"])
    task = team.ask("pia", "task_create", created_by="pia", title="Summarize the README")["id"]
    team.ask("pia", "task_assign", task_id=task, owner_agent="ivo")
    handoff = {"from_agent": "pia", "to_agent": "ivo", "task": "README in five lines, please"}
    team.ask("pia", "memory_handoff", **handoff)
    team.carry("pia", "ivo")

    polled = team.ask("ivo", "notifications_poll", agent_id="ivo")["items"]
    assert [one["title"] for one in polled] == ["task_assigned"]
    team.ask("ivo", "notifications_ack", notification_id=polled[0]["id"])
    (item,) = team.ask("ivo", "memory_inbox", agent_id="ivo")["items"]
    assert item["content"] == "README in five lines, please"
    team.ask("ivo", "memory_inbox_ack", memory_id=item["id"])
    text = "The README says what the tool is for, in five lines."
    summary = team.ask("ivo", "memory_write", text=text, type="summary", scope="org")["id"]
    team.ask("ivo", "task_update", task_id=task, state="in_progress")
    team.ask("ivo", "task_update", task_id=task, state="completed")
    team.ask("ivo", "task_set_result", task_id=task, result_memory_id=summary)
    team.ask("ivo", "notify", agent_id="rex", kind="review", payload={"task": task})
    team.carry("ivo", "pia")

    (told,) = team.ask("pia", "notifications_poll", agent_id="pia")["items"]
    assert told["title"] == "task_completed"
    assert team.ask("pia", "notifications_ack_all", agent_id="pia")["acked"] == 1
    assert team.ask("pia", "task_get", task_id=task)["result_memory_id"] == summary
    (signal,) = team.ask("rex", "notifications_poll", agent_id="rex")["items"]
    assert (signal["title"], task in signal["content"]) == ("review", True)
    assert team.refused("rex", "memory_inbox", agent_id="pia")["code"] == "refused"


def test_a_conversation_that_both_write(team: Team) -> None:
    """What was said is found again within the conversation, with who said it."""
    team.cast("talking-planner", "talking-implementer")
    talk = "release-2026-05"
    said = {
        "talking-planner": "Let us freeze the schema on Thursday.",
        "talking-implementer": "Then the schema migration must land on Wednesday.",
    }
    for agent, text in said.items():
        team.ask(
            agent, "chatlog_write", conversation_id=talk, text=text, role="assistant", scope="org"
        )
        team.carry("talking-planner", "talking-implementer")
    found = team.ask("talking-implementer", "chatlog_search", query="schema", conversation_id=talk)[
        "hits"
    ]
    assert {(hit["agent_id"], hit["snippet"]) for hit in found} == set(said.items())
    turns = team.ask("talking-implementer", "chatlog_show", conversation_id=talk)["items"]
    assert [turn["content"] for turn in turns] == list(said.values())
