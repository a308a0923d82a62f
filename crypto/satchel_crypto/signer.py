"""Who signed something, as this machine knows it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Literal

from satchel_crypto.signed import Signed, key_id

if TYPE_CHECKING:
    from satchel_crypto.keystore import KeyStore

Who = Literal["this machine", "trusted", "unknown"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Signer:
    """`name` and `of` (`hub` or a replica's id) are those of a trusted key, else None.

    A trusted key that speaks for another machine than the document names is `unknown`, by name.
    """

    who: Who
    name: str | None
    of: str | None
    key_id: str
    """32 hex digits."""
    algorithm: str

    @property
    def trusted(self) -> bool:
        """Whether the signature counts here."""
        return self.who != "unknown"

    def as_dict(self) -> dict[str, str | None]:
        """As the doors show it."""
        return asdict(self)


def signer_of(keys: KeyStore, signed: Signed, *, speaking_for: str | None = None) -> Signer:
    """Whose key a signature is by; that it fits was found out before. Raises KeyInvalid.

    `speaking_for` is whom the signed document is about (`hub` or a replica's id, 32 hex digits):
    no trusted machine can speak for another one.
    """
    own = keys.signed_here(signed)
    known = None if own else keys.trusted.signer(signed.algorithm, signed.public)
    counts = known is not None and speaking_for in (None, known.of)
    return Signer(
        who="this machine" if own else "trusted" if counts else "unknown",
        name=known.name if known else None,
        of=(known.of or None) if known else None,
        key_id=key_id(keys.provider, signed.algorithm, signed.public).hex(),
        algorithm=signed.algorithm.value,
    )
