"""`python -m satchel_crypto.fips.check FOLDER`: prove a module in a process of its own, as JSON."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from satchel_crypto.errors import CryptoError


def main(folder: str) -> int:
    """0 with what the module says of itself, or 4 with why it is refused."""
    try:
        from satchel_crypto.fips import mode
        from satchel_crypto.registry import provider

        mode.configure(Path(folder))
        said = mode.enter().module_says
        provider("openssl", fips=True)
    except CryptoError as error:
        sys.stdout.write(json.dumps({"refused": str(error)}))
        return error.exit_code
    sys.stdout.write(json.dumps(said))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
