"""What `satchel crypto` tells: providers, self-tests, the FIPS module; by whom validated."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from satchel.protection import provider_of
from satchel_crypto import CryptoError
from satchel_crypto.fips import mode, validated
from satchel_crypto.fips import module as modules
from satchel_crypto.registry import NAMES, provider

if TYPE_CHECKING:
    from satchel.config import Settings
    from satchel_crypto.provider import Provider


def status(settings: Settings) -> dict[str, Any]:
    """Every provider of this process: its state, library, algorithms, who validated it."""
    fault = _fault(settings)
    return {
        "items": [_standing(settings, name) for name in NAMES],
        "provider": settings.crypto_provider,
        "fips": {"wanted": settings.fips_mode, "active": mode.active() and not fault},
        **({"refused": fault} if fault else {}),
    }


def selftest(settings: Settings) -> dict[str, Any]:
    """Run the known-answer tests of every provider that this process can use.

    Raises SelfTestFailed in FIPS mode: the process is locked then.
    """
    from satchel_crypto import selftest as tests

    provider_of(settings)
    rows = []
    for name in NAMES:
        try:
            made = provider(name, fips=settings.fips_mode)
        except CryptoError as error:
            rows.append({"provider": name, "ok": "warn", "found": str(error)})
            continue
        try:
            passed = tests.run(made)
            found = f"{len(passed)} known answers"
            rows.append({"provider": name, "ok": "ok", "found": found, "library": made.version()})
        except CryptoError as error:
            if settings.fips_mode:
                mode.lock(str(error))
                raise
            rows.append({"provider": name, "ok": "fail", "found": str(error)})
    return {"ok": all(row["ok"] != "fail" for row in rows), "items": rows, **_module_test()}


def fips_status(settings: Settings) -> dict[str, Any]:
    """The FIPS module of this home: whether it is there, works, and is in use."""
    folder = settings.fips_folder
    fault = _fault(settings)
    answer: dict[str, Any] = {
        "wanted": settings.fips_mode,
        "active": mode.active() and not fault,
        "folder": str(folder),
        "environment": modules.environment(folder),
    }
    try:
        module = modules.read(folder)
        proof = mode.proof()
        answer |= {
            "installed": True,
            "module": f"{module.name} {module.version}",
            "sha256": module.sha256,
            "source": module.source,
            "validated": validated.of_module(module),
            "libraries": proof.libraries if proof else _tried(folder),
        }
    except CryptoError as error:
        fault = fault or str(error)
        answer["installed"] = (folder / modules.RECORD).exists()
    told = "refused" if settings.fips_mode else "why_not"  # nothing is refused that nobody wants
    return {**answer, **({told: fault} if fault else {})}


def fips_build(settings: Settings, say: Any) -> tuple[Path, dict[str, Any]]:
    """Build the module from source, once a machine; its folder and what was built.

    Raises ProviderUnavailable, FipsRefused.
    """
    from platformdirs import user_cache_path

    from satchel_crypto.fips import build
    from satchel_crypto.network import Target, refusal

    crates = Target("crates.io", 443, "verify-full")
    cache = user_cache_path("satchel", appauthor=False) / "fips"
    closed = refusal("fips.source", crates, settings.network_policy())
    folder = build.build(cache, offline=closed is not None, say=say)
    return folder, {"folder": str(folder), **build.recipe()}


def fips_install(settings: Settings, given: Path) -> dict[str, Any]:
    """Install a module into this home. Raises FipsRefused."""
    from satchel_crypto.fips import install

    module = install.install(given.expanduser().absolute(), settings.fips_folder)
    return {
        "folder": str(settings.fips_folder),
        "module": f"{module.name} {module.version}",
        "sha256": module.sha256,
        "validated": validated.of_module(module),
        "environment": modules.environment(settings.fips_folder),
    }


# ---- parts --------------------------------------------------------------------------------------


def _fault(settings: Settings) -> str:
    """Why this process cannot use what it was told to, or nothing."""
    try:
        provider_of(settings)
    except CryptoError as error:
        return str(error)
    return ""


def _standing(settings: Settings, name: str) -> dict[str, Any]:
    try:
        made = provider(name, fips=settings.fips_mode)
    except CryptoError as error:
        return {"provider": name, "state": "refused", "why": str(error)}
    return {
        "provider": name,
        "state": "in use" if name == settings.crypto_provider else "ready",
        "library": made.version() + _module_in_use(made),
        "validated": _validated(settings, made),
        "algorithms": sorted(made.algorithms),
    }


def _module_in_use(made: Provider) -> str:
    proof = mode.proof()
    if proof is None or made.name != "openssl":
        return ""
    return f", computing with {proof.module.name} {proof.module.version}"


def _validated(settings: Settings, made: Provider) -> str:
    proof = mode.proof()
    if proof is None:
        return validated.outside_of_fips(made.name)
    if made.name == "wolfcrypt":
        return validated.of_attested(settings.wolfcrypt_certificate)
    return validated.of_module(proof.module)


def _module_test() -> dict[str, Any]:
    """The module's own self-tests, run again."""
    from satchel_crypto.fips.proof import self_test

    proof = mode.proof()
    return {"module": self_test(proof.folder)} if proof else {}


def _tried(folder: Path) -> dict[str, str]:
    """What a process in FIPS mode would use, tried in one."""
    from satchel_crypto.fips.install import prove_apart

    return prove_apart(folder)
