"""Walks the main paths of satchel where there is no network, in a folder that is thrown away."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from satchel import config
from satchel.offline.namespace import without_network

if TYPE_CHECKING:
    from satchel.config import Settings

TIMEOUT_S = 300
"""A model may have to be loaded in each of a dozen commands."""
TAKEN_OVER = ("embedding", "ranking", "crypto", "store")
"""Sections of the settings that say which libraries work: the walk is with those of the user."""
NO_KEYRING = {"PYTHON_KEYRING_BACKEND": "keyring.backends.null.Keyring"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """What was walked, and what tried to open a socket meanwhile.

    `isolated` is empty where there was a network after all; then `why_not` says why. `refused` are
    the first hundred of `attempts`, `failed` the step that did not work.
    """

    steps: tuple[str, ...] = ()
    failed: str = ""
    attempts: int = 0
    refused: tuple[str, ...] = ()
    isolated: bool = False
    why_not: str = ""


def prove(settings: Settings) -> Proof:
    """Walk in a process of its own; nothing of this user's data is opened."""
    prefix, why_not = without_network()
    with tempfile.TemporaryDirectory(prefix="satchel-offline-") as folder:
        command = [*prefix, sys.executable, "-m", "satchel.offline", folder]
        try:
            done = subprocess.run(
                command, stdin=subprocess.DEVNULL, capture_output=True, check=False,
                timeout=TIMEOUT_S, env=_environment(settings, Path(folder)), cwd=folder,
            )  # fmt: skip
        except (OSError, subprocess.TimeoutExpired) as error:
            return Proof(failed=f"it did not end: {error}", why_not=why_not)
    said = done.stdout.decode("utf-8", "replace").splitlines()
    if done.returncode or not said:
        last = done.stderr.decode("utf-8", "replace").strip()[-300:]
        return Proof(failed=f"it ended with {done.returncode}: {last}", why_not=why_not)
    found = json.loads(said[-1])
    if prefix and found["interfaces"] != ["lo"]:
        why_not = f"the namespace has {', '.join(found['interfaces'])}"
    return Proof(
        steps=tuple(found["steps"]),
        failed=found["failed"],
        attempts=found["attempts"],
        refused=tuple(found["refused"]),
        isolated=bool(prefix) and not why_not,
        why_not=why_not,
    )


def _environment(settings: Settings, folder: Path) -> dict[str, str]:
    """This process's variables without its data: another home, no warehouse, no keyring."""
    kept = {
        name: value
        for name, value in config.environment().items()
        if not name.startswith(("SATCHEL_", "PG", "DBUS_"))
    }
    said = {
        one.setting.environment[0]: _word(one.value)
        for one in settings.sourced
        if one.setting.section in TAKEN_OVER and one.origin != "default" and one.value is not None
    }
    if settings.fips_mode:
        said["SATCHEL_CRYPTO_FIPS_MODULE"] = str(settings.fips_folder)
    return kept | NO_KEYRING | said | {"SATCHEL_HOME": str(folder / "none")}


def _word(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
