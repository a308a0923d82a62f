"""Triggers of every synced table, generated from its `Table`: they list all columns.

They run under any SQLite from 3.35 on, so that a write by hand with `sqlite3` is stamped, kept in
history, indexed and queued for the next sync as the engine's own writes are. Built-ins only.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from functools import cache

import apsw

from satchel.store import vector_triggers
from satchel.store.sql import HISTORY_KINDS, WALL_MS, version_hex
from satchel.store.withholding import WITHHELD, spread, withhold
from satchel_sync.clock import HLC_MAX
from satchel_sync.stamp import (
    CREATED,
    FINISHED,
    GENERATION,
    INT64_MAX,
    LIFE_MAX,
    LINEAGE_MAX,
    SCRUBBED,
)
from satchel_sync.subjects import SUBJECT_COLUMNS
from satchel_sync.tables import EXTRA, TABLES, Table

TEXT_COLUMNS: Mapping[str, tuple[str, ...]] = {
    "memory": ("title", "content", "aliases"),
    "chatlog": ("content",),
}
"""Kinds with a full-text index and the columns in it."""

VERSION = "(life, hlc, origin, digest, lineage)"
LINEAGE_CHARS_MAX = LINEAGE_MAX * 81 - 1
CAPTURING = "(SELECT applying FROM control) = 0"


def install(db: apsw.Connection) -> None:
    """(Re)make all triggers; needs a write transaction."""
    found = db.execute("SELECT name FROM sqlite_schema WHERE type = 'trigger'").fetchall()
    for (name,) in found:
        db.execute(f'DROP TRIGGER "{name}"')
    for statement in statements():
        db.execute(statement)
    db.execute("INSERT OR REPLACE INTO meta(name, value) VALUES('triggers', ?)", (mark(),))


@cache
def statements() -> tuple[str, ...]:
    """Every CREATE statement, for all tables."""
    of_tables = (statement for table in TABLES for statement in of_table(table))
    return (spread(), *of_tables, *vector_triggers.statements())


@cache
def mark() -> int:
    """What `meta.triggers` holds when exactly these statements are installed."""
    return zlib.crc32("\n".join(statements()).encode())


def of_table(table: Table) -> Iterator[str]:
    """The CREATE statements for one table."""
    yield _guard(table)
    yield _forgotten(table)
    yield _over(table)
    yield _insert(table)
    yield _update(table)
    yield _damage(table)
    yield _delete(table)
    if table.name in TEXT_COLUMNS:
        yield from _text_index(table, TEXT_COLUMNS[table.name])


def _guard(table: Table) -> str:
    """Keys are for ever, and so is `local`: changing them would strand or leak a row.

    A pull leaves withheld rows alone, so whatever `local` the hub has can be stored.
    """
    local = table.name == "memory"
    rules = [
        (
            f"SELECT RAISE(ABORT, 'the key of a {table.name} cannot be changed')"
            f" WHERE NEW.{table.key} IS NOT OLD.{table.key} OR NEW.row IS NOT OLD.row;"
        )
    ]
    if local:
        rules.append(
            "SELECT RAISE(ABORT, 'local is fixed when a memory is created')"
            f" WHERE coalesce(NEW.local, 0) IS NOT coalesce(OLD.local, 0) AND {CAPTURING};"
        )
    columns = ", ".join(["row", table.key, *(["local"] if local else [])])
    return _trigger(table, "guard", f"BEFORE UPDATE OF {columns}", "true", rules)


def _forgotten(table: Table) -> str:
    when = f"OLD.life = {INT64_MAX} AND {CAPTURING}"
    rule = f"SELECT RAISE(ABORT, 'this {table.name} was forgotten: that is final');"
    return _trigger(table, "forgotten", f"BEFORE UPDATE OF {_data(table)}", when, [rule])


def _insert(table: Table) -> str:
    """Stamp what was created, or give a replaced row the version that `_over` prepared."""
    body = [
        _tick("0", "NOT EXISTS (SELECT 1 FROM replaced)"),
        (
            f"UPDATE {table.name} SET {VERSION} = (SELECT {CREATED}, last, replica_id, NULL, ''"
            " FROM clock, control) WHERE row = NEW.row AND NOT EXISTS (SELECT 1 FROM replaced);"
        ),
        (
            f"UPDATE {table.name} SET {VERSION} = (SELECT life, hlc, origin, digest, lineage"
            " FROM replaced) WHERE row = NEW.row AND EXISTS (SELECT 1 FROM replaced);"
        ),
        *withhold(table),
        _queue(table, "NEW.", "NOT EXISTS (SELECT 1 FROM replaced WHERE digest IS NOT NULL)"),
        "DELETE FROM replaced;",
    ]
    return _trigger(table, "insert", "AFTER INSERT", CAPTURING, body)


def _over(table: Table) -> str:
    """INSERT over a row that is there: only REPLACE goes on, and it counts as an update.

    The policy of the outer statement rules the statements of a trigger: `replace_probe` has one row
    and the insert into it is OR IGNORE, so it changes that row under INSERT OR REPLACE alone, not
    under OR IGNORE or an upsert. The old row is updated first, as if by UPDATE; SQLite then deletes
    it, with or without triggers (`recursive_triggers`), and the new row takes over its version.
    """
    name, key = table.name, table.key
    probed = f"FROM replace_probe WHERE kind = '{name}' AND key = NEW.{key}"
    is_held = f"{key} = NEW.{key} AND EXISTS (SELECT 1 {probed})"
    settings = ", ".join(f"{column} = NEW.{column}" for column in (*table.names, EXTRA))
    still_dead = f"{is_held} AND {_dead('')}"
    body = [
        f"INSERT OR IGNORE INTO replace_probe(slot, kind, key) VALUES(1, '{name}', NEW.{key});",
        (
            f"SELECT RAISE(ABORT, 'this row number belongs to another {name}') {probed}"
            f" AND EXISTS (SELECT 1 FROM {name} WHERE row = NEW.row AND {key} IS NOT NEW.{key});"
        ),
        f"UPDATE {name} SET {settings} WHERE {is_held};",
        # A tombstone that is replaced by a row of NULLs: no column changed, yet it lives again.
        _tick(
            f"(SELECT hlc FROM {name} WHERE {key} = NEW.{key})",
            f"EXISTS (SELECT 1 FROM {name} WHERE {still_dead})",
        ),
        _restamp(table, f"{name}.", still_dead, life=_generation(f"{name}.")),
        (
            "INSERT INTO replaced(kind, key, life, hlc, origin, digest, lineage)"
            f" SELECT '{name}', {key}, life, hlc, origin, digest, lineage"
            f" FROM {name} WHERE {is_held};"
        ),
        "UPDATE replace_probe SET kind = NULL, key = NULL WHERE kind IS NOT NULL;",
    ]
    if name in TEXT_COLUMNS:
        source = f"FROM {name} AS held WHERE {key} = NEW.{key} AND EXISTS (SELECT 1 FROM replaced)"
        body.append(_unindex(table, TEXT_COLUMNS[name], "held.", source))
    when = (
        f"{CAPTURING} AND (EXISTS (SELECT 1 FROM {name} WHERE {key} = NEW.{key})"
        f" OR EXISTS (SELECT 1 FROM {name} WHERE row = NEW.row))"
    )
    return _trigger(table, "over", "BEFORE INSERT", when, body)


def _update(table: Table) -> str:
    """A change makes a version; a write that changes nothing does not."""
    body = [
        _tick("OLD.hlc"),
        _restamp(table, "OLD.", "row = NEW.row", life=_life(table)),
        *withhold(table),
        _queue(table, "NEW."),
    ]
    if table.name in HISTORY_KINDS:
        body += _remember(
            table,
            event=f"CASE WHEN {_dead('OLD.')} THEN 'restore' ELSE 'update' END",
            row="NEW.",
            new="NEW.",
        )
    when = f"{CAPTURING} AND {_changed(table)}"
    return _trigger(table, "update", f"AFTER UPDATE OF {_data(table)}", when, body)


def _damage(table: Table) -> str:
    """A version written by hand that is none: the row gets the next one after what it had."""
    body = [
        _tick("OLD.hlc"),
        _restamp(table, "OLD.", "row = NEW.row", life="OLD.life"),
        _queue(table, "NEW."),
    ]
    scrubbed = (
        f"(NEW.life = {INT64_MAX} AND NEW.hlc = {INT64_MAX}"
        f" AND NEW.origin = x'{SCRUBBED.origin.hex()}' AND NEW.digest = x'{SCRUBBED.digest.hex()}')"
    )
    faults = [
        "typeof(NEW.life) <> 'integer'",
        f"NEW.life < {GENERATION}",
        f"NEW.life > {LIFE_MAX}",
        "typeof(NEW.hlc) <> 'integer'",
        "NEW.hlc < 0",
        f"NEW.hlc > {HLC_MAX}",
        "typeof(NEW.origin) <> 'blob'",
        "length(NEW.origin) <> 16",
        "(NEW.digest IS NOT NULL AND (typeof(NEW.digest) <> 'blob' OR length(NEW.digest) <> 8))",
        "typeof(NEW.lineage) <> 'text'",
        "(NEW.lineage <> '' AND (length(NEW.lineage) + 1) % 81 <> 0)",
        f"length(NEW.lineage) > {LINEAGE_CHARS_MAX}",
        "NEW.lineage GLOB '*[^0-9a-f ]*'",
        "length(replace(NEW.lineage, ' ', '')) <> (length(NEW.lineage) + 1) / 81 * 80",
    ]
    when = f"{CAPTURING} AND ({' OR '.join(faults)}) AND {scrubbed} IS NOT 1"
    return _trigger(table, "damage", f"AFTER UPDATE OF {VERSION[1:-1]}", when, body)


def _delete(table: Table) -> str:
    """DELETE empties the row into a tombstone; REPLACE under recursive triggers passes through."""
    name = table.name
    keep = {"local"} if name == "memory" else set()
    emptied = "".join(
        f"{column} = NULL, " for column in (*table.names, EXTRA) if column not in keep
    )
    body = [
        f"SELECT RAISE(IGNORE) WHERE {_dead('OLD.')} OR OLD.life = {INT64_MAX};",
        _tick("OLD.hlc"),
        "UPDATE control SET applying = 1;",
        _restamp(table, "OLD.", "row = OLD.row", life=_generation("OLD."), emptied=emptied),
        "UPDATE control SET applying = 0;",
        _queue(table, "OLD."),
    ]
    if name in HISTORY_KINDS:
        body += _remember(
            table,
            event="'delete'",
            row="OLD.",
            new=None,
        )
    body.append("SELECT RAISE(IGNORE);")
    when = (
        f"{CAPTURING} AND NOT EXISTS"
        f" (SELECT 1 FROM replaced WHERE kind = '{name}' AND key = OLD.{table.key})"
    )
    return _trigger(table, "delete", "BEFORE DELETE", when, body)


def _text_index(table: Table, columns: tuple[str, ...]) -> Iterator[str]:
    """Keep the FTS5 index equal to the table, whoever writes; rows leave in `_over` only."""
    name, listed = table.name, ", ".join(columns)
    values = ", ".join(f"NEW.{column}" for column in columns)
    index = f"INSERT INTO {name}_fts(rowid, {listed}) VALUES(NEW.row, {values});"
    unindex = _unindex(table, columns, "OLD.")
    differs = " OR ".join(f"NEW.{column} IS NOT OLD.{column}" for column in columns)
    yield _trigger(table, "text_insert", "AFTER INSERT", "true", [index])
    yield _trigger(table, "text_update", f"AFTER UPDATE OF {listed}", differs, [unindex, index])
    yield _trigger(
        table, "text_delete", "AFTER DELETE", "(SELECT applying FROM control) = 1", [unindex]
    )


def _unindex(table: Table, columns: tuple[str, ...], old: str, source: str = "") -> str:
    """Take the old text of a row out of the index: FTS5 must be told exactly what was in it."""
    fts = f"{table.name}_fts"
    values = ", ".join(f"{old}{column}" for column in columns)
    return (
        f"INSERT INTO {fts}({fts}, rowid, {', '.join(columns)})"
        f" SELECT 'delete', {old}row, {values} {source};"
    )


def _tick(held_hlc: str, where: str = "true") -> str:
    """Advance the clock above the wall, its last and the row's own stamp; draw a sequence.

    As `satchel_sync.clock.tick`: nothing at or over `HLC_MAX` is followed.
    """
    last, held = (
        f"CASE WHEN typeof({hlc}) = 'integer' AND {hlc} < {HLC_MAX} THEN {hlc} + 1 ELSE 0 END"
        for hlc in ("last", held_hlc)
    )
    return (
        f"UPDATE clock SET last = min(max({WALL_MS} << 16, {last}, {held}), {HLC_MAX}),"
        f" seq = seq + 1 WHERE {where};"
    )


def _restamp(table: Table, old: str, where: str, *, life: str, emptied: str = "") -> str:
    """Give a row the version that the clock now stands at."""
    return (
        f"UPDATE {table.name} SET {emptied}{VERSION} = (SELECT {life}, last, replica_id, NULL,"
        f" {_lineage(table, old)} FROM clock, control) WHERE {where};"
    )


def _generation(old: str) -> str:
    """The next life after a delete or a restore."""
    return f"min({old}life + {GENERATION}, {INT64_MAX - GENERATION})"


def _life(table: Table) -> str:
    """The life after an update: a generation for a restore, an end for a task's change of state."""
    ends = ""
    if table.name == "task":
        states = ", ".join(f"'{state}'" for state in sorted(FINISHED))
        ends = (
            f" WHEN NEW.status IS NOT OLD.status AND (NEW.status IN ({states})"
            f" OR OLD.status IN ({states}))"
            f" THEN OLD.life + ((OLD.life & {GENERATION - 1}) < {GENERATION - 1})"
        )
    return f"CASE WHEN {_dead('OLD.')} THEN {_generation('OLD.')}{ends} ELSE OLD.life END"


