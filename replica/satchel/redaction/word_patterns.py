"""Secrets without a shape of their own, known by the word beside them: `password: …`, `TOKEN=…`.

A value that is called a secret need not look random, only like none of the harmless things. One
that merely stands near such a word has to pass the entropy rule.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from satchel.redaction import harmless
from satchel.redaction.pattern import Pattern, compiled
from satchel.redaction.randomness import RANDOM_CHARS_MIN, is_hex, is_mixed, is_random

NAME_CHARS_MAX = 40
_SEPARATOR = (
    r"""["'`\\\])]{0,3}+[ \t]{0,40}+(?:=>|:=|->|[:=：](?![=:])|"""
    r"""(?<=[ \t])(?:is|was|ist|lautet|es|est)(?=[ \t:]):?)[*_]{0,2}+[ \t]{0,40}+"""
    r"""(?:(?<=:[ \t])[|>][-+]?[ \t]{0,4}(?:\r?\n|\\{1,2}n)[ \t]{1,40}+)?"""
)
"""Its last line is the head of a block in YAML: `password: |`, and the value a line below."""
_VALUE = (
    r"""(?P<escaped>\\)?(?P<quote>["'`])?(?P<secret>(?(escaped)[^\0\n"'`\\]{6,512}|(?(quote)"""
    r"""(?:(?!(?P=quote))[^\0\n\\]|\\[^\0\n]){6,512}|[^\s\0"'`,;<>()\[\]{}&|\\]{6,512})))"""
)
_CELL = (
    r"[*_`\"':]{0,4}[ \t]{0,40}\|[ \t]{0,40}(?P<quote>[`\"'])?"
    r"(?P<secret>[^\s\0|`\"']{6,256})[`\"']?[ \t]{0,40}\|"
)
"""The next cell of a table in Markdown."""
_CELL_HEAD = r"\|[^|\n\0]{0,40}$"
_REST = r"(?P<rest>[A-Za-z0-9_-]{0,24}+)"
_TAIL = "[A-Za-z0-9+/=_.~-]"

_NAME_CHARS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-"
_NOT_ITS_VALUE = (
    r"(?:^|[_-]|(?<=[a-z])(?=[A-Z]))(?i:ids?|hash(?:es|ed)?|names?|files?|path|dir|ur[li]s?|"
    r"endpoint|host|types?|kind|counts?|limit|max|min|length|len|size|bytes|chars|ttl|version|at|"
    r"expir\w*|arn|digest|sha\d*|md5|fingerprint|alias|label|prefix|suffix|env|header|field|column|"
    r"param\w*|provider|policy|algorithm|format|regex|pattern|usage|scopes?|issuer|audience|"
    r"manager|store|status|error|budget|reset|strength|rules?)$"
)
"""Names that speak about a secret and do not hold it: `token_count`, `passwordHash`, `KEY_FILE`."""
_OTHER_TOKEN = (
    r"(?i)(?:public|next|page|continuation|sync|cursor|stop|special|[bep]os|pad|unk|mask|max|min|"
    r"num|input|output|prompt|completion|total|cached|primary|foreign|sort|partition|cache|"
    r"idempotency)[_.-]?$"
)
_KEY_BEFORE = (
    r"(?i)(?:api|access|secret|private|encryption|signing|master|auth|account|service|storage|"
    r"session|shared|app|client|license|webhook|deploy|server|host|subscription|consumer|"
    r"instrumentation)[ _.-]?$"
)
_LABEL = (
    r"(?i)hash|digest|sha-?[0-9]|md5|checksum|fingerprint|commit|integrity|etag|uuid|"
    r"\$2[abxy]\$|\$argon"
)
"""Between a telling word and a word made by chance: it says what that is."""
_PLURAL_OR_OTHER = r"(?i)s$|i[sz]\w*$|ary|less|ed$"
_SIGNS = r"[!@#$%^&*?+~=]"
_HEADER = r"(?i)authorization[\"'\\]{0,2}[ \t]{0,2}[:=][ \t\"'\\]{0,4}$"
_CONNECTION = (
    r"(?i)(?:^|[\s;'\"])(?:host|hostaddr|user|dbname|sslmode|server|data source|uid|user id|"
    r"initial catalog|database)[ ]?="
)


def _has_digit(value: str) -> bool:
    return compiled("[0-9]").search(value) is not None


def _has_mark(value: str) -> bool:
    """A digit, or a sign that is none of punctuation."""
    return _has_digit(value) or compiled(_SIGNS).search(value.rstrip("!?*")) is not None


def _before(found: re.Match[str], count: int) -> str:
    return found.string[max(0, found.start() - count) : found.start()]


