"""A warehouse is made, brought to this version, or served from a folder of our own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from satchel.warehouse.dsns import admin_dsn, need_warehouse
from satchel.warehouse.told import status_told

if TYPE_CHECKING:
    from satchel.config import Settings


def init(settings: Settings, *, partitions: int = 0) -> dict[str, Any]:
    """Make roles, schemas and functions in the database that the admin DSN names.

    With `partitions` the tables of a new warehouse that grow have so many: 2 to 64, or none.
    """
    dsn = admin_dsn(settings)
    from satchel_warehouse import admin

    return status_told(admin.init(dsn, partitions=partitions, policy=settings.network_policy()))


def migrate(settings: Settings) -> dict[str, Any]:
    """Bring the warehouse to this version."""
    dsn = admin_dsn(settings)
    from satchel_warehouse import admin

    return status_told(admin.migrate(dsn, policy=settings.network_policy()))


def serve_embedded(
    settings: Settings,
    folder: Path,
    *,
    on_ready: Callable[[dict[str, Any]], None],
    port: int | None = None,
) -> int:
    """Serve a Postgres of our own in the foreground; `on_ready` gets {dsn, pid, data_dir}.

    Raises FipsRefused, NetworkRefused, EmbeddedFailed.
    """
    settings.require_built()
    need_warehouse()
    from satchel_warehouse.serve_embedded import serve

    policy = settings.network_policy()
    return int(serve(folder, lambda made: on_ready(asdict(made)), port=port, policy=policy))


@contextmanager
def embedded(settings: Settings, folder: Path) -> Iterator[str]:
    """A Postgres of our own while the body runs; yields its administrator's DSN."""
    settings.require_built()
    need_warehouse()
    from satchel_warehouse.serve_embedded import running

    with running(folder, policy=settings.network_policy()) as (served, _):
        yield str(served.dsn)
