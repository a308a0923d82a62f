"""The keys of others that are trusted here: `trusted.json` in the folder of the machine's keys.

Whoever can write that file decides who is trusted, so it is its owner's only (mode 0600).
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from satchel_crypto import private_file
from satchel_crypto.algorithms import PUBLIC_BYTES, Signature, Suite
from satchel_crypto.documents import read_document
from satchel_crypto.errors import KeyInvalid, KeyMissing
from satchel_crypto.key_file import (
    HUB,
    KeyFile,
    PublicKeys,
    alike,
    checked_name,
    require_readable,
)

FORMAT = "satchel-trusted-1"
FILE = "trusted.json"
BYTES_MAX = 16 * 1024 * 1024
KEYS_MAX = 10_000
PREVIOUS_MAX = 32
ID_DIGITS = 32
OldKey = tuple[Signature, bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class Trusted:
    """A machine whose keys are trusted. `of` is whom they speak for: `hub`, a replica id, or "".

    `previous` are signing keys that it had before: what they signed is still taken.
    """

    name: str
    of: str
    fingerprint: str
    added_at: str
    suites: tuple[PublicKeys, ...]
    previous: tuple[OldKey, ...] = ()

    def signs_with(self, algorithm: Signature, public: bytes) -> bool:
        """Whether that is a signing key of this machine, or was one."""
        now = ((one.suite.signature, one.sign) for one in self.suites)
        return (algorithm, public) in (*now, *self.previous)

    def keys_of(self, suite: Suite) -> PublicKeys | None:
        """Its keys in a suite."""
        return next((one for one in self.suites if one.suite == suite), None)

    def as_dict(self) -> dict[str, Any]:
        """As the file carries it."""
        return {
            "name": self.name,
            "of": self.of,
            "fingerprint": self.fingerprint,
            "added_at": self.added_at,
            "suites": [one.as_dict() for one in self.suites],
            "previous": [
                [algorithm.value, b64encode(key).decode()] for algorithm, key in self.previous
            ],
        }

    @staticmethod
    def parse(found: Any) -> Trusted:
        """Inverse of `as_dict`. Raises KeyInvalid, ValueError, TypeError, KeyError."""
        suites = [PublicKeys.parse(one) for one in found["suites"]]
        texts = [found[name] for name in ("of", "fingerprint", "added_at")]
        lists = (found["suites"], found["previous"])
        if not all(isinstance(one, str) for one in texts):
            raise TypeError
        if not all(isinstance(one, list) for one in lists):
            raise TypeError
        return Trusted(
            name=checked_name(found["name"]),
            of=texts[0],
            fingerprint=texts[1],
            added_at=texts[2],
            suites=tuple(one for one in suites if one is not None),
            previous=tuple(_old_key(*one) for one in found["previous"]),
        )


@dataclass(frozen=True)
class TrustedKeys:
    """The list in one folder; any number of processes may read and change it at once."""

    folder: Path

    def all(self) -> tuple[Trusted, ...]:
        """Every one, as they were added. Raises KeyInvalid for a file that cannot be relied on."""
        data = private_file.read(self._path, BYTES_MAX)
        if data is None:
            return ()
        found = read_document(data, what=str(self._path), bytes_max=BYTES_MAX, error=KeyInvalid)
        try:
            if found["format"] != FORMAT or len(found["keys"]) > KEYS_MAX:
                raise ValueError
            return tuple(map(Trusted.parse, found["keys"]))
        except (ValueError, TypeError, KeyError, KeyInvalid):
            raise KeyInvalid(
                f"{self._path} is damaged: it is not as satchel wrote it",
                hint="upgrade satchel here if a newer one wrote it; else restore it from a backup,"
                " or remove it and trust the keys again",
            ) from None

    def signer(self, algorithm: Signature, public: bytes) -> Trusted | None:
        """Whose signing key that is, or was. Raises KeyInvalid."""
        return next((one for one in self.all() if one.signs_with(algorithm, public)), None)

    def add(self, file: KeyFile, *, name: str, of: str, added_at: str) -> Trusted:
        """Trust the keys of a file under a name. Raises KeyInvalid where name or `of` is taken.

        The same machine again takes the new name, and so do keys that an older trusted key signed
        for: that one is kept among the previous ones.
        """
        new = Trusted(
            name=checked_name(name),
            of=of,
            fingerprint=file.fingerprint,
            added_at=added_at,
            suites=file.suites,
        )

        def change(keys: Sequence[Trusted]) -> list[Trusted]:
            nonlocal new
            before = succeeded(keys, file)
            others = [one for one in keys if one is not before]
            _require_free(others, new)
            if before is not None:
                new = replace(new, previous=_previous(before, new))
            return [*others, new]

        self._change(change)
        return new

    def remove(self, chosen: str) -> Trusted:
        """Trust a machine no more; `chosen` is its name, or digits that begin its fingerprint.

        Raises KeyMissing where none, or more than one, is meant.
        """
        gone: list[Trusted] = []

        def change(keys: Sequence[Trusted]) -> list[Trusted]:
            gone.append(_chosen(keys, chosen))
            return [one for one in keys if one is not gone[0]]

        self._change(change)
        return gone[0]

    @property
    def _path(self) -> Path:
        return self.folder / FILE

    def _change(self, change: Callable[[Sequence[Trusted]], list[Trusted]]) -> None:
        with private_file.locked(self.folder / "trusted.lock"):
            keys = change(self.all())
            if len(keys) > KEYS_MAX:
                raise KeyInvalid(f"no more than {KEYS_MAX} keys can be trusted")
            document = {"format": FORMAT, "keys": [one.as_dict() for one in keys]}
            private_file.replace(self._path, json.dumps(document, indent=1).encode() + b"\n")


def succeeded(keys: Sequence[Trusted], file: KeyFile) -> Trusted | None:
    """The trusted machine whose file this is, again or with newer keys; None = a stranger's."""
    for one in keys:
        if one.fingerprint == file.fingerprint:
            return one
        if any((kept.suite.signature, kept.sign) in file.previous for kept in one.suites):
            return one
    return None


