"""Text as editors and shells of Windows save it: CRLF, a mark of the encoding first, UTF-16."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fix_importing import memories, taken
from fix_memory import opened

from satchel import config, keys, prices
from satchel.cli.call import _read_object
from satchel.errors import SatchelError
from satchel.hooks import call as hook_calls
from satchel.passphrases import TypedPassphrases, read_text, without_newline
from satchel.warehouse import roles
from satchel_crypto.errors import CryptoError

BOM = "\ufeff"
SAVED: dict[str, Callable[[str], bytes]] = {
    "CRLF": lambda text: text.replace("\n", "\r\n").encode(),
    "a mark": lambda text: (BOM + text).encode(),
    "a mark and CRLF": lambda text: (BOM + text.replace("\n", "\r\n")).encode(),
}
CALL = {"session_id": "s", "prompt": "naïve", "cwd": ".", "hook_event_name": "UserPromptSubmit"}


def settings_of(path: Path) -> Any:
    (path.parent / "config.toml").write_bytes(path.read_bytes())
    return config.load(environ={"SATCHEL_HOME": str(path.parent)}).agent_id


def prices_of(path: Path) -> Any:
    (path.parent / prices.PRICES_FILE).write_bytes(path.read_bytes())
    return prices.load(path.parent)


def passphrase_of(path: Path) -> Any:
    path.chmod(0o600)
    return TypedPassphrases(path).current()


def trusted_of(path: Path) -> Any:
    (path.parent / "trusting").mkdir(exist_ok=True)
    there = config.load(environ={"SATCHEL_HOME": str(path.parent / "trusting")})
    return keys.trust(there, path.read_bytes(), name="other", confirm=lambda question: True)["name"]


def imported(format_name: str) -> Callable[[Path], Any]:
    def of(path: Path) -> Any:
        with opened(path.parent / "importing") as replica:
            taken(replica, format_name, path)
            return memories(replica, "title", "content", "type")

    return of


READERS: dict[str, tuple[str, Callable[[Path], Any]]] = {
    "config.toml": ('# é\n[agent]\nid = "josé"\n', settings_of),
    "prices.toml": ("[claude]\ninput = 1\noutput = 2\n", prices_of),
    "passphrase": ("five wörds\n", passphrase_of),
    "secret": ("hünter\n", lambda path: without_newline(read_text(path, "secret"))),
    "password": ("sésame\n", roles._password),
    "arguments.json": ('{\n"text": "é"\n}\n', lambda path: _read_object(str(path))),
    "hook.json": (
        json.dumps(CALL, indent=1, ensure_ascii=False) + "\n",
        lambda path: hook_calls.read("claude-code", path.read_bytes()),
    ),
    "note.md": ("---\ntitle: Täg\ntype: fact\n---\nbody\nof it\n", imported("markdown")),
    "graph.jsonl": (
        '{"type":"entity","name":"Ä","entityType":"x","observations":["öne"]}\n',
        imported("server-memory"),
    ),
    "mem0.json": (
        '{"results": [\n{"id": "892db2ae-06d9-49e5-8b3e-585ef9b85b8e", "memory": "é"}]}\n',
        imported("mem0"),
    ),
}


@pytest.mark.parametrize("name", READERS)
def test_it_says_the_same_however_it_was_saved(name: str, tmp_path: Path) -> None:
    text, read = READERS[name]
    found: dict[str, Any] = {}
    for saved, encoded in {"as Linux saves it": str.encode, **SAVED}.items():
        path = tmp_path / str(len(found)) / name
        path.parent.mkdir()
        path.write_bytes(encoded(text))
        found[saved] = read(path)
    first, *rest = (_one_line_end(one) for one in found.values())
    assert [one for one in rest if one != first] == []


def _one_line_end(value: Any) -> Any:
    """Content keeps the line ends that it has."""
    if isinstance(value, list):
        return [_one_line_end(one) for one in value]
    if isinstance(value, tuple):
        return tuple(map(_one_line_end, value))
    return value.replace("\r\n", "\n").rstrip("\n") if isinstance(value, str) else value


def test_a_key_file_may_have_a_mark(tmp_path: Path) -> None:
    home = config.load(environ={"SATCHEL_HOME": str(tmp_path / "home")})
    keys.init(home)
    data, _ = keys.export(home, "-", of="0" * 32)
    for number, encoded in enumerate((bytes, *SAVED.values())):
        path = tmp_path / str(number) / "key"
        path.parent.mkdir()
        path.write_bytes(encoded(data) if encoded is bytes else encoded(data.decode()))
        assert trusted_of(path) == "other"


@pytest.mark.parametrize("name", ["config.toml", "prices.toml", "passphrase", "arguments.json"])
def test_what_powershell_makes_of_it_is_refused_with_words(name: str, tmp_path: Path) -> None:
    """`satchel … > file` in Windows PowerShell writes UTF-16."""
    text, read = READERS[name]
    path = tmp_path / name
    path.write_bytes(text.encode("utf-16"))
    with pytest.raises((SatchelError, CryptoError), match=r"UTF-8|not TOML") as told:
        read(path)
    assert "Traceback" not in str(told.value)


def test_a_setting_is_changed_in_a_file_of_an_editor_of_windows(tmp_path: Path) -> None:
    from satchel.config_file import set_value

    (tmp_path / "config.toml").write_bytes(b'\xef\xbb\xbf# mine\r\n[agent]\r\nid = "a"\r\n')
    set_value(tmp_path, "agent.id", "b")
    assert (tmp_path / "config.toml").read_bytes() == (b'# mine\r\n[agent]\r\nid = "b"\r\n')
