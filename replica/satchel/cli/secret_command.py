"""`satchel secret`: secrets of this machine: passwords and tokens, encrypted, never synced."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from satchel.cli.command import command, group
from satchel.cli.door import Door
from satchel.cli.operator import require_operator
from satchel.errors import ConfirmationNeeded, InvalidInput, OutputFailed, Refused
from satchel.memory.moments import iso
from satchel.terminal import is_terminal

if TYPE_CHECKING:
    from satchel.passphrases import TypedPassphrases
    from satchel_crypto.vault import Listed, Vault

HELP = "Secrets of this machine: passwords and tokens, encrypted, never synced"
Name = Annotated[str, typer.Argument(metavar="NAME", help="As `warehouse.password`")]
Words = Annotated[list[str] | None, typer.Argument(hidden=True)]
"""Whatever else was typed: it may be the secret, so no other parser may quote it."""
Given = Annotated[
    Path | None,
    typer.Option(
        "--passphrase-file",
        metavar="PATH",
        help="The passphrase is in this file; - = stdin; else [secrets] passphrase_file, or asked",
    ),
]


def make() -> Any:
    """The command group."""
    return group(
        "secret",
        HELP,
        lambda: {
            "set": lambda: command("set", set_),
            "get": lambda: command("get", get),
            "list": lambda: command("list", list_),
            "delete": lambda: command("delete", delete),
            "rotate": lambda: command("rotate", rotate),
            "unlock": lambda: command("unlock", unlock),
            "lock": lambda: command("lock", lock),
        },
    )


def set_(
    door: Door,
    name: Name,
    words: Words = None,
    from_file: Annotated[
        Path | None,
        typer.Option("--from-file", metavar="PATH", help="The value is in this file; - = stdin"),
    ] = None,
    passphrase_file: Given = None,
) -> None:
    """Keep a secret: from a file, from stdin, or asked for at a terminal; never from an argument.

    A newline at its end is not kept.
    """
    from satchel.secret_store import store_of

    _begin(door, words)
    said = _passphrases(door, passphrase_file)
    store = store_of(door.settings, said, making=True)
    kept = store.set(name, _value(name, from_file, said))
    door.answer(_told(kept) | {"place": store.place}, changed=True)


def get(door: Door, name: Name, words: Words = None, passphrase_file: Given = None) -> None:
    """Print a secret, and nothing else; with --json its name too."""
    from satchel.secret_store import store_of

    _begin(door, words)
    value = store_of(door.settings, _passphrases(door, passphrase_file)).get(name)
    if door.options.json:
        return door.answer({"name": name, "value": value})
    if is_terminal(sys.stdout):
        door.note("a secret is on this screen now")
    try:
        sys.stdout.write(value + "\n")
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise OutputFailed(f"the secret could not be written to stdout: {why}") from None


def list_(door: Door, words: Words = None) -> None:
    """Every secret's name, version and date; no value, and no passphrase is asked for."""
    from satchel.secret_store import store_of

    _begin(door, words)
    store = store_of(door.settings)
    listed = [_told(one) for one in store.list()]
    door.answer({"items": listed, "place": store.place})


def delete(
    door: Door,
    name: Name,
    words: Words = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do it without asking")] = False,
    passphrase_file: Given = None,
) -> None:
    """Delete a secret."""
    from satchel.secret_store import store_of

    _begin(door, words)
    if not yes and not door.asked(f"delete the secret {name}?"):
        raise ConfirmationNeeded(
            "the secret would be gone, and this was not confirmed",
            hint="give --yes",
            field="confirm",
        )
    store = store_of(door.settings, _passphrases(door, passphrase_file))
    door.answer(_told(store.delete(name)) | {"deleted": True}, changed=True)


def rotate(
    door: Door,
    words: Words = None,
    passphrase: Annotated[
        bool, typer.Option("--passphrase", help="A new passphrase too, asked for or from a file")
    ] = False,
    new_passphrase_file: Annotated[
        Path | None,
        typer.Option("--new-passphrase-file", metavar="PATH", help="It is in this file; - = stdin"),
    ] = None,
    passphrase_file: Given = None,
) -> None:
    """Seal all secrets in the file anew, under a new key; the values stay."""
    _begin(door, words)
    said = _passphrases(door, passphrase_file)
    said.new_file = new_passphrase_file
    vault = _vault(door, said)
    changed = passphrase or new_passphrase_file is not None
    vault.rotate(new_passphrase=changed)
    answer = {"rotated": len(vault.list()), "passphrase_changed": changed, "place": vault.place}
    door.answer(answer, changed=True)
    named = passphrase_file or door.settings.secrets_passphrase_file
    if changed and named and named != new_passphrase_file:
        door.note(f"{named} still has the old passphrase")


def unlock(door: Door, words: Words = None, passphrase_file: Given = None) -> None:
    """Let this machine open the file without a passphrase, for its timers; `lock` takes it back."""
    _begin(door, words)
    vault = _vault(door, _passphrases(door, passphrase_file))
    vault.unlock()
    door.answer({"opens": "by this machine", "place": vault.place}, changed=True)


def lock(door: Door, words: Words = None, passphrase_file: Given = None) -> None:
    """Let nothing but the passphrase open the file: under a new key, which this machine lacks."""
    _begin(door, words)
    vault = _vault(door, _passphrases(door, passphrase_file))
    vault.lock()
    door.answer({"opens": "by a passphrase only", "place": vault.place}, changed=True)


# ---- what the commands share --------------------------------------------------------------------


def _passphrases(door: Door, file: Path | None) -> TypedPassphrases:
    from satchel.secret_store import passphrases_of

    said = passphrases_of(door.settings, terminal=True)
    if file is not None:
        said.file = said.new_file = file
    return said


def _vault(door: Door, said: TypedPassphrases) -> Vault:
    """The encrypted file. Raises Refused where secrets are in the keyring."""
    from satchel.secret_store import store_of
    from satchel_crypto.vault import Vault

    store = store_of(door.settings, said)
    if not isinstance(store, Vault):
        raise Refused(
            f"the secrets are in {store.place}: it has a key of its own",
            hint='only the encrypted file has one of ours ([secrets] store = "file")',
        )
    return store


def _value(name: str, file: Path | None, said: TypedPassphrases) -> str:
    from satchel import passphrases
    from satchel_crypto.vault.store import require_name

    require_name(name)  # before anything is asked for
    if file is None and not is_terminal(sys.stdin):
        file = passphrases.STDIN
    if file is None:
        return passphrases.asked(f"value of {name}: ", "secret", twice=True)
    if passphrases.STDIN in (said.file, said.new_file) and file == passphrases.STDIN:
        raise InvalidInput(
            "secret and passphrase cannot both come from stdin",
            hint="give one of them in a file",
            field="from_file",
        )
    return passphrases.without_newline(passphrases.read_text(file, "secret"))


def _begin(door: Door, words: list[str] | None) -> None:
    """Only the operator, and no value among the arguments. Raises Refused, InvalidInput."""
    require_operator(door, "secrets are")
    _refuse_words(words)


def _refuse_words(words: list[str] | None) -> None:
    if words:
        raise InvalidInput(
            "a secret is never given as an argument: other users and the shell's history see it",
            hint="pipe it in, use --from-file, or let it be asked for; if what you typed is in use,"
            " change it",
            field="value",
        )


def _told(one: Listed) -> dict[str, Any]:
    return asdict(one) | {"updated_at": iso(one.updated_at)}
