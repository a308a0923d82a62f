"""The keys of this machine and those it trusts, as the doors show and change them."""

from __future__ import annotations

import codecs
import platform
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from satchel import peers
from satchel.errors import ConfirmationNeeded, InvalidInput, OutputFailed, Refused
from satchel.memory.moments import iso
from satchel.plain_file import opener
from satchel.protection import key_store
from satchel.replica import DATABASE_FILE
from satchel.store.connection import SYSTEM_CLOCK
from satchel.whole_file import whole_file

if TYPE_CHECKING:
    from satchel.config import Settings
    from satchel_crypto.algorithms import Suite
    from satchel_crypto.key_file import KeyFile
    from satchel_crypto.keystore import KeyStore
    from satchel_crypto.trusted import Trusted

HUB = "hub"
"""Whom a key speaks for where it is the warehouse's side."""
STDOUT = "-"
ID_DIGITS = 32
Confirm = Callable[[str], bool]
"""Asks a person a question; False where there is none to ask."""


def init(settings: Settings, name: str | None = None, *, rotate: bool = False) -> dict[str, Any]:
    """Make the keys of this machine; with `rotate` new ones beside the old. Raises KeyInvalid."""
    store = key_store(settings)
    made = not store.exists()
    if name is not None or not store.name:
        store.rename(name if name is not None else _default_name())
    store.make()
    if rotate and not made:
        store.rotate()
    return {"made": made, "rotated": rotate and not made, **_own(settings, store)}


def list_(settings: Settings) -> dict[str, Any]:
    """Whose signatures count here, `items`: this machine first, once it has keys, then the others.

    `keys` are this machine's own, the newest of each use first.
    """
    store = key_store(settings)
    own = _own(settings, store) if store.exists() else None
    keys = own.pop("keys") if own else []
    trusted = [{"who": "trusted", **_shown(one)} for one in store.trusted.all()]
    return {"items": [*([{"who": "this machine", **own}] if own else []), *trusted], "keys": keys}


def export(
    settings: Settings, target: str, *, of: str | None = None, overwrite: bool = False
) -> tuple[bytes, dict[str, Any]]:
    """This machine's public keys as a file, `-` for none; the bytes of it and what they say.

    Raises ConfirmationNeeded (a file is there), InvalidInput, OutputFailed, KeyInvalid.
    """
    whom = _whom(of) if of is not None else own_id(settings)
    store = key_store(settings)
    if not store.name:
        store.rename(_default_name())
    data = store.key_file(name=store.name, of=whom, made_at=iso(SYSTEM_CLOCK.now_ms())) + b"\n"
    if target != STDOUT:
        _write(Path(target), data, overwrite)
    return data, {"file": target, "of": whom or None, **_own(settings, store)}


def trust(
    settings: Settings,
    data: bytes,
    *,
    name: str | None = None,
    of: str | None = None,
    fingerprint: str | None = None,
    confirm: Confirm = lambda question: False,
) -> dict[str, Any]:
    """Trust the keys in a key file, once somebody has compared the fingerprint.

    Keys that an older trusted key of the same machine signed for need no comparison. Raises
    ConfirmationNeeded, Refused (another fingerprint), KeyInvalid, SignatureInvalid.
    """
    from satchel_crypto.key_file import KeyFile
    from satchel_crypto.trusted import succeeded

    if data.startswith(b"-----BEGIN"):
        raise InvalidInput(
            "that is a public key in PEM, and no key file",
            hint="`satchel key export` writes one there; a PEM is for `verify.py --signer`",
            field="file",
        )
    store = key_store(settings)
    file = KeyFile.parse(data.removeprefix(codecs.BOM_UTF8), store.provider)
    before = succeeded(store.trusted.all(), file)
    whom = _whom(of) if of is not None else (before.of if before else file.of)
    if fingerprint is not None:
        _require_same(file, fingerprint)
    elif before is None:
        _require_compared(file, name or file.name, whom, confirm)
    added = store.trusted.add(
        file,
        name=name or (before.name if before else file.name),
        of=whom,
        added_at=iso(SYSTEM_CLOCK.now_ms()),
    )
    return {"trusted": True, "follows": before.name if before else None, **_shown(added)}


