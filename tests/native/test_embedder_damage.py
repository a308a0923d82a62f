"""A model folder that is damaged or of another kind gets a typed error, never a crash."""

from __future__ import annotations

import json
import os
import shutil
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fix_models import small_folder

native = pytest.importorskip("satchel_native", reason="the Rust core is not built")

Header = dict[str, dict[str, Any]]
WORDS = "embeddings.word_embeddings.weight"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(small_folder("bert-mean"), tmp_path / "model"))


def code_of(folder: Path) -> str:
    """What opening and using the folder fails with."""
    with pytest.raises(native.ModelError) as refusal:
        native.Embedder.open(folder).encode(["memory", "naïve café"])
    assert str(refusal.value)
    return refusal.value.code


# ---- files that are not there or not readable ---------------------------------------------------

NEEDED = [
    "modules.json",
    "config.json",
    "1_Pooling/config.json",
    "tokenizer.json",
    "model.safetensors",
]


@pytest.mark.parametrize("name", NEEDED)
def test_a_missing_file_is_named(folder: Path, name: str) -> None:
    (folder / name).unlink()
    with pytest.raises(native.ModelError, match=name) as refusal:
        native.Embedder.open(folder)
    assert refusal.value.code == "file_missing"


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    assert code_of(tmp_path / "absent") == "file_missing"


@pytest.mark.parametrize("name", NEEDED)
def test_a_folder_in_place_of_a_file(folder: Path, name: str) -> None:
    (folder / name).unlink()
    (folder / name).mkdir()
    assert code_of(folder) == "file_unreadable"


GARBAGE = [b"", b"{", b"null", b"[1]", b"\xff\xfe", b'"text"', b"{}" * 2, b"[" * 200_000]


@pytest.mark.parametrize("garbage", GARBAGE, ids=range(len(GARBAGE)))
@pytest.mark.parametrize("name", NEEDED)
def test_garbage_is_refused(folder: Path, name: str, garbage: bytes) -> None:
    (folder / name).write_bytes(garbage)
    assert code_of(folder) == "file_damaged"


def test_the_small_files_may_be_left_out(folder: Path) -> None:
    (folder / "sentence_bert_config.json").unlink()
    (folder / "tokenizer_config.json").unlink()
    assert native.Embedder.open(folder).window == 40  # as many as there are positions


# ---- config.json and its like -------------------------------------------------------------------


def edit(folder: Path, name: str, **changes: object) -> None:
    held = json.loads((folder / name).read_text("utf-8"))
    held.update(changes)
    (folder / name).write_text(json.dumps(held), "utf-8")


CONFIGS: list[tuple[dict[str, object], str]] = [
    ({"model_type": "distilbert"}, "unsupported"),
    ({"model_type": "xlm-roberta", "pad_token_id": 4_000_000_000}, "file_damaged"),
    ({"hidden_act": "relu"}, "unsupported"),
    ({"position_embedding_type": "relative_key"}, "unsupported"),
    ({"is_decoder": True}, "unsupported"),
    ({"hidden_size": 0}, "file_damaged"),
    ({"hidden_size": 33}, "file_damaged"),
    ({"hidden_size": 2**62}, "file_damaged"),
    ({"hidden_size": -1}, "file_damaged"),
    ({"hidden_size": "32"}, "file_damaged"),
    ({"num_attention_heads": 0}, "file_damaged"),
    ({"num_attention_heads": 5}, "file_damaged"),
    ({"num_hidden_layers": 0}, "file_damaged"),
    ({"num_hidden_layers": 3}, "tensor_missing"),
    ({"intermediate_size": 71}, "tensor_shape"),
    ({"vocab_size": 399}, "vocabulary_too_large"),
    ({"vocab_size": 401}, "tensor_shape"),
    ({"max_position_embeddings": 41}, "tensor_shape"),
    ({"max_position_embeddings": 1}, "file_damaged"),
    ({"type_vocab_size": 1}, "tensor_shape"),
    ({"layer_norm_eps": 0}, "file_damaged"),
    ({"layer_norm_eps": -1e-12}, "file_damaged"),
]


