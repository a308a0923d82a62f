"""What the operator allows: a mode, a rule for each path, and the check of both."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal

from satchel_crypto.errors import CryptoError, FipsRefused, NetworkRefused
from satchel_crypto.network.paths import PATHS, NetworkPath
from satchel_crypto.network.target import Target

_VERIFIED = {"out": "verify-full", "serve": "serve"}
_UNSEEN_LETTERS = frozenset("\u115f\u1160\u3164\uffa0")
"""The fillers of Hangul: letters to Unicode, nothing to a reader."""


@dataclass(frozen=True, slots=True)
class Rule:
    """What the operator said of one path; `attested` is a recorded reason for weaker TLS."""

    enabled: bool = True
    attested: str = ""


@dataclass(frozen=True, slots=True)
class Policy:
    """The network policy: `mode` none closes every path; a path without a rule is closed.

    The mode `unix` is for programs that bring their own servers: Unix sockets and nothing else.
    """

    mode: Literal["open", "unix", "none"] = "open"
    rules: Mapping[str, Rule] = field(default_factory=dict)


def check(path: str, target: Target, policy: Policy | None) -> None:
    """Raise NetworkRefused or FipsRefused unless `policy` lets `path` lead to `target`.

    It fails closed: without a policy, and where the check itself breaks, the answer is no.
    """
    with _closed_if_it_breaks(path):
        _check(path, target, policy)


def require_enabled(path: str, policy: Policy | None) -> None:
    """Raise NetworkRefused where `path` is closed wherever it leads: asked before a lookup."""
    with _closed_if_it_breaks(path):
        _enabled(path, policy)


def refusal(path: str, target: Target, policy: Policy | None) -> CryptoError | None:
    """Why `path` may not lead to `target`, or None."""
    try:
        check(path, target, policy)
    except CryptoError as error:
        return error
    return None


def is_reason(text: str) -> bool:
    """Whether a reason says something to its reader: it has a letter or a digit."""
    return any(one.isalnum() and one not in _UNSEEN_LETTERS for one in text)


@contextmanager
def _closed_if_it_breaks(path: str) -> Iterator[None]:
    try:
        yield
    except CryptoError:
        raise
    except Exception as error:
        raise NetworkRefused(
            f"network path {path!r} stays closed: its check failed ({type(error).__name__})"
        ) from error


def _check(name: str, target: Target, policy: Policy | None) -> None:
    path, rule = _enabled(name, policy)
    if policy is not None and policy.mode == "unix" and not target.unix:
        raise NetworkRefused(
            f"network path {name!r} to {target.host} stays closed: here it may lead to a Unix"
            " socket only",
            hint="unset libpq's PGHOST and PGHOSTADDR",
        )
    attested = rule.attested if is_reason(rule.attested) else ""
    if _is_local(path, target):
        _offer_module(path)
        if path.direction == "serve":  # its logins are hashed by who listens, on loopback too
            _require_approved_tls(path, attested)
        return
    if target.tls != _VERIFIED[path.direction] and not attested:
        raise _unverified(path, target)
    _require_approved_tls(path, attested)


def _enabled(name: str, policy: Policy | None) -> tuple[NetworkPath, Rule]:
    path = PATHS.get(name)
    if path is None:
        raise NetworkRefused(f"network path {name!r} is unknown: it stays closed")
    if policy is None:
        raise NetworkRefused(
            f"network path {name!r} stays closed: no policy was given",
            hint="pass `policy=`: Settings.network_policy() is what the operator said",
        )
    return path, _rule(path, policy)


def _rule(path: NetworkPath, policy: Policy) -> Rule:
    if policy.mode not in ("open", "unix"):
        raise NetworkRefused(
            f"network path {path.name!r} is closed: the network mode is {policy.mode!r}",
            hint='set [network] mode = "open" if this machine may use its network',
            field="network.mode",
        )
    rule = policy.rules.get(path.name)
    if rule is None or rule.enabled is not True:
        raise NetworkRefused(
            f"network path {path.name!r} is not enabled",
            hint=f'enable it in the config: [network."{path.name}"] enabled = true',
            field=f"network.{path.name}.enabled",
        )
    return rule


def _is_local(path: NetworkPath, target: Target) -> bool:
    """To libpq no host is the local socket; a server without one would listen everywhere."""
    is_libpq = path.tls == "libpq" and path.direction == "out"
    if not target.host and not is_libpq:
        raise NetworkRefused(f"network path {path.name!r} stays closed: no host is named")
    return target.local


def _unverified(path: NetworkPath, target: Target) -> NetworkRefused:
    attest = f'attest the weaker one with a reason: [network."{path.name}"] attested = "why"'
    if path.direction == "serve":
        return NetworkRefused(
            f"network path {path.name!r} would listen on {target.host} without TLS:"
            " other machines could reach it",
            hint=f"listen on 127.0.0.1, give it a certificate, or {attest}",
        )
    means = f"sslmode={target.tls or 'default'}" if path.tls == "libpq" else "no verified TLS"
    return NetworkRefused(
        f"network path {path.name!r} to {target.host} would use {means}:"
        " a remote host must be verified",
        hint=f"use {'sslmode=verify-full' if path.tls == 'libpq' else 'https'}, or {attest}",
    )


def _offer_module(path: NetworkPath) -> None:
    """In FIPS mode a login at a server of this machine is computed by the module, if it can be."""
    from satchel_crypto import fips

    if fips.active() and path.tls == "libpq":
        from satchel_crypto.fips import libpq

        libpq.offer_module()


def _require_approved_tls(path: NetworkPath, attested: str) -> None:
    """In FIPS mode the library that does the TLS has to be the validated one. Raises FipsRefused.

    A context of Python's ssl is judged where it is built: `satchel_crypto.fips.tls`.
    """
    from satchel_crypto import fips

    if not fips.active():
        return
    if path.tls == "libpq":
        from satchel_crypto.fips import libpq

        libpq.require_approved(path.name, attested=attested)
    elif path.tls == "program" and not attested:
        raise FipsRefused(
            f"FIPS mode: the cryptography of the network path {path.name!r} is another program's,"
            " and cannot be proved",
            hint=f'attest it with a reason: [network."{path.name}"] attested = "why"',
        )
