"""The content of `vault.json`: parsed within bounds, written in one canonical form.

{"format": "satchel vault", "version": 1, "vault_id": hex 16, "revision": n, "key_id": hex 16,
 "passphrase": {"derivation", "passes", "memory_kib", "salt": hex 16, "check", "wrapped"},
 "device": envelope | null,
 "secrets": {NAME: {"version": n, "updated_at": ms, "sealed": envelope}},
 "mac": hex 32, "checksum": hex 32}

Envelopes are base64 (`satchel_crypto.envelope`). `mac` stands over all but itself and `checksum`,
and needs the data key; `checksum` stands over all but itself, and finds damage without any key.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from satchel_crypto.algorithms import Derivation, Hash
from satchel_crypto.canonical import INTEGER_MAX, canonical
from satchel_crypto.envelope import Envelope
from satchel_crypto.errors import SealedInvalid, VaultDamaged
from satchel_crypto.provider import Provider
from satchel_crypto.vault.cost import SALT_BYTES, Bounds, Cost
from satchel_crypto.vault.store import NAME, NAMES_MAX, VALUE_BYTES_MAX, VERSION_MAX

FORMAT = "satchel vault"
VERSION = 1
ID_BYTES = 16
MAC_BYTES = 32
FILE_BYTES_MAX = 8 * 1024 * 1024
"""Of the file: no more is read, and none is written."""
_ENVELOPE_CHARACTERS_MAX = (VALUE_BYTES_MAX + 1024) * 4 // 3
_KEYS = {"format", "version", "vault_id", "revision", "key_id", "passphrase", "device", "secrets"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """The data key as the passphrase opens it. `check` opens under the right passphrase only."""

    cost: Cost
    salt: bytes
    check: bytes = field(repr=False)
    wrapped: bytes = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One secret, sealed."""

    version: int
    updated_at: int
    sealed: bytes = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A vault. `revision` grows by one with each change; `device` is a second way to the key."""

    vault_id: bytes
    revision: int
    key_id: bytes
    passphrase: Slot
    device: bytes | None = field(default=None, repr=False)
    rows: Mapping[str, Row] = field(default_factory=dict)
    mac: bytes = b""

    def table(self) -> bytes:
        """What `mac` stands over: every name, version and sealed byte, and both ways to the key."""
        return canonical(self._as_dict())

    def to_bytes(self, provider: Provider) -> bytes:
        """The file."""
        document = self._as_dict() | {"mac": self.mac.hex()}
        checksum = provider.digest(Hash.SHA256, canonical(document))
        return canonical(document | {"checksum": checksum.hex()}) + b"\n"

    def _as_dict(self) -> dict[str, Any]:
        slot = self.passphrase
        return {
            "format": FORMAT,
            "version": VERSION,
            "vault_id": self.vault_id.hex(),
            "revision": self.revision,
            "key_id": self.key_id.hex(),
            "passphrase": {
                "derivation": slot.cost.derivation.value,
                "passes": slot.cost.passes,
                "memory_kib": slot.cost.memory_kib,
                "salt": slot.salt.hex(),
                "check": _text(slot.check),
                "wrapped": _text(slot.wrapped),
            },
            "device": None if self.device is None else _text(self.device),
            "secrets": {
                name: {
                    "version": row.version,
                    "updated_at": row.updated_at,
                    "sealed": _text(row.sealed),
                }
                for name, row in self.rows.items()
            },
        }


def parse(data: bytes, provider: Provider, bounds: Bounds) -> Document:
    """Inverse of `to_bytes`; the MAC is not checked yet. Raises VaultDamaged.

    A byte that is not as `to_bytes` would write it is damage, be it a blank.
    """
    fields = _fields(data)
    if fields.get("format") != FORMAT:
        raise VaultDamaged("the file is no vault of satchel")
    if fields.get("version") != VERSION:
        raise VaultDamaged(
            "the vault is of a version that this satchel does not read",
            hint="upgrade satchel here; if it is up to date, restore the file from a backup",
        )
    if set(fields) != _KEYS | {"mac", "checksum"}:
        raise VaultDamaged("the vault lacks a field, or has one too many")
    found = Document(
        vault_id=_hex(fields["vault_id"], ID_BYTES),
        revision=_integer(fields["revision"], 1, INTEGER_MAX - 1),
        key_id=_hex(fields["key_id"], ID_BYTES),
        passphrase=_slot(fields["passphrase"], bounds),
        device=None if fields["device"] is None else _envelope(fields["device"]),
        rows=_rows(fields["secrets"]),
        mac=_hex(fields["mac"], MAC_BYTES),
    )
    if found.to_bytes(provider) != data:
        raise VaultDamaged("the vault's checksum does not fit: the file was damaged or edited")
    return found


def _fields(data: bytes) -> dict[str, Any]:
    """The JSON document, if it is one. No error of the parser is kept: it quotes the file."""
    fields: Any = None
    with suppress(ValueError, RecursionError):  # said below, where none of them is the context
        fields = json.loads(data.decode("utf-8"))
    if not isinstance(fields, dict):
        raise VaultDamaged("the file is no vault of satchel, or was cut off")
    return fields


def _slot(value: Any, bounds: Bounds) -> Slot:
    fields = _object(value, {"derivation", "passes", "memory_kib", "salt", "check", "wrapped"})
    if fields["derivation"] not in (Derivation.PBKDF2_SHA256.value, Derivation.ARGON2ID.value):
        raise VaultDamaged("the vault names a key derivation that satchel does not use")
    cost = Cost(
        derivation=Derivation(fields["derivation"]),
        passes=_integer(fields["passes"], 1, INTEGER_MAX),
        memory_kib=_integer(fields["memory_kib"], 0, INTEGER_MAX),
    )
    bounds.require(cost)
    return Slot(
        cost=cost,
        salt=_hex(fields["salt"], SALT_BYTES),
        check=_envelope(fields["check"]),
        wrapped=_envelope(fields["wrapped"]),
    )


def _rows(value: Any) -> dict[str, Row]:
    if not isinstance(value, dict) or len(value) > NAMES_MAX:
        raise VaultDamaged("the vault has no table of secrets that satchel wrote")
    if not all(NAME.fullmatch(name) for name in value):
        raise VaultDamaged("the vault has a name that satchel would not have taken")
    return {name: _row(row) for name, row in value.items()}


def _row(value: Any) -> Row:
    fields = _object(value, {"version", "updated_at", "sealed"})
    return Row(
        version=_integer(fields["version"], 1, VERSION_MAX),
        updated_at=_integer(fields["updated_at"], 0, INTEGER_MAX),
        sealed=_envelope(fields["sealed"]),
    )


def _object(value: Any, keys: set[str]) -> dict[str, Any]:
    if not isinstance(value, dict) or set(value) != keys:
        raise VaultDamaged("a part of the vault lacks a field, or has one too many")
    return value


def _integer(value: Any, least: int, most: int) -> int:
    if type(value) is not int or not least <= value <= most:
        raise VaultDamaged("the vault has a number that satchel would not have written")
    return value


def _hex(value: Any, length: int) -> bytes:
    if isinstance(value, str) and len(value) == 2 * length:
        with suppress(ValueError):
            return bytes.fromhex(value)
    raise VaultDamaged(f"the vault has something else where {length} bytes in hex should be")


def _envelope(value: Any) -> bytes:
    """Sealed bytes that are one in form. Raises AlgorithmRefused for a suite nobody knows."""
    if isinstance(value, str) and len(value) <= _ENVELOPE_CHARACTERS_MAX:
        with suppress(ValueError, SealedInvalid):  # base64's own error is a ValueError
            sealed = b64decode(value, validate=True)
            Envelope.parse(sealed)
            return sealed
    raise VaultDamaged("the vault has something else where sealed bytes should be")


def _text(data: bytes) -> str:
    return b64encode(data).decode("ascii")
