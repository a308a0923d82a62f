"""The switch of FIPS mode is strict: four words, and no two of its sources may disagree."""

from __future__ import annotations

from pathlib import Path

import pytest

from satchel import config
from satchel.errors import ConfigInvalid

NAMES = ("SATCHEL_FIPS", "SATCHEL_CRYPTO_FIPS_MODE")


def fips_mode(home: Path, file: str | None = None, **variables: str) -> bool:
    if file is not None:
        (home / "config.toml").write_text(f"[crypto]\nfips_mode = {file}\n")
    return config.load(environ={"SATCHEL_HOME": str(home), **variables}).fips_mode


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("word", "means"), [("1", 1), ("true", 1), ("0", 0), ("false", 0)])
def test_four_words(tmp_path: Path, name: str, word: str, means: int) -> None:
    assert fips_mode(tmp_path, **{name: word}) is bool(means)
    assert fips_mode(tmp_path, "true" if means else "false", **{name: word}) is bool(means)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("word", ["", " ", "yes", "on", "no", "TRUE", "True", "2", "1 ", "01", "é"])
def test_any_other_is_fatal(tmp_path: Path, name: str, word: str) -> None:
    with pytest.raises(ConfigInvalid, match=r"crypto\.fips_mode") as refused:
        fips_mode(tmp_path, **{name: word})
    assert refused.value.field == "crypto.fips_mode"


@pytest.mark.parametrize("value", ["1", "0", '"yes"', '"on"', '""', "[]", "1.0"])
def test_the_file_says_true_or_false(tmp_path: Path, value: str) -> None:
    with pytest.raises(ConfigInvalid, match=r"crypto\.fips_mode"):
        fips_mode(tmp_path, value)


@pytest.mark.parametrize(
    ("file", "variables"),
    [
        ("false", {"SATCHEL_FIPS": "1"}),
        ("true", {"SATCHEL_FIPS": "0"}),
        ("true", {"SATCHEL_CRYPTO_FIPS_MODE": "false"}),
        (None, {"SATCHEL_FIPS": "1", "SATCHEL_CRYPTO_FIPS_MODE": "0"}),
    ],
)
def test_two_sources_may_not_disagree(
    tmp_path: Path, file: str | None, variables: dict[str, str]
) -> None:
    with pytest.raises(ConfigInvalid, match="said in two ways"):
        fips_mode(tmp_path, file, **variables)
