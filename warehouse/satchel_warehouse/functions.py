"""The hub's functions and triggers: SQL files, those of a kind filled in from its `Table`."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Mapping
from importlib.resources import files

from satchel_sync.audit import CHAINS
from satchel_sync.clock import HLC_MAX
from satchel_sync.digest import framed
from satchel_sync.limits import (
    AUDIT_BODY_BYTES_MAX,
    AUDIT_ROWS_MAX,
    JOURNAL_MAX,
    KEY_BYTES_MAX,
    ROW_BYTES_MAX,
)
from satchel_sync.merge import UNJOURNALED_COLUMNS, UNJOURNALED_KINDS
from satchel_sync.stamp import GENERATION, LIFE_MAX, LINEAGE_MAX, NOBODY, SCRUBBED
from satchel_sync.tables import EXTRA, TABLES, Column, Table
from satchel_sync.validity import EXTRA as EXTRA_PATTERN
from satchel_sync.version import PROTOCOL, PROTOCOL_MIN, SCHEMA, SCHEMA_MIN
from satchel_warehouse import forgetting
from satchel_warehouse.search import making as searching
from satchel_warehouse.views import making as reporting

OWNER = "satchel_owner"
REPLICAS = "satchel_replica"
"""The group role of all replica logins: it may call the doors and nothing else."""
REPORTERS = "satchel_reporter"
"""Those who read the views of the schema `report`."""
AUDITORS = "satchel_auditor"
"""Those who read the views of the schema `audit`."""
SEARCHERS = "satchel_searcher"
"""Those who may search the rows of all machines, beside what else they may."""
GROUPS = (OWNER, REPLICAS, REPORTERS, AUDITORS, SEARCHERS)
"""All group roles (sql/roles.sql makes them)."""
TENANT = "default"
"""The tenant that every warehouse has from its first day."""
NAME_BYTES_MAX = 200
"""Of the id of an attempt, a token, an epoch."""
PREDECESSORS_MAX = 1_000
"""Earlier ids of a file that are kept with each of its ids."""
REPORT_BYTES_MAX = 1024 * 1024
AUDIT_DOMAIN = b"satchel audit\0"
"""What a link is taken over begins so (`satchel_crypto.audit_record`)."""
AUDIT_TABLES = ("audit", "audit_cut", "audit_key", "audit_head", "audit_trouble")
"""Only ever appended to."""

_API = """
DROP SCHEMA IF EXISTS satchel_api CASCADE;
CREATE SCHEMA satchel_api;
"""
_CANONICAL = {
    "t": "convert_to(r.{0}, 'UTF8')",
    "i": "int8send(r.{0})",
    "r": "float8send(r.{0} + 0.0)",
    "b": "r.{0}",
}
_TYPES = {"t": 'text COLLATE "C"', "i": "bigint", "r": "double precision", "b": "bytea"}
_NOT_FINITE = "coalesce({0} IN ('NaN', 'Infinity', '-Infinity'), false)"


def statements() -> list[str]:
    """Every function and trigger in the order in which they are made; repeatable."""
    return [
        _replaced(
            _read("internal.sql"),
            {"bounds": _bounds(), "columns_mark": columns_mark(), "nobody": NOBODY.hex()},
        ),
        _replaced(_read("shapes.sql"), _shapes()),
        _read("revoking.sql"),
        _replaced(_read("audit.sql"), _audit()),
        *(fill(_read("kind.sql"), table) for table in TABLES),
        _read("partitions.sql"),
        _replaced(_read("forget.sql"), forgetting.parts()),
        _replaced(_read("operations.sql"), {"row_seqs": _row_seqs()}),
        _API,
        _replaced(_read("doors.sql"), _doors()),
        *(fill(_read("kind_doors.sql"), table) for table in TABLES),
        _replaced(_read("bundle_doors.sql"), _doors()),
        *(fill(_read("bundle_kind_doors.sql"), table) for table in TABLES),
        *searching.statements(fill, _read),
        *reporting.statements(),
        _read("audit_views.sql"),
        rights(),
    ]


def roles() -> str:
    """What comes before all: roles, schemas, rights on the database; repeatable."""
    return _read("roles.sql")


def rights() -> str:
    """Who may do what, when all else is made; repeatable."""
    return _replaced(_read("rights.sql"), _groups())


def identity() -> str:
    """What comes after all: the version of the functions, and the first tenant; repeatable."""
    numbers = {"protocol": str(PROTOCOL), "schema": str(SCHEMA), "tenant": TENANT}
    return _replaced(_read("identity.sql"), numbers)


def columns() -> dict[str, dict[str, str]]:
    """Kind -> {column: tag}, as the hub has them."""
    return {table.name: {c.name: c.tag for c in table.columns} for table in TABLES}


def columns_mark() -> str:
    """What an attempt keeps of `columns`, so that one which began under others is told from it."""
    return f"{zlib.crc32(json.dumps(columns()).encode()):08x}"


def fill(template: str, table: Table) -> str:
    """One kind's SQL: every `@part@` of the template replaced."""
    return _replaced(template, _parts(table))


