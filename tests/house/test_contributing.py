"""What CONTRIBUTING.md and the README tell of `make` and of folders is so.

Their consoles are run by test_docs.py. The two commands of the README are what runs all
this: `.ci/run` calls `make test`.
"""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest
from fix_pages import FENCE, ROOT, SPAN, blocks

PAGES = ("CONTRIBUTING.md", "README.md", "docs/DEPLOY.md")
FOLDERS = ("", "tests", "replica/satchel", "crypto", "warehouse/satchel_warehouse", "sync")
"""From where a path of CONTRIBUTING may be meant; a floor of a package is meant from there."""

MADE = "dist/"


def targets() -> set[str]:
    """The targets that `make` lists."""
    found = re.findall(r"^([a-z-]+):.*## ", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    return set(found)


@pytest.mark.parametrize("page", PAGES)
def test_the_targets_that_are_named_are_there(page: str) -> None:
    spans = SPAN.findall(FENCE.sub("", (ROOT / page).read_text("utf-8")))
    lines = [line for block in blocks(ROOT / page) for line in block.text.splitlines()]
    calls = [one for one in (*spans, *lines) if re.match(r"make [a-z]", one)]
    named = {
        word
        for call in calls
        for word in re.split(r"\s+#|\s[A-Z_]+=", call)[0].split()[1:]
        if word.islower()
    }
    assert named
    assert named - targets() == set()


@pytest.mark.skipif(shutil.which("make") is None, reason="there is no make here")
def test_make_lists_what_it_can_do() -> None:
    listed = subprocess.run(
        ["make", "help"], cwd=ROOT, capture_output=True, text=True, encoding="utf-8", check=True
    )
    assert targets() == set(re.findall(r"^  make (\S+)", listed.stdout, re.MULTILINE))


def test_every_path_of_contributing_is_there() -> None:
    text = FENCE.sub("", (ROOT / "CONTRIBUTING.md").read_text("utf-8"))
    named = [
        span
        for span in SPAN.findall(text)
        if re.fullmatch(r"[.\w/-]+", span) and ("/" in span or span.endswith((".py", ".md")))
    ]
    near = [folder for folder in (ROOT / "tests", ROOT / "replica/satchel") if folder.is_dir()]
    lost = [
        name
        for name in named
        if name != MADE
        and not any((ROOT / folder / name).exists() for folder in FOLDERS)
        and not any(list(folder.glob(f"*/{name}")) for folder in near)
    ]
    assert lost == [], "a path is meant from the root, a package, tests/ or a folder of these"
