"""`python -m satchel.tools.document`: docs/TOOLS.md, made from the catalog."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator

from satchel.tools import catalog
from satchel.tools.aliases import ALIASES, Alias
from satchel.tools.parameter import Parameter
from satchel.tools.tool import Tool

HEAD = """\
# Tools

Made from the tool catalog by `make docs`; a test keeps it true. Each tool is a command
`satchel NOUN VERB`, with its bold arguments in their order and the rest as `--options`, and a tool
over MCP: {core} and `satchel_call` are listed at the start, `satchel_call` calls every other one by
name. Both doors take the same arguments and give the same JSON. How MCP is served, called and
limited: [MCP.md](MCP.md).

Times are ISO-8601; without an offset they are of the machine's zone. An id is a full id or a unique
prefix or suffix of 8 or more characters. A destructive tool needs `confirm` (`--yes`); one for the
operator is refused to agents and supervisors.
"""
PLATES = """\
The commands of this group are written by hand ({commands}); these are its tools over MCP.
"""
COMMANDS = {"admin": "`satchel doctor`, `satchel config`"}
"""Groups whose commands do not have its name."""
OTHER = """\
## Other names

`satchel_call` also accepts the names of m3-memory, and its names of arguments beside ours. One that
says who calls (`agent_id`, `from_agent`, `created_by`, …) must name the caller; only the operator
can call as somebody.

| name | means |
|---|---|
"""


def document() -> str:
    """The whole page."""
    core = ", ".join(f"`{name}`" for name in catalog.CORE)
    parts = [HEAD.format(core=core)]
    for noun, summary in catalog.NOUN_HELP.items():
        parts.append(f"## {noun}\n\n{summary}.\n")
        if noun in catalog.PLATES:
            parts.append(PLATES.format(commands=COMMANDS.get(noun, f"`satchel {noun} …`")))
        parts += [_tool(tool) for tool in catalog.of_noun(noun).values()]
    rows = "".join(f"| `{name}` | `{_call(alias)}` |\n" for name, alias in ALIASES.items())
    return "\n".join([*parts, OTHER + rows])


def _call(alias: Alias) -> str:
    given = ", ".join(f"{key}={json.dumps(value)}" for key, value in alias.presets.items())
    return f"{alias.tool}({given})" if given else alias.tool


def _tool(tool: Tool) -> str:
    kind = "destructive" if tool.destructive else "writes" if tool.writes else "reads"
    kind += ", for the operator" if tool.operator_only else ""
    rows = "".join(f"{line}\n" for line in _rows(tool))
    table = f"\n| argument | type | meaning |\n|---|---|---|\n{rows}" if rows else ""
    return f"### {tool.name}\n\n{tool.summary} ({kind})\n{table}"


def _rows(tool: Tool) -> Iterator[str]:
    for one in tool.parameters:
        name = f"**{one.name}**" if one.name in tool.positional else one.name
        needed = "" if one.required else _default(one)
        yield f"| {name} | {_type(one)}{needed} | {one.help} |"


def _type(one: Parameter) -> str:
    kind = " \\| ".join(one.choices) or one.base
    limits = f" {one.range.least}..{one.range.most}" if one.range else ""
    return f"list of {kind}{limits}" if one.many else f"{kind}{limits}"


def _default(one: Parameter) -> str:
    return ", optional" if one.default in (None, False) else f", default {one.default}"


if __name__ == "__main__":
    sys.stdout.write(document())
