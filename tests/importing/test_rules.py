"""An import is a write: whose it is, what it may, what is kept of it, and what it leaves alone."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from fix_command import COMMAND, environment, run
from fix_importing import contents, memories, taken
from fix_memory import StillClock, TrigramEmbedder, opened, seen_as

from satchel.errors import InvalidInput, NotFound
from satchel.memory import change, forget
from satchel.memory.sessions import sessions
from satchel.memory.write import write
from satchel.replica import Replica, open_replica
from satchel.store import rows
from satchel_sync.tables import Space

KEY = "AKIA" + "QWERTYUIOPASDFGH"
PASSWORD = f"the key is {KEY} for the bucket"


def written(tmp_path: Path, *texts: str, **columns: Any) -> Path:
    """A mem0 export of these texts."""
    path = tmp_path / "export.json"
    items = [{"id": str(n), "memory": text, **columns} for n, text in enumerate(texts)]
    path.write_text(json.dumps(items))
    return path


# ---- whose --------------------------------------------------------------------------------------


def test_an_agent_imports_for_itself(replica: Replica, tmp_path: Path) -> None:
    bob = seen_as(replica, "bob")
    taken(bob, "mem0", written(tmp_path, "one", agent_id="bob", user_id="una"))
    answer = taken(bob, "mem0", written(tmp_path, "two", agent_id="ada"), code=1)
    assert answer["errors"][0]["code"] == "refused"
    answer = taken(bob, "mem0", written(tmp_path, "three", user_id="ulf"), code=1)
    assert "--scope" in answer["errors"][0]["hint"]
    taken(bob, "mem0", written(tmp_path, "four", agent_id="ada", user_id="ulf"), scope="agent")
    assert memories(replica, "content", "scope", "agent_id", "user_id") == [
        ("four", "agent", "bob", "una"),
        ("one", "user", "bob", "una"),
    ]


def test_the_operator_imports_for_those_who_are_named(replica: Replica, tmp_path: Path) -> None:
    taken(replica, "mem0", written(tmp_path, "one", agent_id="ada", user_id="ulf"))
    taken(replica, "mem0", written(tmp_path, "two", agent_id="ada"))
    assert memories(replica, "content", "scope", "agent_id", "user_id") == [
        ("one", "user", "ada", "ulf"),
        ("two", "agent", "ada", "una"),
    ]


def test_into_a_space_a_session_and_of_a_type(replica: Replica, tmp_path: Path) -> None:
    session = sessions.start(replica, title="moving in", agents=["bob"])["id"]
    path = written(tmp_path, "one", user_id="ulf")
    taken(replica, "mem0", path, space="attic", type="fact")
    taken(replica, "mem0", path, session=session[-8:])
    again = taken(replica, "mem0", path, session=session)
    assert again["kinds"]["memory"] == {"exists": 1}
    found = memories(replica, "scope", "space", "session_id", "type", "user_id")
    assert sorted(found, key=str) == [
        ("session", None, session, "note", "una"),
        ("space", "attic", None, "fact", "una"),
    ]


def test_a_closed_space_and_an_unknown_session(replica: Replica, tmp_path: Path) -> None:
    with replica.store.write() as db:
        rows.insert(db, Space(name="vault", members='["ada"]'))
    bob = seen_as(replica, "bob")
    answer = taken(bob, "mem0", written(tmp_path, "one", "two"), code=1, space="vault")
    assert [error["code"] for error in answer["errors"]] == ["not_found", "not_found"]
    with pytest.raises(NotFound):
        taken(bob, "mem0", written(tmp_path, "one"), session="0" * 8)
    assert memories(replica, "id") == []


def test_what_is_imported_as_local_never_leaves(replica: Replica, tmp_path: Path) -> None:
    graph = tmp_path / "graph.jsonl"
    graph.write_text(
        '{"type":"entity","name":"a","entityType":"x","observations":[]}\n'
        '{"type":"relation","from":"a","to":"a","relationType":"is"}\n'
    )
    taken(replica, "server-memory", graph, local=True)
    assert memories(replica, "local") == [1]
    with replica.store.read() as db:
        assert db.execute("SELECT kind, key FROM outbox").fetchall() == []


# ---- secrets and audit --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mode", "code", "kept"),
    [("warn", 0, PASSWORD), ("redact", 0, None), ("refuse", 1, None)],
)
def test_secrets_are_met_as_in_a_write(tmp_path: Path, mode: str, code: int, kept: Any) -> None:
    with opened(tmp_path, embedding="off") as found:
        object.__setattr__(found.settings, "memory_secrets", mode)
        answer = taken(found, "mem0", written(tmp_path, PASSWORD, "harmless"), code=code)
        texts = memories(found, "content")
    told = json.dumps(answer)
    assert KEY not in told
    assert "harmless" in texts
    assert (PASSWORD in texts) is (kept is not None)
    if mode == "refuse":
        assert answer["errors"][0]["code"] == "refused"
        assert len(texts) == 1
    else:
        assert answer["warned"] == 1
        assert "record 0" in answer["warnings"][0]
    if mode != "warn":
        files = [path.read_bytes() for path in tmp_path.rglob("*.db*")]
        assert not any(KEY.encode() in content for content in files)


def test_nothing_is_left_by_which_a_secret_could_be_guessed(tmp_path: Path) -> None:
    """Two sources that differ in their secrets only make the same rows, ids and digests too."""
    found = []
    for number, key in enumerate((KEY, "AKIA" + KEY[:3:-1])):
        (home := tmp_path / str(number)).mkdir()
        path = tmp_path / "export.json"
        said = PASSWORD.replace(KEY, key)
        items = [{"memory": said}, {"id": "1", "memory": f"again: {said}", "metadata": {"a": key}}]
        path.write_text(json.dumps(items))
        with opened(home, clock=StillClock(), embedding="off") as replica:
            object.__setattr__(replica.settings, "memory_secrets", "redact")
            taken(replica, "mem0", path)
            found.append(contents(replica))
    assert len(found[0]["memory"]) == 2
    assert found[0] == found[1]


def test_texts_without_ids_that_differ_in_a_secret_are_two(
    replica: Replica, tmp_path: Path
) -> None:
    other = PASSWORD.replace("QWERTY", "ASDFGH")
    path = tmp_path / "export.json"
    path.write_text(json.dumps([{"memory": one} for one in (PASSWORD, other, PASSWORD)]))
    assert taken(replica, "mem0", path)["kinds"]["memory"] == {"created": 2, "exists": 1}
    assert taken(replica, "mem0", path)["kinds"]["memory"] == {"exists": 3}
    assert memories(replica, "content") == sorted([PASSWORD, other])


def test_rows_of_an_export_are_searched_for_secrets_too(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    key = rows.new_id(1)
    changes = json.dumps({"content": [PASSWORD, "now"]})
    path.write_text(
        json.dumps({"kind": "memory", "id": key, "content": "now", "title": PASSWORD}) + "\n"
        + json.dumps({"kind": "history", "id": rows.new_id(1), "history_kind": "memory",
                      "key": key, "event": "update", "changes": changes}) + "\n"
        + json.dumps({"kind": "chatlog", "id": rows.new_id(1), "conversation_id": "c",
                      "content": PASSWORD}) + "\n"
    )  # fmt: skip
    with opened(tmp_path, embedding="off") as found:
        object.__setattr__(found.settings, "memory_secrets", "redact")
        answer = taken(found, "jsonl", path)
        with found.store.read() as db:
            (history,) = db.execute("SELECT changes FROM history").fetchone()
    assert answer["warned"] == 3
    assert json.loads(str(history))["content"][1] == "now"
    assert not any(KEY.encode() in one.read_bytes() for one in tmp_path.rglob("*.db*"))


def test_each_batch_leaves_one_record_that_names_the_import(tmp_path: Path) -> None:
    home = str(tmp_path / "home")
    path = written(tmp_path, *(f"text {n}" for n in range(300)))
    assert run("import", "mem0", str(path), SATCHEL_HOME=home).code == 0
    assert run("export", str(tmp_path / "x.jsonl"), SATCHEL_HOME=home).code == 0
    log = run("audit", "log", SATCHEL_HOME=home).json["items"]
    told = [(one["chain"], one["tool"], one["action"]) for one in log]
    assert told.count(("writes", "import", "created")) == 2  # 250 and 50
    assert told.count(("reads", "export", "read")) == 1
    assert {action for _, tool, action in told if tool is None} == {"began"}
    assert len(told) == 5
    assert run("audit", "verify", SATCHEL_HOME=home).json["ok"] is True


# ---- what is here already -----------------------------------------------------------------------


def test_a_text_that_is_here_is_not_kept_twice(replica: Replica, tmp_path: Path) -> None:
    mine = write(replica, "the shed is green", scope="user").id
    path = written(tmp_path, "the  shed is\ngreen", "the shed is green", "another")
    answer = taken(replica, "mem0", path)
    assert answer["kinds"]["memory"] == {"exists": 2, "created": 1}
    assert mine in memories(replica, "id")
    assert len(memories(replica, "id")) == 2


def test_what_was_deleted_or_forgotten_here_does_not_come_back(
    replica: Replica, tmp_path: Path
) -> None:
    path = written(tmp_path, "one", "two", "three")
    taken(replica, "mem0", path)
    ids = dict(memories(replica, "content", "id"))
    change.delete(replica, ids["one"], confirm=True)
    forget.forget(replica, [ids["two"]], confirm=True)
    answer = taken(replica, "mem0", path)
    assert answer["kinds"]["memory"] == {"deleted": 2, "exists": 1}
    assert memories(replica, "content") == ["three"]


def test_what_was_superseded_here_stays_superseded(replica: Replica, tmp_path: Path) -> None:
    path = written(tmp_path, "one")
    taken(replica, "mem0", path)
    change.supersede(replica, memories(replica, "id")[0], "one, corrected")
    written(tmp_path, "one, as the source has it by now")
    assert taken(replica, "mem0", path)["kinds"]["memory"] == {"exists": 1}
    assert memories(replica, "content") == ["one", "one, corrected"]


def test_two_machines_make_the_same_memories(tmp_path: Path) -> None:
    path = written(tmp_path, "one", "two", user_id="ulf")
    found = []
    for name in ("desk", "laptop"):
        (home := tmp_path / name).mkdir()
        with opened(home, clock=StillClock(), embedding="off") as replica:
            taken(replica, "mem0", path)
            found.append(memories(replica, "id"))
    assert found[0] == found[1]


# ---- other processes ----------------------------------------------------------------------------


KILLED = """
import os, signal, sys
from pathlib import Path
from satchel.config import Settings
from satchel.importing.run import import_
from satchel.importing.target import Target
from satchel.replica import open_replica
def progress(phase, kind, done, of):
    if done >= 500:
        os.kill(os.getpid(), signal.SIGKILL)
