"""docs/CRYPTO.md has just the algorithms that there are, and says rightly who has them."""

from __future__ import annotations

from pathlib import Path

import pytest

from satchel_crypto.algorithms import (
    APPROVED,
    SUITES,
    Agreement,
    Cipher,
    Derivation,
    Hash,
    Mac,
    Signature,
)
from satchel_crypto.errors import ProviderUnavailable
from satchel_crypto.registry import NAMES, provider

PAGE = (Path(__file__).parents[2] / "docs" / "CRYPTO.md").read_text("utf-8")
ALL = [one for kind in (Hash, Mac, Derivation, Cipher, Signature, Agreement) for one in kind]


def table() -> dict[str, list[str]]:
    """Algorithm -> the cells behind it, of the one table whose first column is `algorithm`."""
    (_, _, rest) = PAGE.partition("| algorithm | for | approved |")
    rows = rest.split("\n\n")[0].splitlines()[2:]
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
    return {name.strip("`"): others for name, *others in cells}


def test_every_algorithm_has_its_row() -> None:
    assert list(table()) == [one.value for one in ALL]


def test_the_page_says_what_is_approved() -> None:
    said = {name for name, (_, approved, *_) in table().items() if approved == "yes"}
    assert said == {one.value for one in APPROVED}


@pytest.mark.parametrize("name", NAMES)
def test_the_page_says_what_each_provider_has(name: str) -> None:
    try:
        had = provider(name).algorithms
    except ProviderUnavailable:
        pytest.skip("needs the system package libwolfssl-dev")
    column = 2 + NAMES.index(name)
    assert {one for one, cells in table().items() if cells[column] == "yes"} == set(had)


def test_the_page_names_every_suite() -> None:
    assert [suite.name for suite in SUITES if f"`{suite.name}`" not in PAGE] == []
