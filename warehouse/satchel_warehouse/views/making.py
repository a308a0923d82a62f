"""The SQL that makes the views, their comments, and what fills the sums behind them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from satchel_sync.stamp import INT64_MAX
from satchel_sync.tables import MEMORY, TABLES
from satchel_warehouse.views.catalog import SUMS, VIEW_OF, VIEWS
from satchel_warehouse.views.fleet import LATE_HOURS
from satchel_warehouse.views.knowledge import STALE_DAYS
from satchel_warehouse.views.view import View, read

SCHEMA = "report"
LIFE_ERASED = INT64_MAX
_SPACE = "\\0020"
_SPACES = "".join(f"\\{code:04X}" for code in range(0x3001) if chr(code).isspace())
"""What `str.split` takes for white space, in SQL: all of it lies below 3001."""

BORN: Mapping[str, tuple[str, str]] = {
    "space": ("created_at", "NULL"),
    "agent": ("registered_at", "agent_id"),
    "session": ("opened_at", "agent_id"),
    "memory": ("recorded_at", "agent_id"),
    "relationship": ("NULL", "agent_id"),
    "task": ("created_at", "created_by"),
    "message": ("created_at", "from_agent"),
    "chatlog": ("said_at", "coalesce(agent_id, host_agent)"),
    "embedding": ("NULL", "NULL"),
}
"""Kind -> when a row of it came into being, and by whom. History is no row of its own here."""


def statements() -> list[str]:
    """Everything of the reports, in order; repeatable: views are replaced, never dropped."""
    return [
        _filled(read("helpers.sql")),
        read("places.sql"),
        *(_fresh(name) for name in SUMS),
        _filled(read("refresh.sql")),
        *(made(view) for view in VIEWS),
        *(_comments(view) for view in VIEWS),
    ]


def made(view: View) -> str:
    """The statement that makes a view."""
    return (
        f"CREATE OR REPLACE VIEW {SCHEMA}.{view.name} WITH (security_barrier) AS\n"
        f"{_filled(view.sql)}"
    )


def _fresh(name: str) -> str:
    """The function that reckons a sum of a tenant anew."""
    return (
        f"CREATE OR REPLACE FUNCTION satchel.fresh_{name}(_tenant text)"
        f" RETURNS SETOF satchel.report_{name} LANGUAGE sql STABLE"
        " SET search_path = satchel, pg_catalog, pg_temp AS $$\n"
        f"{_filled(read(f'fresh/{name}.sql'))}$$"
    )


def _comments(view: View) -> str:
    about = f"COMMENT ON VIEW {SCHEMA}.{view.name} IS {_literal(view.doc)};"
    of_columns = (
        f"COMMENT ON COLUMN {SCHEMA}.{view.name}.{column.name} IS {_literal(column.doc)};"
        for column in view.columns
    )
    return "\n".join([about, *of_columns])


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _filled(sql: str) -> str:
    for name, part in _parts().items():
        sql = sql.replace(f"@{name}@", part)
    return sql


def _parts() -> dict[str, str]:
    return {
        "white_space": f"U&'[{_SPACES}]+'",
        "odd_space": f"U&'[{_SPACES.replace(_SPACE, '')}]|  '",
        "no_space": f"U&'[^{_SPACES}]'",
        "late_hours": str(LATE_HOURS),
        "stale_days": str(STALE_DAYS),
        "sums": "{" + ",".join(SUMS) + "}",
        "views_of_sums": ", ".join(
            f"('{v.name}', '{v.sum}', {VIEW_OF[v.sum] == v.name})" for v in VIEWS if v.sum
        ),
        "kinds": "{" + ",".join(BORN) + "}",
        "memory_columns": "{" + ",".join(MEMORY.names) + "}",
        "kinds_counted": _of_each(_COUNTED),
        "kinds_pushed": _of_each(_PUSHED),
        "kinds_behind": _of_each(_BEHIND),
        "kinds_dead": _of_each(_DEAD),
        "kinds_born": _union(
            _BORN.format(kind=t.name, key=t.key, at=BORN[t.name][0], agent=BORN[t.name][1])
            for t in TABLES
            if t.name in BORN
        ),
    }


_COUNTED = (
    "SELECT '{kind}' AS kind, count(*) FILTER (WHERE satchel.is_alive(life)) AS alive,"
    f" count(*) FILTER (WHERE NOT satchel.is_alive(life) AND life < {LIFE_ERASED}) AS deleted,"
    f" count(*) FILTER (WHERE life = {LIFE_ERASED}) AS erased"
    " FROM satchel.{kind} WHERE tenant = _tenant"
)
_PUSHED = (
    "SELECT pushed_by, count(*) AS rows FROM satchel.{kind} WHERE tenant = _tenant"
    " GROUP BY pushed_by"
)
_BEHIND = (
    "SELECT m.id, n.rows FROM machine m JOIN ("
    "SELECT d.seq, (SELECT count(*) FROM satchel.{kind} t WHERE t.tenant = _tenant"
    " AND t.change_seq > d.seq) AS rows FROM (SELECT DISTINCT"
    " coalesce((delivered ->> '{kind}')::bigint, 0) AS seq FROM machine) AS d"
    ") AS n ON n.seq = coalesce((m.delivered ->> '{kind}')::bigint, 0)"
)
_DEAD = (
    f"SELECT '{{kind}}' AS kind, life = {LIFE_ERASED} AS erased,"
    f" CASE life WHEN {LIFE_ERASED} THEN satchel.day_of(received_at)"
    " ELSE satchel.day_of(hlc >> 16) END AS day,"
    f" CASE life WHEN {LIFE_ERASED} THEN pushed_by ELSE origin END AS machine"
    " FROM satchel.{kind} WHERE tenant = _tenant AND NOT satchel.is_alive(life)"
)
_BORN = (
    "SELECT '{kind}' AS kind, {key} AS key, {at}::bigint AS at, {agent}::text AS agent, life, hlc,"
    f" origin, lineage FROM satchel.{{kind}} WHERE tenant = _tenant AND life < {LIFE_ERASED}"
)


def _of_each(form: str) -> str:
    """The same for every kind."""
    return _union(form.format(kind=table.name) for table in TABLES)


def _union(parts: Iterable[str]) -> str:
    return "\n    UNION ALL ".join(parts)
