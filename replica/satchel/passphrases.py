"""Where the passphrase of the vault comes from: a file, stdin, or a prompt at a terminal.

Never from an argument or a variable's value: both are shown to others, and kept by the shell.
"""

from __future__ import annotations

import os
import stat
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from satchel.errors import InvalidInput
from satchel.terminal import is_terminal
from satchel_crypto.errors import VaultLocked

STDIN = Path("-")
BYTES_MAX = 128 * 1024
"""No more is read of what should be a passphrase or a secret."""
_WORLD = stat.S_IRWXO | stat.S_IWGRP


@dataclass
class TypedPassphrases:
    """`Passphrases` of the vault. A file or stdin is read once, a prompt is answered once.

    `terminal`: somebody may be asked. `new_file` is for a passphrase that takes another's place.
    """

    file: Path | None = None
    new_file: Path | None = None
    terminal: bool = False
    _said: dict[str, str] = field(default_factory=dict, repr=False)

    def current(self) -> str:
        """The one that opens the vault. Raises VaultLocked, InvalidInput."""
        return self._once("current", self.file, "passphrase of the vault: ", twice=False)

    def new(self) -> str:
        """The one that shall open it. Raises VaultLocked, InvalidInput."""
        said = self._once("new", self.new_file, "new passphrase of the vault: ", twice=True)
        self._said.setdefault("current", said)  # a vault made by it opens by it
        return said

    def _once(self, which: str, file: Path | None, prompt: str, *, twice: bool) -> str:
        if which not in self._said:
            self._said[which] = self._asked(which, file, prompt, twice=twice)
        return self._said[which]

    def _asked(self, which: str, file: Path | None, prompt: str, *, twice: bool) -> str:
        if file is not None:
            return without_newline(read_text(file, "passphrase", private=True))
        if self.terminal and can_ask():
            return asked(prompt, "passphrase", twice=twice)
        option = "--new-passphrase-file" if which == "new" and self.file else "--passphrase-file"
        raise VaultLocked(
            "the vault needs a passphrase, and nobody can be asked here",
            hint=f"give {option} FILE, or name the file in SATCHEL_SECRETS_PASSPHRASE_FILE; or let"
            " this machine open it: `satchel secret unlock`",
            field="passphrase",
        )


def can_ask() -> bool:
    """Whether somebody sees a prompt and can answer it unseen."""
    if not is_terminal(sys.stderr):
        return False
    if is_terminal(sys.stdin) or os.name != "posix":
        return True
    try:
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY))
    except OSError:
        return False
    return True


def asked(prompt: str, what: str, *, twice: bool) -> str:
    """What somebody types unseen, `twice` the same. Raises InvalidInput."""
    from getpass import getpass

    try:
        said = getpass(prompt)
        again = getpass("the same once more: ") if twice else said
    except EOFError:
        raise InvalidInput(f"no {what} was typed", field=what) from None
    if again != said:
        raise InvalidInput(f"the two are not the same: the {what} was not taken", field=what)
    return said


def read_text(file: Path, what: str, *, private: bool = False) -> str:
    """The text of a file, `-` being stdin. No error quotes it.

    Raises InvalidInput for one that cannot be read, is no UTF-8, too large, or not `private`.
    """
    shown = "stdin" if file == STDIN else str(file)
    try:
        data = _bytes_of(file, private=private)
    except OSError as error:
        raise InvalidInput(
            f"the {what} cannot be read from {shown}: {error.strerror or error}", field=what
        ) from None
    if len(data) > BYTES_MAX:
        raise InvalidInput(f"the {what} in {shown} has more than {BYTES_MAX} bytes", field=what)
    text = data.decode("utf-8-sig", "surrogateescape")  # a strict decoder's error would quote it
    strange = next((at for at, one in enumerate(text) if "\ud800" <= one <= "\udfff"), None)
    if strange is not None:
        raise InvalidInput(f"the {what} in {shown} is no UTF-8 at character {strange}", field=what)
    return text


def _bytes_of(file: Path, *, private: bool) -> bytes:
    if file == STDIN:
        return sys.stdin.buffer.read(BYTES_MAX + 1)
    with file.open("rb") as opened:
        if private:
            _require_private(file, opened)
        return opened.read(BYTES_MAX + 1)


def _require_private(file: Path, opened: BinaryIO) -> None:
    """A pipe (`<(pass show vault)`) is as private as a file of mode 0600."""
    mode = os.fstat(opened.fileno()).st_mode
    if os.name == "posix" and mode & _WORLD:
        raise InvalidInput(
            f"the passphrase file {file} is open to others (mode {mode & 0o777:o})",
            hint=f"chmod 600 {file}, and a new passphrase if somebody may have read it:"
            " `satchel secret rotate --passphrase`",
            field="passphrase",
        )


def without_newline(text: str) -> str:
    """All but the newline that an editor or `echo` puts at the end."""
    return text.removesuffix("\n").removesuffix("\r")