def read(name: str, parts: Mapping[str, str]) -> str:
    """A file of sql/, every `@part@` of it replaced."""
    return _replaced(_read(name), parts)


def _replaced(template: str, parts: Mapping[str, str]) -> str:
    for name, text in parts.items():
        template = template.replace(f"@{name}@", text)
    return template


def _shapes() -> dict[str, str]:
    return {
        "kinds": "{" + ",".join(table.name for table in TABLES) + "}",
        "key_bytes": str(KEY_BYTES_MAX),
        "row_bytes": str(ROW_BYTES_MAX),
        "journal_max": str(JOURNAL_MAX),
        "name_bytes": str(NAME_BYTES_MAX),
        "predecessors_max": str(PREDECESSORS_MAX),
        "report_bytes": str(REPORT_BYTES_MAX),
    }


def _groups() -> dict[str, str]:
    return {
        "owner": OWNER,
        "replicas": REPLICAS,
        "reporters": REPORTERS,
        "auditors": AUDITORS,
        "searchers": SEARCHERS,
    }


def _audit() -> dict[str, str]:
    keep = (
        f"CREATE OR REPLACE TRIGGER satchel_keep BEFORE UPDATE OR DELETE OR TRUNCATE"
        f" ON satchel.{table} FOR EACH STATEMENT EXECUTE FUNCTION satchel.keep_audit();"
        for table in AUDIT_TABLES
    )
    return {
        "audit_domain": AUDIT_DOMAIN.hex(),
        "audit_chains": "{" + ",".join(CHAINS) + "}",
        "audit_body_bytes": str(AUDIT_BODY_BYTES_MAX),
        "audit_rows": str(AUDIT_ROWS_MAX),
        "owner": OWNER,
        "keep_audit": "\n".join(keep),
    }


def _doors() -> dict[str, str]:
    return {
        "columns": json.dumps(columns()),
        "columns_mark": columns_mark(),
        "digests": _digests(),
        "protocol_min": str(PROTOCOL_MIN),
        "schema_min": str(SCHEMA_MIN),
        "name_bytes": str(NAME_BYTES_MAX),
    }


