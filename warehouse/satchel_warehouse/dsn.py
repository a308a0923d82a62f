"""What a DSN says: libpq's options with ours below them, and where they lead."""

from __future__ import annotations

import re
from typing import Any

import psycopg
from psycopg import conninfo, pq

from satchel_crypto.network import Target
from satchel_warehouse import service_file
from satchel_warehouse.errors import DsnInvalid, WarehouseRefused
from satchel_warehouse.login import Dsn, Login

CONNECT_TIMEOUT_S = 10
DEFAULTS = {
    "connect_timeout": CONNECT_TIMEOUT_S,
    "fallback_application_name": "satchel",
    # A peer whose machine or network is gone is noticed 60 s after its last word.
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 60_000,
}
"""Below all that libpq finds: the DSN, its service and the environment win, option by option."""

_SCHEMES = ("postgresql://", "postgres://")
_PORT = re.compile("[0-9]{1,5}")
_SSLMODES = ("disable", "allow", "prefer", "require", "verify-ca", "verify-full")
_CHECKED = ("host", "hostaddr", "port", "sslmode")
"""Options that the network policy is asked about: handed to libpq as they were checked."""
_PROBE = "channel_binding"
_LOOPBACK = ("127.0.0.1", "::1")


def read(dsn: Dsn) -> tuple[dict[str, Any], Target]:
    """The options to connect with, and the target that the network policy has to allow.

    Raises DsnInvalid, or WarehouseRefused for a password inside a DSN that leads elsewhere.
    """
    said = _said(dsn.dsn if isinstance(dsn, Login) else dsn)
    found = _resolved(said)
    options: dict[str, Any] = {
        **{name: value for name, value in DEFAULTS.items() if name not in found},
        **said,
        **{name: found.get(name, "") for name in _CHECKED},
        "client_encoding": "UTF8",
    }
    target = _target(options)
    if not target.local:
        if said.get("password"):
            raise WarehouseRefused(
                "a password inside a DSN is for this machine only",
                hint="keep it as a secret: `satchel secret set warehouse.password`; or use"
                " PGPASSFILE or a service file",
            )
        # With GSS encryption libpq would ask for no certificate, whatever sslmode says.
        options |= {"sslmode": target.tls, "gssencmode": "disable"}
    return options, target


def with_password(dsn: Dsn, options: dict[str, Any]) -> dict[str, Any]:
    """`options` of `read` with the login's own password, where libpq has found none.

    To be called when the network policy has allowed the target. Raises what the login raises.
    """
    if not isinstance(dsn, Login) or "password" in _resolved(options):
        return options
    password = dsn.password()
    return options | {"password": password} if password else options


def parted(dsn: str) -> Login:
    """A whole DSN that was kept as a secret: the password in it may lead anywhere.

    Raises DsnInvalid.
    """
    said = _said(dsn)
    password = said.pop("password", None)
    return Login(conninfo.make_conninfo("", **said), lambda: password)


def unreadable(reason: str) -> DsnInvalid:
    """Never with a word of the DSN, nor libpq's message, which quotes it: that may be a password.

    To be raised `from None`.
    """
    return DsnInvalid(
        f"the warehouse DSN cannot be read: {reason}",
        hint="give a libpq URI: postgresql://user@host:5432/database; write @ : / ? # in a"
        " password as %40 %3A %2F %3F %23",
    )


def _said(dsn: str) -> dict[str, Any]:
    """libpq's reading of the text alone; none if a password may stand as host or path."""
    try:
        said: dict[str, Any] = dict(conninfo.conninfo_to_dict(dsn))
    except (psycopg.Error, UnicodeError):
        raise unreadable("libpq does not understand it") from None
    if "\0" in dsn:
        raise unreadable("it has a NUL")
    rest = dsn.partition("://")[2] if dsn.startswith(_SCHEMES) else ""
    if rest.count("@") > 1 or "/" in rest.rpartition("@")[0]:
        raise unreadable("an @ or a / stands where it has to be written as %40 or %2F")
    return said


def _resolved(said: dict[str, Any]) -> dict[str, str]:
    """What libpq would use: DSN, then service file, then environment, then its own defaults.

    It is asked with one option that cannot be, at which it stops before it opens a socket; the
    service file, which may make it open one before that, is looked through first.
    """
    service_file.require_plain(said)
    probe = conninfo.make_conninfo("", **(said | {_PROBE: "unusable"}))
    asked = pq.PGconn.connect_start(probe.encode())
    try:
        if _PROBE.encode() not in asked.error_message:
            raise unreadable("its service file is not well formed, or two lists do not match")
        found = {option.keyword.decode(): (option.val or b"").decode() for option in asked.info}
    except UnicodeError:
        raise unreadable("its service file is no UTF-8") from None
    finally:
        asked.finish()
    for port in found.get("port", "").split(","):
        if port and not _PORT.fullmatch(port):
            raise unreadable("the port is no number")
    if found.get("sslmode") not in _SSLMODES:
        raise unreadable(f"sslmode is none of {', '.join(_SSLMODES)}")
    return {name: value for name, value in found.items() if value}


def _target(options: dict[str, Any]) -> Target:
    """Where libpq will connect to: the first of several hosts that is not local, if there is one.

    A host's address counts, if it is given, and its name if not: an empty one is looked up.
    """
    every = targets(options)
    remote = next((target for target in every if not target.local), None)
    if remote is None or remote.tls != "prefer":
        return remote or every[0]
    return Target(remote.host, remote.port, "verify-full")


def targets(options: dict[str, Any]) -> list[Target]:
    """Where each of the hosts leads that libpq may try."""
    return [
        Target(address or host, int(port or 5432), options["sslmode"])
        for host, address, port in _places(options)
    ]


def at_loopback(options: dict[str, Any]) -> dict[str, Any]:
    """`options` with the addresses of each `localhost`: a hosts file might name another machine."""
    places = [
        (host, found, port)
        for host, address, port in _places(options)
        for found in (_LOOPBACK if host == "localhost" and not address else (address,))
    ]
    columns = zip(("host", "hostaddr", "port"), zip(*places, strict=True), strict=True)
    return options | {name: ",".join(column) for name, column in columns}


def _places(options: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Host, address and port of each that libpq may try; each empty where nothing is said."""
    hosts, addresses, ports = (options[name].split(",") for name in ("host", "hostaddr", "port"))
    count = max(len(hosts), len(addresses))
    hosts, addresses = hosts * (count // len(hosts)), addresses * (count // len(addresses))
    ports = ports * (count // len(ports))
    return list(zip(hosts, addresses, ports, strict=True))
