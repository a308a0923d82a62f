"""The public keys of a machine as a file that a person carries to another one.

Canonical JSON: format, name, `of` (whom the keys speak for: `hub`, a replica id of 32 hex digits,
or nobody), made_at, suites: [{suite, sign, agree}], and two lists beside what is signed:
`signatures`, one by each signing key in it (who has no private key cannot put the public one into
a file of his own), and `previous`, signatures over the same by older keys of the machine.
"""

from __future__ import annotations

import re
import unicodedata
from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from dataclasses import dataclass
from typing import Any

from satchel_crypto.algorithms import BY_NAME, PUBLIC_BYTES, Signature, Suite
from satchel_crypto.canonical import canonical
from satchel_crypto.documents import read_document
from satchel_crypto.errors import AlgorithmRefused, CryptoError, KeyInvalid, SignatureInvalid
from satchel_crypto.provider import Provider
from satchel_crypto.signed import Signed, key_id

FORMAT = "satchel-key-1"
PURPOSE = "key"
PURPOSE_NEXT = "key-next"
"""Of a signature by an older key: the machine goes on with the keys in this file."""
BYTES_MAX = 64 * 1024
PREVIOUS_MAX = 32
NAME_MAX = 64
HUB = "hub"
_OF = re.compile(r"|hub|[0-9a-f]{32}")
_MOMENT = re.compile(r"[0-9T:.+Z-]{10,40}")
_SUITES_MAX = 8
_LOOK_ALIKE = {"LATIN", "GREEK", "CYRILLIC", "ARMENIAN", "CHEROKEE"}
_BESIDE = ("signatures", "previous")


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicKeys:
    """What a machine signs with, and what is sealed for it, in one suite."""

    suite: Suite
    sign: bytes
    agree: bytes

    def as_dict(self) -> dict[str, str]:
        """As JSON carries it."""
        return {
            "suite": self.suite.name,
            "sign": b64encode(self.sign).decode("ascii"),
            "agree": b64encode(self.agree).decode("ascii"),
        }

    @staticmethod
    def parse(found: Any) -> PublicKeys | None:
        """Inverse of `as_dict`; None for a suite that is not known. Raises KeyInvalid."""
        if not isinstance(found, dict) or not isinstance(found.get("suite"), str):
            raise KeyInvalid("a suite of the key file is not as it has to be")
        suite = BY_NAME.get(found["suite"])
        if suite is None:
            return None
        sign = _key(found.get("sign"), PUBLIC_BYTES[suite.signature])
        return PublicKeys(
            suite=suite, sign=sign, agree=_key(found.get("agree"), PUBLIC_BYTES[suite.agreement])
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyFile:
    """A key file whose signatures fit; whether its keys are trusted is another question.

    `suites` are those that the reader's provider has, the sender's own first; `previous` are the
    older keys that signed for these.
    """

    name: str
    of: str
    made_at: str
    suites: tuple[PublicKeys, ...]
    previous: tuple[tuple[Signature, bytes], ...]
    fingerprint: str
    """Key id of the first signing key, 32 hex digits."""

    @staticmethod
    def parse(data: bytes, provider: Provider) -> KeyFile:
        """Read and check one.

        Raises KeyInvalid for what is no key file, SignatureInvalid for one that was changed,
        AlgorithmRefused where the provider lacks the suite of its first key.
        """
        found = read_document(data, what="the key file", bytes_max=BYTES_MAX, error=KeyInvalid)
        if found.get("format") != FORMAT:
            raise KeyInvalid(f"this is no key file of the format {FORMAT}")
        said = _body(found)
        keys = _suites(found.get("suites"), provider)
        _require_signed(_list(found, "signatures", _SUITES_MAX), keys, said, provider)
        return KeyFile(
            name=checked_name(found.get("name")),
            of=_matching(found.get("of"), _OF, "of"),
            made_at=_matching(found.get("made_at"), _MOMENT, "made_at"),
            suites=keys,
            previous=_endorsers(_list(found, "previous", PREVIOUS_MAX), said, provider),
            fingerprint=key_id(provider, keys[0].suite.signature, keys[0].sign).hex(),
        )


def body(*, name: str, of: str, made_at: str, suites: list[PublicKeys]) -> dict[str, Any]:
    """What is signed of a key file. Raises KeyInvalid for a name or id that cannot be one."""
    return {
        "format": FORMAT,
        "name": checked_name(name),
        "of": _matching(of, _OF, "of"),
        "made_at": _matching(made_at, _MOMENT, "made_at"),
        "suites": [one.as_dict() for one in suites],
    }


def checked_name(name: Any) -> str:
    """A name for a machine. Raises KeyInvalid."""
    if not isinstance(name, str) or not 0 < len(name) <= NAME_MAX or not name.isprintable():
        raise KeyInvalid(
            f"a machine's name has 1 to {NAME_MAX} characters that can be printed", field="name"
        )
    if name != name.strip():
        raise KeyInvalid("a machine's name neither begins nor ends with a space", field="name")
    return name


def require_readable(name: str) -> None:
    """Raise KeyInvalid for a new name with letters of several alphabets that look alike."""
    if len(scripts := _scripts(name)) > 1:
        raise KeyInvalid(
            f"a machine's name mixes letters that look alike: {', '.join(sorted(scripts))}",
            hint="letters of one alphabet only: nobody could tell it from another name",
            field="name",
        )


def alike(name: str, other: str) -> bool:
    """Whether two names are one to the eye, or nearly: width and case do not count."""
    left, right = (unicodedata.normalize("NFKC", one).casefold() for one in (name, other))
    return left == right


def _scripts(name: str) -> set[str]:
    """Which of the alphabets that share their shapes a name has letters of."""
    words = {unicodedata.name(one, "").partition(" ")[0] for one in name if one.isalpha()}
    return words & _LOOK_ALIKE


def _body(found: dict[str, Any]) -> bytes:
    """The bytes that the signatures are over: all but the signatures, known or not."""
    try:
        return canonical({name: found[name] for name in found if name not in _BESIDE})
    except CryptoError as error:
        raise KeyInvalid(f"the key file is not as satchel writes it: {error}") from None


def _suites(found: Any, provider: Provider) -> tuple[PublicKeys, ...]:
    """Those that the provider has; of the first one it has to have the signature."""
    if not isinstance(found, list) or not 0 < len(found) <= _SUITES_MAX:
        raise KeyInvalid("the key file's suites are missing or not as they have to be")
    read = [PublicKeys.parse(one) for one in found]
    first = read[0]
    if first is None or first.suite.signature not in provider.algorithms:
        named = str(found[0]["suite"])[:16]
        raise AlgorithmRefused(
            f"the key is of the suite {named!r}, which {provider.name} does not have here",
            hint="make it with the same crypto.provider, or read it with the one it was made with",
        )
    known = [one for one in read if one is not None and has(provider, one.suite)]
    return tuple(known or [first])


def has(provider: Provider, suite: Suite) -> bool:
    """Whether a provider has every part of a suite."""
    return {suite.cipher, suite.signature, suite.agreement} <= provider.algorithms


def _require_signed(
    found: list[Any], keys: tuple[PublicKeys, ...], said: bytes, provider: Provider
) -> None:
    """Every key that is taken from the file signed it. Raises SignatureInvalid."""
    signatures = [Signed.parse(one, provider) for one in found]
    for one in keys:
        fitting = [
            signed
            for signed in signatures
            if (signed.algorithm, signed.public) == (one.suite.signature, one.sign)
            and signed.fits(provider, PURPOSE, said)
        ]
        if not fitting:
            raise SignatureInvalid(
                f"the key file was changed: its key of {one.suite.name} did not sign what it says",
                hint="get it again from the machine that made it, by `satchel key export`",
            )


def _endorsers(
    found: list[Any], said: bytes, provider: Provider
) -> tuple[tuple[Signature, bytes], ...]:
    """The older keys whose signatures fit. Raises SignatureInvalid for one that does not."""
    signatures = [Signed.parse(one, provider) for one in found]
    known = [one for one in signatures if one.algorithm in provider.algorithms]
    if not all(one.fits(provider, PURPOSE_NEXT, said) for one in known):
        raise SignatureInvalid("the key file names an older key that did not sign it")
    return tuple((one.algorithm, one.public) for one in known)


def _list(found: dict[str, Any], name: str, items_max: int) -> list[Any]:
    value = found.get(name)
    if not isinstance(value, list) or len(value) > items_max:
        raise KeyInvalid(f"the key file's {name!r} is missing or not as it has to be")
    return value


def _matching(value: Any, pattern: re.Pattern[str], name: str) -> str:
    if not isinstance(value, str) or not pattern.fullmatch(value):
        raise KeyInvalid(f"the key file's {name!r} is missing or not as it has to be", field=name)
    return value


def _key(value: Any, length: int) -> bytes:
    if not isinstance(value, str) or len(value) > 2 * length + 4:
        raise KeyInvalid("a public key of the key file is not as it has to be")
    try:
        key = b64decode(value, validate=True)
    except (ValueError, Base64Error):
        raise KeyInvalid("a public key of the key file is no base64") from None
    if len(key) != length:
        raise KeyInvalid(f"a public key of the key file has {len(key)} bytes instead of {length}")
    return key
