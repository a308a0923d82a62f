"""A dump made by `pg_dump`, restored into a Postgres of our own that nobody else can reach."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from psycopg import conninfo, sql

from satchel_crypto.network import Policy
from satchel_warehouse.database import ADMIN_PATH, NAMED, Connection, connect
from satchel_warehouse.errors import DumpInvalid, EmbeddedFailed
from satchel_warehouse.functions import AUDITORS, OWNER, REPLICAS, REPORTERS, SEARCHERS
from satchel_warehouse.serve_embedded import packaged_server, running

_CUSTOM, _TAR = b"PGDMP", b"ustar"
_TAR_MAGIC_AT = 257
_FAST = {"fsync": "off", "full_page_writes": "off", "max_wal_size": "4GB", "autovacuum": "off"}
"""The copy is thrown away: it need not outlive a power cut."""
_OPTIONS = ("--no-owner", "--no-privileges", "--exit-on-error", "--no-publications")
"""Logins are the cluster's, and no part of a dump."""
GROUPS = (OWNER, REPLICAS, REPORTERS, AUDITORS, SEARCHERS)
"""Rules of the tables name them."""
_PLACE = ("host", "port", "user", "dbname")


@contextmanager
def restored(
    dump: Path, *, folder: Path | None = None, policy: Policy = NAMED
) -> Iterator[Connection]:
    """A session of a superuser in a restored copy, which goes with the body.

    `folder` is where the copy lies meanwhile; it needs as much room as the warehouse. Nothing but
    a Unix socket is opened. Raises DumpInvalid, EmbeddedFailed, NetworkRefused.
    """
    with _opened(dump) as file:
        scratch = _scratch(folder)
        try:
            with running(scratch / "copy", settings=_FAST, policy=policy) as (served, _):
                db = connect(served.dsn, path=ADMIN_PATH, policy=policy)
                try:
                    for role in GROUPS:
                        db.execute(sql.SQL("CREATE ROLE {}").format(sql.Identifier(role)))
                    _restore(scratch / "copy", served.dsn, file, dump)
                    yield db
                finally:
                    db.close()
        finally:
            shutil.rmtree(scratch)


def _opened(dump: Path) -> IO[bytes]:
    """The file, if it is one that pg_restore reads. A plain script could run any program."""
    hint = "make it with `pg_dump --format=custom`"
    try:
        file = dump.open("rb", buffering=0)  # the child reads on from the same place
        begins = file.read(_TAR_MAGIC_AT + len(_TAR)) or b""
        file.seek(0)
    except OSError as error:
        raise DumpInvalid(
            f"the dump {dump} cannot be read: {error.strerror or error}", hint=hint
        ) from error
    if begins.startswith(_CUSTOM) or begins[_TAR_MAGIC_AT:] == _TAR:
        return file
    file.close()
    raise DumpInvalid(f"{dump} is no dump of the custom or tar format", hint=hint)


def _scratch(folder: Path | None) -> Path:
    """A new folder for the copy. Raises EmbeddedFailed where it cannot be made."""
    try:
        return Path(tempfile.mkdtemp(prefix="satchel-dump-", dir=folder))
    except OSError as error:
        raise EmbeddedFailed(
            f"no copy can be made in {folder}: {error.strerror or error}",
            hint="name a folder with room with --scratch",
        ) from error


def _restore(data_dir: Path, dsn: str, file: IO[bytes], dump: Path) -> None:
    """The dump comes by stdin: the account that runs Postgres may not be able to open it."""
    server = packaged_server(data_dir)
    at = conninfo.conninfo_to_dict(dsn)
    where = [
        f"--{option}={at[said]}"
        for option, said in zip(("host", "port", "username", "dbname"), _PLACE, strict=True)
    ]
    done = subprocess.run(
        [server.programs / "pg_restore", *_OPTIONS, "--no-password", *where],
        check=False, stdin=file, capture_output=True, encoding="utf-8", errors="replace",
        cwd=data_dir, **server.account.process(),
    )  # fmt: skip
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if "error:" in line] or [
            "no reason given"
        ]
        raise DumpInvalid(
            f"the dump {dump} cannot be restored: {said[0].removeprefix('pg_restore: ')[:300]}",
            hint="make another, and keep the one before until it is checked",
        )
