"""Where a text that was forgotten is left: in files of a machine, in tables of the hub."""

from __future__ import annotations

from fix_machines import Fleet, Machine

SECRET = "the launch code is zebra-umbrella-42"
TRACE = "zebra-umbrella"


def traces(machine: Machine) -> list[str]:
    """Files of a machine's home in which the text is, read as bytes."""
    home = machine.store.home
    return [
        str(path.relative_to(home))
        for path in sorted(home.rglob("*"))
        if path.is_file() and TRACE.encode() in path.read_bytes()
    ]


def hub_traces(fleet: Fleet) -> list[str]:
    """Tables of the hub in which the text is, in any column."""
    found = []
    with fleet.world.psql().cursor() as cursor:
        tables = cursor.execute(
            "SELECT c.oid::regclass::text FROM pg_class c"
            " JOIN pg_namespace n ON n.oid = c.relnamespace"
            " WHERE n.nspname LIKE 'satchel%' AND c.relkind = 'r'"
        ).fetchall()
        for (table,) in tables:
            query = f"SELECT count(*) FROM {table} AS t WHERE t::text LIKE %s"
            if cursor.execute(query, (f"%{TRACE}%",)).fetchone() != (0,):
                found.append(table)
    return found
