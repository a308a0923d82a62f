"""Install a FIPS module: copies, configuration and record in a folder, once they are proved."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path

from satchel_crypto.errors import FipsRefused
from satchel_crypto.fips import module as modules
from satchel_crypto.fips.build import SOURCE
from satchel_crypto.fips.mapped import read_owned
from satchel_crypto.fips.module import CONFIG, MODULE_CONFIG, PROVIDER, RECORD, Module

_PROVE_TIMEOUT_S = 60
_FILE_MODE, _FOLDER_MODE = 0o400, 0o700


@dataclass(frozen=True, slots=True, kw_only=True)
class _Given:
    """What somebody built: the provider, its configuration, and what it was built from."""

    provider: bytes
    config: bytes
    source: dict[str, str]


def install(given: Path, folder: Path) -> Module:
    """Make `folder` the module that lies in `given` (fips.so and fipsmodule.cnf).

    It is tried in a process of its own before anything is replaced. Raises FipsRefused; then
    `folder` is as it was.
    """
    taken = _taken(given)
    _require_ours(folder)
    try:
        folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".fips-", dir=folder.parent) as name:
            trial, final = Path(name) / "trial", Path(name) / "final"
            module = _lay(trial, taken, _record(taken, trial), at=trial)
            said = prove_apart(trial)
            named = replace(_record(taken, folder), name=said["name"], version=said["version"])
            module = _lay(final, taken, named, at=folder)
            if folder.exists():
                folder.rename(Path(name) / "before")
            final.rename(folder)
    except OSError as error:
        raise FipsRefused(
            f"no FIPS module can be installed in {folder}: {error.strerror or error}",
            field="crypto.fips_module",
        ) from error
    return module


def prove_apart(folder: Path) -> dict[str, str]:
    """Prove the module in a process of its own; what it tells of itself. Raises FipsRefused."""
    words = [f"{name}={value}" for name, value in modules.environment(folder).items()]
    program = [sys.executable, "-P", "-m", "satchel_crypto.fips.check", str(folder)]
    done = subprocess.run(
        ["env", *words, *program], stdin=subprocess.DEVNULL, capture_output=True,
        encoding="utf-8", errors="replace", check=False, timeout=_PROVE_TIMEOUT_S,
    )  # fmt: skip
    try:
        answer = json.loads(done.stdout)
        if done.returncode == 0:
            return {str(key): str(value) for key, value in answer.items()}
        why = answer["refused"]
    except (ValueError, KeyError, AttributeError, TypeError):
        why = f"the trial ended with {done.returncode}: {done.stderr[-300:].strip()}"
    raise FipsRefused(f"the FIPS module does not work: {why}")


# ---- parts --------------------------------------------------------------------------------------


def _taken(given: Path) -> _Given:
    provider = read_owned(given / PROVIDER)
    config = modules.module_config(read_owned(given / MODULE_CONFIG))
    try:
        said = json.loads(read_owned(given / SOURCE)) if (given / SOURCE).exists() else {}
        source = {str(name): str(value) for name, value in said.items()}
    except (ValueError, AttributeError):
        raise FipsRefused(f"{given / SOURCE} is none that satchel writes") from None
    if source and source.pop("sha256", "") != _sha256(provider):
        raise FipsRefused(f"{given / PROVIDER} is not what {SOURCE} beside it says was built")
    return _Given(provider=provider, config=config, source=source)


def _require_ours(folder: Path) -> None:
    """The folder is replaced whole: it may hold nothing that is not of a module."""
    ours = {RECORD, CONFIG, MODULE_CONFIG, PROVIDER, *modules.COPIES}
    try:
        others = {path.name for path in folder.iterdir()} - ours
    except FileNotFoundError:
        return
    except OSError as error:
        raise FipsRefused(f"{folder} is no folder of a module: {error.strerror}") from error
    if others:
        raise FipsRefused(
            f"{folder} holds other things than a FIPS module: {', '.join(sorted(others)[:3])}",
            hint="name a folder of its own: crypto.fips_module",
            field="crypto.fips_module",
        )


def _record(taken: _Given, at: Path) -> Module:
    config = {CONFIG: modules.config(at), MODULE_CONFIG: taken.config}
    return Module(
        sha256=_sha256(taken.provider),
        config_sha256={name: _sha256(data) for name, data in config.items()},
        name="",
        version="",
        source=taken.source,
    )


def _lay(folder: Path, taken: _Given, module: Module, *, at: Path) -> Module:
    """Write the files of a module that will lie `at` a place into `folder`."""
    written = {
        CONFIG: modules.config(at),
        MODULE_CONFIG: taken.config,
        RECORD: modules.record(module),
        **{f"{name}/{PROVIDER}": taken.provider for name in modules.COPIES},
    }
    for name, data in written.items():
        path = folder / name
        path.parent.mkdir(mode=_FOLDER_MODE, parents=True, exist_ok=True)
        path.write_bytes(data)
        path.chmod(_FILE_MODE)
    return module


def _sha256(data: bytes) -> str:
    return sha256(data, usedforsecurity=False).hexdigest()
