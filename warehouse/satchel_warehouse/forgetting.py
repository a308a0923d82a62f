"""SQL for rows about forgotten ones (satchel_sync.subjects), filled in from the kinds' columns."""

from __future__ import annotations

from satchel_sync.stamp import SCRUBBED
from satchel_sync.subjects import MARK, PROVENANCE, SUBJECT_COLUMNS
from satchel_sync.tables import BY_NAME, HISTORY, MEMORY, TABLES, Table

_TOP = SCRUBBED.life
_VERSION = (
    f"life = {_TOP}, hlc = {SCRUBBED.hlc}, origin = '\\x{SCRUBBED.origin.hex()}',"
    f" digest = '\\x{SCRUBBED.digest.hex()}', lineage = ''"
)


def parts() -> dict[str, str]:
    """The parts of `forget.sql`."""
    dependents = [BY_NAME[kind] for kind in SUBJECT_COLUMNS] + [HISTORY]
    by_kind = (f"WHEN '{t.name}' THEN {_held_forgotten(t, '_key', '_tenant')}" for t in TABLES)
    return {
        "dependents": "\n    ".join([*map(_scrub, dependents), _scrub_told(), _scrub_made()]),
        "subject_kinds": ", ".join(f"'{kind}'" for kind in sorted(SUBJECT_COLUMNS)),
        "forgotten_by_kind": "\n        ".join(by_kind),
        "scrubbed": SCRUBBED.hex(),
        "mark": MARK,
        "names_origins": _names_origins("_metadata"),
    }


def about_forgotten(table: Table, row: str, tenant: str) -> str:
    """Whether `row` of this kind is about a row that the hub holds as forgotten."""
    if table is HISTORY:
        whens = (f"WHEN '{t.name}' THEN {_of_forgotten(t, row, tenant)}" for t in TABLES)
        return f"(CASE {row}.kind {' '.join(whens)} ELSE false END)"
    if table is MEMORY:
        is_made = _names_origins(f"{row}.metadata")
        return f"({is_made} AND {_held_mark(f'satchel.marks_in({row}.metadata)', tenant)})"
    columns = SUBJECT_COLUMNS.get(table.name, ())
    memory = BY_NAME["memory"]
    tests = [_held_forgotten(memory, f'{row}."{column}"', tenant) for column in columns]
    return f"({' OR '.join(tests)})" if tests else "false"


def turned(table: Table) -> str:
    """Statement that turns arrived rows about forgotten ones into forgotten rows."""
    if table not in (HISTORY, MEMORY) and table.name not in SUBJECT_COLUMNS:
        return ""
    return f"""WITH turned AS (
        UPDATE pg_temp.incoming_{table.name} i SET {_emptied(table)}, {_VERSION}
        WHERE i.life < {_TOP} AND {about_forgotten(table, "i", "me.tenant")}
        RETURNING i."{table.key}" AS key
    )
    SELECT coalesce(array_agg(DISTINCT key), '{{}}') INTO forgotten FROM turned;"""


def _scrub(table: Table) -> str:
    """Scrub the rows of this kind about rows `_keys` of `_kind`, then what is about those."""
    if table is HISTORY:
        kinds, about = "_kind <> 'history'", "t.kind = _kind AND t.key = ANY (_keys)"
        told = f"{_told('kind')} = _kind AND {_told('key')} = ANY (_keys)"
    else:
        columns = SUBJECT_COLUMNS[table.name]
        kinds = "_kind = 'memory'"
        about = " OR ".join(f't."{column}" = ANY (_keys)' for column in columns)
        told = " OR ".join(f"{_told(column)} = ANY (_keys)" for column in columns)
    return f"""IF {kinds} THEN
        DELETE FROM satchel.conflict c
        WHERE c.tenant = _tenant AND c.kind = '{table.name}' AND ({told});
        {_scrub_where(table, about)}
    END IF;"""


def _scrub_told() -> str:
    """Scrub the history of edges that are deleted, and were of memories `_keys`."""
    of_keys = "FROM satchel.history_memory m WHERE m.tenant = _tenant AND m.memory_id = ANY (_keys)"
    about = (
        f"t.id = ANY (ARRAY(SELECT m.id {of_keys}))"
        " AND satchel.memories_in(t.kind, t.changes) && _keys"
    )
    return f"""IF _kind = 'memory' THEN
        {_scrub_where(HISTORY, about)}
        DELETE {of_keys};
    END IF;"""


def _scrub_made() -> str:
    """Scrub memories that were made of what these keys mark, and what is told of such."""
    journaled = "satchel.field(c.content, 'metadata')"
    made = "satchel.marks_in(t.metadata) && _keys"
    told = "t.kind = 'memory' AND satchel.marks_told(t.kind, t.changes) && _keys"
    return f"""IF _kind = 'relationship' THEN
        _keys := ARRAY(SELECT k FROM unnest(_keys) AS k WHERE starts_with(k, '{MARK}'));
        IF _keys <> '{{}}' THEN
            DELETE FROM satchel.conflict c
            WHERE c.tenant = _tenant AND c.kind = 'memory' AND {_names_origins("c.content", "")}
                AND satchel.marks_in({journaled}) && _keys;
            {_scrub_where(MEMORY, f"{_names_origins('t.metadata')} AND {made}")}
            {_scrub_where(HISTORY, told)}
        END IF;
    END IF;"""


def _names_origins(column: str, quote: str = '"') -> str:
    """Whether a metadata may say of what it was made: looked at before it is read."""
    tests = (f"strpos({column}, '{quote}{name}{quote}') > 0" for name in PROVENANCE)
    return f"({' OR '.join(tests)})"


def _held_mark(marks: str, tenant: str) -> str:
    return (
        f"EXISTS (SELECT FROM satchel.relationship s WHERE s.tenant = {tenant}"
        f" AND s.id = ANY ({marks}) AND s.life = {_TOP})"
    )


def _scrub_where(table: Table, about: str) -> str:
    return f"""WITH gone AS (
            UPDATE satchel.{table.name} t SET {_emptied(table)}, {_VERSION},
                change_seq = nextval(_changes), schema_ver = _schema, received_at = now,
                pushed_by = _by
            WHERE t.tenant = _tenant AND t.life < {_TOP} AND ({about})
            RETURNING t."{table.key}" AS key
        ) SELECT array_agg(key) INTO found_keys FROM gone;
        IF found_keys IS NOT NULL THEN
            PERFORM satchel.scrub_about(_tenant, '{table.name}', found_keys, _by, _schema);
        END IF;"""


def _told(column: str) -> str:
    """A column of the row that a journal entry holds."""
    return f"satchel.field(c.content, '{column}')"


def _held_forgotten(table: Table, key: str, tenant: str) -> str:
    return (
        f"EXISTS (SELECT FROM satchel.{table.name} s WHERE s.tenant = {tenant}"
        f' AND s."{table.key}" = {key} AND s.life = {_TOP})'
    )


def _of_forgotten(table: Table, row: str, tenant: str) -> str:
    """Whether a history row of this kind is about a forgotten row, or was about one."""
    held = _held_forgotten(table, f"{row}.key", tenant)
    if table is MEMORY:
        return f"({held} OR {_held_mark(f'satchel.marks_told({row}.kind, {row}.changes)', tenant)})"
    if table.name not in SUBJECT_COLUMNS:
        return held
    told = f"ANY (satchel.memories_in({row}.kind, {row}.changes))"
    return f"({held} OR {_held_forgotten(BY_NAME['memory'], told, tenant)})"


def _emptied(table: Table) -> str:
    return ", ".join(f'"{name}" = NULL' for name in (*table.names, "extra"))
