"""The ten synced row kinds, one file each; `TABLES` is the order in which they travel."""

from satchel_sync.tables.agent import AGENT, Agent
from satchel_sync.tables.chatlog import CHATLOG, Chatlog
from satchel_sync.tables.embedding import EMBEDDING, Embedding
from satchel_sync.tables.history import HISTORY, History
from satchel_sync.tables.kinds import EXTRA, TAGS, VERSION_COLUMNS, Column, Table, Value
from satchel_sync.tables.memory import MEMORY, Memory
from satchel_sync.tables.message import MESSAGE, Message
from satchel_sync.tables.relationship import RELATIONSHIP, Relationship
from satchel_sync.tables.session import SESSION, Session
from satchel_sync.tables.space import SPACE, Space
from satchel_sync.tables.task import TASK, Task

TABLES: tuple[Table, ...] = (
    SPACE,
    AGENT,
    SESSION,
    MEMORY,
    RELATIONSHIP,
    TASK,
    MESSAGE,
    CHATLOG,
    HISTORY,
    EMBEDDING,
)
"""Every synced table; text before embeddings, so that what was pulled is usable early."""

COLUMN_TAGS: dict[str, dict[str, str]] = {
    table.name: {column.name: column.tag for column in table.columns} for table in TABLES
}
"""Kind -> {data column: type tag}: what a handshake exchanges."""

BY_NAME: dict[str, Table] = {table.name: table for table in TABLES}

__all__ = [
    "AGENT",
    "BY_NAME",
    "CHATLOG",
    "COLUMN_TAGS",
    "EMBEDDING",
    "EXTRA",
    "HISTORY",
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
]
