"""What can go wrong while a kit is built, each with a code and a way to mend it."""

from __future__ import annotations


class KitError(Exception):
    """A kit cannot be built, signed or checked."""

    code = "kit_failed"

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class TargetUnknown(KitError):
    """No kit is built for such a machine."""

    code = "kit_target_unknown"


class WheelMissing(KitError):
    """A wheel that the kit needs is not to be had, or is not the pinned one."""

    code = "kit_wheel_missing"


class OutputRefused(KitError):
    """The folder for the kit cannot be used."""

    code = "kit_output_refused"
