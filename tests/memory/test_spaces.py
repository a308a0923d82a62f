"""Spaces: who is let in by whom, and that no way of taking names out of one opens it."""

from __future__ import annotations

from typing import Any

import pytest
from fix_memory import seen_as
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from satchel.errors import Conflict, InvalidInput, NotFound, Refused, SatchelError
from satchel.memory import history, read, spaces
from satchel.memory.write import write
from satchel.replica import Replica
from satchel.store import rows
from satchel_sync.tables import Space


def rights(replica: Replica, name: str, *agents: str) -> dict[str, str]:
    """What each agent can do in a space: nothing, read, or write; found out by trying."""
    key = write(seen_as(replica, None), f"a row of {name}", space=name).id
    able = {}
    for agent in agents:
        who = seen_as(replica, agent)
        reads = bool(read.get(who, [key])["items"])
        try:
            write(who, f"a row of {agent}", space=name)
            able[agent] = "write" if reads else "write only"
        except NotFound:
            able[agent] = "read" if reads else ""
    return able


def test_space_grant_and_space_revoke(ada: Replica) -> None:
    operator = seen_as(ada, None)
    write(ada, "open to all", space="lab")
    assert spaces.get(ada, "lab")["open"]
    assert rights(ada, "lab", "ada", "bob") == {"ada": "write", "bob": "write"}

    made = spaces.grant(operator, "lab", ["ada"], right="write", description="where we try things")

    assert (made["open"], made["description"]) == (False, "where we try things")
    assert rights(ada, "lab", "ada", "bob") == {"ada": "write", "bob": ""}
    spaces.grant(operator, "lab", ["bob"])
    assert rights(ada, "lab", "ada", "bob", "cleo") == {"ada": "write", "bob": "read", "cleo": ""}
    assert spaces.get(seen_as(ada, "bob"), "lab")["grants"] == '{"read":["bob"],"write":["ada"]}'
    with pytest.raises(NotFound):
        spaces.get(seen_as(ada, "cleo"), "lab")
    spaces.revoke(operator, "lab", ["ada", "bob"])
    assert rights(ada, "lab", "ada", "bob") == {"ada": "", "bob": ""}
    assert not spaces.get(operator, "lab")["open"]
    spaces.grant(operator, "lab", ["*"], right="write")
    assert rights(ada, "lab", "ada", "zoe") == {"ada": "write", "zoe": "write"}
    events = history.history(operator, "lab", kind="space")["items"]
    assert [one["event"] for one in events] == ["update"] * 4 + ["created"]


def test_space_members_let_others_in_and_grants_do_not(ada: Replica) -> None:
    bob, cleo = seen_as(ada, "bob"), seen_as(ada, "cleo")
    boss = seen_as(ada, "boss", role="supervisor")
    made = spaces.change_members(ada, "lab", add=["bob"])
    assert (made["members"], made["open"]) == ('["ada","bob"]', False)
    spaces.grant(bob, "lab", ["cleo"], right="write")
    assert rights(ada, "lab", "ada", "bob", "cleo", "dan") == {
        "ada": "write", "bob": "write", "cleo": "write", "dan": "",
    }  # fmt: skip
    for call in (
        lambda: spaces.grant(cleo, "lab", ["dan"]),
        lambda: spaces.revoke(cleo, "lab", ["ada"]),
        lambda: spaces.change_members(cleo, "lab", add=["cleo"]),
    ):
        with pytest.raises(Refused, match="no member"):
            call()
    with pytest.raises(NotFound):
        spaces.grant(seen_as(ada, "dan"), "lab", ["dan"])
    spaces.change_members(bob, "lab", remove=["ada"])
    assert rights(ada, "lab", "ada", "bob") == {"ada": "", "bob": "write"}
    with pytest.raises(Refused, match="no member left"):
        spaces.change_members(bob, "lab", remove=["bob"])
    with pytest.raises(Refused, match="no member left"):
        spaces.revoke(bob, "lab", ["bob"])
    assert spaces.revoke(boss, "lab", ["bob", "cleo"])["members"] == "[]"
    assert rights(ada, "lab", "bob", "cleo") == {"bob": "", "cleo": ""}


