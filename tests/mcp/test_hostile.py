"""Calls that mean harm: whatever the arguments are, the answer is JSON or a typed error."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from fix_shapes import check_schema, misfit
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from satchel import config
from satchel.errors import is_typed
from satchel.mcp_server.session import Session
from satchel.tools import catalog
from satchel.tools.schemas import schema
from satchel.tools.shapes import SHAPES

TOOLS = [
    tool
    for tool in catalog.every().values()
    if not tool.outside and not {"wait"} & {one.name for one in tool.parameters}
]
IDS = ["0" * 36, "01890a5d-ac96-774b-bcce-b302099a8057", "01890a5d", "a" * 8]
TEXTS = [
    *("", " ", "\0", "\ud800", "x" * 1_100, "'; DROP TABLE memory; --", '"quoted" OR *', "🔑" * 50),
    *("%s%n", "../../etc/passwd", "{{7*7}}", "\u202e", "NEAR(a b)", "null", "1e309", "-1"),
]
PLAIN = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from([0, -1, 1, 2**63, -(2**63), 10**400, 1e308, float("nan"), float("inf")]),
    st.sampled_from([*TEXTS, *IDS]),
    st.text(max_size=20),
)
VALUES = st.recursive(
    PLAIN,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(TEXTS), inner, max_size=3)
    ),
    max_leaves=6,
)


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    home = tmp_path_factory.mktemp("hostile") / "home"
    environ = {"SATCHEL_HOME": str(home), "SATCHEL_EMBEDDING": "off", "SATCHEL_AGENT": "mallory"}
    made = Session(config.load(environ={**environ, "SATCHEL_STORE_DURABILITY": "process"}), None)
    made.call("memory_write", {"text": "a row to be found"})
    yield made
    made.close()


def attempt(session: Session, name: str, arguments: Any) -> None:
    """Call; what comes back is JSON that meets the schema, or an error with a code and words."""
    answer, error = _ended(session, name, arguments)
    if error is not None:
        assert is_typed(error), (name, arguments, repr(error))
        assert str(error)
        return
    json.dumps(answer, allow_nan=False).encode("utf-8", "strict")
    if name in catalog.every():
        assert misfit(catalog.every()[name].output_schema(), answer) == ""


def _ended(session: Session, name: str, arguments: Any) -> tuple[Any, Exception | None]:
    try:
        return session.call(name, arguments), None
    except Exception as error:  # noqa: BLE001 (which one it is, is what is tested)
        return None, error


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_no_argument_of_any_tool_ends_in_a_fault(session: Session, data: st.DataObject) -> None:
    tool = data.draw(st.sampled_from(TOOLS))
    given_names = data.draw(st.sets(st.sampled_from([one.name for one in tool.parameters] or [""])))
    required = {one.name for one in tool.parameters if one.required}
    arguments = {name: data.draw(VALUES, label=name) for name in sorted(given_names | required)}
    attempt(session, tool.name, arguments)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    arguments=st.dictionaries(
        st.sampled_from(["tool", "args", "dry_run", "timeout_s", "x", "\0"]),
        st.one_of(
            VALUES,
            st.sampled_from(["help", "batch", "memory_stats", "memory_inbox", "task_update"]),
            st.fixed_dictionaries({"calls": VALUES}),
            st.fixed_dictionaries({"query": VALUES}),
            st.fixed_dictionaries({"agent_id": VALUES}),
        ),
        max_size=4,
    )
)
def test_no_call_by_name_ends_in_a_fault(session: Session, arguments: dict[str, Any]) -> None:
    attempt(session, "satchel_call", arguments)


def test_the_store_is_whole_after_all_that(session: Session) -> None:
    found = session.call("memory_search", {"query": "row to be found"})
    assert found["hits"][0]["snippet"] == "a row to be found"
    store = session._household.replica(session._settings).store
    with store.read() as db:
        assert db.execute("PRAGMA integrity_check").get == "ok"


def test_every_shape_is_a_schema() -> None:
    for shape in SHAPES.values():
        check_schema(schema(shape))
