"""`satchel mcp`: serve the tools over the Model Context Protocol, on stdio or over HTTP."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from satchel.cli.command import command, group
from satchel.cli.door import Door
from satchel.cli.operator import require_operator

HELP = "Serve the tools over the Model Context Protocol: on stdio, or with --http over HTTP"
PORT_MAX = 65_535
DAYS_MAX = 3_650


def make() -> Any:
    """The command group; without a verb it serves."""
    return group("mcp", HELP, lambda: {"token": _tokens}, default=mcp)


def _tokens() -> Any:
    return group(
        "token",
        "Who is let in over HTTP: each token is one agent",
        lambda: {
            "create": lambda: command("create", create),
            "list": lambda: command("list", list_),
            "revoke": lambda: command("revoke", revoke),
        },
    )


def mcp(
    door: Door,
    http: Annotated[
        bool, typer.Option("--http", help="Over HTTP, for who carries a token")
    ] = False,
    host: Annotated[
        str | None,
        typer.Option("--host", metavar="ADDRESS", help="With --http; default: [mcp] http_host"),
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(
            "--port", metavar="N", min=0, max=PORT_MAX, help="With --http; 0: any that is free"
        ),
    ] = None,
) -> None:
    """Serve MCP until the client leaves; the caller is --agent, else the client's own name.

    Over HTTP until a signal ends it; the caller is whom the token names.
    """
    door.settings.require_built()
    if http:
        _serve_http(door, host, port)
        return
    if host is not None or port is not None:
        from satchel.errors import InvalidInput

        raise InvalidInput("--host and --port are for --http", hint="add --http", field="http")
    from satchel.mcp_server.server import serve

    serve(door.settings)


def create(
    door: Door,
    whom: Annotated[str, typer.Argument(metavar="AGENT", help="Who its carrier is")],
    role: Annotated[
        str, typer.Option("--role", metavar="ROLE", help="agent, supervisor or operator")
    ] = "agent",
    name: Annotated[
        str | None, typer.Option("--name", metavar="NAME", help="Default: the agent's")
    ] = None,
    days: Annotated[
        int | None,
        typer.Option("--days", metavar="N", min=1, max=DAYS_MAX, help="Good for so long"),
    ] = None,
) -> None:
    """Make a token and show it, this once; --user says whose `user` rows it sees."""
    from satchel import mcp_tokens

    require_operator(door, "tokens are")
    door.settings.require_built()
    made = mcp_tokens.create(door.settings, whom, role=role, name=name, days=days)
    door.answer(made, changed=True)


def list_(door: Door) -> None:
    """Every token's agent, role and dates; no token is shown again."""
    from satchel import mcp_tokens

    require_operator(door, "tokens are")
    door.settings.require_built()
    door.answer({"items": mcp_tokens.listed(door.settings)})


def revoke(
    door: Door,
    name: Annotated[str, typer.Argument(metavar="NAME", help="As `list` shows it")],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do it without asking")] = False,
) -> None:
    """Let a token in no more, from its next request on."""
    from satchel import mcp_tokens
    from satchel.errors import ConfirmationNeeded

    require_operator(door, "tokens are")
    door.settings.require_built()
    if not yes and not door.asked(f"revoke the token {name}?"):
        raise ConfirmationNeeded(
            "its carrier would be let in no more, and this was not confirmed",
            hint="give --yes",
            field="confirm",
        )
    door.answer(mcp_tokens.revoke(door.settings, name), changed=True)


def _serve_http(door: Door, host: str | None, port: int | None) -> None:
    """The operator's server; the answer on stdout says where it listens."""
    require_operator(door, "a server is started")
    from satchel.mcp_server.http.listening import permitted

    where = permitted(door.settings, host, port)
    from satchel.mcp_server.http.serving import serve

    serve(door.settings, where, lambda said: door.answer(said, changed=True))
