"""Which copy of the module the next OpenSSL takes: it reads OPENSSL_MODULES when it first works.

A FIPS provider serves one libcrypto: its `set_func` refuses a second that loads the same file, and
one process has several (Python's own, the one inside `cryptography`, libpq's). So the module lies
in several copies, and each libcrypto is made to load one that is still free. This is the one place
beside the configuration that touches the environment; it leaves it as it was.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

MODULES = "OPENSSL_MODULES"


@contextmanager
def modules_in(folder: Path | None) -> Iterator[None]:
    """For the body, OpenSSL looks for its providers in `folder`; None leaves it as it is."""
    before = os.environ.get(MODULES)
    if folder is not None:
        os.environ[MODULES] = str(folder)
    try:
        yield
    finally:
        if folder is not None:
            if before is None:
                os.environ.pop(MODULES, None)
            else:
                os.environ[MODULES] = before
