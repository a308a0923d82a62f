"""Private keys in their text forms, and signed or encrypted tokens that stand for a login.

Sources: RFC 7468 (PEM), RFC 9580 (OpenPGP), RFC 4716 (SSH2), PuTTY's ppk, RFC 7519 (JWT), age.
"""

from __future__ import annotations

import re

from satchel.redaction.pattern import STARTS, Pattern, compiled, token
from satchel.redaction.randomness import CHANGES_MIN, changes, is_random

_NAME = r"(?:[A-Z0-9]{1,12} ){0,4}PRIVATE KEY(?: BLOCK)? ?-{4,5}"
_BEGIN = rf"(?:-----|---- )BEGIN {_NAME}"
_END = rf"-{{4,5}} ?END {_NAME}"
_BODY = r"(?:(?!----)[^\0]){0,32768}+"
"""A key of RSA 16384 has 13,000 characters, and half as many more where it is escaped."""
_LINE_END = r"(?:\r?\n|\\r\\n|\\n)"
_CUT = (
    r"(?:(?:\s|\\[nrt]){0,8}+[A-Za-z0-9+/=]{16,128}+){1,400}+"
    r"(?:(?:\s|\\[nrt]){0,8}[A-Za-z0-9+/=]{1,76})?"
)
"""The lines of a key whose end is missing."""


def _is_encrypted(found: re.Match[str]) -> bool:
    """Whether the head of a five-part token is a JOSE header (RFC 7516)."""
    import json
    from base64 import urlsafe_b64decode

    head = found.group("head")
    try:
        header = json.loads(urlsafe_b64decode(head + "=" * (-len(head) % 4)))
    except (ValueError, RecursionError):  # base64's own error is a ValueError
        return False
    return isinstance(header, dict) and "enc" in header


_HEADLESS = (
    "b3BlbnNzaC1rZXktdjE",
    "LS0tLS1CRUdJTiBQUklWQVRF",
    "LS0tLS1CRUdJTiBSU0EgUFJJVkFU",
    "LS0tLS1CRUdJTiBFQyBQUklWQVRF",
    "LS0tLS1CRUdJTiBPUEVOU1NIIFBSSVZBVE",
)
"""Base64 of `openssh-key-v1`, and of the heads of PEM keys, as Kubernetes keeps them."""
_DIGEST = r"(?i)hash|digest|address|\btx|sha-?[0-9]|fingerprint"
_DIGEST_OF = r"(?i)(?:hash|digest|fingerprint) (?:of )?(?:the |a |my )?$"


def _is_number(found: re.Match[str]) -> bool:
    """Whether a number beside `private key`, or a wallet's word, is a key: no digest of one."""
    value = found.group("secret")
    ahead = found.string[found.start() : found.start("secret")]
    before = found.string[max(0, found.start() - 24) : found.start()]
    if compiled(_DIGEST).search(ahead) or compiled(_DIGEST_OF).search(before):
        return False
    if value.startswith("0x"):
        return "priv" in ahead.lower() and is_random(value[2:].lower())
    return changes(value) >= CHANGES_MIN


KEYS: tuple[Pattern, ...] = (
    Pattern(
        kind="Google service account key",
        literals=('"private_key"',),
        shape=rf'"private_key"\s{{0,4}}:\s{{0,4}}"(?P<secret>{_BEGIN}{_BODY}{_END}(?:\\n)?)',
    ),
    Pattern(
        kind="private key",
        literals=("BEGIN ",),
        before=5,
        shape=rf"(?P<secret>{_BEGIN}(?:{_BODY}{_END}|{_CUT}))",
    ),
    Pattern(
        kind="private key",
        literals=("Private-Lines: ",),
        shape=rf"Private-Lines: [0-9]{{1,4}}{_LINE_END}"
        rf"(?P<secret>[A-Za-z0-9+/=]{{1,76}}+(?:{_LINE_END}[A-Za-z0-9+/=]{{1,76}}+){{0,400}}+)",
    ),
    Pattern(
        kind="private key",
        literals=_HEADLESS,
        solid=True,
        shape=rf"{STARTS}(?:{'|'.join(_HEADLESS)})[A-Za-z0-9+/=]{{40,512}}+"
        rf"(?:{_LINE_END}[ \t]{{0,40}}+[A-Za-z0-9+/=]{{16,128}}+){{0,400}}+",
        tail="[A-Za-z0-9+/=]",
    ),
    Pattern(  # Ethereum's in hexadecimal, Bitcoin's in its wallet import format (Base58Check)
        kind="private key",
        literals=("private key", "private_key", "privatekey", "privkey", "bitcoin", "btc", "wif"),
        folded=True,
        solid=True,
        shape=r"[^\n\0]{0,40}?(?<![A-Za-z0-9])"
        r"(?P<secret>0x[0-9a-fA-F]{64}|[5KLc9][1-9A-HJ-NP-Za-km-z]{50,51})(?![A-Za-z0-9])",
        holds=_is_number,
    ),
    token("private key", "AGE-SECRET-KEY-1", least=58, most=58, of="[A-Z0-9]"),
    Pattern(
        kind="JWT",
        literals=("eyJ",),
        solid=True,
        shape=STARTS
        + r"eyJ[A-Za-z0-9_-]{8,4096}+\.eyJ[A-Za-z0-9_-]{8,16384}+\.[A-Za-z0-9_-]{8,512}",
        tail="[A-Za-z0-9_-]",
    ),
    Pattern(
        kind="JWT",
        literals=("eyJ",),
        solid=True,
        shape=STARTS + r"(?P<head>eyJ[A-Za-z0-9_-]{8,4096}+)\.[A-Za-z0-9_-]{0,2048}+"
        r"\.[A-Za-z0-9_-]{8,64}+\.[A-Za-z0-9_-]{1,16384}+\.[A-Za-z0-9_-]{16,64}",
        tail="[A-Za-z0-9_-]",
        holds=_is_encrypted,
    ),
)
