"""A command in FIPS mode starts again: OpenSSL reads its configuration once, before all else."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence

from satchel import config
from satchel.errors import ConfigInvalid
from satchel.plain_file import read_bytes
from satchel.settings import BY_NAME


def environment_for(words: Sequence[str], environ: Mapping[str, str]) -> dict[str, str] | None:
    """The environment in which a command has to start again, or None.

    None where FIPS mode is not asked for, no module is installed, or all is as it must be; what is
    wrong with the settings, or the system, is for the command itself to say.
    """
    if sys.platform != "linux":
        return None
    home = _home_of(words)
    if not _may_be_fips(home, environ) or environ.get(config.FIPS_RESTARTED) == str(os.getpid()):
        return None
    try:
        settings = config.load(flags={"home": home}, environ=environ)
    except ConfigInvalid:
        return None
    from satchel_crypto.fips import module

    wanted = module.environment(settings.fips_folder)
    installed = (settings.fips_folder / module.RECORD).exists()
    if not settings.fips_mode or not installed or wanted.items() <= environ.items():
        return None
    return {**environ, **wanted, config.FIPS_RESTARTED: str(os.getpid())}


def _home_of(words: Sequence[str]) -> str | None:
    """What a command line says of its home: the last word on it counts."""
    found = None
    for before, word in zip(["", *words], words, strict=False):
        if before == "--home":
            found = word
        elif word.startswith("--home="):
            found = word.partition("=")[2]
    return found


def _may_be_fips(home: str | None, environ: Mapping[str, str]) -> bool:
    """A quick look, for every command pays for it."""
    if any(name in environ for name in BY_NAME["crypto.fips_mode"].environment):
        return True
    try:
        folder, _ = config.home_of(home, environ)
        return b"fips_mode" in read_bytes(folder / config.CONFIG_FILE)
    except (OSError, ConfigInvalid):
        return False
