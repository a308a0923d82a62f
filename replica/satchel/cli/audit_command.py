"""`satchel audit`: who read and wrote what and when, in a chain that shows every change to it."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from satchel.cli.command import command, group
from satchel.cli.door import Door
from satchel.cli.operator import require_operator

if TYPE_CHECKING:
    from satchel.store.connection import Store

RECORDS_MAX = 100_000
Time = Annotated[str | None, typer.Option(metavar="TIME", help="ISO-8601")]


def make() -> Any:
    """The command group."""
    return group(
        "audit",
        "Who read and wrote what and when, in a chain that shows every change to it",
        lambda: {
            "log": lambda: command("log", log),
            "verify": lambda: command("verify", verify),
            "export": lambda: command("export", export),
            "verify-certificate": lambda: command("verify-certificate", verify_certificate),
        },
    )


def log(
    door: Door,
    since: Time = None,
    until: Time = None,
    actor: Annotated[
        str | None, typer.Option("--actor", metavar="NAME", help="By this agent or user only")
    ] = None,
    row: Annotated[
        str | None,
        typer.Option(
            "--row",
            metavar="ID",
            help="About this row (8 or more digits of its id); maybe: of more rows than it names",
        ),
    ] = None,
    chain: Annotated[
        str | None, typer.Option("--chain", metavar="CHAIN", help="writes or reads only")
    ] = None,
    limit: Annotated[int, typer.Option("-n", "--limit", min=1, max=RECORDS_MAX)] = 50,
) -> None:
    """Who read and wrote which rows, the newest first; ids only, never a text."""
    from satchel.audit.log import Wanted, in_words
    from satchel.audit.log import log as read
    from satchel.memory.text import one_of
    from satchel.tools.parameter import Parameter
    from satchel.tools.values import parse
    from satchel_crypto.audit_record import CHAINS

    def moment(name: str, value: str | None) -> int | None:
        one = Parameter(name=name, base="time")
        return None if value is None else int(parse(one, value, from_text=True))

    wanted = Wanted(
        since=moment("since", since),
        until=moment("until", until),
        actor=actor,
        row=row,
        chains=CHAINS if chain is None else (one_of(chain, CHAINS, "chain"),),
        limit=limit,
    )
    with _opened(door) as store:
        found = read(store, wanted)
    door.answer({"items": found if door.json else [in_words(one) for one in found]})


def verify(
    door: Door,
    file: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="An exported file; default: this machine")
    ] = None,
    warehouse: Annotated[
        bool,
        typer.Option("--warehouse", help="The chains of all machines, as administrator or auditor"),
    ] = False,
) -> None:
    """Check every link of both chains and every row, or a file; exit 1 names the first break."""
    if warehouse:
        _verify_warehouse(door)
        return
    if file is not None:
        _verify_file(door, file)
        return
    from satchel.audit.checking import check, require_fit, require_whole, unfit

    with _opened(door) as store:
        found, rows = check(store, door.settings), unfit(store)
    whole = not rows and all(one.verdict.ok for one in found)
    door.answer({"ok": whole, "chains": [one.as_dict() for one in found], "changed_rows": rows})
    require_whole(found)
    require_fit(rows)


def export(
    door: Door,
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="Where to; it must not be there; - = stdout")
    ],
) -> None:
    """Write both chains as JSON lines, each with its head signed by this machine."""
    import sys

    from satchel.audit.exported import export as write
    from satchel.audit.files import new_file

    with _opened(door) as store:
        if file == "-":
            write(store, door.settings, sys.stdout, store.now_ms())
            return
        with new_file(Path(file)) as out:
            count = write(store, door.settings, out, store.now_ms())
    door.answer({"file": file, "records": count}, changed=True)


def verify_certificate(
    door: Door,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What `memory forget` answered")],
) -> None:
    """Check a certificate of erasure: its signature, and by whom it is; exit 4 for a stranger."""
    from satchel import certificates
    from satchel_crypto.errors import SignerUnknown

    found = certificates.verify(door.settings, file)
    door.answer(found)
    signer = found["signer"]
    if signer["who"] == "unknown":
        named = f"{signer['key_id']} ({signer['name']!r})" if signer["name"] else signer["key_id"]
        raise SignerUnknown(
            f"the certificate is signed by the key {named}, which is not trusted here to speak for"
            f" the replica {found['certificate']['replica_id']}: it proves nothing yet",
            hint="`satchel key trust FILE` with the key file of the machine that forgot",
        )


def _verify_warehouse(door: Door) -> None:
    """Links, signed heads and pinned keys there, and this machine's own chains beside them."""
    from satchel import peers
    from satchel.audit import beside

    _require_operator(door)
    found = peers.audit_verify(door.settings)
    door.answer(beside.shown(found))
    beside.require_whole(found)


def _verify_file(door: Door, file: Path) -> None:
    from satchel.audit.exported import verify as read
    from satchel.audit.files import lines_of, require_trusted, shown

    _require_operator(door)
    with lines_of(file) as lines:
        found = read(lines, door.settings)
    door.answer(shown(found, door.settings))
    require_trusted(found, door.settings)


def _opened(door: Door) -> AbstractContextManager[Store]:
    """The store, for the operator. Raises Refused for anybody else."""
    _require_operator(door)
    from satchel.peers import opened

    return opened(door.settings)


def _require_operator(door: Door) -> None:
    require_operator(door, "the audit is")
