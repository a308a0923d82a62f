"""`satchel model`: the embedding model of this machine, and the vectors made with it."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from satchel.cli.command import command, group
from satchel.cli.door import Door
from satchel.cli.progress import progress
from satchel.tools.answer import jsonable


def make() -> Any:
    """The command group."""
    return group(
        "model",
        "The embedding model, and the vectors made with it",
        lambda: {
            "list": lambda: command("list", list_),
            "use": lambda: command("use", use),
            "verify": lambda: command("verify", verify),
            "reembed": lambda: command("reembed", reembed),
        },
    )


def list_(door: Door) -> None:
    """The models of this machine, and which is in use."""
    door.settings.require_built()
    from satchel.embedding.library import entries

    door.answer({"items": jsonable(entries(door.settings))})


def use(
    door: Door,
    model: Annotated[
        str, typer.Argument(metavar="NAME_OR_FOLDER", help="A model of the list, or a folder")
    ],
) -> None:
    """Verify a model and take it into use; `model reembed` then makes its vectors."""
    door.settings.require_built()  # a model is known by its hash
    from satchel.embedding import library

    verified = library.use(door.settings, model)
    for one in door.settings.sourced:
        if one.setting.name == library.SETTING and one.origin.startswith("env "):
            door.note(f"{one.origin[4:]} is set and stands above config.toml: unset it")
    door.answer(jsonable(verified), changed=True)


def verify(
    door: Door,
    model: Annotated[
        str | None, typer.Argument(metavar="[NAME_OR_FOLDER]", help="The one in use by default")
    ] = None,
) -> None:
    """Hash a model's weights, compare them with the published digest, and open the model."""
    door.settings.require_built()  # a model is known by its hash
    from satchel.embedding import library

    door.answer(jsonable(library.verify(door.settings, model)))


def reembed(door: Door) -> None:
    """Embed memories and chat turns that have no vector of this model yet; can be stopped."""
    from satchel.embedding.queue import drain
    from satchel.replica import open_replica

    with open_replica(door.settings) as replica, progress(door) as step:
        drained = drain(
            replica, progress=lambda done, left: step("embedding", "texts", done, done + left)
        )
    door.answer(jsonable(drained), changed=True)
