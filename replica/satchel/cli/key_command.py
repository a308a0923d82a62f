"""`satchel key`: the keys of this machine, and those of others that it trusts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from satchel.cli.command import command, group
from satchel.cli.door import Door
from satchel.cli.operator import require_operator

Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do it without asking")]


def make() -> Any:
    """The command group."""
    return group(
        "key",
        "The keys of this machine, and those of others that it trusts",
        lambda: {
            "init": lambda: command("init", init),
            "list": lambda: command("list", list_),
            "trust": lambda: command("trust", trust),
            "export": lambda: command("export", export),
            "sign": lambda: command("sign", sign),
            "verify": lambda: command("verify", verify),
        },
    )


def init(
    door: Door,
    name: Annotated[
        str | None,
        typer.Option("--name", metavar="NAME", help="What others see; default: the host's name"),
    ] = None,
    rotate: Annotated[
        bool, typer.Option("--rotate", help="New keys; the old ones go on to open what they can")
    ] = False,
) -> None:
    """Make the keys that this machine signs with and is sealed for."""
    from satchel import keys

    require_operator(door, "keys are made")
    door.answer(keys.init(door.settings, name, rotate=rotate), changed=True)


def list_(door: Door) -> None:
    """This machine's keys and the trusted ones of others, with their fingerprints."""
    from satchel import keys

    door.answer(keys.list_(door.settings))


def trust(
    door: Door,
    file: Annotated[
        str | None, typer.Argument(metavar="FILE", help="What `key export` wrote there; - = stdin")
    ] = None,
    name: Annotated[
        str | None, typer.Option("--name", metavar="NAME", help="What it is called here")
    ] = None,
    of: Annotated[
        str | None,
        typer.Option("--as", metavar="WHO", help="Whom it speaks for: `hub`, or a replica's id"),
    ] = None,
    fingerprint: Annotated[
        str | None,
        typer.Option("--fingerprint", metavar="DIGITS", help="As read on that machine"),
    ] = None,
    remove: Annotated[
        str | None,
        typer.Option("--remove", metavar="NAME", help="Trust it no more: name or fingerprint"),
    ] = None,
    yes: Yes = False,
) -> None:
    """Trust another machine's key, once its fingerprint was compared; or trust it no more."""
    from satchel import keys
    from satchel.errors import InvalidInput

    require_operator(door, "whom this machine trusts is")
    if (file is None) == (remove is None):
        raise InvalidInput("give a key file, or --remove with a name", field="file")
    if remove is not None:
        door.answer(keys.untrust(door.settings, remove), changed=True)
        return
    answer = keys.trust(
        door.settings,
        _read(str(file)),
        name=name,
        of=of,
        fingerprint=fingerprint,
        confirm=lambda question: yes or door.asked(question),
    )
    door.answer(answer, changed=True)


def export(
    door: Door,
    file: Annotated[str, typer.Argument(metavar="FILE", help="Where to; - = stdout")],
    of: Annotated[
        str | None,
        typer.Option("--as", metavar="WHO", help="Whom it speaks for; default: this replica"),
    ] = None,
    yes: Yes = False,
) -> None:
    """Write this machine's public keys to a file, for others to trust."""
    import sys

    from satchel import keys

    data, told = keys.export(door.settings, file, of=of, overwrite=yes)
    if file != keys.STDOUT:
        door.answer(told, changed=True)
        return
    sys.stdout.write(data.decode("utf-8"))
    sys.stdout.flush()


def sign(
    door: Door,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What is signed: 16 MB at most")],
    yes: Yes = False,
) -> None:
    """Sign a file as `openssl` verifies it: FILE.sig and signer.pem are written beside it."""
    from satchel import file_signatures

    require_operator(door, "files are signed")
    door.answer(file_signatures.sign(door.settings, file, overwrite=yes), changed=True)


def verify(
    door: Door,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="FILE.sig and signer.pem beside it")],
) -> None:
    """Check the signature beside a file, and by whom it is; exit 4 for a stranger."""
    from satchel import file_signatures
    from satchel_crypto.errors import SignerUnknown

    found = file_signatures.verify(door.settings, file)
    door.answer(found)
    if found["signer"]["who"] == "unknown":
        raise SignerUnknown(
            f"{file} is signed by the key {found['signer']['key_id']}, which is not trusted here:"
            " it proves nothing yet",
            hint="`satchel key trust FILE` with the key file of the machine that signed",
        )


def _read(file: str) -> bytes:
    from satchel import keys

    if file != keys.STDOUT:
        return keys.read(file)
    import sys

    from satchel_crypto.key_file import BYTES_MAX

    return sys.stdin.buffer.read(BYTES_MAX + 1)
