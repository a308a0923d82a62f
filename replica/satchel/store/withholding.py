"""Rows that never leave this machine: local memories and what is derived from or points at them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from satchel_sync.tables import Table

_WITHHELD_MEMORY = "EXISTS (SELECT 1 FROM withheld WHERE kind = 'memory' AND key = {id})"
WITHHELD: Mapping[str, str] = {
    "memory": "coalesce(NEW.local, 0) <> 0",
    "embedding": _WITHHELD_MEMORY.format(id="NEW.memory_id"),
    "relationship": _WITHHELD_MEMORY.format(id="NEW.from_id")
    + " OR "
    + _WITHHELD_MEMORY.format(id="NEW.to_id"),
    "history": "EXISTS (SELECT 1 FROM withheld WHERE kind = NEW.kind AND key = NEW.key)",
}
"""When a row is local, or derived from or pointing at a local row."""

_EDGES = "NEW.kind = 'memory' AND (e.from_id = NEW.key OR e.to_id = NEW.key)"
_HANGING = (
    f"SELECT 'relationship' AS kind, e.id AS key FROM relationship AS e WHERE {_EDGES}",
    (
        "SELECT 'embedding' AS kind, e.id AS key FROM embedding AS e"
        " WHERE NEW.kind = 'memory' AND e.memory_id = NEW.key"
    ),
    (
        "SELECT 'history' AS kind, h.id AS key FROM history AS h"
        " WHERE h.kind = NEW.kind AND h.key = NEW.key"
    ),
    (
        "SELECT 'history' AS kind, h.id AS key FROM relationship AS e"
        f" JOIN history AS h ON h.kind = 'relationship' AND h.key = e.id WHERE {_EDGES}"
    ),
)
"""(kind, key) of all that hangs on a row that is withheld now."""


def spread() -> str:
    """A trigger: what was made or queued before the row it hangs on became local stays as well.

    One statement a kind, since under `recursive_triggers` each of them does this for what it adds.
    """
    absent = "NOT EXISTS (SELECT 1 FROM withheld WHERE (kind, key) = (found.kind, found.key))"
    body = [
        f"INSERT INTO withheld(kind, key) SELECT kind, key FROM ({found}) AS found WHERE {absent};"
        for found in _HANGING
    ]
    gone = " UNION ALL ".join(("SELECT NEW.kind, NEW.key", *_HANGING))
    body.append(f"DELETE FROM outbox WHERE (kind, key) IN ({gone});")
    lines = "\n".join(body)
    return f"CREATE TRIGGER withheld_spread AFTER INSERT ON withheld BEGIN\n{lines}\nEND"


def withhold(table: Table) -> Iterator[str]:
    """Trigger statements that withhold the new row where its rule says so."""
    rule = WITHHELD.get(table.name)
    if rule:
        yield (
            f"INSERT INTO withheld(kind, key) SELECT '{table.name}', NEW.{table.key}"
            f" WHERE ({rule}) AND NOT EXISTS (SELECT 1 FROM withheld"
            f" WHERE kind = '{table.name}' AND key = NEW.{table.key});"
        )
