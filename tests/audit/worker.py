"""A process that writes and reads under audit, as a door does: `python worker.py HOME NAME COUNT`.

Prints the id of each memory when its write is acknowledged, at the end how many reads were lost.
"""

from __future__ import annotations

import sys
from pathlib import Path

from satchel.config import Settings
from satchel.memory import read
from satchel.memory.write import write
from satchel.replica import open_replica


def main(home: Path, name: str, count: int) -> None:
    with open_replica(Settings(home=home, user_id=name, embedding="off")) as replica:
        for number in range(count):
            key = write(replica, f"the {number}th thing that {name} knows").id
            print(key, flush=True)
            read.get(replica, [key])
        replica.activity.wait()
        print(f"lost {replica.activity.failures}", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
