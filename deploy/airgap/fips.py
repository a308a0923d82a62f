"""The FIPS module of a kit: what `satchel crypto fips build` makes, with what it was built from."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from shutil import copyfile

from airgap.errors import KitError
from airgap.sbom import FipsPart
from airgap.target import Target, is_here
from satchel_crypto import content_sha256
from satchel_crypto.fips import build
from satchel_crypto.fips.module import MODULE_CONFIG, PROVIDER

FOLDER = "fips"
FILES = (PROVIDER, MODULE_CONFIG, build.SOURCE)
VERSION = "3.1.2"
"""Of the OpenSSL whose provider is built; its CMVP certificate is told in docs/CRYPTO.md."""


def lay(target: Target, cache: Path, kit: Path, say: Callable[[str], None]) -> FipsPart:
    """Build the module, once a machine, and copy it into the kit.

    Raises KitError for another machine than this one, CryptoError where it cannot be built.
    """
    if target.system != "linux" or not is_here(target):
        raise KitError(
            f"the FIPS module for {target.name} cannot be built here",
            hint="build the kit on Linux on the same kind of machine, or without --with-fips",
        )
    built = build.build(cache, say=say)
    (kit / FOLDER).mkdir()
    for name in FILES:
        copyfile(built / name, kit / FOLDER / name)
    return "openssl-fips-provider", VERSION, content_sha256(kit / FOLDER / PROVIDER)
