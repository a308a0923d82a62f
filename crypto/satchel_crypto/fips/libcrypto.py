"""A libcrypto that is loaded, asked by its own functions whether FIPS's module does its work.

What a symbol is called proves nothing, and what it answers little: a library of sixty lines can
answer so. What is proved is that the functions which OpenSSL would call lie inside the module's
file, whose digest is on record.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from ctypes import POINTER, Structure, byref, c_char_p, c_int, c_size_t, c_uint, c_uint64, c_void_p
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from satchel_crypto.errors import FipsRefused
from satchel_crypto.fips.mapped import Mapped, holder

_ALLOWED = {"fips", "base"}
"""Providers that may be active: `base` only reads and writes keys."""
_OPERATIONS = (1, 2, 3, 4, 5, 10, 11, 12, 13, 14)
"""OSSL_OP_*: digests, ciphers, MACs, derivations, random; all that is done with key pairs."""
_INTEGER, _TEXT_POINTER = 1, 6
"""OSSL_PARAM_INTEGER, OSSL_PARAM_UTF8_PTR."""
_ALGORITHMS_MAX, _FUNCTIONS_MAX = 1000, 100
_DIGEST_BYTES = 32


class _Parameter(Structure):
    """OSSL_PARAM(3)."""

    _fields_ = (
        ("key", c_char_p),
        ("data_type", c_uint),
        ("data", c_void_p),
        ("data_size", c_size_t),
        ("return_size", c_size_t),
    )


class _Algorithm(Structure):
    """OSSL_ALGORITHM(3)."""

    _fields_ = (
        ("names", c_char_p),
        ("properties", c_char_p),
        ("implementation", c_void_p),
        ("description", c_char_p),
    )


class _Function(Structure):
    """OSSL_DISPATCH(3)."""

    _fields_ = (("id", c_int), ("function", c_void_p))


_FUNCTIONS: dict[str, tuple[Any, list[Any]]] = {
    "EVP_default_properties_is_fips_enabled": (c_int, [c_void_p]),
    "OSSL_PROVIDER_available": (c_int, [c_void_p, c_char_p]),
    "OSSL_PROVIDER_do_all": (c_int, [c_void_p, c_void_p, c_void_p]),
    "OSSL_PROVIDER_get0_name": (c_char_p, [c_void_p]),
    "OSSL_PROVIDER_get0_dispatch": (c_void_p, [c_void_p]),
    "OSSL_PROVIDER_get_params": (c_int, [c_void_p, POINTER(_Parameter)]),
    "OSSL_PROVIDER_self_test": (c_int, [c_void_p]),
    "OSSL_PROVIDER_query_operation": (POINTER(_Algorithm), [c_void_p, c_int, POINTER(c_int)]),
    "OSSL_PROVIDER_unquery_operation": (None, [c_void_p, c_int, POINTER(_Algorithm)]),
    "EVP_MD_fetch": (c_void_p, [c_void_p, c_char_p, c_char_p]),
    "EVP_MD_get0_provider": (c_void_p, [c_void_p]),
    "EVP_MD_free": (None, [c_void_p]),
    "EVP_Q_digest": (
        c_int,
        [c_void_p, c_char_p, c_char_p, c_char_p, c_size_t, c_void_p, POINTER(c_size_t)],
    ),
    "RAND_get0_private": (c_void_p, [c_void_p]),
    "EVP_RAND_CTX_get0_rand": (c_void_p, [c_void_p]),
    "EVP_RAND_get0_provider": (c_void_p, [c_void_p]),
    "OpenSSL_version": (c_char_p, [c_int]),
}


@dataclass(frozen=True)
class LibCrypto:
    """One libcrypto, reached through a library that is linked to it."""

    file: Mapped
    functions: dict[str, Any]

    @property
    def path(self) -> Path:
        """Its file: the very one that is loaded."""
        return self.file.path

    def version(self) -> str:
        """What it calls itself."""
        text: bytes = self.functions["OpenSSL_version"](0) or b""
        return text.decode("utf-8", "replace")

    def wake(self) -> None:
        """Let it read its configuration and load its providers now, if it has not yet."""
        self._says_so()

    def prove(self, modules: list[Mapped], digest: Callable[[bytes], bytes]) -> Mapped:
        """The copy of the module that does the work here; `digest` is another's SHA-256.

        Raises FipsRefused naming what is wrong.
        """
        self._require(self._says_so(), "is not in FIPS mode")
        self._require(not self._fetch(b"MD5"), "still has MD5")
        module = self._module(modules)
        self._require(self._runs_with_checks(), "has a module that does not run with its checks")
        outside = next(self._outside(module), None)
        self._require(outside is None, f"takes {outside} from outside of the module")
        self._require(self._uses_it(), "has SHA-256 or random numbers from another provider")
        data = bytes(range(251)) * 3
        self._require(self._digest(data) == digest(data), "answers wrong")
        return module

    def described(self) -> dict[str, str]:
        """Name, version and build of the module, as it tells them itself."""
        texts = {key: c_char_p() for key in (b"name", b"version", b"buildinfo")}
        asked = [
            _Parameter(key, _TEXT_POINTER, ctypes.addressof(text), 0, 0)
            for key, text in texts.items()
        ]
        told = self._told(asked)
        self._require(told, "has a module that tells nothing of itself")
        return {k.decode(): (v.value or b"").decode("utf-8", "replace") for k, v in texts.items()}

    def self_test(self) -> bool:
        """Let the module run its own self-tests again."""
        return bool(self.functions["OSSL_PROVIDER_self_test"](self._fips) == 1)

    # ---- single facts ---------------------------------------------------------------------------

    def _says_so(self) -> bool:
        enabled = self.functions["EVP_default_properties_is_fips_enabled"](None)
        there = self.functions["OSSL_PROVIDER_available"](None, b"fips")
        return bool(enabled == there == 1)

    @cached_property
    def _providers(self) -> dict[str, int]:
        """Every active provider with its address."""
        found: dict[str, int] = {}
        kind = ctypes.CFUNCTYPE(c_int, c_void_p, c_void_p)

        def note(provider: int, _: int | None) -> int:
            name: bytes = self.functions["OSSL_PROVIDER_get0_name"](provider) or b""
            found[name.decode("utf-8", "replace")] = provider
            return 1

        self.functions["OSSL_PROVIDER_do_all"](None, kind(note), None)
        return found

    @property
    def _fips(self) -> int:
        self._require("fips" in self._providers, "has no provider `fips`")
        return self._providers["fips"]

    def _module(self, modules: list[Mapped]) -> Mapped:
        others = self._providers.keys() - _ALLOWED
        self._require(not others, f"has other providers active: {', '.join(sorted(others))}")
        dispatch = self.functions["OSSL_PROVIDER_get0_dispatch"](self._fips)
        found = next((one for one in modules if one.holds(dispatch)), None)
        if found is None:
            raise FipsRefused(f"the provider `fips` of {self.path} is not the module on record")
        return found

    def _outside(self, module: Mapped) -> Iterator[str]:
        """Algorithms of which a function lies outside of the module's code."""
        for operation in _OPERATIONS:
            no_store = c_int()
            listed = self.functions["OSSL_PROVIDER_query_operation"](
                self._fips, operation, byref(no_store)
            )
            if not listed:
                if operation in (1, 2, 3, 5, 12):
                    yield f"nothing at all for operation {operation}"
                continue
            for place in range(_ALGORITHMS_MAX):
                one = listed[place]
                if not one.names:
                    break
                if not _lies_in(module, one.implementation):
                    yield one.names.decode("utf-8", "replace")
            self.functions["OSSL_PROVIDER_unquery_operation"](self._fips, operation, listed)

    def _uses_it(self) -> bool:
        sha256 = self._fetch(b"SHA256")
        if not sha256:
            return False
        hashes = self.functions["EVP_MD_get0_provider"](sha256)
        self.functions["EVP_MD_free"](sha256)
        context = self.functions["RAND_get0_private"](None)
        generator = context and self.functions["EVP_RAND_CTX_get0_rand"](context)
        random = generator and self.functions["EVP_RAND_get0_provider"](generator)
        return bool(hashes == random == self._fips)

    def _runs_with_checks(self) -> bool:
        """Whether the module's self-tests passed, and it refuses keys that are too weak."""
        facts = {key: c_uint64() for key in (b"status", b"security-checks")}
        asked = [
            _Parameter(key, _INTEGER, ctypes.addressof(fact), ctypes.sizeof(c_int), 0)
            for key, fact in facts.items()
        ]
        return self._told(asked) and all(fact.value == 1 for fact in facts.values())

    def _told(self, asked: list[_Parameter]) -> bool:
        """Let the module answer; a parameter without a key ends the list."""
        parameters = (_Parameter * (len(asked) + 1))(*asked)
        return bool(self.functions["OSSL_PROVIDER_get_params"](self._fips, parameters) == 1)

    def _fetch(self, name: bytes) -> int | None:
        found: int | None = self.functions["EVP_MD_fetch"](None, name, None)
        return found

    def _digest(self, data: bytes) -> bytes:
        made, length = ctypes.create_string_buffer(64), c_size_t(64)
        done = self.functions["EVP_Q_digest"](
            None, b"SHA256", None, data, len(data), made, byref(length)
        )
        return made.raw[:_DIGEST_BYTES] if done == 1 and length.value == _DIGEST_BYTES else b""

    def _require(self, fact: bool, words: str) -> None:
        if not fact:
            raise FipsRefused(f"the OpenSSL {self.path} {words}")


