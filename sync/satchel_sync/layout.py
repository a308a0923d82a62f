"""How the columns of two schemas lie in each other: what one side lacks goes to `extra`.

Content and digest stay the same either way, as the canonical bytes merge `extra` by name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from satchel_sync.digest import format_extra, parse_extra, value_bytes, value_of
from satchel_sync.tables import EXTRA, Table, Value


@dataclass(frozen=True)
class Layout:
    """One kind as both sides know it: `mine` and `theirs` are {column: tag} in stored order.

    `theirs` are those of a hub, or of whoever sent a bundle.
    """

    mine: Mapping[str, str]
    theirs: Mapping[str, str]

    @staticmethod
    def of(table: Table, theirs: Mapping[str, str]) -> Layout:
        """The layout of `table` at a hub with the columns `theirs`."""
        return Layout({column.name: column.tag for column in table.columns}, theirs)

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The hub's data columns and `extra`, in the order in which values are sent and read."""
        if self.same:
            return (*self.mine, EXTRA)
        return (*self.theirs, EXTRA)

    @cached_property
    def tags(self) -> tuple[str, ...]:
        """The type tags of `columns`."""
        return (*((self.mine if self.same else self.theirs)[n] for n in self.columns[:-1]), "t")

    @cached_property
    def same(self) -> bool:
        """Whether both sides know the same columns."""
        return self.mine == self.theirs

    @property
    def differing(self) -> list[str]:
        """Columns that both know under different types: such sides cannot talk."""
        return [n for n, tag in self.mine.items() if self.theirs.get(n, tag) != tag]

    def to_hub(self, values: Sequence[Value]) -> Sequence[Value]:
        """Values in my order (with `extra` last) as the hub stores them."""
        return values if self.same else _moved(values, self.mine, self.theirs)

    def from_hub(self, values: Sequence[Value]) -> tuple[Value, ...]:
        """Inverse of `to_hub`; a column that both know never stays in `extra`."""
        if self.same and values[-1] is None:
            return tuple(values)
        return _moved(values, self.mine if self.same else self.theirs, self.mine)


def _moved(
    values: Sequence[Value], source: Mapping[str, str], target: Mapping[str, str]
) -> tuple[Value, ...]:
    """Values laid out for `source` laid out for `target`."""
    known = dict(zip(source, values[:-1], strict=True))
    extra = values[-1]
    unknown = parse_extra(extra if isinstance(extra, str) else None)
    for name in [name for name in unknown if unknown[name][0] == target.get(name)]:
        known[name] = value_of(*unknown.pop(name))
    for name in source.keys() - target.keys():
        value = known[name]
        if value is not None:
            unknown[name] = (source[name], value_bytes(source[name], value))
    return (*(known.get(name) for name in target), format_extra(unknown))