def untrust(settings: Settings, chosen: str) -> dict[str, Any]:
    """Trust a machine no more. Raises KeyMissing."""
    return {"trusted": False, **_shown(key_store(settings).trusted.remove(chosen))}


def own_id(settings: Settings) -> str:
    """The replica id of this home, or "" where there is no replica; none is made."""
    if not (settings.home / DATABASE_FILE).exists():
        return ""
    with peers.opened(settings) as store:
        return store.replica_id.hex()


def read(path: str) -> bytes:
    """A key file's bytes, no more than a key file may have. Raises InvalidInput."""
    from satchel_crypto.key_file import BYTES_MAX

    try:
        with open(path, "rb", opener=opener) as file:
            return file.read(BYTES_MAX + 1)
    except OSError as error:
        reason = error.strerror or error
        raise InvalidInput(f"{path} cannot be read: {reason}", field="file") from error


def _own(settings: Settings, store: KeyStore) -> dict[str, Any]:
    from satchel_crypto.trusted import grouped

    def held(suite: Suite, use: str, ids: list[bytes]) -> list[dict[str, Any]]:
        return [
            {"suite": suite.name, "use": use, "key_id": one.hex(), "now": number == 0}
            for number, one in enumerate(ids)
        ]

    found = [
        one
        for suite in store.suites
        for one in (
            *held(suite, "sign", [key.id for key in store.signings(suite)]),
            *held(suite, "seal for", [key.id for key in store.agreements(suite)]),
        )
    ]
    return {
        "name": store.name,
        "fingerprint": grouped(store.fingerprint()),
        "suite": store.suite.name,
        "provider": store.provider.name,
        "keys": found,
    }


def _shown(one: Trusted) -> dict[str, Any]:
    from satchel_crypto.trusted import grouped

    return {
        "name": one.name,
        "of": one.of or None,
        "fingerprint": grouped(one.fingerprint),
        "added_at": one.added_at,
        "suites": [keys.suite.name for keys in one.suites],
        "older_keys": len(one.previous),
    }


def _default_name() -> str:
    from satchel_crypto.key_file import NAME_MAX

    node = "".join(one for one in platform.node() if one.isprintable()).strip()
    return node[:NAME_MAX].strip() or "satchel"


def _whom(said: str) -> str:
    digits = said.lower().replace("-", "")
    if said == HUB or (len(digits) == ID_DIGITS and not set(digits) - set("0123456789abcdef")):
        return HUB if said == HUB else digits
    raise InvalidInput(
        f"{said[:80]!r} is neither `hub` nor the {ID_DIGITS} digits of a replica id",
        hint="`satchel sync status` on that machine shows its id",
        field="as",
    )


def _require_same(file: KeyFile, said: str) -> None:
    from satchel_crypto.trusted import grouped

    if "".join(one for one in said.lower() if one not in " :-") != file.fingerprint:
        raise Refused(
            f"the key file has another fingerprint: {grouped(file.fingerprint)}",
            hint="it is not the file that its owner read to you: get it again, by another way",
            field="fingerprint",
        )


def _require_compared(file: KeyFile, name: str, whom: str, confirm: Confirm) -> None:
    from satchel_crypto.trusted import grouped

    speaks = {"": "nobody", HUB: "the warehouse"}.get(whom, f"the replica {whom}")
    told = f"the key of {name!r} ({speaks}) has the fingerprint {grouped(file.fingerprint)}"
    if not confirm(f"{told}. Does that machine show the same (`satchel key list`)?"):
        raise ConfirmationNeeded(
            f"{told}: nobody has compared it",
            hint="compare it with what `satchel key list` shows there, then give --fingerprint",
            field="fingerprint",
        )


def _write(path: Path, data: bytes, overwrite: bool) -> None:
    if path.exists() and not path.is_file():
        raise InvalidInput(f"{path} is no file", field="file")
    if path.exists() and not overwrite:
        raise ConfirmationNeeded(f"{path} is there already", hint="--yes writes over it")
    try:
        with whole_file(path, overwrite=True) as out:
            out.write(data)
    except OSError as error:
        raise OutputFailed(f"{path} cannot be written: {error.strerror}", field="file") from error
