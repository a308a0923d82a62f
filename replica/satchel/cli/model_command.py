"""`satchel model`: the embedding model of this machine, and the vectors made with it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from satchel.cli.command import command, group
from satchel.cli.door import Door
from satchel.cli.operator import require_operator
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
            "drop": lambda: command("drop", drop),
            "pack": lambda: command("pack", pack),
        },
    )


def list_(door: Door) -> None:
    """List the models: which is in use, and how far a change is."""
    door.settings.require_built()
    from satchel.embedding.library import entries

    door.answer({"items": jsonable(entries(door.settings))})


def use(
    door: Door,
    model: Annotated[
        str, typer.Argument(metavar="NAME_OR_FOLDER", help="A model of the list, or a folder")
    ],
) -> None:
    """Verify a model and begin to change to it; `model reembed` makes its vectors."""
    door.settings.require_built()  # a model is known by its hash
    from satchel.embedding import library

    verified = library.use(door.settings, model)
    for one in door.settings.sourced:
        if one.setting.name == library.SETTING and one.origin.startswith("env "):
            door.note(f"{one.origin[4:]} is set and stands above config.toml: unset it")
    told = library.standing_of(door.settings)
    if told and told.becoming:
        door.note(
            f"questions are asked with {told.in_use} until `satchel model reembed` has made the"
            f" vectors of {told.becoming}: {told.left} of {told.texts} are left"
        )
    door.answer(jsonable(verified) | {"progress": jsonable(told)}, changed=True)


def verify(
    door: Door,
    model: Annotated[
        str | None,
        typer.Argument(metavar="[NAME_OR_FOLDER]", help="The configured one by default"),
    ] = None,
) -> None:
    """Hash a model's weights, compare them with the published digest, and open the model."""
    door.settings.require_built()  # a model is known by its hash
    from satchel.embedding import library

    door.answer(jsonable(library.verify(door.settings, model)))


def reembed(door: Door) -> None:
    """Embed what has no vectors of the configured model; can be stopped and begun again.

    Questions are asked with the model of before until the last text has its vectors.
    """
    from satchel.embedding import library
    from satchel.embedding.queue import drain
    from satchel.replica import open_replica

    with open_replica(door.settings) as replica, progress(door) as step:
        library.want_configured(replica)
        drained = drain(
            replica, progress=lambda done, left: step("embedding", "texts", done, done + left)
        )
        standing = jsonable(library.progress(replica))
    door.answer(jsonable(drained) | {"progress": standing}, changed=True)


def drop(
    door: Door,
    model: Annotated[str, typer.Argument(help="A name, or an id of the list")],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do it without asking")] = False,
) -> None:
    """Delete the vectors of a model that is no longer used, on every machine that syncs."""
    require_operator(door, "vectors of all machines are")
    from satchel.embedding import library
    from satchel.errors import ConfirmationNeeded
    from satchel.replica import open_replica

    with open_replica(door.settings) as replica:
        model_id = library.droppable(replica, model)
    question = f"delete all vectors of {model_id}, here and by sync on every machine?"
    if not yes and not door.asked(question):
        raise ConfirmationNeeded(
            "dropping vectors needs `--yes`",
            hint="a machine that asks with that model has to make them again",
        )
    with open_replica(door.settings) as replica:  # not held open while a person thinks
        model_id, dropped = library.drop(replica, model_id)
    door.answer({"model": model_id, "dropped": dropped}, changed=True)


def pack(
    door: Door,
    model: Annotated[
        str, typer.Argument(metavar="NAME_OR_FOLDER", help="A model of the list, or a folder")
    ],
    out: Annotated[
        Path, typer.Option("--out", metavar="FOLDER", help="Where the wheel is written")
    ] = Path(),
    name: Annotated[
        str | None, typer.Option("--name", help="What the model is to be called")
    ] = None,
    licence: Annotated[
        str | None,
        typer.Option("--licence", metavar="SPDX", help="Its licence, if the folder tells none"),
    ] = None,
) -> None:
    """Make a wheel of a model, which pip installs on a machine without a network."""
    door.settings.require_built()  # a model is known by its hash
    from satchel.embedding import packing

    packed = packing.pack(door.settings, model, out, name=name, licence=licence)
    door.answer(jsonable(packed), changed=True)