def behind(library: str | None) -> LibCrypto | None:
    """The libcrypto that a loaded library calls, or None if it calls none that can be asked.

    None as `library` is the program itself. Raises FipsRefused for one that is no OpenSSL 3.
    """
    opened = ctypes.CDLL(library)
    try:
        found = {name: opened[name] for name in _FUNCTIONS}
    except AttributeError:
        if _is_older(opened):
            raise FipsRefused(f"{library or 'this Python'} uses no OpenSSL 3") from None
        return None
    for name, (answer, arguments) in _FUNCTIONS.items():
        found[name].restype, found[name].argtypes = answer, arguments
    file = holder(ctypes.cast(found["EVP_MD_fetch"], c_void_p).value)
    if file is None:
        raise FipsRefused(f"the OpenSSL of {library or 'this Python'} is no file")
    return LibCrypto(file, found)


def _is_older(opened: ctypes.CDLL) -> bool:
    """Whether it has a libcrypto without providers, or with a part of them."""
    return any(hasattr(opened, name) for name in ("EVP_sha256", *_FUNCTIONS))


def _lies_in(module: Mapped, dispatch: int | None) -> bool:
    if dispatch is None or not module.holds(dispatch):
        return False
    table = ctypes.cast(dispatch, POINTER(_Function))
    for place in range(_FUNCTIONS_MAX):
        if table[place].id == 0:
            return place > 0
        if not module.holds(table[place].function, code=True):
            return False
    return False
