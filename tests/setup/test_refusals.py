"""What setup leaves alone: malformed files, other kinds, strangers' servers, concurrent edits."""

from __future__ import annotations

import json
import os
import stat
import tomllib
from pathlib import Path

import pytest
from fix_hosts import (
    EACH,
    HOSTS,
    PROGRAM,
    fill,
    machine,
    paths,
    run,
    server,
    tree,
)

from satchel.errors import Conflict
from satchel.setup import codex_toml
from satchel.setup.apply import apply
from satchel.setup.errors import Malformed, NotOurs
from satchel.setup.plan import plan
from satchel.setup.program import is_server

SPECIAL = (
    'mcp_servers = { other = { command = "x" } } # keep\n',
    'mcp_servers = { satchel = { command = "satchel", args = ["mcp"] } }\n',
    "mcp_servers = {}\n",
    'mcp_servers.other.command = "x" # keep\n[tui]\nx = 1\n',
    "[[mcp_servers]]\nx = 1\n",
)


@pytest.mark.parametrize("text", SPECIAL)
def test_a_special_form_of_toml_is_edited_or_left_to_its_owner(tmp_path: Path, text: str) -> None:
    """Never a half edit, never another error."""
    try:
        after = codex_toml.put(text, {"command": "/bin/satchel", "args": ["mcp"]})
    except (Malformed, NotOurs):
        return
    held = tomllib.loads(text).get("mcp_servers", {})
    assert tomllib.loads(after)["mcp_servers"].keys() == {*held, "satchel"}
    assert ("# keep" in after) == ("# keep" in text)


# ---- what may not be touched --------------------------------------------------------------------

MALFORMED = {
    "cut short": b'{"mcpServers": {"a": 1',
    "twice": b'{"hooks": {}, "hooks": {}, "mcp": {}, "mcp": {}, "servers": {}, "servers": {},'
    b' "mcpServers": {}, "mcpServers": {}}',
    "no object": b"[1, 2]",
    "not UTF-8": '{"a": "\u00e9"}'.encode("latin-1"),
    "UTF-16": '{"a": 1}'.encode("utf-16"),
    "text": b"hello there",
}


@EACH
@pytest.mark.parametrize("fault", MALFORMED)
def test_a_malformed_file_leaves_the_whole_host_alone(
    tmp_path: Path, name: str, fault: str
) -> None:
    here = machine(tmp_path)
    fill(here, name)
    paths(here, name)[-1].write_bytes(MALFORMED[fault])
    untouched = tree(tmp_path)
    planned = run(HOSTS[name], here)
    assert planned.refusal is not None
    assert planned.refusal["code"] == "settings_malformed"
    assert str(paths(here, name)[-1]) in planned.refusal["message"]
    assert planned.refusal["hint"]
    assert tree(tmp_path) == untouched


@EACH
@pytest.mark.parametrize("kind", ["servers", "folder", "pipe"])
def test_a_file_of_another_kind_is_left_alone(tmp_path: Path, name: str, kind: str) -> None:
    here = machine(tmp_path)
    path = paths(here, name)[0]
    path.parent.mkdir(parents=True, exist_ok=True)
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        said = {"mcpServers": 3, "mcp": 3, "servers": 3}
        path.write_text("mcp_servers = 3" if path.suffix == ".toml" else json.dumps(said))
    planned = run(HOSTS[name], here)
    assert planned.refusal is not None
    assert planned.refusal["code"] in ("settings_malformed", "settings_unreadable")
    assert not planned.changes


@EACH
def test_a_server_of_that_name_that_is_not_ours_is_left_alone(tmp_path: Path, name: str) -> None:
    here = machine(tmp_path)
    fill(here, name)
    path = paths(here, name)[0]
    mine = PROGRAM.command
    run(HOSTS[name], here)
    text = path.read_text("utf-8").replace(mine, "/usr/bin/docker").replace('"mcp",', '"run",')
    text = text.replace('["mcp"', '["run"')
    path.write_text(text, "utf-8", newline="")
    untouched = tree(tmp_path)
    planned = run(HOSTS[name], here)
    assert planned.refusal is not None
    assert planned.refusal["code"] == "settings_not_ours"
    run(HOSTS[name], here, remove=True)
    assert path.read_bytes() == untouched[str(path.relative_to(tmp_path))]


@EACH
def test_a_file_that_changes_meanwhile_is_not_written_over(tmp_path: Path, name: str) -> None:
    here = machine(tmp_path)
    fill(here, name)
    planned = plan(HOSTS[name], here, PROGRAM, remove=False)
    path = planned.changes[0].path
    path.write_bytes(path.read_bytes() + b"\n")
    untouched = path.read_bytes()
    with pytest.raises(Conflict, match="meanwhile"):
        apply(planned.changes[0])
    assert path.read_bytes() == untouched
    path.unlink()
    with pytest.raises(Conflict):
        apply(planned.changes[0])
    assert not path.exists()


@EACH
def test_a_file_that_appears_meanwhile_is_not_written_over(tmp_path: Path, name: str) -> None:
    here = machine(tmp_path)
    planned = plan(HOSTS[name], here, PROGRAM, remove=False)
    path = planned.changes[0].path
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("{}")
    with pytest.raises(Conflict):
        apply(planned.changes[0])
    assert path.read_text() == "{}"


def test_a_link_stays_a_link_and_a_mode_stays(tmp_path: Path) -> None:
    here = machine(tmp_path / "home")
    (path,) = paths(here, "cursor")
    path.parent.mkdir(parents=True)
    real = tmp_path / "dotfiles.json"
    real.write_text("{}\n")
    real.chmod(0o640)
    path.symlink_to(real)
    run(HOSTS["cursor"], here)
    assert path.is_symlink()
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    assert is_server(server("cursor", real))
    run(HOSTS["cursor"], here, remove=True)
    assert real.read_text() == "{}\n"


def test_a_secret_beside_our_entry_is_masked_in_the_diff(tmp_path: Path) -> None:
    here = machine(tmp_path)
    secret = "ghp_" + "a1B2c3D4e5" * 4
    (path,) = paths(here, "cline")
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"mcpServers": {"x": {"env": {"K": secret}}}}, indent=1))
    (change,) = run(HOSTS["cline"], here).changes
    assert secret not in change.diff
    assert secret in path.read_text()
