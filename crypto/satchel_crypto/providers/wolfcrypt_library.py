"""Functions of wolfSSL that its binding lacks, called in the very library it is linked to."""

from __future__ import annotations

import ctypes
import importlib
from typing import Any

_binding = importlib.import_module("wolfcrypt._ffi")  # `from wolfcrypt import _ffi` is another
_library = ctypes.CDLL(_binding.__file__)  # finds what it is linked to, whatever its path
_library.wolfSSL_lib_version.restype = ctypes.c_char_p
if _library.wolfCrypt_Init() != 0:  # makes the locks of its caches, which threads would race for
    raise OSError("wolfCrypt_Init failed")


def library_version() -> str:
    """Of wolfSSL itself, not of the headers that the binding was built with."""
    version: bytes = _library.wolfSSL_lib_version()
    return version.decode("ascii")


def make_public(key: Any) -> bool:
    """Compute the public part of an ecc_key with a private one; False if that is out of range."""
    return bool(_library.wc_ecc_make_pub(_address(key), None) == 0)


def is_on_curve(key: Any) -> bool:
    """Whether an ecc_key passes the full validation of NIST SP 800-56A, 5.6.2.3.3."""
    return bool(_library.wc_ecc_check_key(_address(key)) == 0)


def use_generator(key: Any, random: Any) -> None:
    """Blind with `random` what an ecc_key computes. The caller keeps both alive."""
    if _library.wc_ecc_set_rng(_address(key), _address(random)) != 0:
        raise OSError("wc_ecc_set_rng failed")


def _address(owner: Any) -> ctypes.c_void_p:
    pointer = _binding.ffi.cast("uintptr_t", owner.native_object)
    return ctypes.c_void_p(int(pointer))
