"""Where each host has its settings, how it is found, and what it is told to start."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from fix_hosts import (
    EACH,
    HOSTS,
    PROGRAM,
    fill,
    machine,
    parsed,
    paths,
    run,
    server,
)

from satchel.errors import InvalidInput
from satchel.hooks.call import EVENTS
from satchel.setup import hosts
from satchel.setup.program import Program, is_hook, is_server, this_program

# ---- the hooks ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["claude-code", "codex", "gemini-cli"])
def test_each_hook_is_one_that_the_host_has_and_we_know(tmp_path: Path, name: str) -> None:
    here = machine(tmp_path)
    fill(here, name)
    run(HOSTS[name], here)
    hooks = parsed(paths(here, name)[-1])["hooks"]
    ours = {
        event: [one for group in groups for one in group["hooks"] if is_hook(one["command"], name)]
        for event, groups in hooks.items()
    }
    for event, handlers in ours.items():
        if event in EVENTS[name]:
            (handler,) = handlers
            purpose = "recall" if EVENTS[name][event] in ("session-start", "prompt") else "capture"
            assert f" {purpose} " in handler["command"]
            assert handler["type"] == "command"
            assert handler["timeout"] >= (5_000 if name == "gemini-cli" else 5)
        else:
            assert handlers == []
    assert sum(map(len, ours.values())) == {"claude-code": 6}.get(name, 5)
    if name != "gemini-cli":
        assert len(hooks["Stop"]) == 2


def test_older_commands_of_ours_are_replaced_and_others_stay(tmp_path: Path) -> None:
    here = machine(tmp_path)
    path = paths(here, "claude-code")[1]
    path.parent.mkdir(parents=True)
    theirs = {"type": "command", "command": "satchel-like --hook claude-code"}
    mixed = [{"type": "command", "command": "satchel recall --hook claude-code"}, theirs]
    stale = {"type": "command", "command": "'/old/satchel' chatlog capture --hook=claude-code"}
    said = {"hooks": {"SessionStart": [{"hooks": mixed}], "Old": [{"hooks": [stale]}]}}
    path.write_text(json.dumps(said, indent=2))
    run(HOSTS["claude-code"], here)
    hooks = parsed(path)["hooks"]
    assert "Old" not in hooks
    assert hooks["SessionStart"][0] == {"hooks": [theirs]}
    assert len(hooks["SessionStart"]) == 2
    run(HOSTS["claude-code"], here, remove=True)
    assert parsed(path)["hooks"] == {"SessionStart": [{"hooks": [theirs]}]}


def test_what_a_user_added_to_our_server_stays(tmp_path: Path) -> None:
    here = machine(tmp_path)
    added = {"command": "satchel", "args": ["mcp"], "env": {"A": "b"}, "disabled": True}
    (path,) = paths(here, "cline")
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"mcpServers": {"satchel": added}}))
    run(HOSTS["cline"], here)
    held = server("cline", path)
    assert (held["env"], held["disabled"]) == ({"A": "b"}, True)
    assert held["command"] == PROGRAM.command


@pytest.mark.parametrize(
    ("name", "place", "text"),
    [
        ("codex", 0, "[features]\nhooks = false\n"),
        ("codex", 0, "[features]\ncodex_hooks = false\n"),
        ("claude-code", 1, '{"disableAllHooks": true}'),
        ("gemini-cli", 0, '{"hooksConfig": {"enabled": false}, "hooks": {"disabled": ["x"]}}'),
        ("gemini-cli", 0, '{"tools": {"enableHooks": false}, "hooks": {"enabled": true}}'),
    ],
)
def test_it_is_told_where_hooks_are_off(tmp_path: Path, name: str, place: int, text: str) -> None:
    here = machine(tmp_path)
    file = paths(here, name)[place]
    file.parent.mkdir(parents=True)
    assert not any("switched off" in note for note in HOSTS[name].notes(here))
    file.write_text(text)
    assert any("switched off" in note for note in run(HOSTS[name], here).notes)
    run(HOSTS[name], here, remove=True)
    assert file.read_text() == text


def test_opencode_has_two_forms(tmp_path: Path) -> None:
    here = machine(tmp_path)
    (path,) = paths(here, "opencode")
    path.parent.mkdir(parents=True)
    path.write_text('{\n  "mcp": {\n    "servers": {}\n  }\n}\n')
    run(HOSTS["opencode"], here)
    assert is_server(parsed(path)["mcp"]["servers"]["satchel"])


# ---- where they are -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("system", "name", "expected"),
    [
        ("linux", "claude-code", [".claude.json", ".claude/settings.json"]),
        ("linux", "codex", [".codex/config.toml", ".codex/hooks.json"]),
        ("linux", "cursor", [".cursor/mcp.json"]),
        ("linux", "gemini-cli", [".gemini/settings.json"]),
        ("linux", "opencode", [".config/opencode/opencode.json"]),
        ("linux", "vscode", [".config/Code/User/mcp.json"]),
        ("darwin", "vscode", ["Library/Application Support/Code/User/mcp.json"]),
        ("win32", "vscode", ["AppData/Roaming/Code/User/mcp.json"]),
        ("darwin", "opencode", [".config/opencode/opencode.json"]),
        ("win32", "opencode", [".config/opencode/opencode.json"]),
        (
            "darwin",
            "cline",
            [
                (
                    "Library/Application Support/Code/User/globalStorage/saoudrizwan.claude-dev"
                    "/settings/cline_mcp_settings.json"
                )
            ],
        ),
        (
            "win32",
            "cline",
            [
                (
                    "AppData/Roaming/Code/User/globalStorage/saoudrizwan.claude-dev"
                    "/settings/cline_mcp_settings.json"
                )
            ],
        ),
    ],
)
def test_the_files_are_where_the_host_has_them(
    tmp_path: Path, system: str, name: str, expected: list[str]
) -> None:
    found = [
        path.relative_to(tmp_path).as_posix() for path in paths(machine(tmp_path, system), name)
    ]
    assert found == expected


@pytest.mark.parametrize(
    ("name", "variable", "expected"),
    [
        ("claude-code", "CLAUDE_CONFIG_DIR", [".claude.json", "settings.json"]),
        ("codex", "CODEX_HOME", ["config.toml", "hooks.json"]),
        ("gemini-cli", "GEMINI_CLI_HOME", [".gemini/settings.json"]),
        ("opencode", "OPENCODE_CONFIG_DIR", ["opencode.json"]),
        ("opencode", "XDG_CONFIG_HOME", ["opencode/opencode.json"]),
        ("vscode", "XDG_CONFIG_HOME", ["Code/User/mcp.json"]),
    ],
)
def test_their_variables_are_heeded(
    tmp_path: Path, name: str, variable: str, expected: list[str]
) -> None:
    there = tmp_path / "there"
    found = paths(machine(tmp_path, **{variable: str(there)}), name)
    assert [path.relative_to(there).as_posix() for path in found] == expected


def test_every_editor_and_clines_own_command_count(tmp_path: Path) -> None:
    here = machine(tmp_path)
    for editor in ("Code - Insiders", "VSCodium"):
        (tmp_path / ".config" / editor / "User" / "globalStorage" / "saoudrizwan.claude-dev").mkdir(
            parents=True
        )
    (tmp_path / ".cline").mkdir()
    assert [path.parts[-3] for path in paths(here, "vscode")] == ["Code - Insiders", "VSCodium"]
    assert len(paths(here, "cline")) == 3


@EACH
def test_a_host_is_found_by_its_files_or_its_program(tmp_path: Path, name: str) -> None:
    program = {"claude-code": "claude", "gemini-cli": "gemini", "vscode": "code"}.get(name, name)
    assert hosts.chosen([], machine(tmp_path)) == []
    assert hosts.chosen([], machine(tmp_path, programs=[program])) == [HOSTS[name]]
    fill(machine(tmp_path), name)
    assert HOSTS[name] in hosts.chosen([], machine(tmp_path))


def test_hosts_can_be_named(tmp_path: Path) -> None:
    assert hosts.chosen(["codex"], machine(tmp_path)) == [HOSTS["codex"]]
    with pytest.raises(InvalidInput) as caught:
        hosts.chosen(["claud-code"], machine(tmp_path))
    assert "claude-code" in caught.value.hint


# ---- what they start ----------------------------------------------------------------------------


def test_a_program_is_named_by_its_full_path(tmp_path: Path) -> None:
    python = tmp_path / "bin" / "python"
    python.parent.mkdir()
    without = this_program(None, None, python=str(python), system="linux")
    assert without == Program(str(python), ("-P", "-m", "satchel"))
    script = python.with_name("satchel")
    script.touch()
    assert this_program(None, None, python=str(python), system="linux") == Program(str(script))


@pytest.mark.parametrize(
    ("program", "hook"),
    [
        (Program("/a b/satchel"), "'/a b/satchel' recall --hook codex --agent codex"),
        (
            Program("/x/satchel", home="/h o", agent="team"),
            "/x/satchel recall --hook codex --home '/h o' --agent team",
        ),
        (
            Program(r"C:\py\satchel.exe", windows=True),
            "C:/py/satchel.exe recall --hook codex --agent codex",
        ),
        (
            Program(r"C:\Program Files\satchel.exe", windows=True),
            '"C:/Program Files/satchel.exe" recall --hook codex --agent codex',
        ),
    ],
)
def test_a_hook_is_a_line_for_a_shell_and_known_again(program: Program, hook: str) -> None:
    assert program.hook("codex", "recall") == hook
    assert is_hook(hook, "codex")
    assert not is_hook(hook, "code")
    assert not is_hook(hook, "claude-code")
