"""The service file that libpq would read: refused where it would make libpq ask an LDAP server.

A line `ldap://host/…` in it sends libpq to that host while it reads the DSN, before anybody could
ask the network policy. So the files are looked through here first, in libpq's order
(`parseServiceInfo` in PostgreSQL's fe-connect.c). A service has to be in a file that is known here:
libpq would go on to a folder that was chosen when it was built, and tells nobody which.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from psycopg import pq

from satchel_warehouse.errors import DsnInvalid

PATH_BYTES_MAX = 1023
"""libpq cuts a longer path off, and reads another file."""

_ASKS = re.compile(rb"^[^!-~]*ldap|\0", re.MULTILINE)
"""A line that libpq takes for an LDAP URL, in any section; what follows a NUL may be one too."""
_BLANK = b" \t\v\f\r"


def require_plain(said: Mapping[str, Any]) -> None:
    """Raise DsnInvalid for a service that libpq would look up elsewhere than in a plain file.

    `said` is what the DSN says. Without a service libpq reads no such file.
    """
    service = said.get("service", os.environ.get("PGSERVICE"))
    if service is None:
        return
    section = b"[" + os.fsencode(service) + b"]"
    for path in _files(said):
        data = _read(path)
        if _ASKS.search(data):
            raise _refused(
                f"{path} has a line that begins with `ldap`",
                "write host, port and dbname of the service out: satchel asks no LDAP server",
            )
        if any(line.lstrip(_BLANK).startswith(section) for line in data.split(b"\n")):
            return
    raise _refused(
        "it is in no service file",
        "write it into ~/.pg_service.conf, the file that PGSERVICEFILE names, or pg_service.conf"
        " in the folder that PGSYSCONFDIR names",
    )


def _files(said: Mapping[str, Any]) -> Iterator[Path]:
    """The user's file and then the system's. One that is named has to be there."""
    named = said.get("servicefile", os.environ.get("PGSERVICEFILE"))
    own = Path(named) if named is not None else _home() / ".pg_service.conf"
    if named is not None or own.exists():
        yield own
    folder = os.environ.get("PGSYSCONFDIR")
    if folder is not None and (shared := Path(folder, "pg_service.conf")).exists():
        yield shared


def _home() -> Path:
    """The folder of the user, as libpq finds it: before 15 it did not look at HOME."""
    if sys.platform == "win32":
        return Path(os.environ.get("APPDATA", ""), "postgresql")
    import pwd

    said = os.environ.get("HOME") if pq.version() >= 150000 else None
    return Path(said or pwd.getpwuid(os.geteuid()).pw_dir)


def _read(path: Path) -> bytes:
    """A plain file's bytes: a pipe would tell libpq something else than us."""
    try:
        if path.is_file() and len(os.fsencode(path)) <= PATH_BYTES_MAX:
            return path.read_bytes()
    except OSError as error:
        said = f"{path} cannot be read: {error.strerror}"
        raise _refused(said, "let this user read it") from None
    raise _refused(f"{str(path)[:100]} is no plain file", "name one in PGSERVICEFILE")


def _refused(reason: str, hint: str) -> DsnInvalid:
    return DsnInvalid(f"the service of the warehouse DSN cannot be used: {reason}", hint=hint)