def _parts(table: Table) -> dict[str, str]:
    quoted = [_quoted(name) for name in table.names]
    return {
        "kind": table.name,
        "key": _quoted(table.key),
        "frame": "\\x" + framed(table.name.encode()).hex(),
        "names": ", ".join(quoted),
        "names_i": _list("i.{}", quoted),
        "names_r": _list("r.{}", quoted),
        "held": " ".join(f"held.{name} := i.{name};" for name in quoted),
        "new": _list("NEW.{}", quoted),
        "old": _list("OLD.{}", quoted),
        "declared": ", ".join(f"{_quoted(c.name)} {_TYPES[c.tag]}" for c in table.columns),
        "emptied": _list("{} = NULL", quoted),
        "updates": ", ".join(f"{name} = i.{name}" for name in quoted),
        "parts": ",\n        ".join(_canonical(column) for column in table.columns),
        "zeroed": " ".join(f"NEW.{c} := NEW.{c} + 0.0;" for c in _tagged(table, "r")),
        "refused": _case(_unstorable("NEW.", table)),
        "ends": _ends(table),
        "invalid": _invalid(table),
        "unfit_extra": " OR ".join(f"({test})" for test in _unfit_extra("r.extra").values()),
        "about_forgotten_new": forgetting.about_forgotten(table, "NEW", "NEW.tenant"),
        "forgotten": forgetting.turned(table),
        "size": _size(table),
        "content_i": _content("i", table),
        "content_t": _content("t", table),
        "journaled_i": _journaled("i", "t", table),
        "journaled_t": _journaled("t", "i", table),
    }


def _canonical(column: Column) -> str:
    value = _CANONICAL[column.tag].format(_quoted(column.name))
    return f"('{column.name}', '{column.tag}', {value})"


def _ends(table: Table) -> str:
    """Only a task's status counts ends."""
    if table.name != "task":
        return ""
    return "ELSE NEW.life := satchel.next_end(OLD.life, OLD.status, NEW.status);"


def _invalid(table: Table) -> str:
    """Why a pushed row is not taken, as text; NULL when it is (satchel_sync.validity)."""
    last, top = SCRUBBED.life, f"'\\x{SCRUBBED.origin.hex()}'::bytea"
    scrub = f"hlc = {last} AND origin = {top} AND digest = '\\x{SCRUBBED.digest.hex()}'::bytea"
    content = f"num_nonnulls({', '.join(map(_quoted, table.names))}, extra) > 0"
    entry = "[0-9a-f]{80}"
    reasons = {
        "the version is not whole": "num_nulls(life, hlc, origin, digest, lineage) > 0"
        " OR octet_length(origin) <> 16 OR octet_length(digest) <> 8 OR hlc < 0"
        f" OR life < {GENERATION} OR (life > {LIFE_MAX} AND life < {last})"
        f" OR ((life = {last} OR hlc = {last}) AND NOT (life = {last} AND {scrub}))",
        "the version is from after the year 4000": f"hlc > {HLC_MAX} AND life < {last}",
        "the lineage is no list of versions": f"lineage <> '' AND (octet_length(lineage) > 647"
        f" OR lineage !~ '^{entry}( {entry})*$')",
        "the lineage is from after the year 4000": f"lineage <> '' AND {_newest_hlc()}"
        f" > '{HLC_MAX:016x}'",
        "a deleted row has content": f"((life >> 16) % 2 = 0 OR life = {last}) AND {content}",
        f"the row is larger than {ROW_BYTES_MAX} bytes": f"{_size(table)} > {ROW_BYTES_MAX}",
    }
    return _case(reasons | _unstorable("", table))


def _unstorable(row: str, table: Table) -> dict[str, str]:
    """Reason -> test of what is taken from nobody, be it a push or SQL by hand."""
    key, extra = row + _quoted(table.key), row + EXTRA
    return {
        "the key is empty": f"{key} = ''",
        f"the key is larger than {KEY_BYTES_MAX} bytes": f"octet_length({key}) > {KEY_BYTES_MAX}",
        "the row is local": _any(_is_local(row, table)),
        "a number is not finite": _any(_not_finite(row, table)),
    } | _unfit_extra(extra)


def _unfit_extra(extra: str) -> dict[str, str]:
    """Reason -> test of an `extra` that cannot be read."""
    twice = f"(SELECT count(*) > count(DISTINCT key) FROM json_each_text({extra}::json))"
    return {
        "extra is no list of columns": f"{extra} !~ '^{EXTRA_PATTERN}$'",
        "extra names a column twice": f"coalesce({extra}, '') <> '' AND {twice}",
    }


