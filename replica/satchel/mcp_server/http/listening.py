"""Where a server shall listen, and whether it may: asked before anything of MCP is imported."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from satchel import mcp_tokens
from satchel.errors import ConfigInvalid, Refused
from satchel_crypto import network
from satchel_crypto.network import Target

if TYPE_CHECKING:
    from satchel.config import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Listening:
    """An address; with `certificate` and `key` (PEM) TLS is spoken there. Port 0: any free one."""

    host: str
    port: int
    certificate: Path | None = None
    key: Path | None = None

    @property
    def tls(self) -> bool:
        """Whether TLS is spoken."""
        return self.certificate is not None

    def target(self) -> Target:
        """The same as the gate of the network takes it."""
        return Target(self.host, self.port, "serve" if self.tls else "")


def permitted(settings: Settings, host: str | None = None, port: int | None = None) -> Listening:
    """Where to listen: what is given, else what the settings say. No socket is opened.

    Raises NetworkRefused, FipsRefused, ConfigInvalid, or Refused where no token lets anybody in.
    """
    certificate, key = settings.mcp_http_certificate, settings.mcp_http_key
    if (certificate is None) != (key is None):
        raise ConfigInvalid(
            "a certificate needs its key, and a key its certificate",
            hint="set [mcp] http_certificate and [mcp] http_key",
            field="mcp.http_certificate",
        )
    where = Listening(
        host=settings.mcp_http_host if host is None else host,
        port=settings.mcp_http_port if port is None else port,
        certificate=certificate,
        key=key,
    )
    network.check("mcp.http", where.target(), settings.network_policy())
    if not mcp_tokens.listed(settings):
        raise Refused(
            "nobody could be let in: there is no token",
            hint="`satchel mcp token create AGENT` makes one and shows it once",
        )
    return where
