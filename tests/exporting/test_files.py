"""Where an export goes: a file or folder that is there whole or not at all, or stdout."""

from __future__ import annotations

import os
import shlex
import stat
import subprocess
from pathlib import Path

import pytest
from fix_command import COMMAND, environment, run
from fix_importing import memories, silent, taken
from fix_memory import seen_as

from satchel.errors import ConfirmationNeeded, OutputFailed
from satchel.exporting import jsonl, page
from satchel.exporting.run import export
from satchel.importing import front_matter
from satchel.memory import change, forget, read
from satchel.memory.write import write
from satchel.replica import Replica
from satchel_sync.tables import Memory


def test_a_file_is_its_owners_and_is_not_written_over(full: Replica, tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    export(full, "jsonl", str(path), silent, overwrite=False)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    before = path.read_bytes()
    with pytest.raises(ConfirmationNeeded):
        export(full, "jsonl", str(path), silent, overwrite=False)
    write(full, "one more", scope="org")
    export(full, "jsonl", str(path), silent, overwrite=True)
    assert path.read_bytes() != before
    assert sorted(one.name for one in tmp_path.iterdir()) == ["full", "x.jsonl"]


@pytest.mark.parametrize("format_name", ["jsonl", "markdown"])
def test_an_export_that_fails_leaves_nothing(
    full: Replica, tmp_path: Path, format_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> bytes:
        raise ZeroDivisionError

    monkeypatch.setattr(jsonl, "line", fails)
    monkeypatch.setattr(page, "page", fails)
    with pytest.raises(ZeroDivisionError):
        export(full, format_name, str(tmp_path / "out"), silent, overwrite=False)
    assert [one.name for one in tmp_path.iterdir()] == ["full"]


@pytest.mark.parametrize("format_name", ["jsonl", "markdown"])
def test_a_place_that_cannot_be_written(full: Replica, tmp_path: Path, format_name: str) -> None:
    with pytest.raises(OutputFailed, match="no/where"):
        export(full, format_name, str(tmp_path / "no/where"), silent, overwrite=False)


def test_a_folder_of_markdown(full: Replica, tmp_path: Path) -> None:
    out = tmp_path / "notes"
    answer, _ = export(full, "markdown", str(out), silent, overwrite=False)
    files = sorted(path for path in out.rglob("*") if path.is_file())
    assert len(files) == answer["rows"] == answer["kinds"]["memory"]
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}
    texts = [path.read_text("utf-8") for path in files]
    assert not any("to be deleted" in text or "attic is dry" in text for text in texts)
    values, body = front_matter.split(next(text for text in texts if "attic is damp" in text))
    assert (values["title"], values["space"], values["agent_id"]) == ("attic", "attic", "ada")
    assert body == "\nthe attic is damp\n"


def test_a_folder_that_is_there_is_left_alone(full: Replica, tmp_path: Path) -> None:
    out = tmp_path / "notes"
    out.mkdir()
    export(full, "markdown", str(out), silent, overwrite=False)  # an empty one is no loss
    before = sorted(out.rglob("*"))
    with pytest.raises(ConfirmationNeeded):
        export(full, "markdown", str(out), silent, overwrite=True)
    assert sorted(out.rglob("*")) == before


NAMES = {
    "../../etc/passwd": "etc-passwd",
    "con": "con",
    "Straße — «è» 東京": "straße-è-東京",
    "...": "",
    "a" * 500: "a" * 60,
    "__init__": "init",
    "line\nbreak\0nul": "line-break-nul",
}


@pytest.mark.parametrize("title", NAMES)
def test_names_of_files_stay_in_the_folder(title: str) -> None:
    key = "01890a5d-ac96-774b-bcce-b302099a8057"
    name = page.name(Memory(id=key, title=title, type=title, content="x"))
    words = NAMES[title]
    assert name == f"{words or 'note'}/{f'{words}-' if words else ''}099a8057.md"


@pytest.fixture
def home(tmp_path: Path) -> str:
    return str(tmp_path / "home")


def test_from_one_home_into_another_through_a_pipe(home: str, tmp_path: Path) -> None:
    assert run("write", "the shed is green", "--scope", "org", SATCHEL_HOME=home).code == 0
    out = run("export", "-", SATCHEL_HOME=home)
    assert (out.code, out.err) == (0, "")
    assert out.out.count("\n") == len(out.out.splitlines())
    other = str(tmp_path / "other")
    done = run("import", "jsonl", "-", stdin=out.out, SATCHEL_HOME=other)
    assert (done.code, done.json["kinds"]) == (0, {"memory": {"created": 1}})
    assert run("export", "-", SATCHEL_HOME=other).out == out.out
    page_ = run("export", "--format", "markdown", "-", SATCHEL_HOME=other)
    assert "the shed is green" in page_.out


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device")
def test_a_reader_that_goes_away_and_a_disk_that_is_full(home: str) -> None:
    assert run("write", "-", "--scope", "org", stdin="long " * 40_000, SATCHEL_HOME=home).code == 0
    command = shlex.join([*COMMAND, "export", "-"])
    env = environment(SATCHEL_HOME=home)
    for words, code, said in (
        (f"set -o pipefail; {command} | head -c 10", 0, ""),
        (f"{command} > /dev/full", 1, "stdout cannot be written"),
    ):
        done = subprocess.run(
            ["bash", "-c", words], env=env, capture_output=True, text=True, check=False
        )
        assert (done.returncode, said in done.stderr) == (code, True)
        assert "Traceback" not in done.stderr


def test_wrong_words(home: str, tmp_path: Path) -> None:
    format_ = run("export", "--format", "marcdown", "x", SATCHEL_HOME=home)
    assert (format_.code, format_.error["hint"]) == (2, "did you mean 'markdown'?")
    assert not Path(home).exists()
    (tmp_path / "x").write_text("mine")
    page = tmp_path / "all.md"
    assert run("export", str(page), SATCHEL_HOME=home).json["format"] == "markdown"
    assert page.read_text("utf-8").startswith("# ")
    there = run("export", str(tmp_path / "x"), SATCHEL_HOME=home)
    assert (there.code, there.error["code"]) == (4, "confirm_needed")
    assert (tmp_path / "x").read_text() == "mine"


def test_what_was_exported_as_markdown_is_known_again(full: Replica, tmp_path: Path) -> None:
    out = tmp_path / "notes"
    export(full, "markdown", str(out), silent, overwrite=False)
    before = memories(full, "id")
    answer = taken(full, "markdown", out)
    assert answer["kinds"]["memory"] == {"exists": len(list(out.rglob("*.md")))}
    assert memories(full, "id") == before


def test_what_was_edited_in_the_folder_goes_back(full: Replica, tmp_path: Path) -> None:
    out = tmp_path / "notes"
    export(full, "markdown", str(out), silent, overwrite=False)
    page_of = {word: next(p for p in out.rglob("*.md") if word in p.read_text("utf-8"))
               for word in ("attic is damp", "cellar is wet", "secret of bob")}  # fmt: skip
    for word, path in page_of.items():
        path.write_text(path.read_text("utf-8").replace(word, f"{word} indeed"), "utf-8")
    with full.store.read() as db:
        ((cellar,),) = db.execute("SELECT id FROM memory WHERE content LIKE '%cellar is wet%'")
    change.update(full, str(cellar), text="the cellar was cleared")
    answer = taken(full, "markdown", out)
    assert answer["kinds"]["memory"] == {"exists": 4, "updated": 2, "kept": 1}
    assert "was changed here too" in answer["warnings"][0]
    texts = memories(full, "content")
    assert {"the attic is damp indeed", "the cellar was cleared"} <= set(texts)
    # Once more, in a folder that is older than what is here by now.
    again = page_of["attic is damp"]
    again.write_text(again.read_text("utf-8").replace("indeed", "again"), "utf-8")
    assert taken(full, "markdown", again)["kinds"]["memory"] == {"updated": 1}
    texts = memories(full, "content")
    assert "the attic is damp again" in texts
    # Who may only read a memory changes nothing in it.
    (page_of["attic is damp"]).write_text(page_of["attic is damp"].read_text().replace("damp", "x"))
    bob = taken(seen_as(full, "bob"), "markdown", page_of["attic is damp"], code=1)
    assert bob["errors"][0]["code"] == "refused"
    assert memories(full, "content") == texts


if os.name == "posix":

    def test_a_full_disk_is_told(full: Replica) -> None:
        with pytest.raises(OutputFailed):
            export(full, "jsonl", "/dev/full/x", silent, overwrite=True)


@pytest.mark.parametrize("gone", ["deleted", "forgotten"])
def test_what_is_gone_stays_so_when_its_page_comes_back(
    full: Replica, tmp_path: Path, gone: str
) -> None:
    out = tmp_path / "notes"
    (key, *_) = [one["id"] for one in read.list_memories(full)["items"]]
    export(full, "markdown", str(out), silent, overwrite=False)
    if gone == "deleted":
        change.delete(full, key, confirm=True)
    else:
        forget.forget(full, [key], confirm=True)
    before = {one["id"] for one in read.list_memories(full)["items"]}
    (own,) = [path for path in out.rglob("*.md") if key in path.read_text("utf-8")]
    for more in ("", "and more\n"):
        own.write_text(own.read_text("utf-8") + more, "utf-8")
        assert taken(full, "markdown", out)["kinds"]["memory"]["deleted"] == 1
    assert {one["id"] for one in read.list_memories(full)["items"]} == before
