"""Two times as one SQL predicate: when it was true, and when this memory held it (rows.md).

A question about the present is asked of what this memory holds, whatever the clocks say: a row that
came from a machine whose clock is a little fast is known, and true, from the moment it is here.
"""

from __future__ import annotations

from dataclasses import dataclass

SQL = """(
    (:known_at IS NULL OR {t}.recorded_at IS NULL OR {t}.recorded_at <= :known_at)
    AND ({t}.expires_at IS NULL OR {t}.expires_at > coalesce(:known_at, :now))
    AND ({t}.valid_from IS NULL OR {t}.valid_from <= {instant})
    AND (CASE WHEN :known_at < {t}.retired_at THEN {t}.valid_to_was ELSE {t}.valid_to END IS NULL
         OR {instant} < CASE WHEN :known_at < {t}.retired_at
                             THEN {t}.valid_to_was ELSE {t}.valid_to END)
)"""
INSTANT = """CASE WHEN :as_of IS NOT NULL THEN :as_of WHEN :known_at IS NOT NULL THEN :now
    ELSE max(:now, coalesce({t}.recorded_at, :now), coalesce({t}.retired_at, :now)) END"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """What is asked for: true at `as_of`, as it was known at `known_at`; all UTC milliseconds.

    None = not given: true now, and whatever is known now.
    """

    now: int
    as_of: int | None = None
    known_at: int | None = None

    @property
    def params(self) -> dict[str, int | None]:
        """Values of the predicate's named parameters."""
        return {"now": self.now, "as_of": self.as_of, "known_at": self.known_at}

    @property
    def asked_at_ms(self) -> int:
        """The present of who asks: "last week" is the week before it."""
        if self.as_of is not None:
            return self.as_of
        return self.now if self.known_at is None else self.known_at

    def instant(self, recorded_at: int | None, retired_at: int | None) -> int:
        """When the row must be true. The present is no earlier than what a held row has seen."""
        if self.as_of is not None:
            return self.as_of
        if self.known_at is not None:
            return self.now
        return max(self.now, recorded_at or self.now, retired_at or self.now)


def answers(alias: str) -> str:
    """SQL: the row answers (as_of, known_at). Parameters are `Moment.params`.

    recorded_at <= k, and valid_from <= v < (valid_to_was if k < retired_at else valid_to), NULL
    ends open; an expired row is no longer known. Without k everything here is known; without both,
    v is now or the row's own latest stamp, whichever is later.
    """
    return SQL.format(t=alias, instant=INSTANT.format(t=alias))


def answers_turn(alias: str) -> str:
    """SQL: the turn was said by (as_of, known_at). Parameters are `Moment.params`."""
    return " AND ".join(
        f"(:{time} IS NULL OR {alias}.said_at IS NULL OR {alias}.said_at <= :{time})"
        for time in ("as_of", "known_at")
    )


def holds(
    moment: Moment,
    *,
    recorded_at: int | None,
    valid_from: int | None,
    valid_to: int | None,
    valid_to_was: int | None,
    retired_at: int | None,
    expires_at: int | None,
) -> bool:
    """The same rule for a row in hand."""
    known_at = moment.known_at
    before = known_at is not None and retired_at is not None and known_at < retired_at
    end = valid_to_was if before else valid_to
    instant = moment.instant(recorded_at, retired_at)
    return (
        (known_at is None or recorded_at is None or recorded_at <= known_at)
        and (expires_at is None or expires_at > (moment.now if known_at is None else known_at))
        and (valid_from is None or valid_from <= instant)
        and (end is None or instant < end)
    )
