"""Which model questions are asked with, and which one is to take its place: facts of the replica.

The configuration names the model that somebody wants. What the database remembers is another
matter: the model whose vectors are whole. It is asked with until those of the wanted one are whole
too, and then the two change places in one transaction. So all processes of a home agree, whatever
their environment says.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from satchel.store.meta import meta, set_meta

if TYPE_CHECKING:
    from apsw import Connection

    from satchel.replica import Replica

NAME = "models"
"""The row of the table `meta`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Ids of models (`name@12 hex digits`)."""

    in_use: str | None = None
    """Questions are asked with it; None before the first vector: then with the configured one."""
    becoming: str | None = None
    """Texts are getting vectors of it; once all have them it is the one in use."""
    left: tuple[str, ...] = ()
    """No longer used: no text gets vectors of them any more."""
    dropped: bool = True
    """Whether the vectors of those are gone, where no other machine has them."""

    @property
    def target(self) -> str | None:
        """The model of which every text is to have vectors."""
        return self.becoming or self.in_use

    def towards(self, wanted: str) -> Standing:
        """A change to this model is begun; to the one in use, what was begun is called off."""
        if self.in_use is None:
            return replace(self, in_use=wanted)
        becoming = None if wanted == self.in_use else wanted
        return replace(self, becoming=becoming).leaving(self.becoming)

    def arrived(self) -> Standing:
        """The change is done."""
        if self.becoming is None:
            return self
        return replace(self, in_use=self.becoming, becoming=None).leaving(self.in_use)

    def leaving(self, model_id: str | None) -> Standing:
        """This model is used no longer, unless it is."""
        used = (self.in_use, self.becoming, None)
        left = tuple(one for one in dict.fromkeys([*self.left, model_id]) if one not in used)
        return replace(self, left=left, dropped=self.dropped and model_id in used)


def read(db: Connection) -> Standing:
    """What this database remembers."""
    held = meta(db, NAME)
    if held is None:
        return Standing()
    found = json.loads(held)
    return Standing(
        in_use=found["in_use"],
        becoming=found["becoming"],
        left=tuple(found["left"]),
        dropped=found["dropped"],
    )


def keep(db: Connection, standing: Standing) -> None:
    """Inside a write."""
    if standing != read(db):
        set_meta(db, NAME, json.dumps(asdict(standing)))


class Settled(NamedTuple):
    """Which of the models that vectors were made with are wanted, and whether more are."""

    kept: tuple[str, ...]
    more: bool


def settled(db: Connection, replica: Replica, made: Sequence[str]) -> Settled:
    """Inside a write: what a text with new vectors of these models is to keep of them.

    The first vectors of all decide which model is in use.
    """
    held = read(db)
    if held.in_use is None and replica.given_embedder is None:
        held = held.towards(made[0])
        keep(db, held)
    kept = tuple(one for one in made if one not in held.left)
    is_asked_for = replica.given_embedder is None and held.target is not None
    return Settled(kept, is_asked_for and held.target not in kept)
