"""Vaults of real files whose keys are quickly made, and passphrases that say how often they came.

The cheap derivation is refused by every vault that was not told to take it (test_hostile.py).
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from satchel_crypto.algorithms import Derivation, Hash
from satchel_crypto.canonical import canonical
from satchel_crypto.errors import ProviderUnavailable
from satchel_crypto.provider import Provider
from satchel_crypto.registry import provider
from satchel_crypto.vault import Vault
from satchel_crypto.vault.cost import Bounds, Cost

RIGHT = "correct horse battery staple"
VALUE = "hunter2-Zz-Qq-é"
BOUNDS = Bounds(iterations_min=1000, memory_kib_min=64, passes_min=1)
PBKDF2 = Cost(derivation=Derivation.PBKDF2_SHA256, passes=1000)
ARGON2 = Cost(derivation=Derivation.ARGON2ID, passes=1, memory_kib=64)


@dataclass
class Said:
    """Passphrases as somebody says them; `asked` counts."""

    old: str = RIGHT
    fresh: str = ""
    asked: list[str] = field(default_factory=list)

    def current(self) -> str:
        """The one that opens."""
        self.asked.append("current")
        return self.old

    def new(self) -> str:
        """The one that shall open."""
        self.asked.append("new")
        return self.fresh or self.old


def provider_or_skip(name: str) -> Provider:
    """A provider whose library is here."""
    try:
        return provider(name)
    except (ProviderUnavailable, ModuleNotFoundError) as error:
        pytest.skip(f"the provider {name} is not installed: {error}")


def cost_of(of: Provider) -> Cost:
    """The cheap derivation that this provider has."""
    return ARGON2 if Derivation.ARGON2ID in of.algorithms else PBKDF2


def vault_in(folder: Path, said: Said | None = None, of: Provider | None = None) -> Vault:
    """A vault of that folder, cheap to open."""
    of = of or provider()
    return Vault(folder, of, said or Said(), cost=cost_of(of), bounds=BOUNDS)


def document_of(folder: Path) -> dict[str, Any]:
    """What stands in the file."""
    found: dict[str, Any] = json.loads((folder / "vault.json").read_bytes())
    return found


def forged(document: dict[str, Any]) -> bytes:
    """A file of this content whose checksum fits, as anybody can make it."""
    rest = {name: value for name, value in document.items() if name != "checksum"}
    checksum = provider().digest(Hash.SHA256, canonical(rest)).hex()
    return canonical(rest | {"checksum": checksum}) + b"\n"


def forge(folder: Path, document: dict[str, Any], *, unseen: bool = False) -> None:
    """Put it in the vault's place; `unseen` also removes what remembers the last change."""
    (folder / "vault.json").write_bytes(forged(document))
    if unseen:
        (folder / "vault.seen").unlink(missing_ok=True)
