"""Secrets, keys, audit and bundles are the operator's: no agent is given any of them anywhere."""

from pathlib import Path

import pytest
from fix_command import run

from satchel.tools import catalog

COMMANDS = [
    ("secret", "set", "token"),
    ("secret", "get", "token"),
    ("secret", "list"),
    ("secret", "delete", "token", "--yes"),
    ("secret", "rotate"),
    ("secret", "unlock"),
    ("secret", "lock"),
    ("key", "init"),
    ("key", "init", "--rotate"),
    ("key", "trust", "-", "--yes"),
    ("key", "trust", "--remove", "desk"),
    ("audit", "log"),
    ("audit", "verify"),
    ("audit", "export", "-"),
    ("sync", "export", "out.bundle", "--for", "hub"),
    ("sync", "export", "out.bundle", "--for", "hub", "--insecure-plain"),
    ("sync", "import", "in.bundle"),
]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_an_agent_is_refused(command: tuple[str, ...], tmp_path: Path) -> None:
    home = tmp_path / "home"
    # Advisory isolation lets an agent see every row; it opens none of these either.
    done = run(*command, "--agent", "mallory", SATCHEL_HOME=str(home), SATCHEL_ISOLATION="advisory")
    assert (done.code, done.out, done.error["field"]) == (4, "", "agent")
    assert not home.exists()


def test_no_tool_gives_them_to_an_agent() -> None:
    nouns = {"secret", "key", "audit", "crypto"}
    assert not nouns & {name.partition("_")[0] for name in catalog.every()}
