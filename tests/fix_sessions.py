"""The one summary of a session, as a caller reads it."""

from __future__ import annotations

from typing import Any

from satchel.memory import edges, read
from satchel.replica import Replica


def summary_of(replica: Replica, session: dict[str, Any]) -> dict[str, Any]:
    (item,) = read.get(replica, [session["summary_memory_id"]])["items"]
    return item


def content_of(replica: Replica, session: dict[str, Any]) -> str:
    return str(summary_of(replica, session)["content"])


def sources_of(replica: Replica, session: dict[str, Any]) -> set[str]:
    around = edges.graph(replica, session["summary_memory_id"])["edges"]
    assert {one["type"] for one in around} <= {"derived_from"}
    assert {one["from_id"] for one in around} <= {session["summary_memory_id"]}
    return {one["to_id"] for one in around}
