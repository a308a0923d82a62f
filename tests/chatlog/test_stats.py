"""The cost report: tokens and dollars by day, provider and model, of what the caller sees."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fix_memory import opened, seen_as

from satchel import prices
from satchel.errors import ConfigInvalid, InvalidInput
from satchel.memory import chatlog
from satchel.memory.chat_cost import stats
from satchel.replica import Replica

DAY_MS = 24 * 60 * 60 * 1000
MONDAY_MS = 1_793_577_600_000
PRICES = """
[claude-sonnet-4]
input = 3.0
output = 15
cached = 0.3
cache_written = 3.75
["claude-sonnet-4-9"]
input = 1
output = 1
"""


@pytest.fixture
def replica(tmp_path: Path) -> Iterator[Replica]:
    with opened(tmp_path, embedding="off") as found:
        yield found


def say(replica: Replica, words: str, day: int, model: str | None, **more: Any) -> None:
    provider = None if model is None else "openai" if model.startswith("gpt") else "anthropic"
    at = MONDAY_MS + day * DAY_MS
    given: dict[str, Any] = {"scope": "user", **more}
    chatlog.write(replica, "talk", words, said_at=at, model=model, provider=provider, **given)


@pytest.fixture
def talk(replica: Replica) -> Replica:
    say(replica, "paint it", 0, None)
    cached = {"cached": 800, "cache_written": 100}
    say(replica, "a", 0, "claude-sonnet-4-5", tokens_in=1000, tokens_out=10, metadata=cached)
    say(replica, "b", 0, "claude-sonnet-4-5", tokens_in=500, tokens_out=20)
    say(replica, "c", 1, "claude-sonnet-4-5", tokens_in=100, tokens_out=5, cost=0.5)
    say(replica, "d", 1, "gpt-5.1-codex", tokens_in=2000, tokens_out=30, host_agent="codex")
    return replica


def test_tokens_by_day_provider_and_model(talk: Replica) -> None:
    found = stats(talk)
    keys = [(one["day"], one["provider"], one["model"]) for one in found["items"]]
    assert keys == [
        ("2026-11-03", "anthropic", "claude-sonnet-4-5"),
        ("2026-11-03", "openai", "gpt-5.1-codex"),
        ("2026-11-02", "anthropic", "claude-sonnet-4-5"),
    ]
    assert found["items"][2] == {
        "day": "2026-11-02", "provider": "anthropic", "model": "claude-sonnet-4-5", "turns": 2,
        "tokens_in": 1500, "tokens_out": 30, "tokens_cached": 800, "tokens_cache_written": 100,
        "cost": None, "cost_estimated": None,
    }  # fmt: skip
    assert found["total"] == {
        "turns": 4, "tokens_in": 3600, "tokens_out": 65, "tokens_cached": 800,
        "tokens_cache_written": 100, "cost": 0.5, "cost_estimated": None,
    }  # fmt: skip
    assert found["unpriced"] == ["claude-sonnet-4-5", "gpt-5.1-codex"]


def test_dollars_by_the_list_of_whoever_pays(talk: Replica, tmp_path: Path) -> None:
    (tmp_path / prices.PRICES_FILE).write_text(PRICES)
    say(talk, "e", 2, "claude-sonnet-4-9-x", tokens_in=1_000_000, tokens_out=1_000_000)
    found = stats(talk, by=["model"])
    by_model = {one["model"]: one for one in found["items"]}
    # 100 plain, 800 cached, 100 written to the cache, 10 out; 500 plain, 20 out. What the host told
    # a cost of is not estimated.
    wanted = (100 * 3 + 800 * 0.3 + 100 * 3.75 + 10 * 15 + 500 * 3 + 20 * 15) / 1e6
    sonnet = by_model["claude-sonnet-4-5"]
    assert (sonnet["cost"], sonnet["cost_estimated"]) == (0.5, pytest.approx(wanted))
    assert by_model["claude-sonnet-4-9-x"]["cost_estimated"] == pytest.approx(2.0)
    assert (found["unpriced"], by_model["gpt-5.1-codex"]["cost_estimated"]) == (
        ["gpt-5.1-codex"], None,
    )  # fmt: skip


def test_groups_bounds_and_limits(talk: Replica) -> None:
    assert [one["host"] for one in stats(talk, by=["host"])["items"]] == [None, "codex"]
    found = stats(talk, by=["conversation", "day"], limit=1)
    assert [(one["conversation"], one["day"]) for one in found["items"]] == [("talk", "2026-11-03")]
    assert (found["total"]["turns"], len(found["notices"])) == (4, 1)
    assert stats(talk, since=MONDAY_MS + DAY_MS)["total"]["turns"] == 2
    assert stats(talk, until=MONDAY_MS + DAY_MS)["total"]["turns"] == 2
    assert stats(talk, conversation_id="other")["items"] == []
    with pytest.raises(InvalidInput, match="`by`"):
        stats(talk, by=["week"])


def test_only_what_the_caller_sees_is_counted(talk: Replica) -> None:
    say(seen_as(talk, "ada"), "mine", 0, "secret-model", tokens_in=7, scope="agent")
    assert stats(seen_as(talk, "ada"))["total"]["turns"] == 5
    bob = stats(seen_as(talk, "bob"))
    assert bob["total"]["turns"] == 4
    assert "secret-model" not in str(bob)
    assert stats(seen_as(talk, "eve", user="eve"))["items"] == []


def test_counts_of_any_size_and_metadata_of_any_kind_are_no_failure(talk: Replica) -> None:
    for number, metadata in enumerate(("{", "[1]", '{"cached": "x"}', '{"cached": [1]}', "x")):
        say(talk, f"huge {number}", 3, "m", tokens_in=2**53, tokens_out=2**53, cost=1e9)
        with talk.store.write() as db:
            sql = "UPDATE chatlog SET metadata = ? WHERE content = ?"
            db.execute(sql, (metadata, f"huge {number}"))
    (found,) = stats(talk, since=MONDAY_MS + 3 * DAY_MS)["items"]
    assert (found["tokens_in"], found["cost"]) == (5 * 2**53, 5e9)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[a", "not TOML"),
        ("a = 1", "no table"),
        ("[a]\ninput = 1", "lacks 'output'"),
        ("[a]\ninput = 1\noutput = 'x'", "output must be dollars"),
        ("[a]\ninput = -1\noutput = 1", "input must be dollars"),
        ("[a]\ninput = nan\noutput = 1", "input must be dollars"),
        ("[a]\ninput = true\noutput = 1", "input must be dollars"),
        ("[a]\ninptu = 1\noutput = 1", "no key 'inptu'"),
        ("[a]\n" + "x" * 300_000, "more than"),
    ],
)
def test_a_price_list_that_is_wrong_is_named(replica: Replica, text: str, why: str) -> None:
    path = replica.settings.home / prices.PRICES_FILE
    path.write_text(text)
    with pytest.raises(ConfigInvalid, match=why) as found:
        stats(replica)
    assert str(path) in str(found.value)
