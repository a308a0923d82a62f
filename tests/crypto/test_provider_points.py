"""Points and numbers that an attacker chooses: computed here from the curves, after Wycheproof."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from fix_providers import having, vectors

from satchel_crypto.algorithms import PRIVATE_BYTES, Agreement, Signature
from satchel_crypto.errors import KeyInvalid
from satchel_crypto.provider import Provider
from satchel_crypto.providers import edwards


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """y² = x³ - 3x + b mod p, of order n (NIST SP 800-186, 3.2.1)."""

    p: int
    b: int
    n: int
    size: int

    def y(self, x: int) -> int | None:
        """A y that goes with x; p = 3 mod 4."""
        square = (x**3 - 3 * x + self.b) % self.p
        root = pow(square, (self.p + 1) // 4, self.p)
        return root if root * root % self.p == square else None

    def point(self, x: int, y: int) -> bytes:
        return b"\4" + x.to_bytes(self.size) + y.to_bytes(self.size)


P256 = Curve(
    p=2**256 - 2**224 + 2**192 + 2**96 - 1,
    b=0x5AC635D8AA3A93E7B3EBBD55769886BC651D06B0CC53B0F63BCE3C3E27D2604B,
    n=0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551,
    size=32,
)
P384 = Curve(
    p=2**384 - 2**128 - 2**96 + 2**32 - 1,
    b=int(
        "B3312FA7E23EE7E4988E056BE3F82D19181D9C6EFE814112"
        "0314088F5013875AC656398D8A2ED19D2A85C8EDD3EC2AEF",
        16,
    ),
    n=int(
        "FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF"
        "C7634D81F4372DDF581A0DB248B0A77AECEC196ACCC52973",
        16,
    ),
    size=48,
)
CURVES = {
    Signature.ECDSA_P256: P256,
    Signature.ECDSA_P384: P384,
    Agreement.ECDH_P256: P256,
    Agreement.ECDH_P384: P384,
}
ECDSA = (Signature.ECDSA_P256, Signature.ECDSA_P384)
ECDH = (Agreement.ECDH_P256, Agreement.ECDH_P384)


def forged_points(curve: Curve, honest: bytes) -> dict[str, bytes]:
    """Encodings of the right length that are no public key."""
    x, y = int.from_bytes(honest[1 : 1 + curve.size]), int.from_bytes(honest[1 + curve.size :])
    small = next(x for x in range(1, 100) if curve.y(x) is not None)
    small_y = curve.y(small)
    assert small_y is not None
    return {
        "infinity, zeros": bytes(len(honest)),
        "infinity, 4 and zeros": b"\4" + bytes(len(honest) - 1),
        "infinity, 0 and the point": b"\0" + honest[1:],
        "off the curve": curve.point(x, (y + 1) % curve.p),
        "x and y exchanged": curve.point(y, x),
        "x = p + x": curve.point(curve.p + small, small_y),
        "all ones": b"\4" + b"\xff" * (len(honest) - 1),
        "compressed": bytes([2 + y % 2]) + honest[1:],
        "hybrid": bytes([6 + y % 2]) + honest[1:],
        "of another curve": curve.point(x, next(y for y in range(2, 100) if y != curve.y(x))),
    }


def test_the_curves_are_what_the_vectors_lie_on() -> None:
    for case in vectors("keys"):
        if case["algorithm"] in ECDSA:
            curve, public = CURVES[case["algorithm"]], bytes.fromhex(case["public"])
            x, y = (
                int(case["public"][2 : 2 + curve.size * 2], 16),
                int.from_bytes(public[-curve.size :]),
            )
            assert curve.y(x) in (y, curve.p - y)


def is_taken(provider: Provider, algorithm: Agreement, private: bytes, public: bytes) -> bool:
    try:
        provider.agree(algorithm, private, public)
    except KeyInvalid:
        return False
    return True


def test_agree_takes_no_forged_point(provider: Provider) -> None:
    for algorithm in having(provider, ECDH):
        curve = CURVES[algorithm]
        private, public = provider.agreement_key(algorithm)
        small = next(x for x in range(1, 100) if curve.y(x) is not None)
        assert is_taken(provider, algorithm, private, curve.point(small, curve.y(small) or 0))
        for what, forged in forged_points(curve, public).items():
            assert not is_taken(provider, algorithm, private, forged), what


def test_verify_takes_no_forged_point(provider: Provider) -> None:
    for algorithm in having(provider, ECDSA):
        private, public = provider.signing_key(algorithm)
        signature = provider.sign(algorithm, private, b"data")
        for what, forged in forged_points(CURVES[algorithm], public).items():
            assert provider.verify(algorithm, forged, b"data", signature) is False, what


def test_verify_takes_r_and_s_only_in_their_range(provider: Provider) -> None:
    for algorithm in having(provider, ECDSA):
        curve = CURVES[algorithm]
        private, public = provider.signing_key(algorithm)
        signature = provider.sign(algorithm, private, b"data")
        r, s = (int.from_bytes(half) for half in (signature[: curve.size], signature[curve.size :]))
        edges = (0, 1, curve.n - 1, curve.n, curve.n + 1, curve.p, 2 ** (8 * curve.size) - 1)
        forged = [(one, other) for one in (r, *edges) for other in (s, *edges)][1:]
        small = [(r + curve.n, s), (r, s + curve.n), (r + curve.n, s + curve.n)]
        for one, other in forged + small:
            if max(one, other) < 2 ** (8 * curve.size):
                value = one.to_bytes(curve.size) + other.to_bytes(curve.size)
                assert provider.verify(algorithm, public, b"data", value) is False, (one, other)


def test_a_private_key_is_taken_only_in_its_range(provider: Provider) -> None:
    for algorithm in having(provider, (*ECDSA, *ECDH)):
        curve = CURVES[algorithm]
        for scalar in (0, curve.n, curve.n + 1, 2 ** (8 * curve.size) - 1):
            private = scalar.to_bytes(curve.size)
            with pytest.raises(KeyInvalid):
                provider.public_of(algorithm, private)
            if isinstance(algorithm, Signature):
                with pytest.raises(KeyInvalid):
                    provider.sign(algorithm, private, b"data")
            else:
                _, public = provider.agreement_key(algorithm)
                assert not is_taken(provider, algorithm, private, public)
        for scalar in (1, 2, curve.n - 1):
            private = scalar.to_bytes(curve.size)
            public = provider.public_of(algorithm, private)
            if isinstance(algorithm, Signature):
                signature = provider.sign(algorithm, private, b"data")
                assert provider.verify(algorithm, public, b"data", signature)


# ---- Curve25519 ---------------------------------------------------------------------------------

P = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, P) % P
Point = tuple[int, int]


def add(one: Point, other: Point) -> Point:
    """RFC 8032, 5.1.4, in affine coordinates."""
    (x1, y1), (x2, y2) = one, other
    both = D * x1 * x2 * y1 * y2
    x = (x1 * y2 + x2 * y1) * pow(1 + both, -1, P)
    y = (y1 * y2 + x1 * x2) * pow(1 - both, -1, P)
    return x % P, y % P


def points_with(y: int) -> list[Point]:
    """The points of the curve with this y."""
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    root = pow(square, (P + 3) // 8, P)
    if root * root % P != square:
        root = root * pow(2, (P - 1) // 4, P) % P
    return sorted({(root, y), (-root % P, y)}) if root * root % P == square else []


def times(number: int, point: Point) -> Point:
    """By doubling and adding."""
    total = (0, 1)
    for bit in bin(number)[2:]:
        total = add(total, total)
        if bit == "1":
            total = add(total, point)
    return total


def small_order() -> set[Point]:
    """The subgroup of order 8: what is left of points when the large order is taken out."""
    candidates = (times(ORDER, point) for y in range(2, 200) for point in points_with(y))
    generator = next(point for point in candidates if times(4, point) != (0, 1))
    return {times(number, generator) for number in range(8)}


SMALL_ORDER = small_order()
SMALL = [
    (y + more | sign << 255).to_bytes(32, "little")
    for y in sorted({y for _, y in SMALL_ORDER})
    for more in (0, P)
    if y + more < 2**255
    for sign in (0, 1)
]
"""Every way to write one of them, canonical or not."""


def test_the_points_of_small_order_are_the_eight_there_are() -> None:
    assert len(SMALL_ORDER) == 8
    assert {y for _, y in SMALL_ORDER} == edwards._SMALL_ORDER
    assert edwards._ORDER == ORDER
    generator = 4 * pow(5, -1, P) % P  # its y in RFC 8032, 5.1
    assert all(times(ORDER, point) == (0, 1) for point in points_with(generator))


def test_no_key_of_small_order_signs_every_message(provider: Provider) -> None:
    """With A = R = the identity and S = 0 the equation of RFC 8032 holds for whatever is said."""
    if Signature.ED25519 not in provider.algorithms:
        return
    for public in SMALL:
        for r in SMALL:
            for message in (b"", b"data", b"other"):
                forged = r + bytes(32)
                assert provider.verify(Signature.ED25519, public, message, forged) is False


def test_ed25519_signatures_are_not_malleable(provider: Provider) -> None:
    if Signature.ED25519 not in provider.algorithms:
        return
    private, public = provider.signing_key(Signature.ED25519)
    for number in range(20):
        data = b"%d" % number
        signature = provider.sign(Signature.ED25519, private, data)
        s = int.from_bytes(signature[32:], "little")
        assert provider.verify(Signature.ED25519, public, data, signature)
        for times in range(1, 16):
            if s + times * ORDER < 2**256:
                other = signature[:32] + (s + times * ORDER).to_bytes(32, "little")
                assert provider.verify(Signature.ED25519, public, data, other) is False


def test_x25519_gives_no_secret_that_anybody_knows(provider: Provider) -> None:
    if Agreement.X25519 not in provider.algorithms:
        return
    known = [case for case in vectors("agreements") if case["algorithm"] == Agreement.X25519]
    low = [bytes.fromhex(case["public"]) for case in known if case["secret"] is None]
    low += [u.to_bytes(32, "little") for u in (0, 1, P - 1, P, P + 1)]
    private, _ = provider.agreement_key(Agreement.X25519)
    for public in low:
        for high_bit in (0, 0x80):
            with pytest.raises(KeyInvalid):
                provider.agree(
                    Agreement.X25519, private, public[:31] + bytes([public[31] | high_bit])
                )


def test_sizes_of_the_curves_are_those_of_the_table() -> None:
    assert {algorithm: curve.size for algorithm, curve in CURVES.items()} == {
        algorithm: PRIVATE_BYTES[algorithm] for algorithm in CURVES
    }
