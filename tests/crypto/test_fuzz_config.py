"""The configuration file, network policy included: TOML of any content is taken or told of."""

from __future__ import annotations

from pathlib import Path

import pytest
from fix_fuzz import EXAMPLES, MEGABYTE, NOISE, bounded, changed, refused
from hypothesis import given
from hypothesis import strategies as st

from satchel.config import CONFIG_CHARS_MAX, load, parse
from satchel.errors import ConfigInvalid
from satchel.settings import SETTINGS

GOOD = b"""[network]
mode = "open"
[network."sync.postgres"]
enabled = true
attested = "a VPN"
[network.warehouse.admin]
enabled = false
[memory]
secrets = "redact"
[warehouse]
dsn = "postgresql://h/x"
[mcp]
tools = ["memory", "sync"]
"""
TOKENS = (b'"', b"[", b"]", b"[[", b"=", b"{", b"}", b"'''", b"\n", b".", b"1e9", b"network.mode",
          b"true", b"1979-05-27T07:32:00Z", b"1979-99-99", b"\\ud800", b"\\uffff")  # fmt: skip


def parsed(data: bytes) -> object:
    return parse(data.decode("utf-8", "replace"), Path("config.toml"))


@EXAMPLES
@given(st.one_of(NOISE, changed(GOOD, TOKENS)))
def test_noise_and_changes(data: bytes) -> None:
    refused(parsed, data, ConfigInvalid)


VALUES = st.sampled_from([
    "true", "1", "-1", "1.5", "nan", "inf", '""', '"x"', "[]", "{}", "[[]]", '["a", 1]', "''",
    "{a = 1}",
    "1979-05-27", "07:32:00", '"\\u0000"', '"\\ud800"', "9" * 5000, '"' + "x" * 5000 + '"',
    "[" * 2000 + "]" * 2000, "{a = " * 500 + "1" + "}" * 500,
])  # fmt: skip
NAMES = st.sampled_from([setting.name for setting in SETTINGS]) | st.from_regex(
    r"[a-z]{1,6}(\.[a-z]{1,6}){0,3}", fullmatch=True
)


@EXAMPLES
@given(st.lists(st.tuples(NAMES, VALUES), max_size=4))
def test_any_value_of_any_setting(pairs: list[tuple[str, str]]) -> None:
    text = "\n".join(f"{name} = {value}" for name, value in pairs)
    refused(parsed, text.encode(), ConfigInvalid)


HOSTILE = {
    "arrays in arrays": "a = " + "[" * 100_000,
    "tables in tables": "a = " + "{b = " * 100_000,
    "dots": "a" + ".a" * 20_000 + " = 1",
    "dots in a table's name": "[a" + ".a" * 20_000 + "]\nb = 1",
    "a number without end": "network.mode = " + "9" * 10_000,
    "a float without end": "network.mode = 1e" + "9" * 10_000,
    "a text of a megabyte": 'network.mode = "' + "x" * MEGABYTE + '"',
    "a key of a megabyte": "x" * MEGABYTE + " = 1",
    "many keys": "\n".join(f"k{number} = 1" for number in range(20_000)),
    "a NUL": "a = 1\0",
    "a lone surrogate": 'network.mode = "\\ud800"',
    "a day that is none": "network.mode = 1979-02-30",
    "twice": "[memory]\n[memory]\n",
    "a table where a value is": "memory = 1\n[memory]\nsecrets = 'warn'\n",
    "a value where a table is": "[memory.secrets]\na = 1\n",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile(name: str) -> None:
    assert refused(parsed, HOSTILE[name].encode(), ConfigInvalid)


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_and_no_longer_than_it_may_be(name: str) -> None:
    """The dots are fewer: for 8,000 of them the parser takes some seconds."""
    text = HOSTILE[name][: 4_000 if "dots" in name else CONFIG_CHARS_MAX]
    assert refused(parsed, text.encode(), ConfigInvalid, times=2_000)


@EXAMPLES
@given(data=st.one_of(st.binary(max_size=200), changed(GOOD, (b"\xff", b"\xc3", b"\xef\xbb\xbf"))))
def test_a_file_of_any_bytes(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    home = tmp_path_factory.getbasetemp() / "config"
    home.mkdir(exist_ok=True)

    def loaded(given: bytes) -> object:
        (home / "config.toml").write_bytes(given)
        return load(flags={"home": str(home)}, environ={})

    refused(loaded, data, ConfigInvalid)


def test_the_good_one() -> None:
    with bounded(GOOD):
        assert parsed(GOOD) is not None