@pytest.mark.parametrize(("changes", "code"), CONFIGS, ids=lambda value: str(value)[:50])
def test_sizes_that_make_no_sense(folder: Path, changes: dict[str, object], code: str) -> None:
    edit(folder, "config.json", **changes)
    assert code_of(folder) == code


POOLINGS: list[tuple[dict[str, object], str]] = [
    ({"pooling_mode_mean_tokens": False}, "unsupported"),
    ({"pooling_mode_max_tokens": True}, "unsupported"),
    ({"pooling_mode_mean_tokens": False, "pooling_mode_lasttoken": True}, "unsupported"),
    ({"pooling_mode": "weightedmean"}, "unsupported"),
    ({"pooling_mode": ["mean", "cls"]}, "unsupported"),
    ({"pooling_mode": [1]}, "unsupported"),
    ({"include_prompt": False}, "unsupported"),
    ({"word_embedding_dimension": 64}, "file_damaged"),
]


@pytest.mark.parametrize(("changes", "code"), POOLINGS, ids=lambda value: str(value)[:50])
def test_poolings_that_are_not_known(folder: Path, changes: dict[str, object], code: str) -> None:
    edit(folder, "1_Pooling/config.json", **changes)
    assert code_of(folder) == code


def module(path: str, step: str) -> dict[str, object]:
    return {"idx": 0, "name": "0", "path": path, "type": f"sentence_transformers.models.{step}"}


MODULES = [
    ([], "unsupported"),
    ([module("", "Transformer")], "unsupported"),
    ([module("1_Pooling", "Pooling"), module("", "Transformer")], "unsupported"),
    ([module("", "Transformer"), module("1_Pooling", "Pooling"), module("2", "Dense")],
     "unsupported"),
    ([module("../model", "Transformer"), module("1_Pooling", "Pooling")], "file_damaged"),
    ([module("/etc", "Transformer"), module("1_Pooling", "Pooling")], "file_damaged"),
]  # fmt: skip


@pytest.mark.parametrize(("modules", "code"), MODULES, ids=range(len(MODULES)))
def test_steps_that_are_not_known(folder: Path, modules: list[object], code: str) -> None:
    (folder / "modules.json").write_text(json.dumps(modules))
    assert code_of(folder) == code


# ---- tokenizer.json -----------------------------------------------------------------------------


def test_a_vocabulary_larger_than_the_weights(folder: Path) -> None:
    held = json.loads((folder / "tokenizer.json").read_text("utf-8"))
    held["model"]["vocab"]["newcomer"] = 400
    (folder / "tokenizer.json").write_text(json.dumps(held))
    assert code_of(folder) == "vocabulary_too_large"


def test_a_tokenizer_that_frames_texts_in_another_way(folder: Path) -> None:
    held = json.loads((folder / "tokenizer.json").read_text("utf-8"))
    held["post_processor"] = None
    (folder / "tokenizer.json").write_text(json.dumps(held))
    assert code_of(folder) == "unsupported"


# ---- model.safetensors --------------------------------------------------------------------------


def rewrite(folder: Path, change: Callable[[Header, bytearray], None]) -> None:
    path = folder / "model.safetensors"
    raw = path.read_bytes()
    (size,) = struct.unpack_from("<Q", raw)
    header: Header = json.loads(raw[8 : 8 + size])
    data = bytearray(raw[8 + size :])
    change(header, data)
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


@pytest.mark.parametrize("kept", [0, 1, 7, 8, 9, 100, 4000, 70_000, -1])
def test_cut_weights(folder: Path, kept: int) -> None:
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:kept])
    assert code_of(folder) == "file_damaged"


def test_weights_with_something_behind(folder: Path) -> None:
    with (folder / "model.safetensors").open("ab") as file:
        file.write(b"\0" * 64)
    assert code_of(folder) == "file_damaged"


