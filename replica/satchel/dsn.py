"""A DSN as it may be shown: what is known to be harmless stays, all else is hidden.

A password can stand anywhere in a DSN that somebody mistyped, so nothing is shown that was not
understood. https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-CONNSTRING
"""

from __future__ import annotations

import re

MASK = "********"
_HARMLESS = frozenset(
    {"host", "hostaddr", "port", "dbname", "user", "service", "sslmode", "sslrootcert"}
    | {"connect_timeout", "application_name", "target_session_attrs", "channel_binding"}
)
_HOST = r"(?:\[[0-9A-Fa-f:.%]+\]|[^\[\]:/?#@,]*)(?::[0-9]{1,5})?"
_URI = re.compile(
    rf"(?P<scheme>[a-z]+:/+)(?:(?P<user>[^:@/?#]*)(?P<password>:.*)?@)?"
    rf"(?P<place>{_HOST}(?:,{_HOST})*(?:/[^/?#@:]*)?)(?:\?(?P<query>[^@]*))?",
    re.DOTALL,
)
_WORD = re.compile(r"\s*(\w+)\s*=\s*('(?:[^'\\]|\\.)*'|(?:[^\s'\\]|\\.)+)(?=\s|$)", re.DOTALL)


def masked(dsn: str) -> str:
    """A DSN without its password, be it a URI or `key=value` words; only a mask if in doubt."""
    if re.match(r"[A-Za-z]\w*:", dsn):
        found = _URI.fullmatch(dsn)
        return _masked_uri(found) if found else MASK
    return _masked_words(dsn)


def _masked_uri(found: re.Match[str]) -> str:
    """`user:hidden@` reaches to the last @; where that could be a query's, all is hidden."""
    password = found["password"] or ""
    if "?" in password:
        return MASK
    user = "" if found["user"] is None else f"{found['user']}{':' + MASK if password else ''}@"
    query = "" if found["query"] is None else "?" + _masked_query(found["query"])
    return f"{found['scheme']}{user}{found['place']}{query}"


def _masked_query(query: str) -> str:
    parts = (part.partition("=") for part in query.split("&"))
    return "&".join(
        f"{name}={value}" if equals and name in _HARMLESS else MASK for name, equals, value in parts
    )


def _masked_words(dsn: str) -> str:
    words, end = [], 0
    while dsn[end:].strip():
        found = _WORD.match(dsn, end)
        if found is None:
            return MASK
        name, value = found.groups()
        words.append(f"{name}={value}" if name in _HARMLESS else MASK)
        end = found.end()
    return " ".join(words)
