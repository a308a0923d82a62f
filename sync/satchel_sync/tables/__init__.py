"""The ten synced row kinds, one file each; `TABLES` is the order in which they travel.

A kind's file is read when somebody asks for the kind: to make a frozen dataclass of many columns
takes milliseconds, and a command that starts for one search needs two of the ten.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import TYPE_CHECKING

from satchel_sync.tables.kinds import EXTRA, TAGS, VERSION_COLUMNS, Column, Table, Value

if TYPE_CHECKING:
    from satchel_sync.tables.agent import AGENT, Agent
    from satchel_sync.tables.chatlog import CHATLOG, Chatlog
    from satchel_sync.tables.embedding import EMBEDDING, Embedding
    from satchel_sync.tables.history import HISTORY, History
    from satchel_sync.tables.memory import MEMORY, Memory
    from satchel_sync.tables.message import MESSAGE, Message
    from satchel_sync.tables.relationship import RELATIONSHIP, Relationship
    from satchel_sync.tables.session import SESSION, Session
    from satchel_sync.tables.space import SPACE, Space
    from satchel_sync.tables.task import TASK, Task

    TABLES: tuple[Table, ...]
    """Every synced table; text before embeddings, so that what was pulled is usable early."""
    COLUMN_TAGS: dict[str, dict[str, str]]
    """Kind -> {data column: type tag}: what a handshake exchanges."""

KINDS = (
    "space",
    "agent",
    "session",
    "memory",
    "relationship",
    "task",
    "message",
    "chatlog",
    "history",
    "embedding",
)
"""The names of `TABLES`, in its order. Kind `task` is `TASK` and `Task` in the file `task.py`."""


class _ByName(Mapping[str, Table]):
    """Kind -> table, read when it is asked for."""

    def __getitem__(self, kind: str) -> Table:
        if kind not in KINDS:
            raise KeyError(kind)
        found = globals().get(kind.upper()) or _of_kind(kind.upper())
        assert isinstance(found, Table)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(KINDS)

    def __len__(self) -> int:
        return len(KINDS)


BY_NAME: Mapping[str, Table] = _ByName()


def table_of(row: type) -> Table:
    """The table of a row's dataclass. Raises KeyError for a class that is none."""
    found = BY_NAME[row.__name__.lower()]
    if found.row is not row:
        raise KeyError(row)
    return found


def _of_kind(name: str) -> object:
    """A kind's `TABLE` or `Row`, kept under its name. Raises AttributeError for other names."""
    if name.lower() not in KINDS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found: object = getattr(import_module(f"{__name__}.{name.lower()}"), name)
    globals()[name] = found
    return found


def _of_all(name: str) -> object:
    tables = tuple(BY_NAME.values())
    tags = {table.name: {column.name: column.tag for column in table.columns} for table in tables}
    found = {"TABLES": tables, "COLUMN_TAGS": tags}
    globals().update(found)
    return found[name]


if not TYPE_CHECKING:  # a checker takes the names from the imports above

    def __getattr__(name: str) -> object:
        """A kind, or what is made of all: asked for once, then found as any other name."""
        return _of_all(name) if name in ("TABLES", "COLUMN_TAGS") else _of_kind(name)


__all__ = [
    "AGENT",
    "BY_NAME",
    "CHATLOG",
    "COLUMN_TAGS",
    "EMBEDDING",
    "EXTRA",
    "HISTORY",
    "KINDS",
    "MEMORY",
    "MESSAGE",
    "RELATIONSHIP",
    "SESSION",
    "SPACE",
    "TABLES",
    "TAGS",
    "TASK",
    "VERSION_COLUMNS",
    "Agent",
    "Chatlog",
    "Column",
    "Embedding",
    "History",
    "Memory",
    "Message",
    "Relationship",
    "Session",
    "Space",
    "Table",
    "Task",
    "Value",
    "table_of",
]
