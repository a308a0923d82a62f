"""The envelope: sealed bytes that say how, for what and by which key they were sealed.

offset  bytes  content
     0      4  magic, "SATE"
     4      1  version of this layout, 1
     5      1  suite (`Suite.code`); its cipher seals
     6      1  purpose (`Purpose`)
     7     16  id of the key
    23     16  salt
    39  12|24  nonce, as long as the suite's cipher takes it
   51|63       ciphertext, and at its end the tag of 16 bytes

Associated data: all bytes before the ciphertext, then the caller's context. The context is not
stored: it says where the envelope lies (a row, a name and its version), so that one moved
elsewhere does not open. Where it has several parts, `canonical([…])` keeps them apart.

Each envelope has a key of its own: HKDF-SHA-256 of the key, its salt as salt, bytes 0 to 22 as
info. AES-GCM allows a key 2^32 random nonces (NIST SP 800-38D, 8.3); salt and nonce are 28 random
bytes here, so that no key ever comes near that and none has to be counted.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import IntEnum

from satchel_crypto.algorithms import BY_CODE, KEY_BYTES, NONCE_BYTES, TAG_BYTES, Cipher, Suite
from satchel_crypto.errors import AlgorithmRefused, KeyInvalid, KeyMissing, SealedInvalid
from satchel_crypto.provider import Provider

MAGIC = b"SATE"
VERSION = 1
KEY_ID_BYTES = 16
SALT_BYTES = 16
PLAIN_BYTES_MAX = 64 * 1024 * 1024
"""An envelope is opened in memory, whole; larger things go in chunks."""
_FIELDS = struct.Struct(f">4sBBB{KEY_ID_BYTES}s{SALT_BYTES}s")
_INFO_BYTES = _FIELDS.size - SALT_BYTES


class Purpose(IntEnum):
    """What was sealed; a code is never given to anything else."""

    VAULT_SECRET = 1
    """A named secret of the vault."""
    WRAPPED_KEY = 2
    """A key, sealed by another key."""
    COLUMN = 3
    """A column of one row."""
    FILE = 4
    """A whole file."""
    CHUNK = 5
    """A part of a file or a stream."""

    @property
    def words(self) -> str:
        """As messages name it."""
        return self.name.replace("_", " ").lower()


@dataclass(frozen=True, slots=True)
class SymmetricKey:
    """A key of 32 bytes under its id of 16. Raises KeyInvalid for other lengths."""

    id: bytes
    secret: bytes = field(repr=False)

    def __post_init__(self) -> None:
        if len(self.id) != KEY_ID_BYTES or len(self.secret) != KEY_BYTES:
            raise KeyInvalid(
                f"a symmetric key has an id of {KEY_ID_BYTES} bytes and {KEY_BYTES} of its own, "
                f"not {len(self.id)} and {len(self.secret)}"
            )

    def __repr__(self) -> str:
        return f"SymmetricKey({self.id.hex()})"

    @staticmethod
    def new(provider: Provider) -> SymmetricKey:
        """A random key under a random id."""
        return SymmetricKey(provider.random(KEY_ID_BYTES), provider.random(KEY_BYTES))


@dataclass(frozen=True, slots=True)
class Keys:
    """The key that seals, and older ones that still open. Raises KeyInvalid for an id twice."""

    sealing: SymmetricKey
    older: tuple[SymmetricKey, ...] = ()

    def __post_init__(self) -> None:
        if len({key.id for key in self}) != 1 + len(self.older):
            raise KeyInvalid("two keys have the same id")

    def __iter__(self) -> Iterator[SymmetricKey]:
        return iter((self.sealing, *self.older))

    def get(self, key_id: bytes) -> SymmetricKey:
        """The key of that id. Raises KeyMissing naming it."""
        for key in self:
            if key.id == key_id:
                return key
        raise KeyMissing(
            f"this was sealed by the key {key_id.hex()}, which is not here",
            hint="it opens where that key is, or after the key was restored from a backup",
        )

    def rotated(self, new: SymmetricKey) -> Keys:
        """`new` seals from now on; what the others sealed still opens."""
        return Keys(new, tuple(self))


@dataclass(frozen=True, slots=True, kw_only=True)
class Envelope:
    """The parts of sealed bytes; nothing of it is proved before `open` has opened it."""

    suite: Suite
    purpose: Purpose
    key_id: bytes
    salt: bytes
    nonce: bytes
    sealed: bytes = field(repr=False)

    @property
    def header(self) -> bytes:
        """All that stands before the ciphertext."""
        fields = _FIELDS.pack(MAGIC, VERSION, self.suite.code, self.purpose, self.key_id, self.salt)
        return fields + self.nonce

    @staticmethod
    def parse(data: bytes) -> Envelope:
        """The parts. Raises SealedInvalid, AlgorithmRefused for a suite that nobody knows."""
        _require_whole(data, _FIELDS.size)
        if len(data) > _FIELDS.size + max(NONCE_BYTES.values()) + PLAIN_BYTES_MAX + TAG_BYTES:
            raise SealedInvalid(f"{len(data)} bytes are more than any envelope has")
        _, version, code, purpose, key_id, salt = _FIELDS.unpack_from(data)
        if version != VERSION:
            raise SealedInvalid(
                f"the envelope has the version {version}, this satchel reads {VERSION}",
                hint="upgrade satchel here; if it is up to date, the envelope is damaged",
            )
        if code not in BY_CODE:
            raise AlgorithmRefused(
                f"the envelope was sealed by the suite {code}, which this satchel does not know",
                hint="upgrade satchel here; if it is up to date, the envelope is damaged",
            )
        if purpose not in set(Purpose):
            raise SealedInvalid(f"the envelope was sealed for the purpose {purpose}: there is none")
        suite = BY_CODE[code]
        body_at = _FIELDS.size + NONCE_BYTES[suite.cipher]
        _require_whole(data, body_at + TAG_BYTES)
        return Envelope(
            suite=suite,
            purpose=Purpose(purpose),
            key_id=key_id,
            salt=salt,
            nonce=data[_FIELDS.size : body_at],
            sealed=data[body_at:],
        )


def seal(
    provider: Provider,
    key: SymmetricKey,
    plain: bytes,
    purpose: Purpose,
    context: bytes,
    *,
    suite: Suite | None = None,
) -> bytes:
    """`plain` in an envelope of that suite, else the provider's.

    Raises SealedInvalid beyond 64 MiB, AlgorithmRefused.
    """
    if len(plain) > PLAIN_BYTES_MAX:
        raise SealedInvalid(
            f"{len(plain)} bytes are too many for one envelope, at most {PLAIN_BYTES_MAX}",
            hint="seal it in chunks",
        )
    suite = suite or provider.suite
    made = Envelope(
        suite=suite,
        purpose=purpose,
        key_id=key.id,
        salt=provider.random(SALT_BYTES),
        nonce=provider.random(NONCE_BYTES[suite.cipher]),
        sealed=b"",
    )
    header = made.header
    own = _own_key(provider, key, header)
    return header + provider.seal(suite.cipher, own, made.nonce, plain, header + context)


def open(  # noqa: A001 - as the provider calls it
    provider: Provider, keys: Keys, sealed: bytes, purpose: Purpose, context: bytes
) -> bytes:
    """What `seal` was given, by whichever of the keys and whichever suite the provider has.

    Raises SealedInvalid for bytes that were changed, or sealed for another purpose or context;
    KeyMissing, AlgorithmRefused.
    """
    found = Envelope.parse(sealed)
    if found.purpose != purpose:
        raise SealedInvalid(
            f"the envelope holds a {found.purpose.words}, not a {purpose.words}",
            hint="it was moved here from elsewhere",
        )
    _require_cipher(provider, found.suite.cipher, found.suite.name)
    key = keys.get(found.key_id)
    header = found.header
    own = _own_key(provider, key, header)
    try:
        return provider.open(found.suite.cipher, own, found.nonce, found.sealed, header + context)
    except SealedInvalid:
        raise SealedInvalid(
            f"the {purpose.words} sealed by the key {key.id.hex()} does not open: it was changed, "
            "or sealed for another place than this one",
            hint="restore it from a backup",
        ) from None


def _own_key(provider: Provider, key: SymmetricKey, header: bytes) -> bytes:
    info, salt = header[:_INFO_BYTES], header[_INFO_BYTES : _FIELDS.size]
    return provider.hkdf(key.secret, salt=salt, info=info, length=KEY_BYTES)


def _require_whole(data: bytes, least: int) -> None:
    if data[: len(MAGIC)] != MAGIC[: len(data)] or not data:
        raise SealedInvalid("this is no envelope of satchel")
    if len(data) < least:
        raise SealedInvalid(
            f"the envelope is cut off: it ends at byte {len(data)} of at least {least}",
            hint="restore it from a backup",
        )


def _require_cipher(provider: Provider, cipher: Cipher, suite: str) -> None:
    if cipher not in provider.algorithms:
        raise AlgorithmRefused(
            f"the envelope was sealed by the suite {suite}: the provider {provider.name}"
            f"{' in FIPS mode' if provider.fips else ''} does not have {cipher}",
            hint="open it with the provider that sealed it (`crypto.provider`)",
        )
