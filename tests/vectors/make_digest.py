"""Makes tests/vectors/digest/*.json: rows and their digests, for every implementation of them.

A value is `tag:hex` of its canonical bytes, as in `extra`. Run it only when the protocol changes.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from satchel_sync.digest import format_extra, row_digest, value_bytes
from satchel_sync.tables import TABLES, Table, Value

FOLDER = Path(__file__).parent / "digest"
SAMPLES: dict[str, list[Value]] = {
    "t": ["", "a", "ünï © 文字 \U0001f600", "line\nbreak\ttab \"quote\" 'single' \\", "e\u0301",
          "\u007f\u0080\uffff\U0010ffff"],
    "i": [0, 1, -1, 2**63 - 1, -(2**63), 1_800_000_000_000],
    "r": [0.0, -0.0, 0.1, -1.5, 5e-324, 1.7976931348623157e308],
    "b": [b"", b"\x00", bytes(range(256)), b"\xff" * 16, b"'\\", b"\x0a"],
}  # fmt: skip
EXTRA = format_extra(
    {
        "aaa_first": ("t", "ünï".encode()),
        "mmm_middle": ("i", value_bytes("i", -5)),
        "zzz_last": ("b", b"\x00\xff"),
        "Ä_upper": ("r", value_bytes("r", 0.5)),
    }
)


def rows(table: Table) -> list[tuple[str, tuple[Value, ...]]]:
    """A tombstone, one row for each sample, every column alone, and rows with `extra`."""
    nulls: tuple[Value, ...] = (None,) * (len(table.columns) + 1)
    made = [("tombstone", nulls), ("schlüssel 文", nulls), ("extra only", (*nulls[:-1], EXTRA))]
    for number in range(6):
        full = tuple(SAMPLES[c.tag][(number + at) % 6] for at, c in enumerate(table.columns))
        made.append((f"full {number}", (*full, EXTRA if number % 2 else None)))
    for at, column in enumerate(table.columns):
        alone = tuple(SAMPLES[column.tag][1] if n == at else None for n in range(len(nulls)))
        made.append((f"only {column.name}", alone))
    return [(key, _not_local(table, values)) for key, values in made]


def document(table: Table) -> dict[str, Any]:
    """The vectors of one kind."""
    return {
        "kind": table.name,
        "vectors": [
            {
                "key": key,
                "values": {
                    column.name: f"{column.tag}:{value_bytes(column.tag, value).hex()}"
                    for column, value in zip(table.columns, values[:-1], strict=True)
                    if value is not None
                },
                "extra": values[-1],
                "digest": row_digest(table, key, values).hex(),
            }
            for key, values in rows(table)
        ],
    }


def _not_local(table: Table, values: tuple[Value, ...]) -> tuple[Value, ...]:
    """A hub takes no local rows."""
    names = (*table.names, "extra")
    return tuple(None if n == "local" else v for n, v in zip(names, values, strict=True))


if __name__ == "__main__":
    for each in TABLES:
        text = json.dumps(document(each), ensure_ascii=False, indent=1)
        (FOLDER / f"{each.name}.json").write_text(text + "\n", "utf-8")
