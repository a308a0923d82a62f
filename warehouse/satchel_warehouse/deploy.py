"""Writes deploy/sql: what `warehouse init`, `migrate` and `grant` do, for a DBA to run with psql.

`python -m satchel_warehouse.deploy deploy/sql` makes the files anew from what the commands run.
"""

from __future__ import annotations

import json
import sys
from io import StringIO
from pathlib import Path

from alembic import command
from alembic.script import ScriptDirectory

from satchel_sync.tables import TABLES
from satchel_sync.version import PROTOCOL, SCHEMA
from satchel_warehouse import folding, functions, roles
from satchel_warehouse.admin import MIGRATE_LOCK, alembic_config
from satchel_warehouse.functions import OWNER, SEARCHERS, TENANT
from satchel_warehouse.partitions import BY_HASH, PARTITIONS_MAX

MADE = """\
-- Made from satchel's sources (protocol {protocol}, schema {schema}, revision {revision}):
-- do not edit, run `make docs`.

"""
REVISION = """\
-- Tables: the revisions that the warehouse lacks.
SELECT to_regclass('satchel.alembic_version') IS NULL AS is_new \\gset
\\if :is_new
    \\set held ''
\\else
    SELECT version_num AS held FROM satchel.alembic_version \\gset
\\endif
"""
STEP = """
SELECT :'held' < '{revision}' AS is_missing \\gset
\\if :is_missing
{statements}
\\endif
"""
PARTITIONS = """
SELECT satchel.make_partitions(:partitions);
SELECT satchel.guard_partitions();
"""
UNFOLDED = """
-- What `warehouse migrate` moves from "extra" into columns is not moved by SQL.
DO $$
BEGIN
    IF {found} THEN
        RAISE WARNING 'rows hold columns of this version in "extra", where views do not see them:'
            ' let `satchel warehouse migrate` run once, as a member of {owner}';
    END IF;
END
$$;
"""


def files() -> dict[str, str]:
    """Name -> content of every file of deploy/sql that is made here."""
    made = MADE.format(protocol=PROTOCOL, schema=SCHEMA, revision=_revisions()[-1])
    bodies = {
        "init.sql": _init(),
        "01_roles.sql": functions.roles(),
        "02_tables.sql": _tables(),
        "03_functions.sql": _functions() + PARTITIONS,
        "04_identity.sql": functions.identity() + _unfolded(),
        "grant.sql": _grant(),
    }
    return {name: made + body for name, body in bodies.items()}


def write(folder: Path) -> None:
    """Make the files in `folder` anew, and remove those of ours that are made no more."""
    folder.mkdir(parents=True, exist_ok=True)
    made = files()
    for name, content in made.items():
        (folder / name).write_text(content, "utf-8", newline="\n")
    for path in folder.glob("*.sql"):
        if path.name not in made and path.read_text("utf-8").startswith(MADE[: MADE.index("(")]):
            path.unlink()


def _tables() -> str:
    return REVISION + "".join(
        STEP.format(revision=revision, statements=_step(before, revision))
        for before, revision in zip(["base", *_revisions()], _revisions(), strict=False)
    )


def _step(before: str, revision: str) -> str:
    """One migration as alembic would run it."""
    written = StringIO()
    config = alembic_config(None, ":partition_by", output_buffer=written)
    command.upgrade(config, f"{before}:{revision}", sql=True)
    return written.getvalue().strip().replace(";;\n", ";\n")


def _revisions() -> list[str]:
    """The revisions of the tables, the oldest first."""
    script = ScriptDirectory.from_config(alembic_config(None))
    return [step.revision for step in script.walk_revisions()][::-1]


def _functions() -> str:
    """Each ended, as they are run one by one elsewhere."""
    return "\n".join(f"{one.rstrip().removesuffix(';')};\n" for one in functions.statements())


def _init() -> str:
    parts = {"lock": str(MIGRATE_LOCK), "owner": OWNER}
    parts |= {"partition_by": BY_HASH, "partitions_max": str(PARTITIONS_MAX)}
    return functions.read("by_hand_init.sql", parts)


def _grant() -> str:
    limits = {kind: dict(limits) for kind, limits in roles.LIMITS.items()}
    parts = {
        "kinds": ", ".join(roles.GROUPS),
        "groups": json.dumps(dict(roles.GROUPS)),
        "limits": json.dumps(limits, indent=4),
        "name_bytes": str(roles.NAME_BYTES_MAX),
        "replica": roles.REPLICA,
        "reporter": roles.REPORTER,
        "searchers": SEARCHERS,
        "tenant": TENANT,
        "owner": OWNER,
    }
    return functions.read("by_hand_grant.sql", parts)


def _unfolded() -> str:
    one = "EXISTS (SELECT FROM satchel.{} WHERE extra ~ '{}')"
    found = (one.format(table.name, folding.pattern(table)) for table in TABLES)
    return UNFOLDED.format(found="\n        OR ".join(found), owner=OWNER)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m satchel_warehouse.deploy FOLDER")
    write(Path(sys.argv[1]))
