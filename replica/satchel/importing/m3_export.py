"""The JSON export of m3-memory as the tables that it was made of: its memories and their edges."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from satchel.errors import InvalidInput
from satchel.importing.documents import Found, walk
from satchel.importing.files import read_whole, text_of
from satchel.importing.records import Fault
from satchel.importing.sqlite_file import Row

ITEMS, EDGES = "memory_items", "memory_relationships"


class ExportFile:
    """`{"exported_at", "item_count", "items": [{…columns, "embeddings", "relationships"}]}`."""

    def __init__(self, path: Path) -> None:
        """Raises InvalidInput where there are no items in it."""
        self.faults: list[Fault] = []
        self._tables: dict[str, list[dict[str, Any]]] = {ITEMS: [], EDGES: []}
        for found in walk(text_of(read_whole(path)), {"items"}):
            if isinstance(found, Fault):
                self.faults.append(found)
            elif found.list_name == "items":
                self._take(found)
        if not self._tables[ITEMS]:
            fault = f"{path} is neither a database nor an export of m3-memory"
            raise InvalidInput(fault, field="path")

    def _take(self, found: Found) -> None:
        item = found.value
        if not isinstance(item, Mapping) or "id" not in item:
            self.faults.append(Fault(found.place, InvalidInput("the item has no `id`", field="id")))
            return
        self._tables[ITEMS].append(dict(item))
        edges = item.get("relationships")
        for number, edge in enumerate(edges if isinstance(edges, list) else ()):
            if isinstance(edge, Mapping):
                name = f"{number} of {item['id']}"
                self._tables[EDGES].append({**edge, "id": name, "from_id": item["id"]})

    def has(self, table: str, *columns: str) -> bool:
        """Whether there is a table of that name; each item says of itself what it has."""
        return table in self._tables

    def count(self, table: str) -> int:
        """How many there are."""
        return len(self._tables.get(table, ()))

    def rows(self, table: str, *needed: str) -> Iterator[Row]:
        """In the order of the file, each with what is needed of it: NULL where it has none."""
        for row in self._tables.get(table, ()):
            yield {**dict.fromkeys(needed), **row}

    def close(self) -> None:
        """Nothing is open."""
