"""Secrets in the fixed places of commands, configuration files, headers and lists of logins.

Sources: the manuals of mysql(1), sshpass(1), curl(1), netrc(5), crypt(5), ldap.conf(5),
wpa_supplicant.conf(5), PostgreSQL's page on .pgpass, RFC 6265 (cookies).
"""

from __future__ import annotations

import re

from satchel.redaction import harmless
from satchel.redaction.pattern import STARTS, Pattern, compiled
from satchel.redaction.randomness import CHANGES_MIN, changes, is_mixed

_ARGUMENT = (
    r"""\\{0,2}[\"']?(?P<secret>(?<=')[^'\n\0]{1,256}|"""
    r"""(?<=\")(?:[^\"\\\n\0]|\\[^\"\n\0]){1,256}|(?<![\"'\\])[^\s\0\"'`;|&\\]{3,256})"""
)
"""As a shell takes it, in quotes (that JSON may have escaped), or up to white space."""
_PORT_OR_OPTION = r"[0-9.:\[\]]+(?:/\w+)?$|(?:assword|ort|rotocol|lugin)"
_PG_HOST = r"(?:^|[\s\"'`]|\\[nrt])[A-Za-z0-9_.*/-]{1,100}$"
_SPACE = r"(?:\s|\\[nrt]){0,16}"
_CONTENT = rf">{_SPACE}(?P<secret>[^<>\s\0\\]{{4,512}}){_SPACE}</[A-Za-z0-9_:.-]{{1,60}}>"
_ELEMENT = r"<[A-Za-z0-9_:.-]{0,40}$"
_SECRET_MARK = r"[0-9!@#$%^&*?+~=]"
_LABELLED = r"(?i)(?:hash(?:es|ed)?|digest)[\"'`]{0,2}[ \t]{0,4}[:=][ \t]{0,4}[\"'`]?$"


def _ahead(found: re.Match[str], count: int) -> str:
    return found.string[max(0, found.start() - count) : found.start()]


def _is_given(found: re.Match[str]) -> bool:
    return harmless.is_given(found.group("secret"))


def _is_argument(found: re.Match[str]) -> bool:
    """What a shell does not put in itself: in single quotes `$` is no variable."""
    value = found.group("secret")
    if value.startswith("$") and found.string[found.start("secret") - 1] != "'":
        return False
    return _is_given(found) and not harmless.is_name(value)


def _is_attached(found: re.Match[str]) -> bool:
    """What stands behind `-p` without a space; elsewhere `-p` gives a port."""
    return _is_argument(found) and compiled(_PORT_OR_OPTION).match(found["secret"]) is None


def _is_pgpass(found: re.Match[str]) -> bool:
    value = found.group("secret")
    if harmless.is_template(value) or harmless.is_name(value):
        return False
    return compiled(_PG_HOST).search(_ahead(found, 100).rpartition("\n")[2]) is not None


def _is_element(found: re.Match[str]) -> bool:
    value = found.group("secret")
    if compiled(_ELEMENT).search(_ahead(found, 42)) is None or harmless.is_algorithm(value):
        return False
    return harmless.is_given(value) and not harmless.is_name(value)


def _is_password_element(found: re.Match[str]) -> bool:
    return _is_element(found) and compiled(_SECRET_MARK).search(found["secret"]) is not None


def _is_secret_element(found: re.Match[str]) -> bool:
    value = found.group("secret")
    return _is_element(found) and is_mixed(value, 10) and not harmless.is_wordy(value)


def _is_setting(found: re.Match[str]) -> bool:
    value = found.group("secret")
    if not harmless.is_given(value) or harmless.is_name(value) or harmless.is_code(value, ""):
        return False
    return len(value) >= 6 and compiled(_SECRET_MARK).search(value) is not None


def _is_unlabelled(found: re.Match[str]) -> bool:
    """Whether nobody says that it is a hash: in a list of logins nothing does."""
    return compiled(_LABELLED).search(_ahead(found, 24)) is None


def _is_session(found: re.Match[str]) -> bool:
    """Whether the line speaks of a cookie, and the value is made by chance or a number of one."""
    value = found.group("secret")
    line = _ahead(found, 400).rpartition("\n")[2].rpartition("\0")[2]
    if "cookie" not in line.lower() or harmless.is_template(value):
        return False
    return is_mixed(value, 12) and (harmless.is_uuid(value) or changes(value) >= CHANGES_MIN)


