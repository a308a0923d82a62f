"""What can stand in the way of a host's settings being edited."""

from __future__ import annotations

from satchel.errors import Refused


class Malformed(Refused):
    """A host's settings cannot be read as they are, so they are left alone."""

    code = "settings_malformed"


class Unreadable(Refused):
    """A host's settings are no plain file that this user can read."""

    code = "settings_unreadable"


class NotOurs(Refused):
    """Something else stands where our entry would go, so it is left alone."""

    code = "settings_not_ours"
