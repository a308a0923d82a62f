"""The numbers in the text format of Prometheus; names and labels are told in docs/WAREHOUSE.md.

No content: ids, host names, tenants, counts, times. One scrape is one session at the warehouse.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from satchel.errors import EngineUnavailable
from satchel.extras import from_wheels
from satchel.warehouse.dsns import admin_dsn
from satchel_sync.errors import SyncError

if TYPE_CHECKING:
    from prometheus_client import Metric

    from satchel.config import Settings
    from satchel_crypto.network import Policy
    from satchel_warehouse.login import Dsn
    from satchel_warehouse.operations.measures import Measures

PREFIX = "satchel_warehouse_"


def printed(settings: Settings) -> str:
    """The text, once. Raises EngineUnavailable, and ConfigInvalid without an admin's DSN."""
    dsn = admin_dsn(settings)
    require_client()
    return measured(dsn, settings.network_policy())


def measured(dsn: Dsn, policy: Policy) -> str:
    """The text, with `up 0` and nothing else where the warehouse cannot be asked."""
    from satchel_warehouse.operations.measures import measure

    try:
        measures: Measures | None = measure(dsn, policy=policy)
    except SyncError:
        measures = None
    return text_of(measures)


def text_of(measures: Measures | None) -> str:
    """The text of what was measured; None is a warehouse that does not answer."""
    from prometheus_client import CollectorRegistry, generate_latest

    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Once(measures))
    return generate_latest(registry).decode("utf-8")


def require_client() -> None:
    """Raise EngineUnavailable with the advice when the extra is not installed."""
    try:
        import prometheus_client  # noqa: F401
    except ImportError as error:
        raise EngineUnavailable(
            f"the metrics part is not installed: {error.name} is missing",
            hint=from_wheels("warehouse,metrics"),
        ) from error


class _Once:
    """A collector of what was measured already."""

    def __init__(self, measures: Measures | None) -> None:
        self._measures = measures

    def collect(self) -> Iterator[Metric]:
        """Every family, those of one warehouse in one order."""
        yield _gauge("up", "Whether the warehouse answers", [((), float(bool(self._measures)))])
        if self._measures is not None:
            yield from _of_database(self._measures)
            yield from _of_tenants(self._measures)
            yield from _of_care(self._measures)


def _of_database(found: Measures) -> Iterator[Metric]:
    health = found.health
    version = ("server", "revision")
    yield _gauge("info", "Its server and schema", [((found.server, found.revision), 1)], *version)
    yield _gauge("size_bytes", "Size of the database", [((), health.size_bytes)])
    yield _gauge("table_bytes", "Size of a table with indexes", _by(health.table_bytes), "table")
    yield _gauge("rows_estimated", "Rows as Postgres guesses", _by(found.rows_estimated), "table")
    yield _gauge("connections", "Sessions by state", _by(health.connections), "state")
    yield _gauge("connections_max", "Sessions that it takes", [((), health.connections_max)])
    oldest = health.oldest_transaction.age_s if health.oldest_transaction else 0.0
    yield _gauge("oldest_transaction_seconds", "Age of the oldest open one", [((), oldest)])
    yield _gauge("frozen_age", "Age of the oldest transaction number", [((), found.frozen_age)])
    lags = [((one.name,), one.lag_bytes or 0) for one in health.standbys]
    yield _gauge("standby_lag_bytes", "WAL that a standby has not replayed", lags, "standby")


def _of_tenants(found: Measures) -> Iterator[Metric]:
    from prometheus_client.core import CounterMetricFamily

    changes = CounterMetricFamily(
        PREFIX + "changes", "Versions written since the beginning", labels=["tenant"]
    )
    for tenant, number in found.changes.items():
        changes.add_metric([tenant], number)
    yield changes
    yield _gauge("conflicts", "Entries of the journal", _by(found.conflicts), "tenant")
    refused = _by(found.audit_refused)
    yield _gauge("audit_refused", "Audit records that were refused and kept", refused, "tenant")
    who = ("tenant", "machine", "host")
    labels = [((one.tenant, one.replica_id, one.host), one) for one in found.machines]
    synced = [(label, one.synced_at / 1000) for label, one in labels if one.synced_at is not None]
    yield _gauge("machine_synced_timestamp_seconds", "End of its last sync", synced, *who)
    exits = [(label, one.exit) for label, one in labels if one.exit is not None]
    yield _gauge("machine_exit", "Exit code of its last whole sync", exits, *who)
    revoked = [(label, float(one.revoked)) for label, one in labels]
    yield _gauge("machine_revoked", "Whether it may not sync", revoked, *who)
    due = [(label, float(one.must_reconcile)) for label, one in labels]
    yield _gauge("machine_reconcile_due", "Whether it has to compare all rows", due, *who)


def _of_care(found: Measures) -> Iterator[Metric]:
    health = found.health
    reaches = health.backup.detail.get("reaches_at") if health.backup else None
    yield from _time("backup_reaches", "Until when the last dump that was checked reaches", reaches)
    yield from _time("archived", "When WAL was last archived", health.archive.last_at)
    retained = health.retained.at if health.retained else None
    yield from _time("retained", "When `warehouse retain` was last done", retained)
    yield _gauge("archive_failures", "Segments that failed", [((), health.archive.failed)])
    fresh = [
        ((one.tenant, one.name), one.refreshed_at / 1000)
        for one in health.freshness
        if one.refreshed_at is not None
    ]
    told = "When what reports read was made"
    yield _gauge("report_refreshed_timestamp_seconds", told, fresh, "tenant", "name")


def _time(name: str, told: str, at_ms: int | None) -> Iterator[Metric]:
    """A moment in seconds; no line where it never was."""
    if at_ms is not None:
        yield _gauge(f"{name}_timestamp_seconds", told, [((), at_ms / 1000)])


def _by(numbers: dict[str, int]) -> list[tuple[tuple[str, ...], float]]:
    return [((name,), number) for name, number in numbers.items()]


def _gauge(
    name: str, told: str, values: Iterable[tuple[tuple[str, ...], float]], *labels: str
) -> Any:
    from prometheus_client.core import GaugeMetricFamily

    family = GaugeMetricFamily(PREFIX + name, told, labels=labels)
    for of, value in values:
        family.add_metric(of, value)
    return family
