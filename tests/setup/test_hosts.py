"""Each host's real format on each system: written, written again, undone to the byte."""

from __future__ import annotations

import stat
import tomllib
from pathlib import Path

import pytest
from fix_hosts import (
    EACH,
    HOSTS,
    PROGRAM,
    SAMPLES,
    SYSTEMS,
    fill,
    machine,
    parsed,
    paths,
    run,
    server,
    tree,
)

from satchel.setup import jsonc
from satchel.setup.plan import BACKUP_SUFFIX
from satchel.setup.program import Program, is_server

# ---- writing, again, undoing --------------------------------------------------------------------


@EACH
@pytest.mark.parametrize("system", SYSTEMS)
def test_it_is_written_once_and_undone_to_the_byte(tmp_path: Path, name: str, system: str) -> None:
    here = machine(tmp_path, system)
    before = fill(here, name)
    untouched = tree(tmp_path)

    planned = run(HOSTS[name], here)
    assert planned.refusal is None
    assert [one.what for one in planned.changes] == ["update"] * len(before)
    assert is_server(server(name, paths(here, name)[0]))
    for change in planned.changes:
        assert change.backup.read_bytes() == before[change.path]
        assert stat.S_IMODE(change.backup.stat().st_mode) == 0o600
        added = [line for line in change.diff.splitlines() if line.startswith("+")]
        assert any("satchel" in line for line in added)

    written = tree(tmp_path)
    again = run(HOSTS[name], here)
    assert [one.what for one in again.changes] == ["same"] * len(before)
    assert tree(tmp_path) == written

    undone = run(HOSTS[name], here, remove=True)
    assert [one.what for one in undone.changes] == ["restore"] * len(before)
    assert tree(tmp_path) == untouched


@EACH
def test_what_was_there_is_still_said(tmp_path: Path, name: str) -> None:
    here = machine(tmp_path)
    before = {path: parsed(path) for path in fill(here, name)}
    run(HOSTS[name], here)
    for path, said in before.items():
        without = HOSTS[name].files(here, PROGRAM)[list(before).index(path)].take
        text = without(path.read_text("utf-8"))
        left = tomllib.loads(text) if path.suffix == ".toml" else jsonc.value_of(text)
        assert left == said
        for line in SAMPLES[name][list(before).index(path)].splitlines():
            comment = line.partition(" //")[2] or line.partition(" #")[2]
            assert comment in path.read_text("utf-8")


@EACH
def test_files_that_are_not_there_are_made_and_undone(tmp_path: Path, name: str) -> None:
    here = machine(tmp_path)
    planned = run(HOSTS[name], here)
    assert {one.what for one in planned.changes} == {"create"}
    for change in planned.changes:
        assert stat.S_IMODE(change.path.stat().st_mode) == 0o600
        assert not change.backup.exists()
    undone = run(HOSTS[name], here, remove=True)
    assert {one.what for one in undone.changes} == {"delete"}
    assert tree(tmp_path) == {}


@EACH
@pytest.mark.parametrize("text", ["", "{}", "{}\n", "\ufeff{}\r\n"])
def test_an_empty_file_is_filled_and_comes_back(tmp_path: Path, name: str, text: str) -> None:
    here = machine(tmp_path)
    for path in paths(here, name):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("" if path.suffix == ".toml" else text, "utf-8", newline="")
    untouched = tree(tmp_path)
    run(HOSTS[name], here)
    assert is_server(server(name, paths(here, name)[0]))
    run(HOSTS[name], here, remove=True)
    assert tree(tmp_path) == untouched


@EACH
def test_undoing_keeps_what_was_changed_since(tmp_path: Path, name: str) -> None:
    here = machine(tmp_path)
    fill(here, name)
    run(HOSTS[name], here)
    path = paths(here, name)[0]
    text = path.read_text("utf-8")
    if path.suffix == ".toml":
        path.write_text(text + "\n[later]\nadded = true\n", "utf-8")
    else:
        path.write_text(jsonc.put(text, ("later",), {"added": True}), "utf-8", newline="")
    run(HOSTS[name], here, remove=True)
    left = parsed(path)
    assert left.pop("later") == {"added": True}
    sample = SAMPLES[name][0]
    assert left == (tomllib.loads(sample) if path.suffix == ".toml" else jsonc.value_of(sample))
    assert not list(tmp_path.rglob(f"*{BACKUP_SUFFIX}"))


@EACH
@pytest.mark.parametrize("kept", [b"\xff\xfe", b"{", b'{"mcpServers": {"satchel": 1}}'])
def test_undoing_goes_without_a_backup_that_is_none(tmp_path: Path, name: str, kept: bytes) -> None:
    here = machine(tmp_path)
    before = {path: parsed(path) for path in fill(here, name)}
    run(HOSTS[name], here)
    for path in before:
        path.with_name(path.name + BACKUP_SUFFIX).write_bytes(kept)
    assert run(HOSTS[name], here, remove=True).refusal is None
    assert {path: parsed(path) for path in before} == before


@EACH
def test_undoing_what_was_never_done_changes_nothing(tmp_path: Path, name: str) -> None:
    here = machine(tmp_path)
    assert not run(HOSTS[name], here, remove=True).changed
    fill(here, name)
    untouched = tree(tmp_path)
    assert not run(HOSTS[name], here, remove=True).changed
    assert tree(tmp_path) == untouched


@EACH
def test_another_satchel_takes_the_place_of_the_first(tmp_path: Path, name: str) -> None:
    here = machine(tmp_path)
    before = fill(here, name)
    run(HOSTS[name], here)
    newer = Program("/new/bin/satchel", home="/srv/memory", agent="team")
    planned = run(HOSTS[name], here, program=newer)
    assert {one.what for one in planned.changes} == {"update"}
    texts = [path.read_text("utf-8") for path in before]
    assert not any(PROGRAM.command in text for text in texts)
    assert all("/srv/memory" in text and "team" in text for text in texts)
    # What is kept is still what was there before satchel came.
    assert all(
        path.with_name(path.name + BACKUP_SUFFIX).read_bytes() == before[path] for path in before
    )
    run(HOSTS[name], here, remove=True, program=newer)
    assert {path: path.read_bytes() for path in before} == before


@EACH
def test_a_file_that_was_made_goes_whichever_satchel_made_it(tmp_path: Path, name: str) -> None:
    here = machine(tmp_path)
    run(HOSTS[name], here)
    newer = Program("/new/bin/satchel", home="/srv/memory", agent="team")
    run(HOSTS[name], here, program=newer)
    run(HOSTS[name], here, remove=True)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
