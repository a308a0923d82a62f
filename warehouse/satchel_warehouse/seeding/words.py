"""What made-up agents write: sentences of a made-up organisation. Each says that it is made up."""

from __future__ import annotations

from collections.abc import Sequence

from satchel_warehouse.seeding.draw import Draw

MARK = "[seeded]"
"""Every text begins with it."""


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


_THINGS = _words(
    """
    service gateway scheduler importer exporter index cache queue broker database replica archive
    dashboard report invoice ledger catalogue search login session token certificate proxy
    cluster node volume bucket snapshot backup migration schema table column trigger endpoint
    client library package release branch pipeline runner build test fixture profile budget
    alert metric trace log sampler notifier mailer webhook editor plugin theme layout form wizard
    importance ranking embedding summary transcript checklist contract policy audit licence manual
    """
)
_NAMES = _words(
    """
    aspen birch cedar dune ember falcon garnet harbor iris juniper kestrel lantern meadow nimbus
    orchid pebble quartz raven sable thistle umber violet willow xenon yarrow zephyr
    """
)
_VERBS = _words(
    """
    uses needs replaces blocks feeds reads writes starts stops restarts retries skips warns logs
    keeps drops merges splits ships mirrors locks opens refuses prefers avoids measures renames
    """
)
_WHEN = (
    "since the move", "after every deploy", "before the first login", "on Mondays", "at midnight",
    "when the disk is full", "when the network is slow", "while a backup runs", "in staging only",
    "in every region", "for new customers", "for large files", "as the owner asked",
)  # fmt: skip
_WHY = (
    "because the old way lost rows", "so that a restart is safe", "as the limit is 500 a second",
    "which took three days to find", "and nobody should change it back", "as agreed in the review",
    "until the vendor answers", "although it costs a little more", "which the tests now check",
    "because two teams need it", "so the pager stays quiet", "and the numbers got better",
)  # fmt: skip


def _said(words: Sequence[str]) -> tuple[str, ...]:
    """As often as people say them: the first words far more often than the last."""
    return tuple(words[int(len(words) * (at / 256) ** 2)] for at in range(256))


_THINGS_SAID, _VERBS_SAID = _said(_THINGS), _said(_VERBS)


def thing(draw: Draw) -> str:
    """What a sentence is about: `harbor gateway`."""
    return _thing(draw.bits())[0]


def sentence(draw: Draw) -> str:
    """One statement; every fifth names a ticket, a word that hardly any other text has."""
    about, rest = _thing(draw.bits())
    with_, rest = _thing(rest)
    rest, verb = divmod(rest, len(_VERBS_SAID))
    rest, when = divmod(rest, len(_WHEN))
    rest, why = divmod(rest, len(_WHY))
    ticket = f" (ticket {rest % 500_000})" if rest % 5 == 0 else ""
    return f"The {about} {_VERBS_SAID[verb]} the {with_} {_WHEN[when]}, {_WHY[why]}{ticket}."


def _thing(bits: int) -> tuple[str, int]:
    """A thing, and what is left of the bits that chose it."""
    bits, name = divmod(bits, len(_NAMES))
    bits, noun = divmod(bits, len(_THINGS_SAID))
    return f"{_NAMES[name]} {_THINGS_SAID[noun]}", bits


def text(draw: Draw, sentences_max: int) -> str:
    """From one to so many sentences."""
    return " ".join([MARK, *(sentence(draw) for _ in range(draw.between(1, sentences_max)))])