def _name(found: re.Match[str]) -> tuple[str, str]:
    """(what stands before the telling word in its name, what stands behind)."""
    before = _before(found, NAME_CHARS_MAX)
    return before[len(before.rstrip(_NAME_CHARS)) :], found.group("rest")


def _is_about(found: re.Match[str]) -> bool:
    """Whether the name only speaks about a secret."""
    before, rest = _name(found)
    return _says_other(before, rest)


def _says_other(before: str, rest: str) -> bool:
    if compiled(_OTHER_TOKEN).search(before):
        return True
    return compiled(_NOT_ITS_VALUE).search(rest) is not None


def _is_environment(found: re.Match[str]) -> bool:
    """`DB_PASSWORD=…`, as shells and .env files have it: what stands there is the value."""
    before, _ = _name(found)
    head = found.string[found.start() : found.start("secret")]
    return "=" in head and " " not in head and (before + head.rstrip("\"'=")).isupper()


def _behind(found: re.Match[str]) -> str:
    return found.string[found.end() : found.end() + 1]


def _is_spoken(found: re.Match[str]) -> bool:
    """`… is …`: prose, where most of what follows is no value."""
    return found.string[found.start() : found.start("secret")].rstrip(" \t\"'`:")[-1:].isalpha()


def _is_harmless(found: re.Match[str]) -> bool:
    value = found.group("secret")
    if harmless.is_template(value) or harmless.is_place(value) or harmless.is_algorithm(value):
        return True
    quoted = found.group("quote") is not None
    return not quoted and not _is_environment(found) and harmless.is_code(value, _behind(found))


def _is_password(found: re.Match[str]) -> bool:
    value = found.group("secret")
    if not _has_mark(value) and "=" not in found[0]:
        return False
    before, rest = _name(found)
    if _is_about(found) or _is_harmless(found):
        return False
    if _is_environment(found):
        return True
    if found.group("word").lower() == "pass" and not (before.endswith("_") or found["quote"]):
        return False
    if value.isdigit():
        return not rest
    if _is_spoken(found) and harmless.is_wordy(value) and not value.isalnum():
        return False
    if " " in value.strip():
        return False
    return _has_mark(value) and any(one.isalpha() for one in value)


def _is_connection(found: re.Match[str]) -> bool:
    """Whether other parts of a connection string stand on the line beside it."""
    value = found.group("secret").strip("'\"")
    if harmless.is_template(value) or harmless.is_code(value, ""):
        return False
    behind = found.string[found.end() : found.end() + 200]
    line = re.split(r"[\0\n]", _before(found, 200))[-1], re.split(r"[\0\n]", behind)[0]
    return any(compiled(_CONNECTION).search(part) for part in line)


def _is_secret(found: re.Match[str]) -> bool:
    value = found.group("secret")
    if len(value) < RANDOM_CHARS_MIN and not _has_digit(value):
        return False
    _, rest = _name(found)
    if _is_about(found) or _is_harmless(found) or harmless.is_time(value):
        return False
    if found["word"].lower() == "key" and not compiled(_KEY_BEFORE).search(_before(found, 20)):
        return False
    if harmless.is_uuid(value):
        return found.group("word").lower() in ("secret", "key")
    if compiled(_PLURAL_OR_OTHER).search(rest) or " " in value.strip():
        return is_random(value)
    if harmless.is_wordy(value) and not _is_environment(found) and not value.isalnum():
        return False
    return is_mixed(value, 10)


def _is_near(found: re.Match[str]) -> bool:
    """A word made by chance near a telling word: no digest, no identifier, no part of a place."""
    value = found.group("secret")
    gap = found.string[found.start() : found.start("secret")]
    name = gap[: len(gap) - len(gap.lstrip(_NAME_CHARS))]
    before = _before(found, NAME_CHARS_MAX)
    if _says_other(before, name) or compiled(_LABEL).search(gap):
        return False
    ahead = gap[-8:]
    if ahead.endswith(("/", ".", "~", "\\", "#", "@", "base64,", "sha256-", "sha512-", "sha384-")):
        return False
    return not is_hex(value) and not harmless.is_uuid(value) and is_random(value)


def _is_bearer(found: re.Match[str]) -> bool:
    value = found.group("secret")
    if harmless.is_template(value):
        return False
    if re.search(
        r"(?i)authorization[\"'\\]{0,2}[ \t]{0,2}[:=][ \t\"'\\]{0,4}$", _before(found, 30)
    ):
        return not (value.isalpha() and (value.istitle() or value.islower()))
    return is_random(value) or (is_mixed(value, 16) and not harmless.is_wordy(value))


