"""SatchelError and its family: what can go wrong, each with a code and the exit code of its kind.

SatchelError                 1
├── InvalidInput             2  a value was given that cannot be used
│   └── UnknownArgument      2  a name was given that nothing here has
├── AmbiguousId              2  a short id fits more than one row
├── ConfigInvalid            2  a setting is unknown or has a value that cannot be used
├── NotFound                 3  no such row, or not one this caller may see: the same words
├── Refused                  4  a policy says no
│   └── ConfirmationNeeded   4  a destructive tool was called without `confirm`
├── Conflict                 5  the row changed meanwhile
├── StoreUnusable            1  the replica's file or folder cannot be used
├── StoreBusy                1  another process holds the replica for too long
├── StoreNewer              13  a newer satchel wrote this replica
├── BackupUnusable           1  a folder or file is no whole backup of a replica
├── TimedOut                 1  a call took longer than it may, and was stopped
├── EngineUnavailable        1  an optional engine was asked for and is not there
└── OutputFailed             1  the answer could not be written to stdout
"""

from __future__ import annotations

from collections.abc import Iterable

POINTER = "`satchel doctor` tells more"
DOCTORS = frozenset(
    {
        *("store_unusable", "store_newer", "store_busy", "config_invalid", "engine_unavailable"),
        *("ranking_unavailable", "native_mismatch", "provider_unavailable", "fips_refused"),
        *("selftest_failed", "vault_damaged", "hub_unreachable", "hub_refused", "hub_read_only"),
    }
)
"""Codes of what keeps satchel from starting, or from reaching its warehouse: `satchel doctor` looks
at each of these."""


class SatchelError(Exception):
    """Something failed. `code` is for programs, `exit_code` for the shell, `hint` for people.

    `field` names the argument, setting or row that was at fault, where there is one.
    """

    code = "failed"
    exit_code = 1

    def __init__(self, message: str, *, hint: str = "", field: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint
        self.field = field

    def as_dict(self) -> dict[str, str]:
        """The error as the doors show it: code, message, hint and field, all text."""
        return describe(self)


class InvalidInput(SatchelError):
    """A value was given that cannot be used."""

    code = "invalid_input"
    exit_code = 2


class UnknownArgument(InvalidInput):
    """A name was given that nothing here has."""

    code = "unknown_argument"


class AmbiguousId(SatchelError):
    """A short id fits more than one row."""

    code = "ambiguous_id"
    exit_code = 2


class ConfigInvalid(SatchelError):
    """A setting is unknown or has a value that cannot be used."""

    code = "config_invalid"
    exit_code = 2


class NotFound(SatchelError):
    """No such row, or not one this caller may see: the same words for both."""

    code = "not_found"
    exit_code = 3


class Refused(SatchelError):
    """A policy says no."""

    code = "refused"
    exit_code = 4


class ConfirmationNeeded(Refused):
    """A destructive tool was called without `confirm`."""

    code = "confirm_needed"


class Conflict(SatchelError):
    """The row changed meanwhile, or another caller holds it."""

    code = "conflict"
    exit_code = 5


class StoreUnusable(SatchelError):
    """The replica's file or folder cannot be used."""

    code = "store_unusable"


class StoreBusy(SatchelError):
    """Another process holds the replica for longer than the busy timeout."""

    code = "store_busy"


class StoreNewer(SatchelError):
    """A newer satchel wrote this replica: this one leaves it alone."""

    code = "store_newer"
    exit_code = 13


class BackupUnusable(SatchelError):
    """A folder or file is no whole backup of a replica, or it was damaged."""

    code = "backup_unusable"


class TimedOut(SatchelError):
    """A call took longer than it may, and was stopped."""

    code = "timed_out"


class EngineUnavailable(SatchelError):
    """An optional engine was asked for and is not there."""

    code = "engine_unavailable"


class OutputFailed(SatchelError):
    """The answer could not be written to stdout."""

    code = "output_failed"


def describe(error: Exception) -> dict[str, str]:
    """A typed error of any of our packages as {code, message, hint, field}."""
    return {
        "code": str(getattr(error, "code", SatchelError.code)),
        "message": str(error),
        "hint": str(getattr(error, "hint", "")),
        "field": str(getattr(error, "field", None) or ""),
    }


def is_typed(error: BaseException) -> bool:
    """Whether an error is of one of our packages: each has its own tree, all carry these two."""
    code, exit_code = getattr(error, "code", None), getattr(error, "exit_code", None)
    return isinstance(error, Exception) and isinstance(code, str) and isinstance(exit_code, int)


def explain(error: Exception) -> tuple[dict[str, str], int]:
    """What a door shows of any exception, and its exit code; an untyped one is `internal`, 1.

    Of what is wrong with this machine the hint ends with who tells more: the doctor.
    """
    if is_typed(error):
        shown = describe(error)
        if shown["code"] in DOCTORS and "satchel doctor" not in shown["hint"]:
            shown["hint"] = "; ".join(filter(None, (shown["hint"], POINTER)))
        return shown, int(getattr(error, "exit_code", SatchelError.exit_code))
    message = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    hint = "this is a fault of satchel: please report it, with what --verbose shows"
    if isinstance(error, ImportError):
        hint = f"a package that satchel needs is missing or broken: {POINTER}"
    return {"code": "internal", "message": message, "hint": hint, "field": ""}, 1


def did_you_mean(given: str, known: Iterable[str]) -> str:
    """A hint naming the nearest of `known`, or "" when nothing is near."""
    import difflib  # only a mistake needs it

    near = difflib.get_close_matches(given, list(known), n=1, cutoff=0.6)
    return f"did you mean {near[0]!r}?" if near else ""
