"""A process that writes memories when it is told to: `python writer.py HOME NAME COUNT`.

Prints `ready`, waits for a line, then one JSON object: ids acknowledged, ms of each, failures.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from satchel.config import Settings
from satchel.errors import SatchelError
from satchel.memory.write import write
from satchel.replica import open_replica

TEXT = "the parser keeps a stack of open brackets and reports where the first of them stands "


def main(home: Path, name: str, count: int) -> None:
    ids, ms, cpu_ms, failures = [], [], [], []
    with open_replica(Settings(home=home, user_id="una")) as replica:
        print("ready", flush=True)
        sys.stdin.readline()
        for number in range(count):
            began, cpu = time.perf_counter(), time.process_time()
            try:
                ids.append(write(replica, f"{TEXT * 5} {name} {number}", title=name).id)
            except SatchelError as error:
                failures.append(f"{error.code}: {error}")
            ms.append((time.perf_counter() - began) * 1000)
            cpu_ms.append((time.process_time() - cpu) * 1000)
    print(json.dumps({"ids": ids, "ms": ms, "cpu_ms": cpu_ms, "failures": failures}), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
