"""The catalog: names, documentation, schemas and their budget; docs/TOOLS.md is what it says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import quicktok

from satchel.cli.options import GLOBAL_NAMES
from satchel.errors import ConfigInvalid, ConfirmationNeeded, InvalidInput, UnknownArgument
from satchel.mcp_server.listing import listed
from satchel.tools import catalog
from satchel.tools.aliases import ALIASES
from satchel.tools.document import document
from satchel.tools.tool import Tool

TOKENS_MAX = 2_000
TOOLS = list(catalog.every().values())
ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_each_tool_is_whole(tool: Tool) -> None:
    names = [one.name for one in tool.parameters]

    assert tool.noun in {*catalog.MODULES, *catalog.PLATES}
    assert tool.summary
    assert all(one.help for one in tool.parameters), "each argument is explained"
    assert not GLOBAL_NAMES & set(names), "a global option would hide it on the command line"
    assert set(tool.positional) <= set(names)
    assert set(tool.synonyms.values()) <= set(names)
    assert not set(tool.synonyms) & set(names)
    assert tool.destructive == ("confirm" in names)
    assert tool.input_schema()["additionalProperties"] is False
    json.dumps([tool.input_schema(), tool.output_schema()])


def test_six_tools_at_the_start_within_the_budget() -> None:
    shown = listed(("core",))

    assert [one["name"] for one in shown] == [*catalog.CORE, "satchel_call"]
    for vocabulary in ("cl100k_base", "o200k_base"):
        tokenizer = quicktok.get_encoding(vocabulary)
        counted = len(tokenizer.encode("how many tokens are seven words here"))
        assert counted == 7, "this tokenizer counts"
        for separators in ((",", ":"), (", ", ": ")):  # as it is sent, and as a host may show it
            said = json.dumps(shown, separators=separators)
            assert len(tokenizer.encode(said)) <= TOKENS_MAX, (vocabulary, separators)


GROUPS = {
    *("memory", "chatlog", "task", "agent", "message", "session", "graph"),
    *("sync", "admin", "audit"),
}


def test_every_tool_is_in_one_group() -> None:
    groups = catalog.groups()
    assert set(groups) == GROUPS
    assert sorted(name for names in groups.values() for name in names) == sorted(catalog.every())
    for group, names in groups.items():
        listed_names = [one["name"] for one in listed((group,))]
        assert listed_names == [*names, "satchel_call"]


def test_groups_load_more() -> None:
    assert len(listed(("all",))) == len(TOOLS) + 1
    assert "space_list" in [one["name"] for one in listed(("space",))], "a noun is one too"
    names = [one["name"] for one in listed(("core", "task"))]
    assert names[:5] == list(catalog.CORE)
    assert "task_claim" in names
    with pytest.raises(ConfigInvalid) as caught:
        listed(("taks",))
    assert "task" in caught.value.hint


def test_aliases_lead_somewhere() -> None:
    for old in ALIASES:
        assert catalog.find(old)


def test_a_wrong_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(UnknownArgument) as caught:
        catalog.find("memory_serch")
    assert "memory_search" in caught.value.hint


def test_help_finds_tools_by_words() -> None:
    assert catalog.search("claim a task")[0].name == "task_claim"
    assert "message_inbox" in [tool.name for tool in catalog.search("inbox")]
    assert len(catalog.search("")) == len(TOOLS)


def test_arguments_are_checked_before_anything_is_opened() -> None:
    write = catalog.find("memory_write")[0]

    with pytest.raises(UnknownArgument) as unknown:
        write.arguments({"text": "x", "titel": "y"})
    assert "title" in unknown.value.hint
    with pytest.raises(InvalidInput, match="text is missing"):
        write.arguments({})
    with pytest.raises(ConfirmationNeeded):
        catalog.find("memory_delete")[0].arguments({"id": "x" * 36})
    with pytest.raises(ConfirmationNeeded):
        catalog.find("memory_delete")[0].arguments({"id": "x" * 36, "confirm": False})


def test_a_singular_name_is_taken_for_a_plural_argument() -> None:
    search = catalog.find("memory_search")[0]

    assert search.arguments({"query": "q", "space": "a"})["spaces"] == ["a"]
    with pytest.raises(InvalidInput, match="same argument"):
        search.arguments({"query": "q", "space": "a", "spaces": ["b"]})


def test_the_page_of_tools_is_what_the_catalog_says() -> None:
    page = (ROOT / "docs" / "TOOLS.md").read_text("utf-8")

    assert page == document(), "run `make docs`"
