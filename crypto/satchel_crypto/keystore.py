"""The keys of this machine, old ones included, and those of others that it trusts.

Private keys are device secrets: `sign.<algorithm>` and `agree.<algorithm>`, from the second
generation on with its number behind a dot. The highest number signs and is published; the others
open what was sealed for them, and sign once more for the keys that came after them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from satchel_crypto import private_file
from satchel_crypto.algorithms import SUITES, Agreement, Signature, Suite
from satchel_crypto.canonical import canonical
from satchel_crypto.device_secrets import DeviceSecrets
from satchel_crypto.documents import read_document
from satchel_crypto.errors import AlgorithmRefused, KeyInvalid
from satchel_crypto.key_file import (
    PREVIOUS_MAX,
    PURPOSE,
    PURPOSE_NEXT,
    PublicKeys,
    body,
    checked_name,
    has,
)
from satchel_crypto.provider import Provider
from satchel_crypto.signed import Signed, key_id, statement
from satchel_crypto.trusted import TrustedKeys

OWN_FILE = "own.json"
OWN_BYTES_MAX = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class SigningKey:
    """A key pair to sign with; `id` are the 16 bytes that name its public key."""

    algorithm: Signature
    private: bytes = field(repr=False)
    public: bytes
    id: bytes
    generation: int

    def sign(self, provider: Provider, purpose: str, data: bytes) -> Signed:
        """A signature over `data` for `purpose`."""
        value = provider.sign(self.algorithm, self.private, statement(purpose, data))
        return Signed(algorithm=self.algorithm, public=self.public, value=value)


@dataclass(frozen=True, slots=True, kw_only=True)
class AgreementKey:
    """A key pair that others seal for; `id` are the 16 bytes that name its public key."""

    algorithm: Agreement
    private: bytes = field(repr=False)
    public: bytes
    id: bytes
    generation: int


class KeyStore:
    """Keys in the folder of a machine's secrets, used by one provider.

    `suite` is the one to sign and seal in: the provider's own where none is named. Keys are made
    when they are first needed; of several processes at once the first one's count. Raises
    AlgorithmRefused for a suite that the provider does not have whole.
    """

    def __init__(
        self, secrets: DeviceSecrets, provider: Provider, *, suite: Suite | None = None
    ) -> None:
        self.secrets = secrets
        self.provider = provider
        self.suite = suite or provider.suite
        self.trusted = TrustedKeys(secrets.folder)
        if not has(provider, self.suite):
            raise AlgorithmRefused(
                f"{provider.name} does not have the suite {self.suite.name!r} here",
                hint=f"it has: {', '.join(one.name for one in self.suites) or 'none'}",
                field="crypto.suite",
            )

    @property
    def suites(self) -> list[Suite]:
        """Every suite that the provider has whole, the one to write in first."""
        others = [one for one in SUITES if one != self.suite and has(self.provider, one)]
        return [self.suite, *others]

    # ---- signing and opening --------------------------------------------------------------------

    def signing(self, suite: Suite | None = None) -> SigningKey:
        """The key that this machine signs with now. Raises KeyInvalid."""
        algorithm = (suite or self.suite).signature
        return self._signing(algorithm, self._newest("sign", algorithm) or 1)

    def sign(self, purpose: str, data: bytes) -> Signed:
        """A signature of this machine over `data`. Raises KeyInvalid."""
        return self.signing().sign(self.provider, purpose, data)

    def agreement(self, suite: Suite | None = None) -> AgreementKey:
        """The key that others seal for now. Raises KeyInvalid."""
        algorithm = (suite or self.suite).agreement
        return self._agreement(algorithm, self._newest("agree", algorithm) or 1)

    def agreements(self, suite: Suite) -> Iterator[AgreementKey]:
        """Every key of a suite that something may have been sealed for, the newest first."""
        for generation in self._generations("agree", suite.agreement):
            yield self._agreement(suite.agreement, generation)

    def signings(self, suite: Suite) -> Iterator[SigningKey]:
        """Every key of a suite that this machine signed with, the newest first."""
        for generation in self._generations("sign", suite.signature):
            yield self._signing(suite.signature, generation)

    def signed_here(self, signed: Signed) -> bool:
        """Whether the key of a signature is, or was, one of this machine."""
        if signed.algorithm not in self.provider.algorithms:
            return False
        held = self._generations("sign", signed.algorithm)
        return any(self._signing(signed.algorithm, one).public == signed.public for one in held)

    # ---- making and publishing ------------------------------------------------------------------

    def exists(self) -> bool:
        """Whether this machine has keys already in the suite it writes in."""
        return bool(self._newest("sign", self.suite.signature))

    def make(self) -> None:
        """Make what is missing of every suite. Raises KeyInvalid."""
        for suite in self.suites:
            self.signing(suite)
            self.agreement(suite)

    def rotate(self) -> None:
        """Make the next generation of every suite; the older keys stay. Raises KeyInvalid.

        Cut short, it leaves some keys new and some not, which is no harm.
        """
        for suite in self.suites:
            self._agreement(suite.agreement, self._newest("agree", suite.agreement) + 1)
            self._signing(suite.signature, self._newest("sign", suite.signature) + 1)

    @property
    def name(self) -> str:
        """What this machine calls itself; "" where nobody said. Raises KeyInvalid."""
        path = self.secrets.folder / OWN_FILE
        data = private_file.read(path, OWN_BYTES_MAX)
        if data is None:
            return ""
        found = read_document(data, what=str(path), bytes_max=OWN_BYTES_MAX, error=KeyInvalid)
        return checked_name(found.get("name"))

    def rename(self, name: str) -> None:
        """Set the name. Raises KeyInvalid."""
        document = {"name": checked_name(name)}
        private_file.replace(self.secrets.folder / OWN_FILE, json.dumps(document).encode())

    def public_keys(self) -> list[PublicKeys]:
        """What is published: one of each suite, made where it is missing."""
        return [
            PublicKeys(suite=one, sign=self.signing(one).public, agree=self.agreement(one).public)
            for one in self.suites
        ]

    def fingerprint(self) -> str:
        """The key id by which others know this machine, 32 hex digits."""
        return self.signing().id.hex()

    def key_file(self, *, name: str, of: str, made_at: str) -> bytes:
        """The public keys as a file: see `satchel_crypto.key_file`. Raises KeyInvalid."""
        document: dict[str, Any] = body(
            name=name, of=of, made_at=made_at, suites=self.public_keys()
        )
        said = canonical(document)
        now = [self.signing(suite) for suite in self.suites]
        older = [key for suite in self.suites for key in list(self.signings(suite))[1:]]
        return canonical(
            document
            | {
                "signatures": [self._signed(key, PURPOSE, said) for key in now],
                "previous": [self._signed(key, PURPOSE_NEXT, said) for key in older[:PREVIOUS_MAX]],
            }
        )

    def _signed(self, key: SigningKey, purpose: str, said: bytes) -> dict[str, str]:
        return key.sign(self.provider, purpose, said).as_dict(self.provider)

    # ---- generations ----------------------------------------------------------------------------

    def _generations(self, use: str, algorithm: str) -> list[int]:
        """Those that are here, the newest first."""
        first = f"{use}.{algorithm}"
        later = [
            name.removeprefix(f"{first}.")
            for name in self.secrets.names()
            if name.startswith(f"{first}.")
        ]
        found = [int(number) for number in later if number.isdecimal() and len(number) < 9]
        if first in self.secrets.names():
            found.append(1)
        return sorted(found, reverse=True)

    def _newest(self, use: str, algorithm: str) -> int:
        return next(iter(self._generations(use, algorithm)), 0)

    def _signing(self, algorithm: Signature, generation: int) -> SigningKey:
        private = self.secrets.get_or_make(
            _secret("sign", algorithm, generation), lambda: self.provider.signing_key(algorithm)[0]
        )
        public = self.provider.public_of(algorithm, private)
        named = key_id(self.provider, algorithm, public)
        return SigningKey(
            algorithm=algorithm, private=private, public=public, id=named, generation=generation
        )

    def _agreement(self, algorithm: Agreement, generation: int) -> AgreementKey:
        private = self.secrets.get_or_make(
            _secret("agree", algorithm, generation),
            lambda: self.provider.agreement_key(algorithm)[0],
        )
        public = self.provider.public_of(algorithm, private)
        named = key_id(self.provider, algorithm, public)
        return AgreementKey(
            algorithm=algorithm, private=private, public=public, id=named, generation=generation
        )


def _secret(use: str, algorithm: str, generation: int) -> str:
    return f"{use}.{algorithm}" if generation == 1 else f"{use}.{algorithm}.{generation}"