with open_replica(Settings(home=Path(sys.argv[1]), user_id="una", embedding="off")) as replica:
    import_(replica, "mem0", sys.argv[2], Target(), progress)
"""


@pytest.mark.skipif(os.name != "posix", reason="there is no SIGKILL")
def test_an_import_that_is_killed_goes_on_where_it_was(tmp_path: Path) -> None:
    path, home = written(tmp_path, *(f"text {n}" for n in range(700))), tmp_path / "home"
    done = subprocess.run(
        [sys.executable, "-c", KILLED, home, path], env=environment(), check=False
    )
    assert done.returncode == -signal.SIGKILL
    with opened(home, embedding="off") as replica:
        assert len(memories(replica, "id")) == 500  # whole batches
        answer = taken(replica, "mem0", path)
        assert answer["kinds"]["memory"] == {"exists": 500, "created": 200}
        assert len(memories(replica, "id")) == 700


def test_two_imports_of_one_source_at_once(tmp_path: Path) -> None:
    path, home = written(tmp_path, *(f"text {n}" for n in range(600))), tmp_path / "home"
    run("memory", "list", SATCHEL_HOME=str(home))
    command = [*COMMAND, "import", "mem0", str(path), "--home", str(home)]
    both = [subprocess.Popen(command, env=environment(), stdout=subprocess.PIPE) for _ in range(2)]
    answers = [json.loads(process.communicate()[0]) for process in both]
    counts = [answer["kinds"]["memory"] for answer in answers]
    assert sum(one.get("created", 0) for one in counts) == 600
    assert sum(one.get("exists", 0) for one in counts) == 600
    with opened(home, embedding="off") as replica:
        assert len(memories(replica, "id")) == 600


# ---- words --------------------------------------------------------------------------------------


def test_wrong_words(tmp_path: Path) -> None:
    home = str(tmp_path / "home")
    wrong = run("import", "mem-0", "x", SATCHEL_HOME=home)
    assert (wrong.code, wrong.error["hint"]) == (2, "did you mean 'mem0'?")
    missing = run("import", "mem0", str(tmp_path / "none.json"), SATCHEL_HOME=home)
    assert (missing.code, missing.error["field"]) == (2, "path")
    assert "No such file" in missing.error["message"]
    faulty = run("import", "mem0", "-", stdin="[1]", SATCHEL_HOME=home)
    assert (faulty.code, faulty.json["failed"]) == (1, 1)


@pytest.mark.parametrize("name", ["mem0", "server-memory", "jsonl", "markdown", "m3-memory"])
def test_what_is_no_file_is_refused_and_not_waited_for(
    replica: Replica, tmp_path: Path, name: str
) -> None:
    os.mkfifo(tmp_path / "pipe")
    if name == "markdown":  # a file of a folder is one of many
        (error,) = taken(replica, name, tmp_path / "pipe", code=1)["errors"]
        assert "it is no file" in error["message"]
        return
    for path in (tmp_path / "pipe", tmp_path):
        with pytest.raises(InvalidInput, match="cannot be read") as refusal:
            taken(replica, name, path)
        assert refusal.value.field == "path"


def test_the_operator_of_a_real_home(tmp_path: Path) -> None:
    """Through the door that commands open, with the audit that it has."""
    from satchel.config import Settings

    with open_replica(Settings(home=tmp_path, user_id="una", embedding="off")) as found:
        assert taken(found, "mem0", written(tmp_path, "one"))["records"] == 1


def test_vectors_are_made_where_the_model_is_warm(tmp_path: Path) -> None:
    with opened(tmp_path, embedder=TrigramEmbedder()) as found:
        answer = taken(found, "mem0", written(tmp_path, "the shed is green", "the well is deep"))
        assert answer["embedding"] == "done"
        with found.store.read() as db:
            assert db.execute("SELECT count(*) FROM embedding").get == 2
            assert db.execute("SELECT count(*) FROM embed_queue").get == 0
