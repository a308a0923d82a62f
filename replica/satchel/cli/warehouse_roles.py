"""`satchel warehouse grant`, `tenant` and `replica`: who may do what at the warehouse."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from satchel.cli.door import Door
from satchel.cli.operator import require_operator
from satchel.errors import InvalidInput

OPERATORS = "logins and tenants of the warehouse are"


Named = Annotated[str, typer.Argument(metavar="NAME", help="An organisation's name")]


def grant(
    door: Door,
    replica: Annotated[
        str | None, typer.Option("--replica", metavar="NAME", help="A login that may sync")
    ] = None,
    reporter: Annotated[
        str | None, typer.Option("--reporter", metavar="NAME", help="One that may read reports")
    ] = None,
    auditor: Annotated[
        str | None, typer.Option("--auditor", metavar="NAME", help="One that may read the audit")
    ] = None,
    tenant: Annotated[
        str, typer.Option("--tenant", metavar="NAME", help="Whose rows it is for")
    ] = "default",
    search: Annotated[
        bool, typer.Option("--search", help="A reporter: may also run `warehouse search`")
    ] = False,
    password_file: Annotated[
        Path | None, typer.Option("--password-file", help="Its password; default: a random one")
    ] = None,
) -> None:
    """Make a login, or give it a new password.

    It is a replica's, a reporter's or an auditor's.
    """
    from satchel.warehouse import roles

    require_operator(door, OPERATORS)
    kind, name = _only_one({"replica": replica, "reporter": reporter, "auditor": auditor})
    if search and kind != "reporter":
        raise InvalidInput("--search goes with --reporter", field="search")
    made = roles.grant(
        door.settings, name, kind=kind, tenant=tenant, search=search, password_file=password_file
    )
    door.answer(made, changed=True)


def _only_one(named: dict[str, str | None]) -> tuple[str, str]:
    """The kind of login that was asked for, and its name."""
    said = [(kind, name) for kind, name in named.items() if name is not None]
    if len(said) != 1:
        raise InvalidInput(
            "say what the login is for", hint="one of --replica, --reporter, --auditor NAME"
        )
    return said[0]


def add_tenant(door: Door, name: Named) -> None:
    """Make a tenant: an organisation whose rows nobody of another one sees."""
    from satchel.warehouse import roles

    require_operator(door, OPERATORS)
    door.answer(roles.add_tenant(door.settings, name), changed=True)


def list_tenants(door: Door) -> None:
    """Every tenant: the id that its machines know it by, how many they are, its logins."""
    from satchel.warehouse import roles

    require_operator(door, OPERATORS)
    door.answer(roles.tenants(door.settings))


def list_(door: Door) -> None:
    """Every machine: its id, login, host and version, when it came, what it pushed."""
    from satchel.warehouse import roles

    door.answer(roles.replicas(door.settings))


def revoke(
    door: Door,
    replica: Annotated[
        str, typer.Argument(metavar="ID", help="Its id, or 8 or more of its first or last digits")
    ],
    undo: Annotated[
        bool,
        typer.Option(
            "--undo", help="Take it back, and what went with it; their next sync compares all rows"
        ),
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do it without asking")] = False,
) -> None:
    """Close the warehouse to a machine and the later ids of its file: they may not sync.

    A copy of the file that became a machine of its own is one of these; the answer names them all.
    """
    from satchel.warehouse import roles

    require_operator(door, OPERATORS)
    confirm = yes or (not undo and door.asked(f"revoke replica {replica}?"))
    answer = roles.revoke(door.settings, replica, undo=undo, confirm=confirm)
    door.answer(answer, changed=True)