PLACES: tuple[Pattern, ...] = (
    Pattern(
        kind="password",
        literals=("curl ",),
        shape=r"curl [^\n\0]{0,200}?(?:-u|--user)[ =][\"']?[^\s:\0\"']{1,64}:"
        r"(?P<secret>[^\s\0\"']{1,128})",
        holds=_is_given,
    ),
    Pattern(
        kind="password",
        literals=("machine ",),
        shape=r"machine\s{1,4}[^\s\0]{1,100}\s{1,4}login\s{1,4}[^\s\0]{1,100}\s{1,4}"
        r"password\s{1,4}(?P<secret>[^\s\0\"]{1,256})",
        holds=_is_given,
    ),
    Pattern(
        kind="password",
        literals=("mysql", "mariadb"),
        shape=r"(?<![\w.:-])(?:mysql|mariadb)[a-z_-]{0,12}+ [^\n\0;|&`]{0,200}?(?<=\s)-p"
        + _ARGUMENT,
        holds=_is_attached,
    ),
    Pattern(
        kind="password",
        literals=("sshpass ",),
        shape=r"sshpass [^\n\0;|&]{0,20}?-p[ ]?" + _ARGUMENT,
        holds=_is_argument,
    ),
    Pattern(
        kind="password",
        literals=(":543", ":6432:", ":*:"),
        solid=True,
        shape=r":(?:543[0-9]|6432|\*):[^\s:\0]{1,63}:[^\s:\0]{1,63}:"
        r"(?P<secret>(?:\\[:\\]|[^\s:\0\\\"'`]){3,256})(?=[\s\0\\\"'`]|$)",
        holds=_is_pgpass,
    ),
    Pattern(
        kind="password",
        literals=("password>", "passwd>", "passphrase>", "pwd>"),
        also="</",
        folded=True,
        shape=r"(?i:password|passwd|passphrase|pwd)" + _CONTENT,
        holds=_is_password_element,
    ),
    Pattern(
        kind="secret",
        literals=("secret>", "token>", "apikey>", "api_key>", "api-key>", "secretkey>"),
        also="</",
        folded=True,
        shape=r"(?i:secret(?:key)?|token|api[_-]?key)" + _CONTENT,
        holds=_is_secret_element,
    ),
    Pattern(
        kind="password",
        literals=("bindpw", "rootpw"),
        folded=True,
        shape=r"(?i:bindpw|rootpw)[ \t]{0,8}[=: \t][ \t]{0,8}" + _ARGUMENT,
        holds=_is_setting,
    ),
    Pattern(
        kind="password",
        literals=("psk",),
        also="=",
        shape=r"(?<![A-Za-z0-9])(?:wpa[_-]?)?psk ?= ?" + _ARGUMENT,
        holds=_is_setting,
    ),
    Pattern(
        kind="password hash",
        literals=(
            "$1$", "$5$", "$6$", "$y$", "$apr1$", "$2a$", "$2b$", "$2x$", "$2y$", "$argon2",
        ),
        solid=True,
        shape=STARTS + r"(?<!\$)\$(?:"
        r"[156]\$(?:rounds=[0-9]{1,9}\$)?[A-Za-z0-9./]{1,16}\$[A-Za-z0-9./]{22,86}|"
        r"apr1\$[A-Za-z0-9./]{1,8}\$[A-Za-z0-9./]{22}|2[abxy]\$[0-9]{2}\$[A-Za-z0-9./]{53}|"
        r"y\$[A-Za-z0-9./]{1,8}\$[A-Za-z0-9./]{1,86}\$[A-Za-z0-9./]{43}|"
        r"argon2(?:id|i|d)\$(?:v=[0-9]{1,3}\$)?m=[0-9]{1,9},t=[0-9]{1,5},p=[0-9]{1,5}"
        r"\$[A-Za-z0-9+/]{8,128}\$[A-Za-z0-9+/]{16,128})(?![A-Za-z0-9/])",
        holds=_is_unlabelled,
    ),
    Pattern(
        kind="session cookie",
        literals=("sess", "sid=", "auth", "remember"),
        also="ookie",
        folded=True,
        shape=r"(?i:sess|sid|auth|remember)[A-Za-z0-9_.-]{0,24}="
        r"(?P<secret>[^\s;,\"'\0<>\\]{12,512})",
        tail=r"[^\s;,\"'\0<>\\]",
        holds=_is_session,
    ),
)  # fmt: skip
