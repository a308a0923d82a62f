"""Writing one setting into `config.toml`: the rest of the file, comments too, stays as it is."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from satchel import config
from satchel.errors import ConfigInvalid, StoreUnusable
from satchel.setting_values import checked, unknown_setting
from satchel.settings import BY_NAME, Setting, Value
from satchel.whole_file import whole_file


def set_value(home: Path, name: str, text: str) -> Path:
    """Set `section.key` to `text` in <home>/config.toml, atomically, mode 0600.

    Raises ConfigInvalid for an unknown setting, a bad value, or a file whose form is too special
    to be edited without losing something.
    """
    path = home / config.CONFIG_FILE
    if name not in BY_NAME:
        raise unknown_setting(name, "config set")
    setting = BY_NAME[name]
    value = checked(setting, text, "config set")
    before = config.text_of(path)
    config.parse(before, path)
    after = edited(before, setting, _toml(value))
    written = config.parse(after, path).get(name)
    if written is None or checked(setting, written, str(path)) != value:
        raise ConfigInvalid(
            f"{path}: {name} stands in a form that cannot be edited here",
            hint=f"edit the file by hand: {setting.key} = {_toml(value)}",
            field=name,
        )
    _replace(path, after)
    return path


def edited(text: str, setting: Setting, value: str) -> str:
    """`text` with `key = value` in the setting's section, in place of an older line."""
    end_of_line = "\r\n" if "\r\n" in text else "\n"
    return end_of_line.join([*_edited(text.splitlines(), setting, value), ""])


def _edited(lines: list[str], setting: Setting, value: str) -> list[str]:
    line = f"{setting.key} = {value}"
    headers = [index for index, one in enumerate(lines) if _section(one) == setting.section]
    if not headers:
        gap = [""] if lines else []
        return [*lines, *gap, f"[{_header(setting.section)}]", line]
    start = headers[0] + 1
    end = next((i for i in range(start, len(lines)) if _section(lines[i]) is not None), len(lines))
    pattern = re.compile(rf"""\s*["']?{re.escape(setting.key)}["']?\s*=[^#]*(?P<comment>#.*)?$""")
    for index in range(start, end):
        if found := pattern.match(lines[index]):
            lines[index] = f"{line}  {found['comment']}" if found["comment"] else line
            return lines
    lines.insert(start, line)
    return lines


def _section(line: str) -> str | None:
    """The section that a `[header]` opens, without quotes and blanks, or None."""
    found = re.match(r"\s*\[\s*([^\[\]]+?)\s*\]\s*(#.*)?$", line)
    return re.sub(r"""["'\s]""", "", found[1]) if found else None


def _header(section: str) -> str:
    """`network."sync.postgres"`: a path's name has a dot of its own."""
    first, _, rest = section.partition(".")
    return f'{first}."{rest}"' if rest else first


def _toml(value: Value) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "[" + ", ".join(_toml(one) for one in value) + "]"
    escaped = str(value).replace("\\", "\\\\").replace('"', '\\"')
    escaped = re.sub(r"[\x00-\x1f\x7f]", lambda m: f"\\u{ord(m[0]):04x}", escaped)
    return f'"{escaped}"'


def _replace(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with whole_file(path, overwrite=True) as file:
            file.write(text.encode())
    except OSError as error:
        raise StoreUnusable(
            f"{path}: cannot be written: {error.strerror}",
            hint="give a folder that this user can write, with --home or SATCHEL_HOME",
            field="home",
        ) from error
