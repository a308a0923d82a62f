"""The keys of this machine, those it trusts, and its secrets: each file is read, none is made."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from satchel.doctor.check import Check, failed
from satchel.errors import SatchelError
from satchel_crypto.errors import CryptoError

if TYPE_CHECKING:
    from satchel.config import Settings


def keys(settings: Settings) -> Iterator[Check]:
    """The key files, then the vault or the keyring."""
    yield _keys(settings)
    yield _secrets(settings)


def _keys(settings: Settings) -> Check:
    """Every fault is told: one damaged key does not hide another."""
    from satchel.protection import device_secrets

    held = device_secrets(settings.home)
    faults: list[SatchelError | CryptoError] = []
    names, trusted = held.names(), 0
    for name in names:
        try:
            held.get(name)
        except CryptoError as error:
            faults.append(error)
    try:
        trusted = _trusted(settings)
    except (SatchelError, CryptoError) as error:
        faults.append(error)
    if len(faults) == 1:
        return failed("keys", faults[0])
    if faults:
        hints = dict.fromkeys(error.hint for error in faults if error.hint)
        found = "; ".join(dict.fromkeys(map(str, faults)))
        return Check(name="keys", ok="fail", found=found, fix="; ".join(hints))
    if not names:
        return Check(name="keys", ok="ok", found="none made yet")
    return Check(name="keys", ok="ok", found=f"{len(names)} of this machine, {trusted} trusted")


def _trusted(settings: Settings) -> int:
    """How many keys are trusted; the name of this machine is read as well."""
    from satchel.protection import key_store

    store = key_store(settings)
    _ = store.name
    return len(store.trusted.all())


def _secrets(settings: Settings) -> Check:
    """The vault is really opened, where that asks nobody."""
    from satchel import secret_store

    try:
        told = secret_store.state(settings)
    except (SatchelError, CryptoError) as error:
        return failed("secrets", error)
    if not told["names"]:
        return Check(name="secrets", ok="ok", found="none kept")
    found = f"{told['names']} in {told['place']}, opens {told['opens']}"
    return Check(name="secrets", ok="ok", found=found)
