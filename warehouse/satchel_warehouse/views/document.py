"""`python -m satchel_warehouse.views.document`: docs/REPORT_VIEWS.md, made from the catalog."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from satchel_warehouse.views.catalog import VIEWS
from satchel_warehouse.views.view import View, read

HEAD = """\
# Views for reports

Made from the catalog of views by `make docs`; a test keeps it true, and the same words stand as
comments in the database (`\\d+ report.machines`). The views lie in the schema `report` of a
[warehouse](WAREHOUSE.md) and are for any SQL tool:

```sh
satchel warehouse grant --reporter analysts   # may SELECT from these views only
psql "postgresql://analysts@db.example.org/memory" -c "SELECT * FROM report.machines"
```

They stay: columns are only ever appended, names and types never change, and views of your own may
build on them. There is no content in them: ids, names of agents, spaces, hosts and types, and
numbers; titles only of tasks that are for the whole organisation. A login sees its tenant's lines.

**As of when.** Views that are marked *live* read what the warehouse holds now. The others read sums
that `satchel warehouse refresh` (or `SELECT satchel.refresh_reports()` as their owner, by cron or
pg_cron) makes anew, all of a tenant as of one moment; `report.freshness` says when that was. A
refresh stops no sync and no reader. Ages and what is overdue are told as of now.

**Conventions.** `tenant` comes first. Times are `timestamp with time zone`, a `day` is a date in
UTC, durations (`…_s`) are seconds, shares lie in 0..1. NULL in `agent`, `actor`, `owner`, `space`
and the like: not told, or the operator. Machines are told by the replica id under which a row was
written; a file that took a new id counts under both. What a machine's clock or a hand got wrong is
shown as it was written; times outside of the years 1 to 9999 count as not told, and names longer
than 200 characters are cut. SQL by hand at the warehouse leaves no history, so it shows in what
there is (`memories`, `totals`, `deletions`), not among changes.

For example:

```sql
@examples@
```

| view | as of | what it tells |
|---|---|---|
"""


def document() -> str:
    """The whole page."""
    examples = read("examples.sql").strip()
    table = "".join(
        f"| [{view.name}](#{view.name}) | {view.as_of} | {view.doc} |\n" for view in VIEWS
    )
    return "\n".join(
        [HEAD.replace("@examples@", examples) + table, *("\n".join(_of(view)) for view in VIEWS)]
    )


def _of(view: View) -> Iterator[str]:
    yield f"## {view.name}\n\n{view.doc} As of: {view.as_of}.\n"
    yield "| column | type | meaning |\n|---|---|---|"
    for column in view.columns:
        kind = column.type.replace("timestamp with time zone", "timestamptz")
        yield f"| `{column.name}` | {kind} | {column.doc.replace('|', chr(92) + '|')} |"
    yield ""


if __name__ == "__main__":
    sys.stdout.write(document())
