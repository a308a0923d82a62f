"""Where the metrics shall listen, and whether they may: asked before anything is imported."""

from __future__ import annotations

from typing import TYPE_CHECKING

from satchel.errors import ConfigInvalid, InvalidInput, Refused
from satchel.mcp_server.http.listening import Listening
from satchel.secret_store import has_secret
from satchel.warehouse.dsns import admin_dsn
from satchel_crypto import network

if TYPE_CHECKING:
    from satchel.config import Settings

TOKEN = "warehouse.metrics_token"
"""The secret that a scraper has to send: `Authorization: Bearer …`."""
LOOPBACK = "127.0.0.1"
PORT_MAX = 65_535


def permitted(settings: Settings, listen: str) -> Listening:
    """Where to listen: `PORT` of loopback, or `HOST:PORT`. No socket is opened.

    Raises InvalidInput, ConfigInvalid, NetworkRefused, FipsRefused, or Refused where the address is
    not loopback and no token is kept.
    """
    admin_dsn(settings)  # refuses where no warehouse is named
    certificate, key = settings.warehouse_metrics_certificate, settings.warehouse_metrics_key
    if (certificate is None) != (key is None):
        raise ConfigInvalid(
            "a certificate needs its key, and a key its certificate",
            hint="set [warehouse] metrics_certificate and [warehouse] metrics_key",
            field="warehouse.metrics_certificate",
        )
    host, port = _read(listen)
    where = Listening(host=host, port=port, certificate=certificate, key=key)
    network.check("warehouse.metrics", where.target(), settings.network_policy())
    if not where.target().local and not has_secret(settings, TOKEN):
        raise Refused(
            f"whoever reaches {host} could read the metrics: there is no token",
            hint=f"`satchel secret set {TOKEN}`, and the same as bearer token in the scraper",
            field="listen",
        )
    return where


def _read(listen: str) -> tuple[str, int]:
    host, _, port = listen.rpartition(":")
    bracketed = host.startswith("[") and host.endswith("]")
    is_port = port.isascii() and port.isdigit() and int(port) <= PORT_MAX
    if not is_port or (":" in host and not bracketed):
        raise InvalidInput(
            f"{listen[:80]!r} is no address to listen on",
            hint="give PORT or HOST:PORT, an IPv6 address in brackets; port 0 takes a free one",
            field="listen",
        )
    return (host[1:-1] if bracketed else host) or LOOPBACK, int(port)
