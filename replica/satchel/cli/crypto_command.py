"""`satchel crypto`: the crypto providers, their self-tests, and the FIPS module."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from satchel.cli.command import command, group
from satchel.cli.door import Door


def make() -> Any:
    """The command group."""
    return group(
        "crypto",
        "The crypto provider and its FIPS mode",
        lambda: {
            "status": lambda: command("status", status),
            "selftest": lambda: command("selftest", selftest),
            "fips": _fips,
        },
    )


def _fips() -> Any:
    return group(
        "fips",
        "The FIPS module of this home: OpenSSL 3.1.2's, built from source, or one you have",
        lambda: {
            "build": lambda: command("build", build),
            "install": lambda: command("install", install),
            "status": lambda: command("status", fips_status),
        },
    )


def status(door: Door) -> int:
    """Every crypto provider: in use or not, its algorithms; exit 4 where FIPS mode is refused."""
    from satchel import crypto_status

    answer = crypto_status.status(door.settings)
    door.answer(answer)
    return 4 if answer["fips"]["wanted"] and not answer["fips"]["active"] else 0


def selftest(door: Door) -> int:
    """Run the known-answer tests of every provider; exit 1 if one fails, 4 in FIPS mode."""
    from satchel import crypto_status

    answer = crypto_status.selftest(door.settings)
    door.answer(answer)
    return 0 if answer["ok"] else 1


def build(door: Door) -> None:
    """Build the module from source, once a machine: a minute, with cargo, perl, make and cc."""
    from satchel import crypto_status

    _, answer = crypto_status.fips_build(door.settings, door.note)
    door.answer(answer, changed=True)


def install(
    door: Door,
    folder: Annotated[
        str,
        typer.Argument(
            metavar="DIR",
            help="Where fips.so and fipsmodule.cnf lie; without it: what `build` made",
        ),
    ] = "",
) -> None:
    """Put a module into this home, once it is proved, and print the environment that uses it."""
    from satchel import crypto_status

    given = Path(folder) if folder else crypto_status.fips_build(door.settings, door.note)[0]
    answer = crypto_status.fips_install(door.settings, given)
    door.answer(answer, changed=True)
    if not door.settings.fips_mode:
        door.note("FIPS mode is off: `satchel config set crypto.fips_mode true` begins it")


def fips_status(door: Door) -> int:
    """Whether the module is there, works and is in use; exit 4 where FIPS mode is refused."""
    from satchel import crypto_status

    answer = crypto_status.fips_status(door.settings)
    door.answer(answer)
    return 4 if answer["wanted"] and not answer["active"] else 0
