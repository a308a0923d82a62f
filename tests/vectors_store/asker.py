"""A process that writes and asks until it is killed: `python asker.py HOME SEED WHAT`.

`write` writes and asks, `ask` asks only, `rebuild` removes the files before it asks. One line is
printed for each answer that brute force confirmed in the same snapshot.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1]))

from vector_world import World


def main(home: Path, seed: int, what: str) -> None:
    world = World(home, seed, "auto")
    while True:
        if what == "write":
            world.step()
        if what == "rebuild":
            for file in (home / "vectors").glob("*.vec"):
                file.unlink(missing_ok=True)
        world.check()
        print("right", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
