"""Who the caller of an MCP session is: the client's own name, and never the operator by mistake."""

from __future__ import annotations

from pathlib import Path

import pytest

from satchel import config
from satchel.mcp_server.session import Session

NAMELESS = [None, "", "  ", "\u200b", "\x07", "\u2028", "\xa0", "\ufeff\t"]


def settings(home: Path, **environment: str) -> config.Settings:
    return config.load(
        environ={"SATCHEL_HOME": str(home), "SATCHEL_EMBEDDING": "off"} | environment
    )


@pytest.mark.parametrize("client", NAMELESS, ids=ascii)
def test_a_client_without_a_name_is_an_agent_and_not_the_operator(
    tmp_path: Path, client: str | None
) -> None:
    ann = Session(settings(tmp_path, SATCHEL_AGENT="ann"), "some client")
    nobody = Session(settings(tmp_path), client)
    operator = Session(settings(tmp_path, SATCHEL_AGENT_ROLE="operator"), client)
    try:
        key = ann.call("memory_write", {"text": "a zebra of ann's"})["id"]
        assert nobody.call("memory_search", {"query": "zebra"})["hits"] == []
        assert nobody.call("memory_get", {"ids": [key]})["missing"] == [key]
        own = nobody.call("memory_write", {"text": "nobody's zebra"})["id"]
        (item,) = nobody.call("memory_get", {"ids": [own]})["items"]
        assert (item["agent_id"], item["scope"]) == ("unnamed", "agent")
        assert operator.call("memory_get", {"ids": [key]})["missing"] == []
    finally:
        for session in (ann, nobody, operator):
            session.close()


@pytest.mark.parametrize(
    ("client", "name"),
    [("claude-code", "claude-code"), (" a\u200bb\n", "ab"), ("x" * 300, "x" * 200)],
)
def test_a_client_is_the_agent_of_its_name(tmp_path: Path, client: str, name: str) -> None:
    session = Session(settings(tmp_path), client)
    try:
        key = session.call("memory_write", {"text": "mine"})["id"]
        (item,) = session.call("memory_get", {"ids": [key]})["items"]
        assert item["agent_id"] == name
    finally:
        session.close()
