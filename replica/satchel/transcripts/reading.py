"""Reading a transcript: which host wrote it, then its turns. Start here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import BinaryIO, Final

from satchel.errors import InvalidInput, did_you_mean
from satchel.transcripts import claude_code, codex, gemini_cli
from satchel.transcripts.draft import Draft
from satchel.transcripts.pick import Object, an_object, objects, text
from satchel.transcripts.records import Faults, Record, lines, opened, unreadable, whole
from satchel.transcripts.turn import Transcript

PARSERS: Final[dict[str, Callable[..., list[Draft]]]] = {
    claude_code.HOST: claude_code.parse,
    codex.HOST: codex.parse,
    gemini_cli.HOST: gemini_cli.parse,
}
HOSTS: Final = tuple(PARSERS)
RECORDS_LOOKED_AT: Final = 50
"""Of a file that nobody said the host of."""


def read(
    path: Path, host: str | None = None, *, results: bool = False, follow: bool = True
) -> Transcript:
    """The turns in a file of `host`, or of the host that it looks like; see `Transcript`.

    `results` reads also what tools answered; without `follow` a symbolic link is refused. Raises
    TranscriptUnreadable, InvalidInput for a host that is not known.
    """
    if host is not None and host not in PARSERS:
        hint = did_you_mean(host, HOSTS) or f"one of: {', '.join(HOSTS)}"
        raise InvalidInput(f"no transcripts of {host!r} can be read", hint=hint, field="host")
    faults = Faults()
    with opened(path, follow=follow) as file:
        records = _records(file, path, faults)
        first = list(_take(records, RECORDS_LOOKED_AT))
        known = host or looks_like([record.said for record in first])
        if known is None:
            raise unreadable(path, f"it looks like no transcript of {', '.join(HOSTS)}")
        drafts = PARSERS[known](chain(first, records), path.stem, results=results)
    turns = tuple(draft.turn(known) for draft in drafts)
    return Transcript(host=known, turns=turns, faults=tuple(faults))


def looks_like(first: list[Object]) -> str | None:
    """The host whose records these are."""
    for said in first:
        if "projectHash" in said and "sessionId" in said:
            return gemini_cli.HOST
        if text(said.get("type")) in codex.ENVELOPES and "payload" in said:
            return codex.HOST
        if "sessionId" in said and ("uuid" in said or "parentUuid" in said):
            return claude_code.HOST
        if isinstance(said.get("message"), dict) and said.get("type") in ("user", "assistant"):
            return claude_code.HOST
        if said.get("type") == "message" and "role" in said:
            return codex.HOST
    return None


def _records(file: BinaryIO, path: Path, faults: Faults) -> Iterator[Record]:
    """Line by line; a `.json` is one document, whose messages or items stand for lines."""
    if path.suffix != ".json":
        yield from lines(file, faults)
        return
    document = whole(file, path, faults)
    if "items" in document:  # Codex, before it was written in Rust: {session, items}
        meta = an_object(document.get("session"))
        said = [{"type": "session_meta", "payload": meta}, *objects(document["items"])]
        yield from (Record(number, one) for number, one in enumerate(said, 1))
    elif document:
        yield Record(1, document)


def _take(records: Iterator[Record], most: int) -> Iterator[Record]:
    for number, record in enumerate(records, 1):
        yield record
        if number == most:
            return
