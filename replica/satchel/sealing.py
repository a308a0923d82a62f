"""Who a bundle is sealed for, and whose signature under one is taken."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from satchel.protection import key_store
from satchel_crypto.plain import PlainSealer
from satchel_sync.bundles.errors import BundleInvalid, BundleRefused
from satchel_sync.bundles.parcel import Head, ParcelKind
from satchel_sync.bundles.reader import Bundle
from satchel_sync.bundles.sealer import Opener, Sealer

if TYPE_CHECKING:
    from satchel.config import Settings
    from satchel_crypto.algorithms import Suite
    from satchel_crypto.keystore import KeyStore
    from satchel_crypto.signed import Signed
    from satchel_crypto.trusted import Trusted

HUB = "hub"
"""The name of the warehouse as a recipient, and as whom a key speaks for."""
IN_THE_CLEAR = "--insecure-plain"


def sealer_for(settings: Settings, to: str, bundle_id: bytes, *, plain: bool) -> Sealer:
    """What a bundle for `to` (`hub`, or a replica id) is sealed with: for it and for this machine.

    Raises BundleRefused where the recipient's key is not trusted here, or has no suite in common.
    """
    if plain:
        return PlainSealer()
    from satchel_crypto.bundle_seal import BundleSealer

    keys = key_store(settings)
    recipient = _recipient(keys, to)
    suite = _common(keys, recipient)
    theirs = recipient.keys_of(suite)
    publics = [theirs.agree] if theirs else []
    return BundleSealer.new(
        keys.provider,
        suite,
        bundle_id=bundle_id,
        signing=keys.signing(suite),
        recipients=dict.fromkeys([*publics, keys.agreement(suite).public]),
    )


def opener_for(settings: Settings, bundle: Bundle, *, plain: bool) -> Opener:
    """What a bundle that is to be imported is opened with, once its signer has been judged.

    Raises BundleInvalid (its signature does not fit), SignerUnknown, BundleRefused (in the clear, a
    signer who may not speak for the sender, or not sealed for this machine), AlgorithmRefused.
    """
    if bundle.header.suite == PlainSealer.name:
        if not plain:
            raise BundleRefused(
                "this bundle is in the clear: nothing proves who wrote it",
                hint=f"{IN_THE_CLEAR} imports it all the same",
            )
        return PlainSealer()
    suite, keys = _suite_of(bundle), key_store(settings)
    signed = _signature(bundle, suite, keys)
    if not keys.signed_here(signed):
        _require_may_speak(keys, signed, bundle.manifest.head)
    return _opener(bundle, suite, keys)


def described(settings: Settings, bundle: Bundle) -> dict[str, Any]:
    """What can be told of a bundle's seal without importing it, and the first damage in it.

    `signature` is `fits`, `does not fit`, `none` (in the clear) or why it was not checked.
    """
    if bundle.header.suite == PlainSealer.name:
        damage = _damage(bundle, PlainSealer())
        return {"signature": "none", "signer": None, "opens_here": True, "damage": damage}
    from satchel_crypto.errors import CryptoError
    from satchel_crypto.signer import signer_of

    signer, opener = None, None
    try:
        suite, keys = _suite_of(bundle), key_store(settings)
        signed = _signature(bundle, suite, keys)
        said, signer = "fits", signer_of(keys, signed).as_dict()
        opener = _opener(bundle, suite, keys)
    except BundleInvalid as error:
        said = "fits" if signer else "does not fit"
        return {"signature": said, "signer": signer, "opens_here": False, "damage": str(error)}
    except (CryptoError, BundleRefused) as error:
        said = "fits" if signer else f"not checked: {error}"
    return {
        "signature": said,
        "signer": signer,
        "opens_here": opener is not None,
        "damage": _damage(bundle, opener),
    }


# ---- exporting ----------------------------------------------------------------------------------


def _recipient(keys: KeyStore, to: str) -> Trusted:
    for one in keys.trusted.all():
        if one.of == to:
            return one
    whom, export = ("the warehouse", " --as hub") if to == HUB else (f"the replica {to}", "")
    raise BundleRefused(
        f"no key of {whom} is trusted here, so nothing can be sealed for it",
        hint=f"there: `satchel key export FILE{export}`; here: `satchel key trust FILE`"
        f" ({IN_THE_CLEAR} writes a bundle that anybody can read and forge)",
    )


def _common(keys: KeyStore, recipient: Trusted) -> Suite:
    """The suite that this machine prefers among those that the recipient has too."""
    for suite in keys.suites:
        if recipient.keys_of(suite):
            return suite
    theirs = ", ".join(one.suite.name for one in recipient.suites) or "none"
    raise BundleRefused(
        f"{recipient.name!r} has no suite in common with this machine: it has {theirs}, here are"
        f" {', '.join(one.name for one in keys.suites)}",
        hint="set the same crypto.provider on both, export the keys there again and trust them",
    )


# ---- importing ----------------------------------------------------------------------------------


def _suite_of(bundle: Bundle) -> Suite:
    from satchel_crypto.algorithms import BY_NAME

    found = BY_NAME.get(bundle.header.suite)
    if found is None or bundle.header.format < 2:
        raise BundleRefused(
            f"this bundle is sealed with {bundle.header.suite!r}, which this satchel cannot open",
            hint="upgrade satchel here",
        )
    return found


def _signature(bundle: Bundle, suite: Suite, keys: KeyStore) -> Signed:
    """A bundle's signature, which fits. Raises BundleInvalid, AlgorithmRefused."""
    from satchel_crypto.bundle_seal import PURPOSE, signature_of
    from satchel_crypto.errors import AlgorithmRefused
    from satchel_crypto.key_file import has

    if not has(keys.provider, suite):
        raise AlgorithmRefused(
            f"this bundle is sealed with {suite.name}, which {keys.provider.name} does not have",
            hint="set crypto.provider to the one that its sender uses",
        )
    signed = signature_of(suite, bundle.signature)
    if signed is None or not signed.fits(keys.provider, PURPOSE, bundle.signed):
        raise bundle.unsigned()
    return signed


