"""Times in messages to people: UTC milliseconds as ISO-8601."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def iso(time_ms: int) -> str:
    """`2026-11-29T19:20:00.000+00:00`; `N ms` for a time outside the years 1 to 9999.

    Files of strangers may say any time, and are shown all the same.
    """
    try:
        return (_EPOCH + timedelta(milliseconds=time_ms)).isoformat(timespec="milliseconds")
    except OverflowError:
        return f"{time_ms} ms"
