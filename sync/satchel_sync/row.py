"""A row in one version: stored, compared and sent. What else travels is in `changes`."""

from __future__ import annotations

from dataclasses import dataclass

from satchel_sync.stamp import Stamp
from satchel_sync.tables.kinds import Value


@dataclass(frozen=True, slots=True)
class Version:
    """A row's stamp and the versions that it builds on (space-separated `Stamp.hex()`)."""

    stamp: Stamp
    lineage: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """One row in one version.

    `values` are the table's data columns in their order, with `extra` last; a tombstone has only
    NULLs there.
    """

    key: str
    stamp: Stamp
    lineage: str
    values: tuple[Value, ...]

    @property
    def version(self) -> Version:
        """The row without its content."""
        return Version(self.stamp, self.lineage)
