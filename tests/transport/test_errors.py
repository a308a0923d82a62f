"""What a statement can meet: each of it stops a sync as one of its own errors, and so is kept."""

from __future__ import annotations

import psycopg
import pytest

from satchel_sync.errors import SyncError
from satchel_warehouse.errors import translate


@pytest.mark.parametrize(
    ("state", "exit_code"),
    [
        ("25006", 10), ("53100", 10), ("55P03", 10), ("08006", 10), ("3F000", 13), ("42883", 13),
        ("SA002", 13), ("SA003", 12), ("42501", 4), ("SA001", 4), ("22012", 1), ("ZZ999", 1),
    ],
)  # fmt: skip
def test_whatever_a_statement_meets_is_kept_in_a_report(state: str, exit_code: int) -> None:
    met = type("Met", (psycopg.Error,), {"sqlstate": state})("the server's words")
    error = translate(met)
    assert isinstance(error, SyncError)
    assert (error.exit_code, "the server's words" in str(error)) == (exit_code, True)