def _is_basic(found: re.Match[str]) -> bool:
    """Base64 of `user:password` (RFC 7617)."""
    from base64 import b64decode

    value = found.group("secret")
    try:
        plain = b64decode(value + "=" * (-len(value) % 4), validate=True).decode("utf-8")
    except ValueError:  # also base64's own
        return False
    _, colon, password = plain.partition(":")
    return bool(colon and password) and plain.isprintable()


def _is_given(found: re.Match[str]) -> bool:
    return harmless.is_given(found.group("secret"))


def _in_cell(holds: Callable[[re.Match[str]], bool]) -> Callable[[re.Match[str]], bool]:
    """The check of a name in one cell and its value in the next."""

    def check(found: re.Match[str]) -> bool:
        head = compiled(_CELL_HEAD).search(_before(found, NAME_CHARS_MAX))
        return head is not None and holds(found)

    return check


_PASSWORD = (
    r"(?i:(?P<word>pass(?:word|wd|wort|phrase|code|e)?+|pwd|kennwort|contraseña|senha|"
    r"пароль|密码|密碼|パスワード|비밀번호|hasło|wachtwoord|lösenord|parola)"
)
_PASSWORD_LITERALS = (
    "pass", "pwd", "kennwort", "contraseña", "senha", "пароль", "密码", "密碼",
    "パスワード", "비밀번호", "hasło", "wachtwoord", "lösenord", "parola",
)  # fmt: skip
_SECRET = r"(?i:(?P<word>secret|token|credential|key)"
_SECRET_LITERALS = ("secret", "token", "credential", "key")
_TELLING = (
    "secret", "token", "password", "passwd", "passphrase", "credential", "api key", "api_key",
    "api-key", "apikey", "access key", "access_key", "private key", "passwort", "密钥", "пароль",
)  # fmt: skip

WORDS: tuple[Pattern, ...] = (
    Pattern(
        kind="bearer token",
        literals=("bearer ",),
        folded=True,
        shape=r"(?i:bearer) {1,3}(?P<secret>[A-Za-z0-9._~+/=-]{8,512})",
        tail="[A-Za-z0-9._~+/=-]",
        holds=_is_bearer,
    ),
    Pattern(
        kind="basic login",
        literals=("basic ",),
        folded=True,
        shape=r"(?i:basic) {1,3}(?P<secret>[A-Za-z0-9+/]{6,512}={0,2})",
        holds=_is_basic,
    ),
    Pattern(
        kind="basic login",
        literals=('"auth"',),
        shape=r'"auth"\s{0,4}:\s{0,4}"(?P<secret>[A-Za-z0-9+/]{6,512}={0,2})"',
        holds=_is_basic,
    ),
    Pattern(
        kind="password",
        literals=("pass", "pwd"),
        also="=",
        folded=True,
        shape=r"(?i:password|pwd) ?= ?(?P<secret>'(?:[^'\\\0\n]|\\[^\0\n]){1,256}'|"
        r"\"[^\"\0\n]{1,256}\"|[^\s\0;'\",()]{1,256}+(?=[\s;'\"\0]|$))",
        holds=_is_connection,
    ),
    Pattern(
        kind="password",
        literals=_PASSWORD_LITERALS,
        folded=True,
        shape=_PASSWORD + _REST + ")" + _SEPARATOR + _VALUE,
        tail=_TAIL,
        holds=_is_password,
    ),
    Pattern(
        kind="secret",
        literals=("--",),
        shape=r"--(?:[a-z]{1,12}-){0,2}(?:password|passwd|passphrase|pass|token|secret|key)"
        r"[ =][\"']?(?P<secret>[^\s\0\"']{6,512})",
        holds=_is_given,
    ),
    Pattern(
        kind="secret",
        literals=_SECRET_LITERALS,
        folded=True,
        shape=_SECRET + _REST + ")" + _SEPARATOR + _VALUE,
        tail=_TAIL,
        holds=_is_secret,
    ),
    Pattern(
        kind="password",
        literals=_PASSWORD_LITERALS,
        also="|",
        folded=True,
        shape=_PASSWORD + _REST + ")" + _CELL,
        holds=_in_cell(_is_password),
    ),
    Pattern(
        kind="secret",
        literals=_SECRET_LITERALS,
        also="|",
        folded=True,
        shape=_SECRET + _REST + ")" + _CELL,
        holds=_in_cell(_is_secret),
    ),
    Pattern(
        kind="random token",
        literals=_TELLING,
        folded=True,
        solid=True,
        shape=r"[^\n\0]{4,40}?(?<![A-Za-z0-9+_-])"
        r"(?P<secret>(?=[A-Za-z+_-]{0,60}[0-9])[A-Za-z0-9+_-][A-Za-z0-9+/_-]{19,255}={0,2})",
        tail="[A-Za-z0-9+/_=-]",
        holds=_is_near,
    ),
)
