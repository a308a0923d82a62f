"""Data in the formats of others: small files of our own, and the real ones where they are."""

from __future__ import annotations

import os
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from fix_quality import BELIEFS, HAYSTACK, SAMPLE, belief, case, written
from quality import cranfield, locomo, longmemeval, precision
from quality.question import Absent

ROOT = Path(__file__).parents[2]
DATA = Path(os.environ.get("QUALITY_DATA") or ROOT.parent / "shared" / "data")


def test_locomo_has_turns_in_order_and_questions_with_evidence(tmp_path: Path) -> None:
    (talk,) = locomo.read(written(tmp_path / "locomo.json", [SAMPLE]))
    assert [(turn.key, turn.session, turn.speaker) for turn in talk.turns] == [
        ("talk-1/D1:1", "talk-1/session-1", "Ann"),
        ("talk-1/D1:2", "talk-1/session-1", "Bo"),
        ("talk-1/D2:1", "talk-1/session-2", "Bo"),
    ]
    assert [turn.said_at for turn in talk.turns] == [
        "2023-05-08T13:56:00+00:00", "2023-05-08T13:56:30+00:00", "2023-06-13T00:09:00+00:00",
    ]  # fmt: skip
    assert talk.turns[2].text == "Look! [shared a photo of a red kite]"
    assert [(one.text, one.category, one.relevant) for one in talk.questions] == [
        ("What did Bo buy, a kite?", "1 several turns", {"talk-1/D1:2", "talk-1/D2:1"}),
        ("When?", "2 time", {"talk-1/D1:2"}),
    ]


def test_locomo_here_has_the_questions_that_ranking_was_tuned_on() -> None:
    if not (DATA / locomo.FILE).is_file():
        pytest.skip(f"{locomo.FILE} is not in {DATA}")
    talks = locomo.read(DATA / locomo.FILE)
    asked = Counter(one.category[0] for talk in talks for one in talk.questions)
    assert asked == {"1": 151, "2": 157, "3": 59, "4": 419}


def test_precision_scores_cases_without_a_budget(tmp_path: Path) -> None:
    folder = tmp_path / precision.FOLDER
    cases = [case("kept", ["plain"]), case("cut", ["plain"], budget={"maxBeliefs": 1}),
             case("silent", None), case("new", [], userId="new-user")]  # fmt: skip
    written(folder / "beliefs.seed.json", BELIEFS)
    written(folder / "retrieval.cases.json", cases)
    kept, new = precision.world(folder).questions
    assert (kept.id, kept.user, kept.relevant) == ("kept", "test-user", {"plain"})
    assert kept.arguments == {"kind": "memory", "spaces": ["code"]}
    assert kept.aside == {"pinned", "question", "universal"}
    assert kept.forbidden == {"universal", "old", "ended", "prose", "foreign"}
    assert (new.id, new.user) == ("new", "new-user")
    assert new.forbidden == {one["_id"] for one in BELIEFS}


def test_precision_here_has_the_cases_that_ranking_names() -> None:
    if not (DATA / precision.FOLDER).is_dir():
        pytest.skip(f"{precision.FOLDER} is not in {DATA}")
    questions = precision.world(DATA / precision.FOLDER).questions
    assert (len(questions), sum(not one.relevant for one in questions)) == (71, 29)


def test_dates_move_back_where_the_clock_stands_before_them() -> None:
    assert precision._shift([belief("a", created_at="2001-01-01T00:00:00Z")]) == timedelta()
    late = (datetime.now(UTC) + timedelta(days=9)).isoformat()
    shift = precision._shift([belief("a", resolved_at=late), belief("b")])
    assert timedelta(days=9, hours=23) < shift < timedelta(days=10, hours=1)


def test_longmemeval_has_a_world_a_question(tmp_path: Path) -> None:
    nobody = HAYSTACK | {"question_id": "q2_abs"}
    one, other = longmemeval.read(written(tmp_path / "lme.json", [HAYSTACK, nobody]))
    (question,) = one.questions
    assert (one.name, question.category) == ("q1", "temporal-reasoning")
    assert question.relevant == {"answer_s2/0", "answer_s2/1"}
    assert question.arguments["as_of"] == "2023-05-30T23:40:00+00:00"
    assert other.questions[0].relevant == frozenset()


def test_cranfield_counts_questions_from_one(tmp_path: Path) -> None:
    (tmp_path / "cran.all.1400").write_text(
        ".I 1\n.T\nwings .\n.A\nsmith\n.B\nj. 1\n.W\nwings in\na slipstream .\n"
        ".I 2\n.T\n.A\n.B\n.W\n"
    )
    (tmp_path / "cran.qry").write_text(".I 004\n.W\nwhat is lift\n.I 007\n.W\nwhat is drag .\n")
    (tmp_path / "cranqrel").write_text("1 1 2\n2 2 -1\n2 1 5\n2 7 4 \n")
    asked = cranfield.world(tmp_path).questions
    assert [(one.id, one.text, one.relevant) for one in asked] == [
        ("1", "what is lift", {"1"}),
        ("2", "what is drag .", {"7"}),
    ]
    first, empty = cranfield.records((tmp_path / "cran.all.1400").read_text())
    assert first == {
        "I": "1", "T": "wings .", "A": "smith", "B": "j. 1", "W": "wings in a slipstream .",
    }  # fmt: skip
    assert empty["W"] == ""


@pytest.mark.parametrize(
    "read",
    [
        lambda folder: locomo.read(folder / "x.json"),
        lambda folder: precision.world(folder),
        lambda folder: longmemeval.read(folder / "x.json"),
        lambda folder: cranfield.world(folder),
    ],
    ids=["locomo", "precision", "longmemeval", "cranfield"],
)
def test_absent_data_is_told(tmp_path: Path, read: Any) -> None:
    with pytest.raises(Absent, match=r"not (in the data folder|here)"):
        read(tmp_path)
