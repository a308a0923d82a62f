"""Our table among Codex's MCP servers, in a text of TOML that keeps its comments and its order."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from satchel.plain_file import read_bytes
from satchel.setup.errors import Malformed, NotOurs
from satchel.setup.program import NAME, is_server

SERVERS = "mcp_servers"


def put(text: str, entry: Mapping[str, Any]) -> str:
    """The text with our table; what a user has added to it stays. Raises Malformed, NotOurs."""
    import tomlkit

    before = _read(text)
    servers = before.get(SERVERS, {})
    if not isinstance(servers, dict):
        raise Malformed(f"{SERVERS} is no table", hint="mend it by hand")
    held = servers.get(NAME)
    if held is not None and not is_server(held):
        raise NotOurs(
            f"a server named {NAME!r} is there already, and it starts something else",
            hint="give that one another name, then run `satchel setup` again",
        )
    wanted = {**(held or {}), **entry}
    if held == wanted:
        return text
    document = tomlkit.parse(text)
    try:
        if SERVERS not in document:
            document[SERVERS] = tomlkit.table(is_super_table=True)
        if held is None:
            table = tomlkit.item(dict(entry))
            table.add(tomlkit.nl())
            document[SERVERS][NAME] = table
        else:
            document[SERVERS][NAME].update(entry)
    except (ValueError, KeyError, TypeError) as error:  # what tomlkit raises for an inline table
        raise _special() from error
    return _checked(tomlkit.dumps(document), {**before, SERVERS: {**servers, NAME: wanted}})


def take(text: str) -> str:
    """The text without our table. Raises Malformed."""
    import tomlkit

    before = _read(text)
    servers = before.get(SERVERS)
    if not isinstance(servers, dict) or not is_server(servers.get(NAME)):
        return text
    document = tomlkit.parse(text)
    left = {name: one for name, one in servers.items() if name != NAME}
    after = {**before, SERVERS: left}
    try:
        document[SERVERS].remove(NAME)
        if not left:
            document.remove(SERVERS)
            del after[SERVERS]
    except (ValueError, KeyError, TypeError) as error:
        raise _special() from error
    return _checked(tomlkit.dumps(document), after)


def hooks_are_off(path: Path) -> bool:
    """Whether this config.toml switches hooks off; one that cannot be read does not say so."""
    try:
        features = _read(read_bytes(path).decode()).get("features")
    except (OSError, UnicodeDecodeError, Malformed):
        return False
    said = features if isinstance(features, dict) else {}
    return False in (said.get("hooks"), said.get("codex_hooks"))


def _read(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise Malformed(f"it is no TOML: {error}", hint="mend it by hand") from error


def _checked(text: str, wanted: Mapping[str, Any]) -> str:
    """The text, if it says just what it should: a form too special to edit is left to its owner."""
    if _read(text) != wanted:
        raise _special()
    return text


def _special() -> Malformed:
    return Malformed(
        f"{SERVERS} stands in a form that cannot be edited here", hint="change it by hand"
    )