def _require_may_speak(keys: KeyStore, signed: Signed, head: Head) -> None:
    """A push is signed by a key of its replica, all else by the hub's.

    A file that has a new id signs with its old key and names the old id among its predecessors;
    that is taken unless the new one belongs to another trusted key.
    """
    signer = keys.trusted.signer(signed.algorithm, signed.public)
    if signer is None:
        raise _unknown(keys, signed)
    sender = head.replica_id.hex() if head.kind is ParcelKind.PUSH else HUB
    older = {one.hex() for one in head.predecessors} if head.kind is ParcelKind.PUSH else set()
    others = {one.of for one in keys.trusted.all() if one is not signer}
    if signer.of != sender and (signer.of not in older or sender in others):
        whom = "the warehouse" if sender == HUB else f"the replica {sender}"
        raise BundleRefused(
            f"this bundle is signed by {signer.name!r}, whose key does not speak for {whom}",
            hint=f"if it should: satchel key trust ITS-KEY-FILE --as {sender}",
        )


def _opener(bundle: Bundle, suite: Suite, keys: KeyStore) -> Opener:
    from satchel_crypto.bundle_seal import BundleOpener
    from satchel_crypto.errors import KeyMissing, SealedInvalid

    try:
        return BundleOpener.find(
            keys.provider,
            suite,
            bundle_id=bundle.header.bundle_id,
            wraps=bundle.manifest.recipients,
            own=keys.agreements(suite),
        )
    except KeyMissing as error:
        raise BundleRefused(
            f"this bundle cannot be opened here: {error}",
            hint="import it where it belongs; or its sender has an old key file of this machine:"
            " `satchel key export` here, `satchel key trust` there, and export again",
        ) from error
    except SealedInvalid as error:
        raise BundleInvalid(f"the manifest's 'recipients' were not made so: {error}") from error


def _unknown(keys: KeyStore, signed: Signed) -> Exception:
    from satchel_crypto.errors import SignerUnknown
    from satchel_crypto.signed import key_id
    from satchel_crypto.trusted import grouped

    named = key_id(keys.provider, signed.algorithm, signed.public).hex()
    return SignerUnknown(
        f"this bundle is signed by the key {grouped(named)}, which is not trusted here",
        hint="get the sender's key file (`satchel key export FILE` there) and compare fingerprints:"
        " `satchel key trust FILE`",
    )


# ---- looking ------------------------------------------------------------------------------------


def _damage(bundle: Bundle, opener: Opener | None) -> str | None:
    """In words: the first one of all that can be checked, of the hashes alone without an opener."""
    try:
        if opener is not None:
            bundle.verified(opener, lambda phase, kind, done, of: None)
        else:
            for _ in bundle.chunks(PlainSealer().digest):
                pass
    except BundleInvalid as error:
        return str(error)
    return None