def _lineage(table: Table, old: str) -> str:
    """The old version joins the lineage if it has left or reached this machine."""
    return (
        "coalesce((SELECT rtrim(substr("
        f"version || ' ' || coalesce({old}lineage, ''), 1, {LINEAGE_CHARS_MAX})) FROM sync_base"
        f" WHERE kind = '{table.name}' AND key = {old}{table.key}"
        f" AND version = {version_hex(old)}), {old}lineage, '')"
    )


def _queue(table: Table, row: str, where: str = "true") -> str:
    key = f"{row}{table.key}"
    if table.name in WITHHELD:
        where += (
            f" AND NOT EXISTS (SELECT 1 FROM withheld WHERE kind = '{table.name}' AND key = {key})"
        )
    return (
        f"INSERT INTO outbox(kind, key, local_seq) SELECT '{table.name}', {key}, seq FROM clock"
        f" WHERE {where} ON CONFLICT(kind, key) DO UPDATE SET local_seq = excluded.local_seq;"
    )


def _remember(table: Table, *, event: str, row: str, new: str | None) -> tuple[str, str]:
    """Leave event, new version and changed fields for the engine to seal into history.

    The ends of an edge stay in each entry, changed or not: it is scrubbed with their memories.
    """
    first, *rest = (*table.names, EXTRA)
    news = {name: f"{new}{name}" if new else "NULL" for name in (first, *rest)}
    fields = f"SELECT '{first}' AS name, OLD.{first} AS old, {news[first]} AS new UNION ALL VALUES "
    fields += ", ".join(f"('{name}', OLD.{name}, {news[name]})" for name in rest)
    ends = "".join(f" OR name = '{name}'" for name in SUBJECT_COLUMNS.get(table.name, ()))
    return (
        (
            "INSERT INTO history_pending(seq, kind, key, event, life, hlc, origin, at, actor)"
            f" SELECT seq, '{table.name}', {row}{table.key}, {event}, life, hlc, origin,"
            f" {WALL_MS}, actor FROM clock, control, {table.name} WHERE row = {row}row;"
        ),
        (
            "INSERT INTO history_field(seq, name, old, new) SELECT seq, name, old, new"
            f" FROM clock, ({fields}) WHERE old IS NOT new{ends};"
        ),
    )


def _dead(prefix: str) -> str:
    return f"(({prefix}life >> 16) & 1) = 0"


def _changed(table: Table) -> str:
    """Whether any data column changed: a row value compared as one, NULL equal to NULL."""
    names = (*table.names, EXTRA)
    new, old = (", ".join(prefix + name for name in names) for prefix in ("NEW.", "OLD."))
    return f"({new}) IS NOT ({old})"


def _data(table: Table) -> str:
    return ", ".join((*table.names, EXTRA))


def _trigger(table: Table, suffix: str, moment: str, when: str, body: list[str]) -> str:
    lines = "\n".join(body)
    return (
        f"CREATE TRIGGER {table.name}_{suffix} {moment} ON {table.name} WHEN {when} BEGIN\n"
        f"{lines}\nEND"
    )
