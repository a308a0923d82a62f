"""Bearer tokens: who carries which, kept as digests in `bearers.json` beside the machine's keys.

A token is 32 random bytes, told once. Its SHA-256 is enough to know it again: nobody finds 256 bits
by trying, so nothing slower is needed. Whoever can write the file decides who is let in: mode 0600.
"""

from __future__ import annotations

import json
import re
from base64 import urlsafe_b64encode
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from satchel_crypto import private_file
from satchel_crypto.algorithms import Hash
from satchel_crypto.documents import read_document
from satchel_crypto.errors import KeyInvalid, KeyMissing
from satchel_crypto.provider import Provider

FORMAT = "satchel-bearers-1"
FILE = "bearers.json"
PREFIX = "satchel_"
"""So that a scanner of secrets knows one when it sees it."""
TOKEN_BYTES = 32
BYTES_MAX = 1024 * 1024
BEARERS_MAX = 1_000
TOKEN_CHARS_MAX = 256
_DIGEST = re.compile("[0-9a-f]{64}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Bearer:
    """Whoever carries one token. `agent`, `role` and `user` are who that is; times are UTC ms."""

    name: str
    agent: str
    role: str
    user: str | None
    created_at: int
    expires_at: int | None
    digest: str

    @staticmethod
    def parse(found: Any) -> Bearer:
        """Inverse of `asdict`. Raises TypeError, KeyError for what satchel did not write."""
        texts = [found[key] for key in ("name", "agent", "role", "digest")]
        user, created, expires = found["user"], found["created_at"], found["expires_at"]
        good = all(type(one) is str and one for one in texts) and type(created) is int
        if not good or type(user) not in (str, type(None)):
            raise TypeError
        if type(expires) not in (int, type(None)) or not _DIGEST.fullmatch(found["digest"]):
            raise TypeError
        return Bearer(**found)


@dataclass(frozen=True)
class Bearers:
    """The list in one folder; any number of processes may read and change it at once."""

    folder: Path
    provider: Provider

    def all(self) -> tuple[Bearer, ...]:
        """Every one, as they were made. Raises KeyInvalid for a file that cannot be relied on."""
        data = private_file.read(self._path, BYTES_MAX)
        if data is None:
            return ()
        found = read_document(data, what=str(self._path), bytes_max=BYTES_MAX, error=KeyInvalid)
        try:
            listed = found["bearers"]
            if found["format"] != FORMAT or type(listed) is not list or len(listed) > BEARERS_MAX:
                raise ValueError
            return tuple(map(Bearer.parse, listed))
        except (ValueError, TypeError, KeyError):
            raise KeyInvalid(
                f"{self._path} is damaged: it is not as satchel wrote it",
                hint="upgrade satchel here if a newer one wrote it; else remove it and make the"
                " tokens anew",
            ) from None

    def create(
        self,
        name: str,
        *,
        agent: str,
        role: str,
        user: str | None,
        created_at: int,
        expires_at: int | None,
    ) -> tuple[Bearer, str]:
        """A new bearer and its token, which is kept nowhere. Raises KeyInvalid for a taken name."""
        secret = self.provider.random(TOKEN_BYTES)
        token = PREFIX + urlsafe_b64encode(secret).decode("ascii").rstrip("=")
        new = Bearer(
            name=name,
            agent=agent,
            role=role,
            user=user,
            created_at=created_at,
            expires_at=expires_at,
            digest=self._digest(token).hex(),
        )

        def change(bearers: Sequence[Bearer]) -> list[Bearer]:
            if any(one.name == name for one in bearers):
                raise KeyInvalid(
                    f"there is a token {name!r} already",
                    hint="give --name, or revoke that one",
                    field="name",
                )
            return [*bearers, new]

        self._change(change)
        return new, token

    def revoke(self, name: str) -> Bearer:
        """Let a token in no more. Raises KeyMissing."""
        gone: list[Bearer] = []

        def change(bearers: Sequence[Bearer]) -> list[Bearer]:
            gone.extend(one for one in bearers if one.name == name)
            if not gone:
                raise KeyMissing(
                    f"there is no token {name[:80]!r}",
                    hint="`satchel mcp token list` shows their names",
                    field="name",
                )
            return [one for one in bearers if one.name != name]

        self._change(change)
        return gone[0]

    def bearer(self, token: str, now_ms: int) -> Bearer | None:
        """Who carries this token, if it is one and still good.

        Every digest is compared, in a time that tells neither which fits nor where it differs.
        Raises KeyInvalid for a file that cannot be relied on.
        """
        if len(token) > TOKEN_CHARS_MAX:
            return None
        digest = self._digest(token)
        fits = [one for one in self.all() if self.provider.same(bytes.fromhex(one.digest), digest)]
        good = [one for one in fits if one.expires_at is None or now_ms < one.expires_at]
        return good[0] if good else None

    def _digest(self, token: str) -> bytes:
        return self.provider.digest(Hash.SHA256, token.encode("utf-8", "surrogatepass"))

    @property
    def _path(self) -> Path:
        return self.folder / FILE

    def _change(self, change: Callable[[Sequence[Bearer]], list[Bearer]]) -> None:
        with private_file.locked(self.folder / "bearers.lock"):
            bearers = change(self.all())
            if len(bearers) > BEARERS_MAX:
                raise KeyInvalid(f"no more than {BEARERS_MAX} tokens can be kept")
            document = {"format": FORMAT, "bearers": [asdict(one) for one in bearers]}
            private_file.replace(self._path, json.dumps(document, indent=1).encode() + b"\n")
