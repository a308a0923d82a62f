"""The engines: what ranks, and what makes vectors, really opened with its model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from satchel.doctor.check import Check, Mend, failed
from satchel.errors import EngineUnavailable, SatchelError

if TYPE_CHECKING:
    from satchel.config import Settings
    from satchel.replica import Replica

DRAIN_LIMIT_S = 60.0
"""For so long `--fix` embeds what waits; `satchel model reembed` goes on."""


def ranking(settings: Settings) -> Check:
    """The engine that would be chosen; the pure one warns where the native one was wanted."""
    from satchel import ranking

    try:
        engine = ranking.engine_name(ranking.choose(settings.ranking))
    except ranking.RankingUnavailable as error:
        return failed("ranking", error)
    refusal = ranking.native_refusal()
    if engine == "pure" and settings.ranking == "auto" and refusal:
        return Check(
            name="ranking",
            ok="warn",
            found="pure Python",
            why=f"slower than native, with the same answers: {refusal}",
        )
    return Check(name="ranking", ok="ok", found=engine)


def embedding(settings: Settings) -> Check:
    """The engine is really opened with its model: what a search could not use is no "ok"."""
    if settings.embedding == "off":
        return Check(name="embedding", ok="ok", found="off: search is by keyword")
    from satchel.embedding import open_engine

    try:
        engine, model = open_engine(settings)
    except SatchelError as error:
        asked = settings.embedding != "auto" or settings.model is not None
        return Check(
            name="embedding", ok="fail" if asked else "warn", found=str(error), fix=error.hint
        )
    found = f"{engine}, {model.model_id}, {model.dims} dims, window {model.window}"
    return Check(name="embedding", ok="ok", found=found)


def model(opened: Replica) -> Check:
    """Of the vectors of this replica: which model questions are asked with, and what is left."""
    from satchel.embedding.library import progress

    found = progress(opened)
    told = (
        f"in use: {found.in_use or 'none yet'}; {found.texts - found.left} of {found.texts} texts"
    )
    if opened.settings.embedding == "off":
        return Check(name="model", ok="ok", found=f"{told}; embedding is off")
    notices = list(opened.asked().notices)
    if found.becoming:
        mend = Mend(does=f"embed {found.left} texts", run=lambda: drained(opened.settings))
        told = f"in use: {found.in_use}; becoming: {found.becoming}, {found.left} texts are left"
        return Check(name="model", ok="warn", found="; ".join([told, *notices]), mends=(mend,))
    if notices:
        why, fix = "", "`satchel model reembed`, or `satchel model use NAME`"
        if not _configured_is_here(opened):
            why = "the configured model is not used, and none takes the place of the one in use"
            fix = (
                "unset `embedding.model` or SATCHEL_MODEL, or name a usable model of"
                " `satchel model list`"
            )
        return Check(name="model", ok="warn", found="; ".join([told, *notices]), why=why, fix=fix)
    return Check(name="model", ok="ok", found=told)


def _configured_is_here(opened: Replica) -> bool:
    try:
        _ = opened.engines.configured().model_id  # the weights are read, too
    except EngineUnavailable:
        return False
    return True


def drained(settings: Settings) -> str:
    """Embed what waits, for a while. Raises EngineUnavailable where no model is here."""
    from satchel.embedding.queue import drain
    from satchel.replica import open_replica

    with open_replica(settings) as opened:
        done = drain(opened, limit_s=DRAIN_LIMIT_S)
    return f"embedded {done.done} texts, {done.left} are left"
