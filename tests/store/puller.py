"""A process that applies pages of new memories until it is killed; says each cursor it reached.

`python puller.py PATH ROWS`: goes on at the file's cursor, pages of so many rows.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from machine import remote

from satchel.store.connection import Store
from satchel.store.endpoint import SqliteReplica
from satchel_sync.tables import MEMORY


def main(path: Path, count: int) -> None:
    with Store.open(path) as store:
        replica = SqliteReplica(store)
        print(replica.cursor(MEMORY), flush=True)
        while True:
            start = replica.cursor(MEMORY)
            page = [remote(f"m{at:08}", content="pulled") for at in range(start, start + count)]
            replica.apply(MEMORY, page, start + count)
            print(start + count, flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
