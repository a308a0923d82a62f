"""Memories as MCP resources: `memory://{id}`, each a Markdown text that says where it is from."""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote

import mcp_types as types

from satchel.errors import InvalidInput, NotFound

SCHEME = "memory://"
MIME = "text/markdown"
PAGE_ROWS = 50
NAME_CHARS = 80
TEMPLATE = types.ResourceTemplate(
    name="memory",
    title="A memory",
    uri_template=SCHEME + "{id}",
    description="One memory by its id, or 8 or more of its first or last digits",
    mime_type=MIME,
)
_FACTS = ("type", "scope", "space", "agent_id", "user_id", "source", "valid_from", "valid_to")


def page(cursor: str | None) -> dict[str, Any]:
    """The arguments of the `memory_list` that gives one page."""
    return {"limit": PAGE_ROWS, **({"after": cursor} if cursor else {})}


def listed(answer: dict[str, Any]) -> types.ListResourcesResult:
    """One page of resources."""
    resources = [_resource(item) for item in answer["items"]]
    return types.ListResourcesResult(resources=resources, next_cursor=answer.get("next"))


def key_of(uri: str) -> str:
    """The id in a URI. Raises InvalidInput."""
    scheme, _, key = uri.partition("://")
    if scheme.lower() + "://" != SCHEME or not key:
        raise InvalidInput(
            f"{uri[:80]!r} is no memory's URI", hint="memory://ID is one", field="uri"
        )
    return unquote(key).strip("/")


def read(uri: str, answer: dict[str, Any]) -> types.ReadResourceResult:
    """The memory in an answer of `memory_get`. Raises NotFound where it has none."""
    if not answer["items"]:
        raise NotFound(
            f"no memory {uri[:80]!r} here, or none that you may see",
            hint="resources/list and memory_search tell what there is",
            field="uri",
        )
    text = _markdown(answer["items"][0])
    content = types.TextResourceContents(uri=uri, mime_type=MIME, text=text)
    return types.ReadResourceResult(contents=[content], ttl_ms=0, cache_scope="private")


def _resource(item: dict[str, Any]) -> types.Resource:
    text = str(item.get("title") or item.get("content") or item["id"])
    name = " ".join(text.split())[:NAME_CHARS]
    facts = [item.get("type"), item.get("scope"), str(item.get("recorded_at") or "")[:10]]
    return types.Resource(
        uri=SCHEME + item["id"],
        name=name or item["id"],
        description=", ".join(str(one) for one in facts if one),
        mime_type=MIME,
        size=len(_markdown(item).encode()),
    )


def _markdown(item: dict[str, Any]) -> str:
    head = [f"# {item['title']}", ""] if item.get("title") else []
    facts = [f"- {name}: {item[name]}" for name in _FACTS if item.get(name)]
    state = [] if item.get("current", True) else ["- this is not current any more"]
    return "\n".join([*head, item.get("content") or "", "", f"- id: {item['id']}", *facts, *state])
