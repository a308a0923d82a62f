"""Secrets, keys, audit and bundles are the operator's: no agent is given any of them anywhere."""

from pathlib import Path

import pytest
from fix_command import run

from satchel import config
from satchel.errors import Refused
from satchel.replica import open_replica
from satchel.tools import catalog

OPERATORS_TOOLS = {"sync_verify", "admin_doctor", "admin_config", "audit_log", "audit_verify"}

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
    ("key", "sign", "kit/SHA256SUMS"),
    ("mcp", "--http"),
    ("mcp", "token", "create", "eve"),
    ("mcp", "token", "list"),
    ("mcp", "token", "revoke", "eve", "--yes"),
    ("model", "drop", "old", "--yes"),
    ("audit", "log"),
    ("audit", "verify"),
    ("audit", "export", "-"),
    ("warehouse", "grant", "--auditor", "eve"),
    ("warehouse", "tenant", "add", "mine"),
    ("warehouse", "tenant", "list"),
    ("warehouse", "replica", "revoke", "0123456789abcdef", "--yes"),
    ("sync", "export", "out.bundle", "--for", "hub"),
    ("sync", "export", "out.bundle", "--for", "hub", "--insecure-plain"),
    ("sync", "import", "in.bundle"),
    ("import", "jsonl", "rows.jsonl"),
    ("backup",),
    ("backup", "--list"),
    ("restore", "satchel-20270115T080000Z", "--yes"),
    ("report", "list"),
    ("report", "show", "overview"),
    ("report", "run", "overview"),
    ("warehouse", "seed", "--rows", "100"),
    ("warehouse", "search", "vault"),
    ("warehouse", "index"),
    ("warehouse", "doctor"),
    ("warehouse", "refresh"),
    ("warehouse", "retain", "--yes"),
    ("warehouse", "backup-check"),
    ("warehouse", "backup-check", "warehouse.dump"),
    ("warehouse", "mark-restored", "--yes"),
    ("warehouse", "metrics"),
    ("warehouse", "metrics", "--listen", "9477"),
]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_an_agent_is_refused(command: tuple[str, ...], tmp_path: Path) -> None:
    home = tmp_path / "home"
    # Advisory isolation lets an agent see every row; it opens none of these either.
    done = run(*command, "--agent", "mallory", SATCHEL_HOME=str(home), SATCHEL_ISOLATION="advisory")
    assert (done.code, done.out, done.error["field"]) == (4, "", "agent")
    assert not home.exists()


ASKERS = (
    {"SATCHEL_AGENT": "mallory"},
    {"SATCHEL_AGENT": "eve", "SATCHEL_AGENT_ROLE": "supervisor"},
)


@pytest.mark.parametrize("asker", ASKERS, ids=["agent", "supervisor"])
def test_the_operators_tools_are_refused_to_others(asker: dict[str, str], tmp_path: Path) -> None:
    environ = {"SATCHEL_HOME": str(tmp_path / "home"), "SATCHEL_ISOLATION": "advisory", **asker}
    with open_replica(config.load(environ=environ | {"SATCHEL_EMBEDDING": "off"})) as replica:
        for name in OPERATORS_TOOLS:
            with pytest.raises(Refused) as caught:
                catalog.find(name)[0].call(replica, {})
            assert caught.value.field == "agent", name


def test_which_tools_are_the_operators() -> None:
    found = {tool.name for tool in catalog.every().values() if tool.operator_only}
    assert found == OPERATORS_TOOLS
    nouns = {name.partition("_")[0] for name in catalog.every()}
    assert not nouns & {"secret", "key", "crypto"}
