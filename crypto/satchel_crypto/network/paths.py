"""The network paths of the product: each has a name, and there are no others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

Direction = Literal["out", "serve"]
"""Whether satchel connects to somebody, or listens for them."""


class NetworkPath(NamedTuple):
    """One way into or out of this machine.

    `owner` is the package that opens it. `enabled` is what counts where the operator says nothing;
    one that is enabled leads nowhere until its target is named. `tls` is what speaks TLS on it:
    libpq with its own OpenSSL, Python's ssl, or another program that is started.
    """

    name: str
    purpose: str
    owner: str
    direction: Direction = "out"
    enabled: bool = False
    tls: Literal["libpq", "ssl", "program"] = "ssl"


_ALL = (
    NetworkPath(
        name="sync.postgres",
        purpose="this replica and its warehouse",
        owner="satchel_warehouse",
        enabled=True,
        tls="libpq",
    ),
    NetworkPath(
        name="warehouse.admin",
        purpose="the warehouse's administration",
        owner="satchel_warehouse",
        enabled=True,
        tls="libpq",
    ),
    NetworkPath(
        name="warehouse.report",
        purpose="reports, searches and audits of the warehouse",
        owner="satchel_warehouse",
        enabled=True,
        tls="libpq",
    ),
    NetworkPath(
        name="warehouse.serve",
        purpose="a Postgres of our own on a TCP port",
        owner="satchel_warehouse",
        direction="serve",
        enabled=True,
        tls="program",
    ),
    NetworkPath(
        name="warehouse.metrics",
        purpose="the warehouse's numbers for Prometheus",
        owner="satchel.warehouse",
        direction="serve",
    ),
    NetworkPath(
        name="fips.source",
        purpose="the source of the FIPS module, fetched by cargo for `satchel crypto fips build`",
        owner="satchel_crypto.fips",
        enabled=True,
        tls="program",
    ),
    NetworkPath(
        name="embed.http",
        purpose="an embedding model behind HTTP",
        owner="satchel.embedding",
    ),
    NetworkPath(
        name="llm.http",
        purpose="a language model behind HTTP",
        owner="satchel.memory",
    ),
    NetworkPath(
        name="mcp.http",
        purpose="the tools over HTTP",
        owner="satchel.mcp_server",
        direction="serve",
    ),
    NetworkPath(
        name="dashboard.http",
        purpose="the dashboard",
        owner="satchel.dashboard",
        direction="serve",
    ),
)

PATHS: Mapping[str, NetworkPath] = {path.name: path for path in _ALL}
"""Every network path by its name."""
