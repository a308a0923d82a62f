"""`python -m satchel.offline DIR` walks in that folder and prints what came of it as JSON."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from satchel_crypto import network


def main(folder: Path) -> None:
    """Put the hook on before any library is imported: a library may want a network at once."""
    network.enforce()
    from satchel.offline.walk import walk

    sys.stdout.write(json.dumps(walk(folder)) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