def grouped(fingerprint: str) -> str:
    """A fingerprint as people compare it: four digits at a time."""
    return " ".join(fingerprint[at : at + 4] for at in range(0, len(fingerprint), 4))


def _previous(before: Trusted, new: Trusted) -> tuple[OldKey, ...]:
    old = [(one.suite.signature, one.sign) for one in before.suites]
    now = [(one.suite.signature, one.sign) for one in new.suites]
    kept = [one for one in dict.fromkeys((*old, *before.previous)) if one not in now]
    return tuple(kept[:PREVIOUS_MAX])


def _require_free(others: Sequence[Trusted], new: Trusted) -> None:
    require_readable(new.name)
    if alike(new.name, HUB) and new.of != HUB:
        raise KeyInvalid(
            f"only the warehouse is called {HUB!r}, and this key does not speak for it",
            hint="give --name",
            field="name",
        )
    for one in others:
        if alike(one.name, new.name):
            raise KeyInvalid(
                f"the name {new.name!r} belongs to another key, {grouped(one.fingerprint)}",
                hint="give --name, or remove that one: satchel key trust --remove NAME",
                field="name",
            )
        if new.of and one.of == new.of:
            whom = "the hub" if new.of == HUB else f"the replica {new.of}"
            raise KeyInvalid(
                f"{whom} has another trusted key already: {one.name!r}, {grouped(one.fingerprint)}",
                hint="remove that one if it is replaced: satchel key trust --remove NAME",
                field="as",
            )


def _chosen(keys: Sequence[Trusted], said: str) -> Trusted:
    digits = said.lower().replace(" ", "")
    found = [one for one in keys if one.name == said] or [
        one for one in keys if len(digits) >= 8 and one.fingerprint.startswith(digits)
    ]
    if len(found) != 1:
        raise KeyMissing(
            f"{'no' if not found else 'more than one'} trusted key is meant by {said[:80]!r}",
            hint="`satchel key list` shows names and fingerprints; give 8 or more digits of one",
        )
    return found[0]


def _old_key(algorithm: str, key: str) -> OldKey:
    found = Signature(algorithm)
    public = b64decode(key, validate=True)
    if len(public) != PUBLIC_BYTES[found]:
        raise ValueError
    return found, public
