"""An installed FIPS module: a folder with the provider in copies, its configuration, its record.

`module.json` holds the SHA-256 of the provider and of both configuration files, as they were when
the module was installed; nothing counts that is not as recorded.
"""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from satchel_crypto.errors import FipsRefused
from satchel_crypto.fips.mapped import read_owned

FORMAT = 1
RECORD = "module.json"
PROVIDER = "fips.so"
MODULE_CONFIG = "fipsmodule.cnf"
CONFIG = "openssl.cnf"
COPIES = (".", "second", "third")
"""Folders with the provider: the OpenSSLs of Python, `cryptography` and libpq take one each."""
INSTALL_HINT = "`satchel crypto fips build`, then `satchel crypto fips install`, makes one"

_SECTION = re.compile(r"\[\s*\w+\s*\]")
_KEPT = {
    "activate": "1",
    "install-version": r"\d+",
    "conditional-errors": "1",
    "security-checks": "1",
    "tls1-prf-ems-check": "[01]",
    "drbg-no-trunc-md": "[01]",
    "module-mac": r"[0-9A-F]{2}(:[0-9A-F]{2}){31}",
}
"""Keys of a fipsmodule.cnf with what each may say. Without `install-status` every load tests."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Module:
    """What is recorded of a module; digests are SHA-256 in hex."""

    sha256: str
    config_sha256: dict[str, str]
    name: str
    version: str
    source: dict[str, str] = field(default_factory=dict)
    """Where it was built from: crate, checksum, options, compiler; empty for one that was given."""


def environment(folder: Path) -> dict[str, str]:
    """What a process must have in its environment, before it starts, to use the module."""
    return {"OPENSSL_CONF": str(folder / CONFIG), "OPENSSL_MODULES": str(folder)}


def copies(folder: Path) -> tuple[Path, ...]:
    """The files of the provider."""
    return tuple(folder / name / PROVIDER for name in COPIES)


def read(folder: Path) -> Module:
    """The record of the module in a folder. Raises FipsRefused."""
    path = folder / RECORD
    if not path.exists():
        raise FipsRefused(
            f"FIPS mode needs a FIPS module, and there is none in {folder}",
            hint=INSTALL_HINT,
            field="crypto.fips_mode",
        )
    document = _parsed(read_owned(path))
    try:
        module = Module(**document)
        whole = all(
            isinstance(value, str)
            for value in (
                module.sha256, module.name, module.version,
                *module.config_sha256.values(), *module.source.values(),
            )
        )  # fmt: skip
    except (TypeError, AttributeError):
        whole = False
    if not whole or module.config_sha256.keys() != {CONFIG, MODULE_CONFIG}:
        raise FipsRefused(f"{path} is none that satchel writes", hint=INSTALL_HINT)
    return module


def record(module: Module) -> bytes:
    """Inverse of what `read` parses."""
    return json.dumps({"format": FORMAT, **asdict(module)}, indent=2).encode() + b"\n"


def config(folder: Path) -> bytes:
    """OpenSSL's configuration for the module in `folder`: nothing but approved algorithms.

    OSSL_PROVIDER-FIPS(7): `fips=yes` is mandatory, for the provider has others as well.
    """
    if re.search(r"[\s$#\\\"']", str(folder)):
        raise FipsRefused(
            f"OpenSSL's configuration cannot name the folder {str(folder)!r}",
            hint="choose one without spaces, quotes, `$`, `#` and backslashes: crypto.fips_module",
        )
    return f"""\
# Written by `satchel crypto fips install`.
config_diagnostics = 1
openssl_conf = openssl_init
.include {folder / MODULE_CONFIG}

[openssl_init]
providers = provider_sect
alg_section = algorithm_sect

[provider_sect]
fips = fips_sect
base = base_sect

[base_sect]
activate = 1

[algorithm_sect]
default_properties = fips=yes
""".encode()


def module_config(given: bytes) -> bytes:
    """A fipsmodule.cnf with only what FIPS mode needs, each as it must be. Raises FipsRefused."""
    found: dict[str, str] = {}
    for line in given.decode("utf-8", "replace").splitlines():
        key, equals, value = (part.strip() for part in line.partition("#")[0].partition("="))
        if equals and key in _KEPT:
            if not re.fullmatch(_KEPT[key], value):
                raise FipsRefused(f"{MODULE_CONFIG} says {key} = {value[:80]}")
            found[key] = value
        elif key and not equals and not _SECTION.fullmatch(key):
            raise FipsRefused(f"{MODULE_CONFIG} has a line that is none of it: {key[:80]!r}")
    missing = {"activate", "conditional-errors", "security-checks", "module-mac"} - found.keys()
    if missing:
        raise FipsRefused(
            f"{MODULE_CONFIG} does not say {', '.join(sorted(missing))}",
            hint="make it with `openssl fipsinstall -self_test_onload`",
        )
    return b"[fips_sect]\n" + "".join(f"{k} = {v}\n" for k, v in found.items()).encode()


def _parsed(data: bytes) -> dict[str, Any]:
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    if not isinstance(document, dict) or document.pop("format", None) != FORMAT:
        return {}
    return document
