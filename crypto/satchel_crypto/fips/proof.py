"""Proof that each OpenSSL of this process computes with the FIPS module on record.

Python's own is proved by its functions (`libcrypto`), the one inside `cryptography`, whose
functions cannot be reached, by what it refuses and by the copy of the module that it has loaded.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from satchel_crypto.errors import FipsRefused
from satchel_crypto.fips import libcrypto
from satchel_crypto.fips import module as modules
from satchel_crypto.fips.environment import modules_in
from satchel_crypto.fips.libcrypto import LibCrypto
from satchel_crypto.fips.mapped import Mapped, loaded, read_owned
from satchel_crypto.fips.module import Module


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """What was proved: the module, and each OpenSSL by its version and the copy it uses."""

    folder: Path
    module: Module
    libraries: dict[str, str]
    module_says: dict[str, str]


def prove(folder: Path | None = None) -> Proof:
    """Prove it for Python's OpenSSL and that of `cryptography`, loading both.

    `folder` holds the module; None takes the one that is loaded. Raises FipsRefused.
    """
    folder = folder or _loaded_folder()
    modules.read(folder)
    try:
        python = _python(folder)
        digest = _cryptography(folder)
        module = _as_recorded(folder)
        copies = _copies(folder, module)
        used = python.prove(copies, digest)
        inside = _cryptographys_own(copies, used)
        _require_checks_in_cryptography()
    except FipsRefused as refused:
        raise _explained(refused, folder) from None
    return Proof(
        folder=folder,
        module=module,
        libraries={
            f"Python: {python.version()}": str(used.path),
            f"cryptography: {_cryptography_version()}": str((inside or used).path),
        },
        module_says=python.described(),
    )


def prove_behind(library: Path, folder: Path) -> LibCrypto:
    """Prove it for the OpenSSL that another loaded library calls. Raises FipsRefused."""
    module = _as_recorded(folder)
    with modules_in(_free_copy(folder)):
        found = libcrypto.behind(str(library))
        if found is None:
            raise FipsRefused(f"{library} has an OpenSSL of its own, which cannot be asked")
        found.wake()
    found.prove(_copies(folder, module), _sha256)
    return found


def self_test(folder: Path) -> dict[str, str]:
    """Let the module run its own self-tests again, for Python's OpenSSL. Raises SelfTestFailed."""
    from satchel_crypto.fips import mode

    library = _python(folder)
    if not library.self_test():
        mode.lock("the FIPS module failed its own self-tests")
        mode.require_unlocked()
    return library.described()


# ---- what is on record --------------------------------------------------------------------------


def _loaded_folder() -> Path:
    """Where the module lies that OpenSSL loads when it is left to itself."""
    import ssl

    ssl.RAND_status()
    found = sorted(path for path in loaded() if path.name == modules.PROVIDER)
    for path in found:
        for folder in path.parents[:2]:
            if (folder / modules.RECORD).exists():
                return folder
    raise FipsRefused(
        "FIPS mode was asked for, and no FIPS module is loaded", hint=modules.INSTALL_HINT
    )


def _as_recorded(folder: Path) -> Module:
    """The module's record, once its configuration is as recorded."""
    module = modules.read(folder)
    for name, digest in module.config_sha256.items():
        if _sha256(read_owned(folder / name)).hex() != digest:
            raise FipsRefused(
                f"{folder / name} is not as it was installed",
                hint="install the module again: `satchel crypto fips install`",
            )
    return module


def _copies(folder: Path, module: Module) -> list[Mapped]:
    """The loaded copies of the module, each hashed and in memory as on disk."""
    found = []
    for path, mapped in loaded().items():
        if path.name != modules.PROVIDER:
            continue
        if path not in {copy.resolve() for copy in modules.copies(folder)}:
            raise FipsRefused(f"another FIPS module than that in {folder} is loaded: {path}")
        if _sha256(mapped.content()).hex() != module.sha256:
            raise FipsRefused(
                f"{path} is not the FIPS module that was installed",
                hint="install it again, once you know who changed it",
            )
        found.append(mapped)
    return found


# ---- the libraries ------------------------------------------------------------------------------


