"""Every report there is, by its name."""

from __future__ import annotations

from collections.abc import Mapping

from satchel_warehouse.reports.catalog import (
    activity,
    conflicts,
    knowledge,
    lifecycle,
    machines,
    overview,
    reads,
    tasks,
    usage,
)
from satchel_warehouse.reports.report import Report

REPORTS: Mapping[str, Report] = {
    report.name: report
    for report in (
        overview.REPORT,
        machines.REPORT,
        activity.REPORT,
        knowledge.REPORT,
        tasks.REPORT,
        usage.REPORT,
        conflicts.REPORT,
        reads.REPORT,
        lifecycle.REPORT,
    )
}
