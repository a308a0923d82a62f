"""What the pages tell to type exists, and is run somewhere.

Consoles are run by test_docs.py; here stand all other calls: their words and options are held
against the tree of commands, and each block of them names the test that runs it.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from fix_elsewhere import ELSEWHERE
from fix_pages import ROOT, Block, blocks, calls, mistakes

from satchel.cli.tree import root
from satchel.settings import NETWORK_PATHS, SETTINGS

PAGES = sorted(
    page for pattern in ("*.md", "docs/*.md", "*/README.md") for page in ROOT.glob(pattern)
)
MADE = ("docs/BENCHMARKS.md", "docs/QUALITY.md")
"""Written by programs, of what they measured at that time."""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_call_of_satchel_is_one(page: Path) -> None:
    if str(page.relative_to(ROOT)) in MADE:
        return
    tree = root()
    wrong = {call: found for call in calls(page) if (found := mistakes(call, tree))}
    assert wrong == {}


@pytest.mark.parametrize(
    ("call", "found"),
    [
        ("write TEXT --scope org", []),
        ("--home desk sync conflicts list", []),
        ("key init|list|trust FILE", []),
        ("key init | list | trust", []),
        ("… | more", []),
        ("key init|burn", ["satchel key has no init|burn"]),
        ("sync --evry 1h", ["satchel sync has no --evry"]),
        ("nothing", ["satchel has no nothing"]),
        ("schedule install [--every 1h]", []),
    ],
)
def test_what_is_no_call(call: str, found: list[str]) -> None:
    assert mistakes(call, root()) == found


SECTIONS = "|".join(sorted({one.section for one in SETTINGS}))
NO_SETTINGS = re.compile(
    r"audit\.(?:key|records|machines|searches)|mcp\.json|\w+\.(?:\w+_)?password"
)
"""Files, views and secrets that are named as settings are."""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_setting_and_variable_that_is_named_is_one(page: Path) -> None:
    if str(page.relative_to(ROOT)) in MADE:
        return
    text = page.read_text("utf-8")
    named = set(re.findall(rf"`((?:{SECTIONS})(?:\.[a-z_]+)+)(?: = [^`]*)?`", text))
    known = {one.name for one in SETTINGS} | set(NETWORK_PATHS)
    assert [one for one in named - known if not NO_SETTINGS.fullmatch(one)] == []
    variables = {name for one in SETTINGS for name in one.environment}
    others = {"SATCHEL_HOME", "SATCHEL_SECTION_KEY"}
    assert set(re.findall(r"\bSATCHEL_[A-Z_]+", text)) <= variables | others


COMMANDS = [
    block
    for page in PAGES
    for block in blocks(page)
    if block.kind.startswith("console ") or block.holds_commands
]


@pytest.mark.parametrize("block", COMMANDS, ids=lambda block: f"{block.page}: {block.key[:40]}")
def test_a_block_that_is_no_console_says_who_runs_it(block: Block) -> None:
    told = [who for begin, who in ELSEWHERE.get(block.page, {}).items() if block.begins(begin)]
    assert told, f"make it a console, or enter it in tests/fix_elsewhere.py: {block.key!r}"
    for one in told:
        if not one.startswith("not here: "):
            file, _, test = one.partition(", ")[0].partition("::")
            text = (ROOT / "tests" / f"{file}.py").read_text("utf-8")
            tests = re.findall(r"^def (test_\w+)", text, re.MULTILINE)
            assert test in tests if test else len(tests) == 1, f"{one}: which of {tests}?"


def test_nobody_says_who_runs_a_block_that_is_gone() -> None:
    gone = [
        (page, begin)
        for page, told in ELSEWHERE.items()
        for begin in told
        if not any(block.page == page and block.begins(begin) for block in COMMANDS)
    ]
    assert gone == []