def _python(folder: Path) -> LibCrypto:
    """Python's libcrypto, which `ssl` and `hashlib` share."""
    with modules_in(_free_copy(folder)):
        import ssl

        ssl.RAND_status()
    speaks, hashes = (libcrypto.behind(_file_of(name)) for name in ("_ssl", "_hashlib"))
    if speaks is None or hashes is None:
        raise FipsRefused("the OpenSSL of this Python cannot be asked")
    if speaks.path != hashes.path:
        raise FipsRefused(f"this Python has two OpenSSLs: {speaks.path} and {hashes.path}")
    return speaks


def _cryptography(folder: Path) -> Callable[[bytes], bytes]:
    """SHA-256 by `cryptography`, once it refuses what FIPS mode refuses."""
    with modules_in(_free_copy(folder)):
        from cryptography.exceptions import InternalError, UnsupportedAlgorithm
        from cryptography.hazmat.bindings._rust import openssl
        from cryptography.hazmat.primitives import hashes
        from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

        enabled = openssl.is_fips_enabled()

    def digest(data: bytes, algorithm: hashes.HashAlgorithm | None = None) -> bytes:
        hasher = hashes.Hash(algorithm or hashes.SHA256())
        hasher.update(data)
        return hasher.finalize()

    refused = (InternalError, UnsupportedAlgorithm)
    if not enabled:
        raise FipsRefused("the OpenSSL of `cryptography` is not in FIPS mode")
    if _works(lambda: digest(b"", hashes.MD5()), refused):
        raise FipsRefused("the OpenSSL of `cryptography` still has MD5")
    if _works(lambda: ChaCha20Poly1305(bytes(32)).encrypt(bytes(12), b"", b""), refused):
        raise FipsRefused("the OpenSSL of `cryptography` still has ChaCha20")
    if not _works(lambda: digest(b""), refused):
        raise FipsRefused(
            "the OpenSSL of `cryptography` is in FIPS mode and has no module",
            hint="it was loaded before FIPS mode began: open the replica before other imports",
        )
    return digest


def _require_checks_in_cryptography() -> None:
    """Only a module that runs with its security checks refuses to sign with a weak key.

    The OpenSSL inside `cryptography` reads the configuration by itself, maybe not that on record.
    """
    from cryptography.exceptions import InternalError, UnsupportedAlgorithm
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec

    def sign() -> bytes:
        key = ec.generate_private_key(ec.SECP192R1())
        return key.sign(b"", ec.ECDSA(hashes.SHA256()))

    if _works(sign, (InternalError, UnsupportedAlgorithm)):
        raise FipsRefused("the OpenSSL of `cryptography` still signs with P-192")


def _cryptographys_own(copies: list[Mapped], used: Mapped) -> Mapped | None:
    """The copy that the OpenSSL inside `cryptography` has, or None if it shares Python's."""
    from cryptography.hazmat.bindings import _rust

    shared = libcrypto.behind(_rust.__file__)
    if shared is not None:
        return None if shared.prove(copies, _sha256) is used else _other(copies, used)
    return _other(copies, used)


def _other(copies: list[Mapped], used: Mapped) -> Mapped:
    found = next((one for one in copies if one is not used), None)
    if found is None:
        raise FipsRefused("the OpenSSL of `cryptography` has not loaded the module on record")
    return found


def _cryptography_version() -> str:
    from cryptography.hazmat.bindings._rust import openssl

    return openssl.openssl_version_text()


def _free_copy(folder: Path) -> Path | None:
    """The folder of the first copy that no OpenSSL of this process has loaded."""
    taken = loaded().keys()
    free = (copy for copy in modules.copies(folder) if copy.resolve() not in taken)
    found = next(free, None)
    return found.parent if found else None


def _works(call: Callable[[], object], refused: tuple[type[Exception], ...]) -> bool:
    try:
        call()
    except refused:
        return False
    return True


def _sha256(data: bytes) -> bytes:
    import hashlib  # it loads Python's OpenSSL, so not before that has a copy

    return hashlib.sha256(data).digest()


def _file_of(name: str) -> str | None:
    """The file of an extension module; None for one that is part of the program."""
    import importlib

    return getattr(importlib.import_module(name), "__file__", None)


def _explained(refused: FipsRefused, folder: Path) -> FipsRefused:
    words = " ".join(f"{name}={value}" for name, value in modules.environment(folder).items())
    return FipsRefused(
        f"FIPS mode cannot be proved: {refused}",
        hint=refused.hint or f"start this process with {words}, and import satchel first",
        field="crypto.fips_mode",
    )
