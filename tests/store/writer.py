"""A process that opens a store and writes until it is told to stop; says what was acknowledged.

`python writer.py PATH NAME COUNT`: one line `NAME-n` a write, printed after it is durable.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from satchel.store import rows
from satchel.store.connection import Store
from satchel_sync.tables import MEMORY, Memory


def main(path: Path, name: str, count: int) -> None:
    worst_ms = 0.0
    with Store.open(path) as store:
        for at in range(count):
            began = time.perf_counter()
            with store.write(actor=name) as db:
                rows.insert(db, Memory(id=f"{name}-{at}", content=f"text {at} of {name}"))
                if at:
                    rows.update(db, MEMORY, f"{name}-{at - 1}", title=f"after {at}")
            worst_ms = max(worst_ms, (time.perf_counter() - began) * 1000)
            print(f"{name}-{at}", flush=True)
    print(f"worst {worst_ms:.0f} ms", file=sys.stderr)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
