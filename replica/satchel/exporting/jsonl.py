"""The export that loses nothing: a row a line, `{"kind", the key, every column}`, by kind and key.

Vectors are base64. The column `kind` of a message or a history entry is told as `message_kind` and
`history_kind`. Versions are not told: who imports a row writes it anew (importing/exact.py).
"""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, BinaryIO

from satchel.exporting import visible
from satchel.exporting.report import Report
from satchel.exporting.visible import AUDITED
from satchel.store import quarantine
from satchel_sync.tables import BY_NAME, EXTRA, Table

if TYPE_CHECKING:
    from satchel.replica import Replica
    from satchel_sync.progress import Progress

STEP_ROWS = 1_000


def write(
    replica: Replica, out: BinaryIO, kinds: Sequence[str], progress: Progress, report: Report
) -> None:
    """Write every row of these kinds that the caller sees; what no JSON holds is told, and left."""
    with replica.store.read() as db:
        for kind in kinds:
            table = BY_NAME[kind]
            total = visible.count(db, replica.caller, table)
            for done, found in enumerate(visible.rows(db, replica.caller, table), start=1):
                fault = quarantine.inspect(table, found.key, found.values)
                if fault is not None:
                    report.leave(kind, found.key, fault)
                    continue
                out.write(line(table, found.key, found.values))
                report.count(kind, found.key if kind in AUDITED else None)
                if done % STEP_ROWS == 0 or done == total:
                    progress("export", kind, done, total)


def line(table: Table, key: str, values: Sequence[Any]) -> bytes:
    """One row as a line of UTF-8."""
    columns = dict(zip((*table.names, EXTRA), values, strict=True))
    own = f"{table.name}_kind"
    told = {(own if name == "kind" else name): _plain(value) for name, value in columns.items()}
    row = {"kind": table.name, table.key: key, **told}
    return json.dumps(row, ensure_ascii=False, allow_nan=False).encode() + b"\n"


def _plain(value: Any) -> Any:
    return base64.b64encode(value).decode() if isinstance(value, bytes) else value
