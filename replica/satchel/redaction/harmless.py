"""Values beside a telling word that are no secret: names of things, templates, code, paths."""

from __future__ import annotations

from satchel.redaction.pattern import compiled

_TEMPLATE = (
    r"(?i)[<{\[(*%]|\$[{(]|\$[A-Za-z_]+$|%[({A-Z]|your[-_ ]|\.\.\.|…|[x*.•#_-]+$|"
    r"(?:none|null|nil|true|false|undefined|required|optional|string|changed?|redacted)$"
)
"""What stands where a secret would go in an example, a schema or a log."""
_ALGORITHM = (
    r"(?i)(?:base|utf|sha|md|aes|rsa|hs|rs|es|ps|ed|x|p|oauth|argon|pbkdf|hmac|http|ipv|id|v|win|"
    r"cp|k8)[-_]?[0-9]+\w{0,3}(?:[-_./]\w{1,24})*[.,:)]?$"
)
_PLACE = r"(?:\.{0,2}/|~|[A-Za-z]:[\\/]|\w{2,12}://|[\w.-]+@[\w-]+\.)"
_DOTTED = r"[A-Za-z_]\w*(?:(?:\.|->|::)[A-Za-z_]\w*)+$"
_SNAKE = r"_*[a-z]+[0-9]{0,2}(?:_[a-z]*[0-9]{0,2})+$"
_NAMED_SO = (
    r"(?i)(?:my|the|db|user|new|old|app)?_?"
    r"(?:pass(?:word|wd|phrase)?|pw|secret|token|key)s?[0-9]{0,2}$"
)
_WORDY = r"(?:[A-Za-z]{2,}|[A-Za-z]|[0-9]{1,4}|v[0-9]+)(?:[-_./:]+(?:[A-Za-z]+|v?[0-9]{1,4}))*$"
_UUID = r"(?i)[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$"
_TIME = r"[12][0-9]{3}-[0-9]{2}-[0-9]{2}|[0-9]+(?:\.[0-9]+)*(?:[a-zA-Z%]{1,3})?$"


def is_template(value: str) -> bool:
    """`<password>`, `${TOKEN}`, `{{ secret }}`, `%s`, `****`, `null`, `your-key-here`."""
    return compiled(_TEMPLATE).match(value) is not None


def is_place(value: str) -> bool:
    """A path, a URL or a mail address."""
    return compiled(_PLACE).match(value) is not None


def is_algorithm(value: str) -> bool:
    """`SHA-256`, `base64-encoded`, `oauth2`, `v2`."""
    return compiled(_ALGORITHM).match(value) is not None


def is_code(value: str, behind: str) -> bool:
    """`tokens[0]`, `settings.token2`, `make_token(`, `key_2`; `behind` is what follows."""
    if behind.startswith(("(", "[")):
        return True
    return any(compiled(shape).match(value) for shape in (_DOTTED, _SNAKE, _NAMED_SO))


def is_name(value: str) -> bool:
    """`mypassword`, `db_secret`: it says what stands there."""
    return compiled(_NAMED_SO).match(value) is not None


def is_given(value: str) -> bool:
    """Whether a value stands where only secrets do: no template, no path, no option."""
    return not (is_template(value) or is_place(value) or value.startswith("-"))


def is_wordy(value: str) -> bool:
    """Words and short numbers with marks between: `prod-db-creds-2`, `v1.2`."""
    return compiled(_WORDY).match(value) is not None


def is_uuid(value: str) -> bool:
    """An identifier, which is made by chance and no secret."""
    return compiled(_UUID).match(value) is not None


def is_time(value: str) -> bool:
    """A date, a version or a number with its unit."""
    return compiled(_TIME).match(value) is not None
