"""Serves a folder as `satchel warehouse serve-embedded` does; run as a process by the tests."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path

from satchel_warehouse.errors import WarehouseError
from satchel_warehouse.serve_embedded import serve

if __name__ == "__main__":
    try:
        sys.exit(
            serve(Path(sys.argv[1]), lambda served: print(json.dumps(asdict(served)), flush=True))
        )
    except WarehouseError as error:
        print(error, file=sys.stderr)
        sys.exit(error.exit_code)
