"""A database administrator's hand: psql and pg_dump of the system on a server of the tests."""

from __future__ import annotations

import gzip
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import LiteralString

import psycopg
from fix_servers import Postgres
from psycopg import conninfo, sql

VERSION_4 = Path(__file__).parent / "warehouse_layout" / "version_4"
"""A hub of revision 0004 with rows, and a machine of it (make.py there)."""


@dataclass(frozen=True)
class Administrator:
    """Works on one database of a server."""

    server: Postgres
    scripts: Path
    """deploy/sql, as the sources make it."""
    database: str = "memory"

    @property
    def dsn(self) -> str:
        """As a superuser, by the socket."""
        return conninfo.make_conninfo(self.server.admin, dbname=self.database)

    def anew(self) -> None:
        """An empty database, and no role but the superuser's."""
        self.drop()
        with psycopg.connect(self.server.admin, autocommit=True) as db:
            roles = db.execute("SELECT rolname FROM pg_roles WHERE rolname !~ '^(pg_|postgres$)'")
            for (role,) in roles.fetchall():
                db.execute(sql.SQL("DROP ROLE {}").format(sql.Identifier(role)))
        self.make()

    def make(self) -> None:
        """An empty database."""
        self._of_databases("CREATE DATABASE {}")

    def drop(self) -> None:
        """Remove it, where it is."""
        self._of_databases("DROP DATABASE IF EXISTS {} WITH (FORCE)")

    def _of_databases(self, statement: LiteralString) -> None:
        with psycopg.connect(self.server.admin, autocommit=True) as db:
            db.execute(sql.SQL(statement).format(sql.Identifier(self.database)))

    def command(self, statements: LiteralString) -> None:
        """SQL of one transaction."""
        with psycopg.connect(self.dsn) as db:
            db.execute(statements)

    def psql(self, file: str, *, user: str = "postgres", **variables: object) -> str:
        """Run a script; what it said on stderr. AssertionError where it failed."""
        given = [f"--set={name}={value}" for name, value in variables.items()]
        dsn = conninfo.make_conninfo(self.dsn, user=user)
        script = ["--file", str(self.scripts / file)]
        command = ["psql", "--no-psqlrc", "--quiet", *given, *script, dsn]
        done = self._run(command)
        assert done.returncode == 0, done.stderr
        return done.stderr

    def bash(self, commands: str) -> str:
        """Run what a page says, as a superuser; what it said on stderr."""
        at = {"PGHOST": str(self.server.folder), "PGPORT": str(self.server.port)}
        path = f"{self.server.server.programs}:{os.environ['PATH']}"
        env = {**at, "PGUSER": "postgres", "PATH": path}
        command = ["bash", "-euo", "pipefail", "-c", commands]
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stderr

    def load(self, dump: bytes) -> None:
        """Read a plain dump in."""
        done = self._run(["psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", self.dsn], dump)
        assert done.returncode == 0, done.stderr

    def load_version_4(self) -> None:
        """A warehouse of the revision 0004 as a restore leaves it: roles first, then the dump."""
        with psycopg.connect(self.dsn, autocommit=True) as db:
            for role in ("satchel_owner", "satchel_replica", "v4_ada LOGIN"):
                db.execute(f"CREATE ROLE {role}".encode())
            db.execute("GRANT satchel_replica TO v4_ada")
        self.load(gzip.decompress((VERSION_4 / "hub.sql.gz").read_bytes()))

    def schema(self) -> list[str]:
        """Every object of the database with its owner, rights and comments, as SQL."""
        return self._lines("pg_dump", "--create", "--schema-only", self.dsn)

    def columns(self) -> dict[str, list[str]]:
        """Table of the schema satchel -> its columns."""
        with psycopg.connect(self.dsn) as db:
            found = db.execute(
                "SELECT attrelid::regclass::text, array_agg(attname::text ORDER BY attnum)"
                " FROM pg_attribute JOIN pg_class c ON c.oid = attrelid WHERE relkind = 'r'"
                " AND relnamespace = 'satchel'::regnamespace AND attnum > 0 AND NOT attisdropped"
                " GROUP BY attrelid"
            )
            return dict(found.fetchall())

    def rows(self, columns: dict[str, list[str]]) -> dict[str, list[str]]:
        """Table -> what its rows hold in these columns, sorted."""
        with psycopg.connect(self.dsn) as db:
            found = {}
            for table, names in columns.items():
                chosen = sql.SQL(", ").join(map(sql.Identifier, names))
                query = sql.SQL("SELECT ROW({})::text AS held FROM {} ORDER BY 1")
                told = db.execute(query.format(chosen, sql.SQL(table)))
                found[table] = [held for (held,) in told]
            return found

    def roles(self) -> list[str]:
        """The server's roles and who is a member of which, as SQL."""
        return self._lines("pg_dumpall", "--roles-only", "--dbname", self.server.admin)

    def _lines(self, *command: str) -> list[str]:
        done = self._run([*command])
        assert done.returncode == 0, done.stderr
        # Releases since 2025 frame a dump with a random key.
        left_out = ("--", "\\restrict", "\\unrestrict")
        return [line for line in done.stdout.splitlines() if line and not line.startswith(left_out)]

    def _run(self, command: list[str], stdin: bytes = b"") -> subprocess.CompletedProcess[str]:
        program = self.server.server.programs / command[0]
        done = subprocess.run(
            [program, *command[1:]], input=stdin, capture_output=True, check=False
        )
        return subprocess.CompletedProcess(
            done.args, done.returncode, done.stdout.decode(), done.stderr.decode()
        )
