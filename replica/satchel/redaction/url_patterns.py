"""Credentials in URLs (RFC 3986, 3.2.1) and in their queries, and so in connection strings."""

from __future__ import annotations

import re

from satchel.redaction import harmless
from satchel.redaction.pattern import Pattern, compiled
from satchel.redaction.randomness import is_mixed, is_random

_QUERY_NAME = r"[?&;](?:amp;)?(?P<name>[A-Za-z0-9_.-]{0,30})$"
_OTHER = r"(?i)(?:page|next|continuation|sync|cursor|public|sort|partition)[_.-]?$"


def _is_given(found: re.Match[str]) -> bool:
    return not harmless.is_template(found.group("secret"))


def _is_login(found: re.Match[str]) -> bool:
    return is_random(found.group("secret"))


def _is_query(found: re.Match[str]) -> bool:
    before = compiled(_QUERY_NAME).search(found.string[max(0, found.start() - 32) : found.start()])
    value = found.group("secret")
    if (
        before is None
        or compiled(_OTHER).search(before.group("name"))
        or harmless.is_template(value)
    ):
        return False
    if found.group("word").lower() == "key" and not before.group("name"):
        return is_random(value)
    return is_mixed(value, 8) and not harmless.is_wordy(value)


URLS: tuple[Pattern, ...] = (
    Pattern(
        kind="password in a URL",
        literals=("://",),
        shape=r"://[^\s\0/:@\"'<>`]{0,128}+:(?P<secret>[^\s\0/\"'<>`]{1,256})@(?=[^\s\0@])",
        holds=_is_given,
    ),
    Pattern(
        kind="token in a URL",
        literals=("://",),
        shape=r"://(?P<secret>[A-Za-z0-9_-]{20,256})(?::x-oauth-basic)?@(?![a-z0-9.-]{0,40}sentry)",
        holds=_is_login,
    ),
    Pattern(
        kind="token in a URL",
        literals=("token", "key", "secret", "pass", "pwd", "sig"),
        also="=",
        folded=True,
        shape=r"(?i:(?P<word>token|key|secret|password|passwd|pwd|sig(?:nature)?))="
        r"(?P<secret>[^\s\0&#\"'<>;)]{8,512})",
        tail=r"[^\s\0&#\"'<>;)]",
        holds=_is_query,
    ),
)