@pytest.mark.parametrize("size", [0, 1, 2**31, 2**63, 2**64 - 1])
def test_a_header_that_lies_about_its_length(folder: Path, size: int) -> None:
    path = folder / "model.safetensors"
    path.write_bytes(struct.pack("<Q", size) + path.read_bytes()[8:])
    assert code_of(folder) == "file_damaged"


OFFSETS = [[0, 10**12], [2**63, 2**64 - 1], [-4, 0], [400, 0], [1, 51201], "text", None]


@pytest.mark.parametrize("offsets", OFFSETS, ids=str)
def test_a_header_that_lies_about_places(folder: Path, offsets: object) -> None:
    rewrite(folder, lambda header, data: header[WORDS].update(data_offsets=offsets))
    assert code_of(folder) == "file_damaged"


def test_a_header_that_lies_about_shapes(folder: Path) -> None:
    rewrite(folder, lambda header, data: header[WORDS].update(shape=[400, 33]))
    assert code_of(folder) == "file_damaged"


def test_a_tensor_of_another_shape(folder: Path) -> None:
    rewrite(folder, lambda header, data: header[WORDS].update(shape=[32, 400]))
    assert code_of(folder) == "tensor_shape"


def test_a_tensor_of_another_name(folder: Path) -> None:
    name = "encoder.layer.1.output.dense.bias"
    rewrite(folder, lambda header, data: header.update({"else": header.pop(name)}))
    assert code_of(folder) == "tensor_missing"


@pytest.mark.parametrize("kind", ["I32", "U32"])
def test_a_tensor_of_whole_numbers(folder: Path, kind: str) -> None:
    rewrite(folder, lambda header, data: header[WORDS].update(dtype=kind))
    assert code_of(folder) == "tensor_missing"


def test_names_with_a_prefix_are_found(folder: Path) -> None:
    expected = native.Embedder.open(folder).encode(["memory"])

    def prefix(header: Header, data: bytearray) -> None:
        for name in list(header):
            if name != "__metadata__":
                header[f"bert.{name}"] = header.pop(name)

    rewrite(folder, prefix)
    assert native.Embedder.open(folder).encode(["memory"]) == expected


BAD = {"nan": float("nan"), "infinite": float("inf")}


@pytest.mark.parametrize("number", BAD.values(), ids=BAD)
@pytest.mark.parametrize(
    "name",
    [
        "encoder.layer.0.attention.self.query.weight",
        "encoder.layer.0.attention.output.dense.bias",
        "encoder.layer.1.intermediate.dense.weight",
        "encoder.layer.1.output.LayerNorm.weight",
    ],
)
def test_numbers_that_are_none(folder: Path, name: str, number: float) -> None:
    def spoil(header: Header, data: bytearray) -> None:
        struct.pack_into("<f", data, header[name]["data_offsets"][0], number)

    rewrite(folder, spoil)
    assert code_of(folder) == "vector_not_finite"


# ---- a process that is stopped ------------------------------------------------------------------

ENDLESS = """
import sys
import satchel_native
engine = satchel_native.Embedder.open(sys.argv[1])
print("ready", flush=True)
try:
    engine.encode(["memory search agent session project deploy " * 6] * 400_000, 2)
except KeyboardInterrupt:
    print("interrupted", flush=True)
    print(len(engine.encode(["still here"])), flush=True)
"""


@pytest.mark.skipif(os.name == "nt", reason="signals are another thing there")
@pytest.mark.parametrize(
    ("number", "code", "said"), [(signal.SIGINT, 0, "interrupted\n128\n"), (signal.SIGKILL, -9, "")]
)
def test_a_long_batch_can_be_stopped(number: int, code: int, said: str) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", ENDLESS, str(small_folder("bert-mean"))],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(1)
        assert process.poll() is None
        began = time.monotonic()
        process.send_signal(number)
        rest = process.stdout.read()
        assert process.wait(20) == code
    assert rest == said
    assert time.monotonic() - began < 10
