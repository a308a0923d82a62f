"""`satchel_call`: any tool by its name, several in order, rehearsed, and help to find one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fix_steps import STEPS, filled

from satchel import config
from satchel.errors import ConfirmationNeeded, InvalidInput, NotFound, SatchelError, UnknownArgument
from satchel.mcp_server.by_name import CALLS_MAX
from satchel.mcp_server.session import Session
from satchel.tools import catalog

OFF = {"SATCHEL_EMBEDDING": "off", "SATCHEL_STORE_DURABILITY": "process"}


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    made = Session(config.load(environ={"SATCHEL_HOME": str(tmp_path / "home"), **OFF}), "ann")
    yield made
    made.close()


def call(session: Session, tool: str, /, **args: Any) -> dict[str, Any]:
    return session.call("satchel_call", {"tool": tool, "args": args})


def rehearse(session: Session, tool: str, /, **args: Any) -> dict[str, Any]:
    return session.call("satchel_call", {"tool": tool, "args": args, "dry_run": True})


# ---- help ---------------------------------------------------------------------------------------


def test_help_without_words_names_every_tool_and_group(session: Session) -> None:
    told = call(session, "help")
    assert {one["tool"] for one in told["tools"]} == set(catalog.every())
    assert {name for names in told["groups"].values() for name in names} == set(catalog.every())


def test_help_on_a_tool_tells_all_of_it(session: Session) -> None:
    (one,) = call(session, "help", query="memory_delete")["tools"]
    assert one["destructive"]
    assert one["group"] == "memory"
    assert one["args"]["id"].startswith("text, required")
    assert "confirm" in one["args"]
    assert one["answers"] == ["id", "outcome"]
    (log,) = call(session, "help", query="audit_log")["tools"]
    assert log["operator_only"]


def test_help_by_words_by_group_and_by_nothing_that_is_there(session: Session) -> None:
    assert call(session, "help", query="hand work to another agent")["tools"]
    assert call(session, "help", query="create a task")["tools"][0]["tool"] == "task_create"
    graph = [one["tool"] for one in call(session, "help", query="graph")["tools"]]
    assert graph == list(catalog.groups()["graph"])
    (alias,) = call(session, "help", query="memory_handoff")["tools"]
    assert (alias["tool"], alias["also_called"]) == ("message_send", "memory_handoff")
    lost = call(session, "help", query="tasc_crete")
    assert (lost["tools"], lost["hint"]) == ([], "did you mean 'task_create'?")
    with pytest.raises(UnknownArgument, match="help has no argument"):
        call(session, "help", words="x")


def test_every_tool_is_found_by_its_own_name(session: Session) -> None:
    for name in catalog.every():
        assert call(session, "help", query=name)["tools"][0]["tool"] == name


# ---- names and arguments ------------------------------------------------------------------------

NEAR = [
    # what was written, what is meant
    ("memory_serach", "memory_search"),
    ("create_task", "task_create"),
    ("task_compelte", "task_complete"),
    ("memory_hand_off", "memory_handoff"),
    ("notifications_acc", "notifications_ack"),
]


@pytest.mark.parametrize(("written", "meant"), NEAR)
def test_a_wrong_name_is_told_the_right_one(session: Session, written: str, meant: str) -> None:
    with pytest.raises(UnknownArgument) as caught:
        call(session, written)
    assert meant in caught.value.hint
    assert caught.value.field == "tool"


@pytest.mark.parametrize("name", sorted(catalog.every()))
def test_an_argument_that_no_tool_has_is_refused_by_each(session: Session, name: str) -> None:
    with pytest.raises(UnknownArgument) as caught:
        call(session, name, no_such_argument=1)
    assert caught.value.field == "no_such_argument"
    assert caught.value.hint


def test_an_argument_outside_of_args_is_told_where_it_belongs(session: Session) -> None:
    with pytest.raises(UnknownArgument) as caught:
        session.call("satchel_call", {"tool": "task_create", "title": "paint"})
    assert "args" in caught.value.hint


def test_confirm_is_asked_by_name_in_a_batch_and_in_a_rehearsal(session: Session) -> None:
    key = session.call("memory_write", {"text": "stays"})["id"]
    destructive = [tool.name for tool in catalog.every().values() if tool.destructive]
    assert len(destructive) >= 3
    for name in destructive:
        (one,) = catalog.every()[name].positional
        given: dict[str, Any] = {one: [key] if one.endswith("s") else key}
        for refused in ({}, {"confirm": False}, {"confirm": None}):
            with pytest.raises(SatchelError) as caught:
                call(session, name, **given, **refused)
            assert caught.value.field == "confirm", name
        with pytest.raises(ConfirmationNeeded):
            rehearse(session, name, **given)
        batch = call(session, "batch", calls=[{"tool": name, "args": given}])
        assert batch["results"][0]["error"]["code"] == "confirm_needed"
    assert session.call("memory_get", {"ids": [key]})["missing"] == []


# ---- batches ------------------------------------------------------------------------------------


def test_a_batch_runs_in_order_and_stops_at_the_first_fault(session: Session) -> None:
    calls = [
        {"tool": "memory_write", "args": {"text": "the first"}},
        {"tool": "task_create", "args": {"title": "the second"}},
        {"tool": "task_get", "args": {"id": "0" * 36}},
        {"tool": "memory_write", "args": {"text": "the fourth"}},
    ]
    done = call(session, "batch", calls=calls)
    assert [one["ok"] for one in done["results"]] == [True, True, False]
    assert (done["done"], done["failed"], done["skipped"]) == (2, 1, 1)
    assert done["results"][1]["answer"]["title"] == "the second"
    assert done["results"][2]["error"]["code"] == "not_found"
    went_on = call(session, "batch", calls=calls, on_error="continue")
    assert [one["ok"] for one in went_on["results"]] == [True, True, False, True]
    assert went_on["results"][0]["answer"]["outcome"] == "exists"


BAD_BATCHES: list[tuple[dict[str, Any], str]] = [
    ({}, "calls"),
    ({"calls": []}, "calls"),
    ({"calls": {}}, "calls"),
    ({"calls": "x"}, "calls"),
    ({"calls": [1]}, "calls"),
    ({"calls": [{}]}, "calls[0]"),
    ({"calls": [{"tool": "help"}]}, "calls[0]"),
    ({"calls": [{"tool": "batch", "args": {"calls": []}}]}, "calls[0]"),
    ({"calls": [{"tool": "memory_stats"}, {"tool": 7}]}, "calls[1]"),
    ({"calls": [{"tool": "memory_stats", "title": "x"}]}, "calls[0]"),
    ({"calls": [{"tool": "memory_stats", "dry_run": True}]}, "calls[0]"),
    ({"calls": [{"tool": "memory_stats"}] * (CALLS_MAX + 1)}, "calls"),
    ({"calls": [{"tool": "memory_stats"}], "on_error": "never"}, "on_error"),
    ({"calls": [{"tool": "memory_stats"}], "atomic": True}, "atomic"),
]


@pytest.mark.parametrize(("args", "field"), BAD_BATCHES)
def test_a_batch_that_cannot_be_read_runs_nothing(
    session: Session, args: dict[str, Any], field: str
) -> None:
    with pytest.raises(InvalidInput) as caught:
        call(session, "batch", **args)
    assert caught.value.field == field


# ---- rehearsals ---------------------------------------------------------------------------------


def test_a_rehearsal_answers_what_would_be_and_keeps_nothing(session: Session) -> None:
    key = session.call("memory_write", {"text": "the shed is green"})["id"]
    before = call(session, "memory_stats")
    told = rehearse(session, "memory_write", text="the well is deep")
    assert (told["dry_run"], told["writes"], told["would"]["outcome"]) == (True, True, "created")
    assert rehearse(session, "memory_write", text="the shed is green")["would"]["id"] == key
    task = rehearse(session, "task_create", title="paint")["would"]
    assert task["status"] == "pending"
    gone = rehearse(session, "memory_delete", id=key, confirm=True)
    assert (gone["destructive"], gone["would"]["outcome"]) == (True, "deleted")
    moved = rehearse(session, "memory_supersede", id=key, text="the shed is red")["would"]
    assert moved["superseded"] == [key]
    for made in (told["would"]["id"], moved["id"]):
        assert session.call("memory_get", {"ids": [made]})["missing"] == [made]
    with pytest.raises(NotFound):
        call(session, "task_get", id=task["id"])
    assert call(session, "memory_stats") == before
    (item,) = session.call("memory_get", {"ids": [key]})["items"]
    assert (item["content"], item["current"]) == ("the shed is green", True)
    session.call("memory_write", {"text": "and a write after it is kept"})
    assert call(session, "memory_stats")["memories"] == before["memories"] + 1


def test_a_rehearsal_that_fails_fails_as_the_call_would(session: Session) -> None:
    with pytest.raises(NotFound):
        rehearse(session, "task_claim", id="0" * 36)
    with pytest.raises(InvalidInput):
        rehearse(session, "memory_write", text="")
    assert session.call("memory_write", {"text": "after it"})["outcome"] == "created"


def test_a_step_of_a_rehearsal_that_fails_is_undone_alone(session: Session) -> None:
    """As its transaction would be: what a tool does next does not see it."""
    session.call("memory_write", {"text": "before"})
    store = session._household.replica(session._settings).store
    insert = "INSERT INTO memory(id, content) VALUES(?, 'x')"

    def fail() -> None:
        with store.write() as db:
            db.execute(insert, ("m2",))
            raise KeyError

    with store.rehearsal():
        with store.write() as db:
            db.execute(insert, ("m1",))
        with pytest.raises(KeyError):
            fail()
        with store.read() as db:
            held = [row[0] for row in db.execute("SELECT id FROM memory WHERE id LIKE 'm_'")]
        assert held == ["m1"]
    assert call(session, "memory_stats")["memories"] == 1


def test_every_tool_can_be_rehearsed_and_none_leaves_a_row(tmp_path: Path) -> None:
    """Each step is rehearsed, which changes no row of any table, and then done."""
    environ = {"SATCHEL_AGENT": "bob", "SATCHEL_AGENT_ROLE": "operator", **OFF}
    session = Session(config.load(environ={"SATCHEL_HOME": str(tmp_path / "h"), **environ}), None)
    known: dict[str, str] = {}
    try:
        session.call("memory_write", {"text": "the first"})
        for name, arguments, keep in STEPS:
            given = filled(arguments, known)
            before = _rows(session)
            told = rehearse(session, name, **given)
            assert (told["would"] is None) == catalog.every()[name].outside, name
            assert _rows(session) == before, name
            answer = call(session, name, **given)
            if keep:
                known[f"${keep}"] = answer["id"]
    finally:
        session.close()


def test_what_reaches_outside_is_only_checked(session: Session) -> None:
    assert rehearse(session, "sync_run")["would"] is None
    with pytest.raises(UnknownArgument):
        rehearse(session, "sync_run", adopt=True)


def test_a_batch_is_rehearsed_call_by_call(session: Session) -> None:
    calls = [{"tool": "memory_write", "args": {"text": f"note {number}"}} for number in range(3)]
    told = session.call(
        "satchel_call", {"tool": "batch", "args": {"calls": calls}, "dry_run": True}
    )
    assert [one["answer"]["would"]["outcome"] for one in told["results"]] == ["created"] * 3
    assert call(session, "memory_stats")["memories"] == 0


def _rows(session: Session) -> dict[str, list[Any]]:
    """Every row of every table that is not an index of another."""
    store = session._household.replica(session._settings).store
    with store.read() as db:
        names = [row[0] for row in db.execute("SELECT name FROM sqlite_schema WHERE type='table'")]
        return {
            name: db.execute(f"SELECT * FROM {name}").fetchall()
            for name in names
            if "_fts" not in name
        }
