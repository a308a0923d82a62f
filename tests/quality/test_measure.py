"""A set end to end, through the real doors with a small real embedder."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from fix_memory import TrigramEmbedder
from fix_quality import BELIEFS, HAYSTACK, SAMPLE, case, written
from quality import locomo, longmemeval, notes, page, precision, results
from quality.ablation import Ablation, without
from quality.desk import Desk, opened
from quality.measure import filled, measure, of_all
from quality.metrics import MRR, PRECISION, any_at
from quality.question import QualitySet, Question, World
from quality.remembered import RememberedEmbedder

from satchel.ranking.weights import RECIPE

ROOT = Path(__file__).parents[2]
PARTS = (".", "replica", "sync", "warehouse", "crypto")
ENVIRONMENT = {"PYTHONPATH": os.pathsep.join(str(ROOT / part) for part in PARTS), "PATH": ""}
RUN = results.Run(commit="abc", model="trigrams", seed=1)
TEXTS = {"tea": "Green tea wants water of eighty degrees.", "cat": "The cat sleeps on the sofa."}


def write_texts(desk: Desk) -> dict[str, str]:
    return {key: desk.call("memory_write", text=text)["id"] for key, text in TEXTS.items()}


def small_set() -> QualitySet:
    asked = [("how hot is the water for tea", {"tea"}), ("cat on the sofa", {"cat"}), ("  ", set())]
    questions = [
        Question(id=str(n), text=text, category="c", relevant=frozenset(relevant))
        for n, (text, relevant) in enumerate(asked)
    ]
    world = World(name="w", write=write_texts, questions=questions)
    return QualitySet(
        name="small",
        title="Small",
        method="Two texts.",
        metrics=(any_at(1), MRR, PRECISION),
        headline=("any@1", "MRR@10"),
        worlds=lambda: [world],
    )


def test_a_set_is_written_asked_and_scored(tmp_path: Path) -> None:
    ablation = Ablation(names=("keyword", "diversity"))
    found = measure(small_set(), TrigramEmbedder(), also=ablation.ask)
    assert [one.keys[:1] for one in of_all(found)] == [("tea",), ("cat",), ()]
    file = results.write(tmp_path / "results", "small", RUN, found)
    lines = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    assert lines[0]["ranks"] == {"tea": 1}
    assert (lines[0]["commit"], lines[0]["seed"], lines[2]["found"]) == ("abc", 1, [])
    assert len(lines[0]["scores"]) == len(lines[0]["found"])
    assert {name: len(answers) for name, answers in ablation.answers.items()} == {
        "keyword": 3, "diversity": 3,
    }  # fmt: skip


def test_a_limit_leaves_questions_out() -> None:
    assert len(measure(small_set(), None, limit=1)) == 1


def test_an_ablation_takes_a_signal_out_of_every_score_and_puts_it_back() -> None:
    (world,) = small_set().worlds()
    with filled(world, TrigramEmbedder()) as store:

        def explained() -> dict[str, float]:
            asked = {"query": "water for tea", "explain": True}
            hits = store.desk.call("memory_search", **asked)["hits"]
            return dict(hits[0]["explain"])

        whole = explained()
        store.desk.replica("una").recipe = without("keyword")
        ablated = explained()
        Ablation(names=("keyword",)).ask(store)
        assert whole["keyword"] > 0
        assert not ablated.get("keyword")
        assert explained() == whole


def test_an_ablation_knows_every_weight_of_the_table() -> None:
    assert set(RECIPE.names) < set(Ablation().names)
    assert all(without(name) != RECIPE for name in Ablation().names)
    with pytest.raises(KeyError, match="no signal"):
        without("no such signal")


# ---- sets ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("write", "tool"),
    [
        (locomo.as_chat, "chatlog_search"),
        (locomo.as_one_chat, "chatlog_search"),
        (locomo.as_memories, "memory_search"),
    ],
)
def test_a_conversation_is_found_however_it_is_written(
    tmp_path: Path, write: locomo.Writing, tool: str
) -> None:
    file = written(tmp_path / "locomo.json", [SAMPLE, SAMPLE | {"sample_id": "talk-2"}])
    for world in locomo.one_store_each(file, write, tool):
        with filled(world, TrigramEmbedder()) as store:
            keys = store.ask(world.questions[0]).keys
            assert f"{world.name}/D1:2" in keys or tool == "memory_search"
    (shared,) = locomo.one_store(file, write, tool)
    with filled(shared, None) as store:
        assert len(store.same) == 6


def test_items_with_the_same_text_are_one(tmp_path: Path) -> None:
    file = written(tmp_path / "locomo.json", [SAMPLE, SAMPLE | {"sample_id": "talk-2"}])
    (shared,) = locomo.one_store(file, locomo.as_memories, "memory_search")
    with filled(shared, None) as store:
        assert store.same["talk-2/D1:2"] == "talk-1/D1:2"
        assert store.ask(shared.questions[-1]).question.relevant == {"talk-1/D1:2"}


def test_beliefs_are_kept_apart_by_space_user_and_time(tmp_path: Path) -> None:
    folder = tmp_path / precision.FOLDER
    cases = [
        case(
            "all", [], query="About plain, pinned, question, universal, old, ended, prose, foreign"
        ),
        case("other", [], query="About plain", userId="other-user"),
    ]
    written(folder / "beliefs.seed.json", BELIEFS)
    written(folder / "retrieval.cases.json", cases)
    world = precision.world(folder)
    with filled(world, None) as store:
        mine, other = (store.ask(one) for one in world.questions)
        assert set(mine.keys) == {"plain", "pinned", "question"}
        assert not set(other.keys) - {"foreign"}
        (row,) = [key for key, name in store.names.items() if name == "plain"]
        (held,) = store.desk.call("memory_get", user="test-user", ids=[row])["items"]
        assert (held["title"], held["content"]) == ("plain", "About plain.")
        assert held["supersedes"] in store.names


def test_sessions_of_longmemeval_are_asked_as_of_their_question() -> None:
    world = longmemeval.world(HAYSTACK)
    with filled(world, TrigramEmbedder()) as store:
        found = store.ask(world.questions[0]).renamed(lambda key: key.rpartition("/")[0])
        assert found.keys[:1] == ("answer_s2",) or not found.keys
        assert "answer_s2/1" not in store.same, "an empty turn is not written"
        assert store.ask(beans(world)).keys[:1] == ("answer_s2/0",)


def beans(world: World) -> Question:
    (question,) = world.questions
    return Question(
        id="b", text="sowed beans", category="c", relevant=frozenset(),
        arguments=question.arguments,
    )  # fmt: skip


def test_notes_are_found_by_their_exact_names() -> None:
    world = notes.world()
    with filled(world, TrigramEmbedder()) as store:
        exact = [store.ask(one) for one in world.questions if one.category == "exact"]
    assert sum(bool(one.question.relevant & set(one.keys[:3])) for one in exact) >= len(exact) - 1


# ---- vectors, page, command ---------------------------------------------------------------------


class Counting(TrigramEmbedder):
    """Counts the texts that it embeds."""

    made = 0

    def embed_documents(self, texts: object) -> list[bytes]:
        self.made += len(texts)  # type: ignore[arg-type]
        return super().embed_documents(texts)  # type: ignore[arg-type]


def test_a_text_is_embedded_once_for_each_model(tmp_path: Path) -> None:
    engine, file = Counting(), tmp_path / "vectors.db"
    first = RememberedEmbedder(engine, file)
    once = first.embed_documents(["a", "b", "a"])
    again = RememberedEmbedder(engine, file).embed_documents(["b", "a"])
    assert engine.made == 2
    assert once == [again[1], again[0], again[1]]
    assert first.embed_query("a") == engine.embed_query("a")
    other = Counting(dims=16)
    assert len(RememberedEmbedder(other, file).embed_documents(["a"])[0]) == 64
    assert other.made == 1


def test_a_section_stands_in_its_place_and_others_stay(tmp_path: Path) -> None:
    found = of_all(measure(small_set(), None))
    file = tmp_path / "QUALITY.md"
    page.put(file, "other", "## Other")
    for _ in range(2):
        page.put(file, "small", page.section_of(small_set(), found, RUN))
    text = file.read_text("utf-8")
    assert text.count("## Small") == text.count("## Other") == 1
    assert "| all | 3 | 100.0 | 100.0 |" in text


def test_an_ablation_shows_differences() -> None:
    one = small_set()
    found = of_all(measure(one, None))
    worse = [found[0], *(type(one)(question=one.question, keys=()) for one in found[1:])]
    text = page.section_of_ablation(
        [one], {"small": found}, {"small": {"keyword": worse, "title": found}}, RUN
    )
    assert "| keyword | -50.0 | -50.0 |" in text
    assert "| title | 0 | 0 |" in text


def test_the_command_skips_what_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    done = subprocess.run(
        [sys.executable, "-m", "quality", "--data", "data", "--embedding", "off", "--no-ablation",
         "--sets", "locomo,notes", "--results", "out", "--page", "page.md"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
        env=ENVIRONMENT,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert re.search(r"^locomo: skipped, locomo/locomo-dev.json is not", done.stdout, re.MULTILINE)
    assert "## Lone notes and code" in (tmp_path / "page.md").read_text("utf-8")
    assert len((tmp_path / "out" / "notes.jsonl").read_text("utf-8").splitlines()) > 90


def test_an_unknown_set_is_told(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "quality", "--sets", "lokomo", "--embedding", "off"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
        env=ENVIRONMENT,
    )  # fmt: skip
    assert done.returncode == 1
    assert "no set is called lokomo; there are locomo" in done.stderr


def test_a_desk_is_gone_afterwards() -> None:
    with opened(None) as desk:
        desk.call("memory_write", text="x")
        home = desk.home
        assert home.exists()
    assert not home.exists()