def test_no_agent_closes_what_is_open_to_all(ada: Replica) -> None:
    write(ada, "mine first", space="lab")
    for call in (
        lambda: spaces.grant(ada, "lab", ["ada"]),
        lambda: spaces.change_members(ada, "lab", add=["ada"]),
    ):
        with pytest.raises(Refused, match="open to all"):
            call()
    with pytest.raises(Conflict, match="open to all"):
        spaces.revoke(seen_as(ada, None), "lab", ["ada"])
    with pytest.raises(NotFound):
        spaces.revoke(ada, "no such space", ["ada"])
    assert spaces.get(ada, "lab")["open"]


def test_space_list_shows_what_the_caller_sees(ada: Replica) -> None:
    bob = seen_as(ada, "bob")
    for name in ("b", "a", "c"):
        spaces.change_members(ada, name, add=["ada"])
    spaces.change_members(bob, "bobs", add=["bob"])
    write(bob, "open", space="open")
    with ada.store.write() as db:
        rows.insert(db, Space(name="torn", members="{oops", grants="[7"))
    first = spaces.list_spaces(ada, limit=2)
    assert [one["name"] for one in first["items"]] == ["a", "b"]
    rest = spaces.list_spaces(ada, after=first["next"])
    assert ([one["name"] for one in rest["items"]], rest["next"]) == (["c", "open"], None)
    assert [one["name"] for one in spaces.list_spaces(bob)["items"]] == ["bobs", "open"]
    assert len(spaces.list_spaces(seen_as(ada, None))["items"]) == 6
    # What somebody wrote there by hand and is no list names nobody; it can be put right.
    assert spaces.grant(seen_as(ada, None), "torn", ["bob"])["grants"] == '{"read":["bob"]}'
    assert spaces.get(bob, "torn")["members"] == "{oops"


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"name": "", "agents": ["a"]}, "name"),
        ({"name": "lab", "agents": []}, "agents"),
        ({"name": "lab", "agents": "ada"}, "agents"),
        ({"name": "lab", "agents": ["a\0b"]}, "agents[0]"),
        ({"name": "lab", "agents": ["a"], "right": "own"}, "right"),
        ({"name": "lab", "add": []}, "add"),
        ({"name": "lab", "add": ["*"]}, "add"),
    ],
    ids=str,
)
def test_wrong_input_names_its_field(ada: Replica, arguments: dict[str, Any], field: str) -> None:
    call: Any = spaces.grant if "agents" in arguments else spaces.change_members
    with pytest.raises(InvalidInput) as refusal:
        call(ada, **arguments)
    assert refusal.value.field == field
    assert spaces.list_spaces(ada)["items"] == []


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    steps=st.lists(
        st.tuples(
            st.sampled_from(["grant read", "grant write", "revoke", "add", "remove"]),
            st.sampled_from(["boss", "ada", "bob", "cleo"]),
            st.lists(st.sampled_from(["ada", "bob", "cleo", "*"]), min_size=1, max_size=2),
        ),
        max_size=8,
    )
)
def test_a_closed_space_is_open_to_nobody_who_is_not_named(
    ada: Replica, steps: list[tuple[str, str, list[str]]]
) -> None:
    """Against a plain model: sets of names, who may change them, and what each may do."""
    name = f"s{ada.store.now_ms()}-{len(spaces.list_spaces(seen_as(ada, None))['items'])}"
    spaces.change_members(ada, name, add=["ada"])
    members, granted = {"ada"}, {"read": set[str](), "write": set[str]()}
    for verb, by, named in steps:
        who = seen_as(ada, by, role="supervisor" if by == "boss" else "agent")
        left = members - set(named) if verb in ("revoke", "remove") else members | set(named)
        allowed = by == "boss" or (by in members and (left or verb.startswith("grant")))
        if (verb == "add" and "*" in named) or not allowed:
            with pytest.raises(SatchelError):
                run(who, name, verb, named)
            continue
        run(who, name, verb, named)
        if verb == "revoke":
            granted = {right: agents - set(named) for right, agents in granted.items()}
        if verb.startswith("grant"):
            granted[verb.split()[1]] |= set(named)
        else:
            members = left
    for agent in ("ada", "bob", "cleo", "dan"):
        writes = agent in members or {agent, "*"} & granted["write"]
        reads = writes or {agent, "*"} & granted["read"]
        assert rights(ada, name, agent)[agent] == ("write" if writes else "read" if reads else "")


def run(who: Replica, name: str, verb: str, named: list[str]) -> None:
    if verb.startswith("grant"):
        spaces.grant(who, name, named, right=verb.split()[1])
    elif verb == "revoke":
        spaces.revoke(who, name, named)
    else:
        spaces.change_members(who, name, **{verb: named})