def _newest_hlc() -> str:
    """The highest hlc of a lineage's entries as 16 hex digits; entries are 81 characters apart."""
    places = (f"substr(lineage, {17 + 81 * place}, 16)" for place in range(LINEAGE_MAX))
    return f"greatest({', '.join(places)})"


def _case(reasons: Mapping[str, str]) -> str:
    """The first reason whose test holds, as text; NULL when none does."""
    whens = " ".join(f"WHEN {test} THEN '{reason}'" for reason, test in reasons.items())
    return f"CASE {whens} END"


def _size(table: Table) -> str:
    """About the bytes of a row: its numbers and version as a constant, its texts and blobs."""
    wide = [table.key, *(c.name for c in table.columns if c.tag in "tb"), EXTRA, "lineage"]
    lengths = (f"coalesce(octet_length({_quoted(name)}), 0)" for name in wide)
    return f"(200 + {' + '.join(lengths)})"


def _content(row: str, table: Table) -> str:
    """A losing row as JSON text; kinds with blobs are never journaled."""
    pairs = ", ".join(f"'{n}', {row}.{_quoted(n)}" for n in _journal_names(table))
    return f"json_strip_nulls(json_build_object({pairs}))::text"


def _journaled(loser: str, winner: str, table: Table) -> str:
    """satchel_sync.merge.journaled: whether a concurrent loser is worth an entry."""
    if table.name in UNJOURNALED_KINDS:
        return "false"
    names = [*table.names, EXTRA]
    worth = f"num_nonnulls({_list(f'{loser}.{{}}', map(_quoted, names))}) > 0"
    ignored = UNJOURNALED_COLUMNS.get(table.name, frozenset())
    if ignored:
        told = [_quoted(name) for name in names if name not in ignored]
        mine, other = _list(f"{loser}.{{}}", told), _list(f"{winner}.{{}}", told)
        worth += f" AND ({mine}) IS DISTINCT FROM ({other})"
    return worth


def _journal_names(table: Table) -> list[str]:
    return [*(c.name for c in table.columns if c.tag != "b"), EXTRA]


def _bounds() -> str:
    """Pairs of kind and highest change sequence."""
    highest = "(SELECT coalesce(max(change_seq), 0) FROM satchel.{0} WHERE tenant = _tenant)"
    return ", ".join(f"'{table.name}', {highest.format(table.name)}" for table in TABLES)


def _row_seqs() -> str:
    """Branches of a CASE over `_kind`: the change sequence of the row `_key`."""
    found = "SELECT change_seq FROM satchel.{0} WHERE tenant = _tenant AND {1} = _key"
    one = f"WHEN '{{0}}' THEN ({found})"
    return " ".join(one.format(table.name, _quoted(table.key)) for table in TABLES)


def _digests() -> str:
    """The buckets of every kind that is asked for; a kind that is not costs nothing."""
    keys = (
        "ARRAY(SELECT k FROM unnest(_held_kinds, _held_keys) AS h (kind, k) WHERE h.kind = '{0}')"
    )
    one = (
        f"SELECT '{{0}}', b.* FROM satchel.buckets_{{0}}(me.tenant, {keys}) b"
        " WHERE '{0}' = ANY (_kinds)"
    )
    return " UNION ALL ".join(one.format(table.name) for table in TABLES)


def _tagged(table: Table, tag: str) -> list[str]:
    return [_quoted(column.name) for column in table.columns if column.tag == tag]


def _not_finite(row: str, table: Table) -> list[str]:
    return [_NOT_FINITE.format(row + name) for name in _tagged(table, "r")]


def _is_local(row: str, table: Table) -> list[str]:
    return [f"coalesce({row}local, 0) <> 0"] if table.column("local") else []


def _any(tests: list[str]) -> str:
    return " OR ".join(tests) or "false"


def _list(form: str, names: Iterable[str]) -> str:
    return ", ".join(form.format(name) for name in names)


def _quoted(name: str) -> str:
    return f'"{name}"'


def _read(name: str) -> str:
    return files("satchel_warehouse.sql").joinpath(name).read_text("utf-8")
