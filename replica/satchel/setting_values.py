"""One value held against its setting: the right type, or an error that says where it stands."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from satchel.errors import ConfigInvalid, did_you_mean
from satchel.settings import BY_NAME, Setting, Value
from satchel_crypto import network

SHOWN_CHARS_MAX = 80
"""Of a name or a value in a message."""


def checked(setting: Setting, value: Any, where: str) -> Value:
    """`value` as the setting's type. Raises ConfigInvalid naming `where`, key and remedy."""
    if setting.kind == "bool":
        return _checked_bool(setting, value, where)
    if setting.kind in ("days", "whole"):
        return _checked_whole(setting, value, where)
    if setting.kind == "names":
        return _checked_names(setting, value, where)
    if not isinstance(value, str):
        raise _bad(setting, where, f"must be text, not {type(value).__name__}")
    refuse_nul(value, setting.name, where)
    if setting.kind == "reason" and not network.is_reason(value):
        raise _bad(setting, where, "is blank: it has to say why, or to be left out")
    if setting.kind == "choice" and value not in setting.choices:
        choices = ", ".join(setting.choices)
        raise _bad(
            setting, where, f"is {shown(value)}, must be one of: {choices}", setting.choices, value
        )
    return value


def _checked_bool(setting: Setting, value: Any, where: str) -> bool:
    words = {"true": True, "1": True, "false": False, "0": False}
    if isinstance(value, str) and not setting.strict:
        words |= {"yes": True, "on": True, "no": False, "off": False}
        value = value.lower()
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value in words:
        return words[value]
    raise _bad(setting, where, f"is {shown(value)}, must be true or false")


def _checked_whole(setting: Setting, value: Any, where: str) -> int:
    least, most = setting.range
    if isinstance(value, str) and re.fullmatch(r"\s*[0-9]{1,9}\s*", value):
        value = int(value)
    if type(value) is not int or not least <= value <= most:
        raise _bad(
            setting, where, f"is {shown(value)}, must be a whole number from {least} to {most}"
        )
    return value


def _checked_names(setting: Setting, value: Any, where: str) -> str | tuple[str, ...]:
    if isinstance(value, str):
        value = [part.strip() for part in value.split(",") if part.strip()]
    if not isinstance(value, list) or not all(isinstance(part, str) for part in value):
        raise _bad(setting, where, f"must be {', '.join(setting.choices)} or a list of names")
    return tuple(value)


def shown(value: Any) -> str:
    """A value in a message, which does not go on for pages."""
    text = repr(value)
    return text if len(text) <= SHOWN_CHARS_MAX else f"{text[: SHOWN_CHARS_MAX - 1]}…"


def _bad(
    setting: Setting, where: str, fault: str, known: tuple[str, ...] = (), given: str = ""
) -> ConfigInvalid:
    hint = did_you_mean(given, known) or f"see `satchel config show`: {setting.help}"
    return ConfigInvalid(f"{where}: {setting.name} {fault}", hint=hint, field=setting.name)


def refuse_store(environ: Mapping[str, str]) -> None:
    """Refuse SATCHEL_STORE: who sets it believes that his rows go elsewhere."""
    if environ.get("SATCHEL_STORE", "").strip():
        raise _no_other_store("SATCHEL_STORE")


def _no_other_store(where: str) -> ConfigInvalid:
    """The error of `store = "postgres"` and its like, and what is to be done instead (ADR 0034)."""
    return ConfigInvalid(
        f"{where}: there is no setting 'store': a machine's store is its own SQLite file",
        hint="to share one warehouse at once, name it (`dsn` in [warehouse]) and let"
        " `satchel sync --every 2s` run: it sends each write at once (docs/SYNC.md, Live)",
        field="store",
    )


def unknown_setting(name: str, where: str) -> ConfigInvalid:
    """The error of a name that no setting has, with the nearest one."""
    if name == "store":
        return _no_other_store(where)
    known, name = sorted(BY_NAME), name[:SHOWN_CHARS_MAX]
    last = name.rpartition(".")[2]
    alike = [one for one in known if one.rpartition(".")[2] == last]
    hint = did_you_mean(name, known) or did_you_mean(name, alike)
    return ConfigInvalid(
        f"{where}: unknown setting {name!r}",
        hint=hint or "`satchel config show` lists every setting",
        field=name,
    )


def refuse_blank(flag: str, name: str) -> None:
    """An empty flag is a variable that was not set: taken as "not said" it would be the operator's.

    (`satchel --agent "$AGENT"`.) An empty environment variable counts as unset.
    """
    if not flag.strip():
        raise ConfigInvalid(
            f"the command line: {name} is empty",
            hint="give a value, or leave the option out",
            field=name,
        )


def refuse_nul(value: str, name: str, where: str) -> None:
    for position, character in enumerate(value):
        if character == "\0" or "\ud800" <= character <= "\udfff":
            what = "NUL" if character == "\0" else "a lone surrogate"
            raise ConfigInvalid(
                f"{where}: {name} has {what} at position {position}",
                hint="remove that character",
                field=name,
            )
