"""Two times as one SQL predicate: when it was true, and when this memory held it (rows.md)."""

from __future__ import annotations

from dataclasses import dataclass

SQL = """(
    ({t}.recorded_at IS NULL OR {t}.recorded_at <= :known_at)
    AND ({t}.valid_from IS NULL OR {t}.valid_from <= :as_of)
    AND ({t}.expires_at IS NULL OR {t}.expires_at > :known_at)
    AND (CASE WHEN :known_at < {t}.retired_at THEN {t}.valid_to_was ELSE {t}.valid_to END IS NULL
         OR :as_of < CASE WHEN :known_at < {t}.retired_at
                          THEN {t}.valid_to_was ELSE {t}.valid_to END)
)"""


@dataclass(frozen=True, slots=True)
class Moment:
    """What is asked for: true at `as_of`, as it was known at `known_at`; both UTC milliseconds."""

    as_of: int
    known_at: int

    @staticmethod
    def of(now_ms: int, as_of: int | None = None, known_at: int | None = None) -> Moment:
        """Both default to now."""
        return Moment(now_ms if as_of is None else as_of, now_ms if known_at is None else known_at)

    @property
    def params(self) -> dict[str, int]:
        """Values of the predicate's named parameters."""
        return {"as_of": self.as_of, "known_at": self.known_at}


def answers(alias: str) -> str:
    """SQL: the row answers (as_of, known_at). Parameters are `Moment.params`.

    recorded_at <= k, and valid_from <= v < (valid_to_was if k < retired_at else valid_to), NULL
    ends open; an expired row is no longer known.
    """
    return SQL.format(t=alias)


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
    end = valid_to_was if retired_at is not None and moment.known_at < retired_at else valid_to
    return (
        (recorded_at is None or recorded_at <= moment.known_at)
        and (valid_from is None or valid_from <= moment.as_of)
        and (expires_at is None or expires_at > moment.known_at)
        and (end is None or moment.as_of < end)
    )
