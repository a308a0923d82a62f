"""Sessions: what the summary at the end says, what it hides, and from whom."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest
from fix_memory import StillClock, TrigramEmbedder, opened, seen_as
from fix_sessions import content_of, sources_of, summary_of

from satchel.errors import NotFound, Refused, SatchelError
from satchel.memory import change, chatlog, forget, read, spaces
from satchel.memory.lookup import find, sees
from satchel.memory.search import search
from satchel.memory.sessions import sessions
from satchel.memory.sessions.consolidation import DAY_MS
from satchel.memory.sessions.sources import gather
from satchel.memory.tasks import tasks
from satchel.memory.visibility import SCOPES
from satchel.memory.write import write
from satchel.ranking import choose
from satchel.replica import Replica
from satchel_sync.tables import Session

MINUTE_MS = 60_000


# ---- what it says -------------------------------------------------------------------------------


def test_session_end_says_who_said_what_and_when(ada: Replica, clock: StillClock) -> None:
    bob = seen_as(ada, "bob")
    key = sessions.start(ada, title="Market study", agents=["bob"])["id"]
    first = write(ada, "The market is $2B by 2027.", type="working", session=key).id
    clock.at_ms += 5 * MINUTE_MS
    second = write(bob, "Dr. Lee confirms 35% growth. IDC is the source.", session=key).id
    third = write(bob, "We go with the enterprise segment.", type="decision", session=key).id
    write(bob, "I do not trust these numbers.", scope="agent", session=key)
    write(bob, "Said elsewhere.", space="lab")
    done = tasks.create(ada, "call IDC", session=key)["id"]
    tasks.complete(ada, done, result="they agree")
    tasks.create(bob, "write it up", owner="ada", session=key)
    clock.at_ms += DAY_MS
    for ordinal, (who, said) in enumerate(
        [("Caroline", "When do we ship?"), ("Mel", "I'd say on the 22nd."), ("Caroline", "Wow!")]
    ):
        chatlog.write(ada, key, said, role=who, ordinal=ordinal)
    chatlog.write(ada, key, "ada's own turn", ordinal=9, scope="agent")
    clock.at_ms += 5 * MINUTE_MS

    ended = sessions.end(bob, key)

    headline = (
        "Market study, 2027-01-15 08:00 to 2027-01-16 08:05 UTC; "
        "ada, bob, Caroline and Mel; 3 memories, 2 tasks, 3 turns."
    )
    assert content_of(ada, ended) == "\n".join(
        (
            headline,
            "",
            "Decided:",
            "- We go with the enterprise segment. (bob, 08:05)",
            "",
            "Noted:",
            "- The market is $2B by 2027. (ada, 08:00)",
            "- Dr. Lee confirms 35% growth. IDC is the source. (bob, 08:05)",
            "",
            "Tasks:",
            "- completed: call IDC: they agree (ada, 08:05)",
            "- pending: write it up (ada, 08:05)",
            "",
            "Said:",
            "- When do we ship? (Caroline, 2027-01-16 08:05)",
            "- I'd say on the 22nd. (Mel, 2027-01-16 08:05)",
            "- Wow! (Caroline, 2027-01-16 08:05)",
        )
    )
    summary = summary_of(ada, ended)
    assert sources_of(ada, ended) == {first, second, third}
    told = json.loads(summary["metadata"])
    assert told["sources"] == {"memory": 3, "task": 2, "chatlog": 3}
    assert len(told["quoted"]["chatlog"]) == 3
    assert done in told["quoted"]["task"]
    owner = ("type", "scope", "session_id", "agent_id", "valid_from", "recorded_at", "title")
    assert tuple(summary[name] for name in owner) == (
        "episodic", "session", key, "ada", ended["opened_at"], ended["closed_at"], "Market study",
    )  # fmt: skip
    assert read.get(seen_as(ada, "cleo"), [summary["id"]])["items"] == []
    assert [hit.id for hit in search.search(bob, "enterprise segment", type="episodic").hits] == [
        summary["id"]
    ]


def test_what_is_no_longer_true_is_not_said(ada: Replica, clock: StillClock) -> None:
    key = sessions.start(ada)["id"]
    old = write(ada, "The port is 80.", session=key).id
    write(ada, "The door is open.", session=key, expires_at=clock.at_ms + MINUTE_MS)
    gone = write(ada, "The wall is blue.", session=key).id
    write(ada, "The secret stays on this machine.", session=key, local=True)
    clock.at_ms += 2 * MINUTE_MS
    change.supersede(ada, old, "The port is 8443.")
    change.delete(ada, gone, confirm=True)
    told = content_of(ada, sessions.end(ada, key))
    assert "8443" in told
    for absent in ("is 80.", "open", "blue", "secret"):
        assert absent not in told


def test_a_session_without_anything_has_no_summary(ada: Replica) -> None:
    key = sessions.start(ada)["id"]
    write(ada, "a thought of my own", scope="agent", session=key)
    ended = sessions.end(ada, key)
    assert (ended["closed_at"] is not None, ended["summary_memory_id"]) == (True, None)
    assert sessions.end(ada, key) == ended
    assert sessions.sweep(ada) == {"ended": [], "refreshed": []}


def test_a_long_session_is_told_in_a_few_lines_that_matter(ada: Replica, clock: StillClock) -> None:
    key = sessions.start(ada)["id"]
    for n in range(60):
        clock.at_ms += MINUTE_MS
        said = "Okay." if n % 3 else "Have you seen it?"
        if n == 31:
            said = "I decided to move the cathedral archive to Lisbon in March. Fine?"
        chatlog.write(ada, key, said, role="Mel" if n % 2 else "Caroline", scope="session")
    told = content_of(ada, sessions.end(ada, key)).splitlines()
    assert len(told) <= 3 + 12
    (line,) = [line for line in told if "Lisbon" in line]
    assert line.startswith("- I decided to move the cathedral archive to Lisbon in March.")
    assert "(Mel, 08:32)" in line


def test_every_engine_and_every_machine_says_the_same(tmp_path: Path) -> None:
    """One text from the same rows, whichever engine ranks and whatever else a machine holds."""
    texts = set()
    for engine in ("pure", "native"):
        choose(engine)  # it is here, or this says so
        home = tmp_path / engine
        home.mkdir()
        embedder = TrigramEmbedder() if engine == "native" else None
        with opened(home, "ada", clock=StillClock(), embedder=embedder) as replica:
            replica.settings = replace(replica.settings, ranking=engine)
            if embedder:
                write(replica, "lisbon archives are moved in march, and much else is here")
            key = sessions.start(replica, title="t")["id"]
            for n in range(20):
                said = f"Note {n} tells of town {n % 7}; we must see to {n * 37}."
                write(replica, said, session=key)
            texts.add(content_of(replica, sessions.end(replica, key)))
    assert len(texts) == 1


def test_turns_without_a_name_are_said_by_user_and_agent(ada: Replica) -> None:
    key = sessions.start(ada)["id"]
    chatlog.write(ada, key, "Can we drop Node 16?", role="user")
    chatlog.write(ada, key, "Yes: nobody uses it.", role="assistant")
    chatlog.write(ada, key, "Mel: I do.", role="Mel")
    said = content_of(ada, sessions.end(ada, key)).splitlines()[-3:]
    assert said == [
        "- Can we drop Node 16? (una, 08:00)",
        "- Yes: nobody uses it. (ada, 08:00)",
        "- I do. (Mel, 08:00)",
    ]


# ---- whose it is --------------------------------------------------------------------------------


def test_a_session_of_a_space_is_summed_up_for_the_space(ada: Replica) -> None:
    spaces.change_members(ada, "lab", add=["bob", "cleo"])
    key = sessions.start(ada, space="lab", title="stand-up")["id"]
    bob, cleo, dan = (seen_as(ada, name) for name in ("bob", "cleo", "dan"))
    said = write(bob, "The build is green.", session=key)
    assert read.get(cleo, [said.id])["items"][0]["scope"] == "space"
    task = tasks.create(bob, "paint", session=key)
    assert (task["scope"], task["space"]) == ("space", "lab")
    with pytest.raises(Refused, match="takes no part"):
        write(bob, "only for who takes part", scope="session", session=key)
    sessions.join(bob, key)
    write(bob, "only for who takes part", scope="session", session=key)
    with pytest.raises(NotFound):
        sessions.end(dan, key)
    ended = sessions.end(cleo, key)
    told = content_of(cleo, ended)
    assert "build is green" in told
    assert "who takes part" not in told
    assert read.get(dan, [ended["summary_memory_id"]])["items"] == []


def test_rows_of_a_users_session_are_the_users(ada: Replica) -> None:
    operator = seen_as(ada, None)
    key = sessions.start(operator, title="mine")["id"]
    said = write(seen_as(ada, "bob"), "I like tea.", session=key)
    assert read.get(ada, [said.id])["items"][0]["scope"] == "user"
    ended = sessions.end(operator, key)
    assert "I like tea. (bob, " in content_of(ada, ended)
    assert read.get(seen_as(ada, "zoe", user="zoe"), [ended["summary_memory_id"]])["items"] == []


def test_who_forgets_a_source_is_told_of_the_summary(ada: Replica) -> None:
    key = sessions.start(ada)["id"]
    long = " ".join(f"Sentence {n} tells of the {n}th thing." for n in range(40))
    source = write(ada, f"{long} The vault opens with marzipan.", session=key).id
    ended = sessions.end(ada, key)
    told = forget.forget(ada, [source], confirm=True)
    assert ended["summary_memory_id"] in told["linked"]


ASKERS = [(agent, user) for agent in ("ada", "bob", "cleo") for user in ("una", "zoe")]
PLACES: dict[str | None, dict[str, str]] = {"space": {"space": "lab"}, "elsewhere": {"space": "b"}}


@pytest.mark.parametrize("scope", SCOPES)
def test_who_sees_a_summary_sees_all_that_it_is_made_of(ada: Replica, scope: str) -> None:
    """Rows of every kind and scope, by everybody; then everybody is asked for the sources."""
    operator = seen_as(ada, None)
    spaces.change_members(operator, "lab", add=["ada", "bob"])
    spaces.change_members(operator, "b", add=["cleo", "ada"])
    session = sessions.start(ada, scope=scope, agents=["bob"], **PLACES.get(scope, {}))
    key = session["id"]
    for (agent, user), wanted in product(ASKERS, (None, *SCOPES, "elsewhere")):
        who = seen_as(ada, agent, user=user)
        given = PLACES.get(wanted, {"scope": wanted})
        with suppress(SatchelError):  # not all of them may write everywhere
            write(who, f"memory of {agent} {user} {wanted}", session=key, **given)
            tasks.create(who, f"task of {agent}", session=key, **given)
            chatlog.write(who, key, f"turn of {agent} {user} {wanted}", **given)
    with ada.store.read() as db:
        held = find(db, operator.caller, Session, key)
        made_of = gather(db, held, ada.now_ms())
    summary = sessions.end(ada, key)["summary_memory_id"]
    readers = [seen_as(ada, agent, user=user).caller for agent, user in ASKERS]
    with ada.store.read() as db:
        readers = [one for one in readers if sees(db, one, "memory", summary)]
        hidden = [
            (reader, source)
            for reader, source in product(readers, made_of)
            if not sees(db, reader, source.kind, source.id)
        ]
    assert hidden == []
    assert readers
    assert {source.kind for source in made_of} == {"memory", "task", "chatlog"}
