"""What all tests share: the report header, missing system packages, one Postgres a session."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from fix_hub import HubWorld, embedded_cluster
from fix_hub_pool import HubPool, hub_pool
from fix_long import is_long
from fix_skips import is_allowed
from fix_template import MIGRATED_THEMSELVES, Template, copying, template_of
from hypothesis import settings

from satchel.ranking import choose, engine_name
from satchel_crypto.network import enforced

settings.register_profile("short", max_examples=50, deadline=2_000)  # others share the core
settings.register_profile("long", max_examples=5_000)  # pytest --hypothesis-profile=long
settings.load_profile("short")
WORKERS_A_CORE = 2
"""Half of its time a test waits: for a process, a server, a disk or a clock."""


def pytest_report_header() -> str:
    """Which ranking core these tests run on."""
    return f"satchel: ranking {engine_name(choose('auto'))}"


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """What `-n auto` means."""
    return WORKERS_A_CORE * (os.cpu_count() or 1)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what takes long: `make test` leaves it to `make test-long`."""
    for item in items:
        if is_long(item):
            item.add_marker(pytest.mark.long)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """In CI, which has all that tests need, a skipped test has failed."""
    report = yield
    if report.skipped and os.environ.get("SKIP_NOTHING") and not is_allowed(str(report.longrepr)):
        report.outcome = "failed"
    return report


@pytest.fixture(autouse=True)
def _no_hook_on_sockets() -> Iterator[None]:
    """A test that puts the audit hook on, which nobody can take off, belongs in its own process."""
    before = enforced()
    yield
    assert enforced() == before, "this test put the audit hook on in the process of all tests"


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Template:
    """A replica that was just migrated."""
    return template_of(tmp_path_factory.mktemp("template"))


@pytest.fixture(scope="module", autouse=True)
def fresh_replicas(request: pytest.FixtureRequest, template: Template) -> Iterator[None]:
    """Replicas that begin as copies, but where making them is what the tests are about."""
    if request.path.parent.name in MIGRATED_THEMSELVES:
        yield
    else:
        with copying(template):
            yield


@pytest.fixture(scope="session")
def cluster() -> Iterator[str]:
    """The administrator's DSN of the session's Postgres."""
    with embedded_cluster() as dsn:
        yield dsn


@pytest.fixture(scope="session")
def hub_databases(cluster: str) -> Iterator[HubPool]:
    """The session's hubs."""
    with hub_pool(cluster) as pool:
        yield pool


@pytest.fixture(scope="module")
def world(hub_databases: HubPool) -> Iterator[HubWorld]:
    """An initialised hub in a database of its own, one a module."""
    with hub_databases.hub() as world:
        yield world


@pytest.fixture
def hub_world(hub_databases: HubPool) -> Iterator[HubWorld]:
    """An initialised hub in a database of its own, one a test."""
    with hub_databases.hub() as world:
        yield world
