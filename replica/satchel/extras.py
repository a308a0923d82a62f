"""What to type for a part of satchel that is not installed: satchel is on no package index."""

from __future__ import annotations


def from_wheels(extras: str) -> str:
    """How to install these extras (comma between) without asking an index for satchel's name.

    Whoever registers that name there would be asked for the program otherwise. `native` is in
    every kit that can have it.
    """
    kit = "".join(f" --extra {one}" for one in extras.split(",") if one != "native")
    return (
        f"`pip install --no-index --find-links WHEELS 'satchel[{extras}]'` (docs/DEPLOY.md, Parts),"
        f" or a kit{' made with `' + kit.strip() + '`' if kit else ''}"
    )
