"""What is recalled unasked: what a prompt is about, once a session; nothing that is of no use."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from fix_hooks import call
from fix_memory import StillClock, opened, settings
from fix_models import packaged_folder

from satchel.errors import InvalidInput
from satchel.hooks import project, recalling
from satchel.hooks.call import HookCall, read
from satchel.memory import recall
from satchel.memory.write import write
from satchel.replica import Replica

BUDGET = 800
NOTES = {
    "kamal": "We deploy the billing service with Kamal, never with the old Ansible playbook",
    "vacuum": "When the orders table grows past 40 GB run VACUUM VERBOSE, then pg_repack at night",
    "bread": "Sourdough: 450 g strong flour, 330 g water, 90 g starter, fold four times",
    "call": "Team call on Tuesdays at ten, Berlin time, in the small room",
    "key": "The office door code changes in March; ask Okafor for the new one",
}
QUIET = ("continue", "yes, do it", "ok", "thanks, looks good", "/compact", "", "   ", "😀", "the")


@pytest.fixture
def agent(tmp_path: Path, clock: StillClock) -> Iterator[Replica]:
    """As Claude Code, by words alone, with a few memories of its own."""
    with opened(tmp_path, "claude-code", clock=clock, embedding="off") as replica:
        for text in NOTES.values():
            write(replica, text)
        yield replica


@pytest.fixture
def clock() -> StillClock:
    return StillClock()


def prompt(text: str, session: str = "s1", host: str = "claude-code") -> HookCall:
    return read(host, call(host, "prompt", prompt=text, session_id=session))


def start(source: str = "startup", cwd: str = "/srv/acme", session: str = "s1") -> HookCall:
    return read(
        "claude-code",
        call("claude-code", "session-start", source=source, cwd=cwd, session_id=session),
    )


def told(replica: Replica, asked: HookCall, max_tokens: int = BUDGET) -> list[str]:
    return [hit.snippet for hit in recalling.for_hook(replica, asked, max_tokens).hits]


# ---- a prompt -----------------------------------------------------------------------------------


def test_a_prompt_gets_what_it_is_about_and_no_more(agent: Replica) -> None:
    assert told(agent, prompt("deploy the billing service")) == [NOTES["kamal"]]


@pytest.mark.parametrize("text", QUIET)
def test_small_talk_gets_nothing(agent: Replica, text: str) -> None:
    assert recalling.for_hook(agent, prompt(text), BUDGET) == ("", [], 0)


def test_a_long_prompt_about_other_things_gets_nothing(agent: Replica) -> None:
    text = (
        "Please write a page that shows the time in three cities in large numbers, with a button to"
        " switch between two forms. The old one is slow at night when it runs with many users; ask"
        " before you change the table, and test it in the small browser. Run the tests, then tell"
        " me in a new message what grows, what changes, and when it is done."
    )
    assert told(agent, prompt(text)) == []


def test_a_huge_paste_is_read_at_its_ends_only(agent: Replica) -> None:
    paste = "lorem ipsum " * 40_000
    request = recall._ends(f"start {paste} end")
    assert len(request) <= recall.PROMPT_CHARS_MAX + 1
    assert request.startswith("start")
    assert request.endswith("end")
    assert told(agent, prompt(paste)) == []


def test_the_same_is_told_once_a_session_until_it_is_compacted(agent: Replica) -> None:
    asked = "deploy the billing service"
    assert told(agent, prompt(asked))
    assert told(agent, prompt(asked)) == []
    assert told(agent, prompt(asked, session="s2"))
    assert told(agent, start("resume")) == []
    assert told(agent, prompt(asked)) == []
    assert told(agent, start("compact")) == []
    assert told(agent, prompt(asked))


def test_hosts_do_not_share_a_session(agent: Replica) -> None:
    asked = "deploy the billing service"
    assert told(agent, prompt(asked))
    assert told(agent, prompt(asked, host="gemini-cli"))


def test_the_budget_bounds_what_is_told(agent: Replica) -> None:
    assert told(agent, prompt("deploy the billing service"), max_tokens=50) == []
    # What did not fit was not told, so it can be told later.
    assert told(agent, prompt("deploy the billing service"))


def test_superseded_expired_and_hidden_memories_are_not_told(
    tmp_path: Path, agent: Replica, clock: StillClock
) -> None:
    with opened(tmp_path, "grace", clock=clock, embedding="off") as other:
        write(other, "Deploy the ledger service with Nomad")
        write(other, "Deploy the ledger service with Fly", scope="user")
    write(agent, "Deploy the ledger service with Helm", expires_at=clock.at_ms + 1_000)
    clock.at_ms += 2_000
    assert told(agent, prompt("deploy the ledger service")) == [
        "Deploy the ledger service with Fly"
    ]


def test_other_moments_get_nothing(agent: Replica) -> None:
    for event in ("stop", "compact", "session-end", "other"):
        asked = read("claude-code", call("claude-code", event, prompt="deploy the billing service"))
        assert recalling.for_hook(agent, asked, BUDGET).hits == []


# ---- the start of a session ---------------------------------------------------------------------


def test_a_session_starts_with_what_is_pinned_and_what_the_project_holds(
    agent: Replica, clock: StillClock
) -> None:
    def kept(text: str, **columns: object) -> None:
        clock.at_ms += 1_000
        write(agent, text, **columns)  # type: ignore[arg-type]

    kept("Answer in British English", pinned=True)
    kept("Tests run with make check", space="acme", scope="space")
    kept("The weighty one", space="acme", scope="space", importance=0.9)
    kept("Scratch", space="acme", scope="space", type="working")
    kept("Pinned elsewhere", space="zeta", scope="space", pinned=True)
    kept("The acme thing, named in passing")
    kept("Sold to Globex", title="ACME")
    kept("Has its own runners", aliases=["acme", "the shop"])
    assert told(agent, start()) == [
        "Answer in British English",
        "The weighty one",
        "Has its own runners",
        "Sold to Globex",
        "Tests run with make check",
    ]
    assert told(agent, start(cwd="/srv/other")) == ["Answer in British English"]


def test_a_session_of_nothing_starts_in_silence(agent: Replica) -> None:
    assert recalling.for_hook(agent, start(), BUDGET) == ("", [], 0)


def test_a_project_is_the_repository_that_holds_the_folder(tmp_path: Path) -> None:
    deep = tmp_path / "Acme" / "src" / "deep"
    deep.mkdir(parents=True)
    assert project.names(str(deep)) == ["deep"]
    (tmp_path / "Acme" / ".git").touch()
    assert project.names(str(deep)) == ["Acme", "acme"]


@pytest.mark.parametrize("cwd", [None, "", "/", "/tmp", "/home", str(Path.home())])
def test_what_is_no_project_has_no_name(cwd: str | None) -> None:
    assert project.names(cwd) == []


@pytest.mark.parametrize("cwd", ["a\0b", "x" * 5_000, "/no/such/place"])
def test_a_strange_folder_does_no_harm(agent: Replica, cwd: str) -> None:
    assert told(agent, HookCall("codex", "session-start", "SessionStart", cwd=cwd)) == []


# ---- what is left behind ------------------------------------------------------------------------


def test_what_was_told_is_traced_guarded_and_not_counted(agent: Replica) -> None:
    (hit,) = recalling.for_hook(agent, prompt("deploy the billing service"), BUDGET).hits
    agent.activity.wait()
    assert hit.id in agent.activity.given_since("agent:claude-code", 0)
    assert agent.activity.access_counts([hit.id]) == {}
    assert agent.activity.failures == 0


def test_the_block_is_not_stored_as_new_knowledge(agent: Replica) -> None:
    block = recalling.for_hook(agent, prompt("deploy the billing service"), BUDGET).text
    again = write(agent, NOTES["kamal"])
    assert again.outcome == "exists"
    with pytest.raises(InvalidInput, match="what recall gave"):
        write(agent, block)


def test_silence_leaves_no_trace(tmp_path: Path, agent: Replica) -> None:
    recalling.for_hook(agent, prompt("continue"), BUDGET)
    agent.activity.wait()
    assert agent.activity.given_since("hook:claude-code:s1", 0) == frozenset()


# ---- with a model -------------------------------------------------------------------------------


@pytest.mark.skipif(packaged_folder() is None, reason="the packaged model is not installed")
def test_meaning_finds_what_words_do_not(tmp_path: Path) -> None:
    with opened(tmp_path, "claude-code", embedding="native") as agent:
        for text in NOTES.values():
            write(agent, text)
        assert told(agent, prompt("our orders table in postgres is bloated, what now?")) == [
            NOTES["vacuum"]
        ]
        assert told(agent, prompt("what flour and water do I need for sourdough bread?")) == [
            NOTES["bread"]
        ]
        for quiet in (*QUIET, "who won the chess championship", "how do I knit a sweater"):
            assert told(agent, prompt(quiet)) == []


def test_an_engine_that_is_slow_to_load_is_left_out(tmp_path: Path) -> None:
    slow = settings(tmp_path, embedding="sentence-transformers")
    assert recalling.in_time(slow).embedding == "off"
    asks = settings(tmp_path, embedding="http")
    assert recalling.in_time(asks).embedding == "off"
    if packaged_folder() is not None:
        quick = settings(tmp_path, embedding="native")
        assert recalling.in_time(quick) is quick
