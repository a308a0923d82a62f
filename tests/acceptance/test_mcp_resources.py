"""Memories as resources and the prompt, through the SDK's client; who may not see, does not."""

from __future__ import annotations

import anyio
import apsw
import pytest
from mcp import ClientSession
from mcp.shared.exceptions import MCPError
from mcp_types import PaginatedRequestParams, ReadResourceResult, TextContent, TextResourceContents

pytestmark = pytest.mark.anyio


def text(result: ReadResourceResult) -> str:
    (content,) = result.contents
    assert isinstance(content, TextResourceContents)
    assert content.mime_type == "text/markdown"
    return content.text


async def wrote(session: ClientSession, said: str, **more: object) -> str:
    result = await session.call_tool("memory_write", {"text": said, **more})
    assert not result.is_error, result.content
    return str((result.structured_content or {})["id"])


async def test_resources_and_the_prompt(connect) -> None:  # type: ignore[no-untyped-def]
    async with connect(client="ann") as ann:
        key = await wrote(ann, "The boat is at the north pier.", title="Boat", source="log.md")
        await wrote(ann, "Nothing of the other thing")
        templates = (await ann.list_resource_templates()).resource_templates
        assert [one.uri_template for one in templates] == ["memory://{id}"]
        listed = (await ann.list_resources()).resources
        assert [one.uri for one in listed][-1] == f"memory://{key}"
        assert listed[-1].name == "Boat"
        for uri in (f"memory://{key}", f"memory://{key[-12:]}", f"MEMORY://{key}"):
            body = text(await ann.read_resource(uri))
            assert body.startswith("# Boat\n\nThe boat is at the north pier.")
            assert "- agent_id: ann" in body
            assert "- source: log.md" in body

        prompts = (await ann.list_prompts()).prompts
        assert [one.name for one in prompts] == ["recall"]
        prompt = await ann.get_prompt("recall", {"topic": "where is the boat?"})
        (message,) = prompt.messages
        assert isinstance(message.content, TextContent)
        assert "north pier" in message.content.text
        assert key in message.content.text
        nothing = await ann.get_prompt("recall", {"topic": "zebra", "max_tokens": "100"})
        assert "Nothing is remembered" in nothing.messages[0].content.text  # type: ignore[union-attr]

        for uri, code in (
            ("memory://" + "0" * 36, "not_found"),
            ("memory://abc", "invalid_input"),
            ("file:///etc/passwd", "invalid_input"),
            ("memory://", "invalid_input"),
        ):
            with pytest.raises(MCPError) as caught:
                await ann.read_resource(uri)
            assert caught.value.data["code"] == code, uri
            assert caught.value.data["hint"]
        for name, given in (
            ("recal", {"topic": "x"}),
            ("recall", {}),
            ("recall", {"topic": "x", "subject": "y"}),
            ("recall", {"topic": "x", "max_tokens": "many"}),
        ):
            with pytest.raises(MCPError) as caught:
                await ann.get_prompt(name, given)
            assert caught.value.data["field"], name

        calls = [
            {"tool": "memory_write", "args": {"text": f"one of many, number {number}"}}
            for number in range(60)
        ]
        batch = await ann.call_tool("satchel_call", {"tool": "batch", "args": {"calls": calls}})
        assert (batch.structured_content or {})["done"] == 60
        page = await ann.list_resources()
        assert len(page.resources) == 50
        rest = await ann.list_resources(params=PaginatedRequestParams(cursor=page.next_cursor))
        assert len(rest.resources) == 12
        assert rest.next_cursor is None

    async with connect(client="bob") as bob:
        assert (await bob.list_resources()).resources == []
        with pytest.raises(MCPError) as caught:
            await bob.read_resource(f"memory://{key}")
        assert caught.value.data["code"] == "not_found"
        prompt = await bob.get_prompt("recall", {"topic": "where is the boat?"})
        assert "north pier" not in str(prompt)


async def test_a_call_that_is_cancelled_writes_nothing(connect, home) -> None:  # type: ignore[no-untyped-def]
    """It waits for another process's write when it is cancelled; then that one lets go."""
    async with connect(client="ann") as ann:
        await wrote(ann, "before")
        holder = apsw.Connection(str(home / "satchel.db"))
        holder.execute("BEGIN IMMEDIATE")
        with anyio.move_on_after(0.5) as given_up:
            await ann.call_tool("memory_write", {"text": "cancelled"})
        assert given_up.cancelled_caught
        await anyio.sleep(0.3)
        holder.close()
        await wrote(ann, "after")
        listed = await ann.call_tool("satchel_call", {"tool": "memory_list"})
        held = [item["content"] for item in (listed.structured_content or {})["items"]]
        assert held == ["after", "before"]
