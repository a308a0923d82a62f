"""What users write: texts that occur once, and name the memory whose content they are."""

from __future__ import annotations

from itertools import count

from satchel_sync.tables import MEMORY, Value

KEYS = 3


class Texts:
    """Texts by running number; one of memory 2 contains `mark(2)`, and so does what quotes it."""

    def __init__(self) -> None:
        self._numbers = count(1)

    def number(self) -> int:
        """The next number."""
        return next(self._numbers)

    def plain(self) -> str:
        """A text of nobody's."""
        return f"text {self.number()}"

    def of_memory(self, key: int) -> str:
        """A new content of a memory."""
        return f"{mark(f'm{key}')} {self.number()}"

    def derived(self, kind: str, key: int) -> tuple[str, str, dict[str, object]]:
        """(kind, key, columns) of a row about a memory."""
        memory, text = f"m{key}", self.of_memory(key)
        other = f"m{(key + 1) % KEYS}"
        match kind:
            case "history":
                columns: dict[str, object] = {"kind": "memory", "key": memory, "changes": text}
                return kind, f"h{self.number()}", columns
            case "edge history":
                columns = {"kind": "relationship", "key": f"e{key}", "changes": text}
                return "history", f"h{self.number()}", columns
            case "embedding":
                return kind, f"v{key}", {"memory_id": memory, "vector": text.encode()}
        return kind, f"e{key}", {"from_id": memory, "to_id": other, "metadata": text}

    @staticmethod
    def key_of(kind: str, key: int) -> str:
        """The key of a row that a step names."""
        return f"{ {'memory': 'm', 'relationship': 'e', 'task': 't'}[kind] }{key}"

    def values_of_damage(self) -> tuple[Value, ...]:
        """What a disk that lies makes of a memory."""
        text = f"damage {self.number()}"
        return (*(text if name == "content" else None for name in MEMORY.names), None)


def mark(key: str) -> str:
    """What every text that quotes a memory contains."""
    return f"<{key}>"
