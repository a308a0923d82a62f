"""Which Ed25519 keys and signatures are taken: canonical ones, whose points are of large order.

RFC 8032 leaves open what a verifier does with the rest, and libraries differ (Chalkias, Garillot,
Nikolaenko: Taming the many EdDSAs, 2020): OpenSSL takes a public key under which one signature fits
every message, libsodium does not; wolfSSL 5.5.4 takes an S just above the order, which makes a
second signature out of one. A signature must mean the same to every provider, so none sees these.
"""

from __future__ import annotations

_P = 2**255 - 19
_ORDER = 2**252 + 27742317777372353535851937790883648493
_ORDER_8 = 0x7A03AC9277FDC74EC6CC392CFA53202A0F67100D760B3CBA4FD84D3D706A17C7
_SMALL_ORDER = frozenset({0, 1, _P - 1, _ORDER_8, _P - _ORDER_8})
"""The y coordinates of all points whose order divides 8."""


def takes(public: bytes, signature: bytes) -> bool:
    """Whether a library is asked at all about a key of 32 bytes and a signature of 64."""
    s = int.from_bytes(signature[32:], "little")
    return s < _ORDER and _takes_point(public) and _takes_point(signature[:32])


def _takes_point(point: bytes) -> bool:
    y = int.from_bytes(point, "little") & (2**255 - 1)  # the topmost bit is the sign of x
    return y < _P and y not in _SMALL_ORDER
