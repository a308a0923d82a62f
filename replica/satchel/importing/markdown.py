"""A folder of Markdown files (or one): each file a memory, its front matter the columns.

Links between the files (`[[wiki]]` and relative ones) become edges.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote

from satchel.errors import InvalidInput, SatchelError
from satchel.importing import front_matter
from satchel.importing.drafts import IMPORT
from satchel.importing.files import read_whole, text_of, unreadable
from satchel.importing.records import Edge, Exported, Fault, Note, Place, Source
from satchel.importing.values import time_ms
from satchel.memory import text
from satchel.memory.limits import TEXT_BYTES_MAX

SUFFIXES = (".md", ".markdown")
LINKS = "links_to"
FILE_BYTES_MAX = TEXT_BYTES_MAX + front_matter.BYTES_MAX
_HEADING = re.compile(r"^#[ \t]+(.+?)[ \t]*#*[ \t]*$", re.M)
_WIKI = re.compile(r"\[\[([^\[\]|#\n]{1,200})[^\[\]\n]{0,200}\]\]")
_RELATIVE = re.compile(r"\]\(<?([^()<>\s#]{1,400}\.(?:md|markdown))(?:#[^()\s]*)?>?\)", re.I)
EXPORTED = (
    *("id", "scope", "space", "agent_id", "user_id", "session_id", "source", "supersedes"),
    *("local", "valid_to", "recorded_at", "links"),
)
"""Keys of our own export that are no column of a new memory: they say whose the old one is."""
Check = Callable[[Any, str], Any]
_MEANINGS: dict[str, tuple[tuple[str, ...], Check]] = {
    "title": (("title", "name"), text.optional_text),
    "type": (("type",), text.name),
    "aliases": (("aliases", "alias"), lambda value, field: text.names(_listed(value), field)),
    "importance": (("importance",), text.share),
    "confidence": (("confidence",), text.share),
    "pinned": (("pinned",), text.flag),
    "valid_from": (("valid_from", "created", "created_at", "date"), time_ms),
    "expires_at": (("expires_at", "expires"), time_ms),
}
"""Column -> the keys of a front matter that mean it, and what refuses a value that does not fit."""


def open_source(path: Path | None) -> Source:
    """The files of a folder in the order of their names; hidden ones and links are not followed."""
    if path is None:
        raise InvalidInput("markdown is read from a file or folder, not stdin", field="path")
    left_out: dict[str, int] = {}
    if not path.is_dir():
        return Source(_records(path.parent, [path.name], left_out), 1, left_out)
    names = sorted(_names(path, left_out))
    return Source(_records(path, names, left_out), len(names), left_out)


def _names(root: Path, left_out: dict[str, int]) -> Iterator[str]:
    """Paths within the folder, with `/` between the parts."""

    def fail(error: OSError) -> None:
        raise unreadable(root, error) from error

    for folder, folders, files in os.walk(root, onerror=fail):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in files:
            path = Path(folder, name)
            if name.startswith(".") or path.suffix.lower() not in SUFFIXES:
                continue
            if path.is_symlink():
                left_out["symbolic links"] = left_out.get("symbolic links", 0) + 1
                continue
            yield path.relative_to(root).as_posix()


def _records(
    root: Path, names: list[str], left_out: dict[str, int]
) -> Iterator[Note | Edge | Fault]:
    home = root.resolve()
    known = _Known(names)
    for name in names:
        place = Place(file=name)
        try:
            whole = text_of(read_whole(root / name, FILE_BYTES_MAX))
            values, body = front_matter.split(whole)
        except SatchelError as error:
            yield Fault(place, error)
            continue
        if not body.strip():
            left_out["empty files"] = left_out.get("empty files", 0) + 1
            continue
        yield _note(place, str(home / name), name, values, body)
        for target in known.linked(name, body):
            ends = (str(home / name), str(home / target))
            yield Edge(place=place, start=ends[0], end=ends[1], type=LINKS, loose=True)


def _note(place: Place, ref: str, name: str, values: dict[str, Any], body: str) -> Note:
    meant = {column: _taken(values, keys, check) for column, (keys, check) in _MEANINGS.items()}
    exported = _exported(values)
    heading = _HEADING.search(body)
    return Note(
        place=place,
        ref=ref,
        name=name,
        title=meant["title"] or (heading[1] if heading else PurePosixPath(name).stem),
        type=meant["type"],
        content=body.strip("\r\n"),
        metadata=values,
        importance=meant["importance"],
        confidence=meant["confidence"],
        pinned=meant["pinned"] is True,
        aliases=_listed(meant["aliases"]),
        valid_from=meant["valid_from"],
        expires_at=meant["expires_at"],
        exported=exported,
    )


def _exported(values: dict[str, Any]) -> Exported | None:
    """What `satchel export` wrote: then its columns are taken away, and its metadata stay."""
    found = (values.get("id"), values.get("content_hash"))
    if not (isinstance(found[0], str) and isinstance(found[1], str)):
        return None
    metadata = values.get("metadata")
    for name in ("metadata", "content_hash", *EXPORTED):
        values.pop(name, None)
    if isinstance(metadata, dict):
        metadata.pop(IMPORT, None)
        values |= {**metadata, **values}
    return Exported(found[0], found[1])


def _taken(values: dict[str, Any], keys: tuple[str, ...], check: Check) -> Any:
    """The value of the first key that fits, which is then no metadata any more."""
    for key in keys:
        value = values.get(key)
        if value in (None, "", []):
            continue
        try:
            check(value, key)
        except InvalidInput:
            continue  # somebody else's meaning of the word: nothing of it is lost
        return values.pop(key)
    return None


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


class _Known:
    """The files that links can mean: by path, and by name alone where no two have it."""

    def __init__(self, names: list[str]) -> None:
        self._paths = {name.lower(): name for name in names}
        stems: dict[str, list[str]] = {}
        for name in names:
            stems.setdefault(PurePosixPath(name).stem.lower(), []).append(name)
        self._stems = {stem: files[0] for stem, files in stems.items() if len(files) == 1}

    def linked(self, name: str, body: str) -> list[str]:
        """The other files that a text links to, each once."""
        folder = PurePosixPath(name).parent
        wiki = (self._wiki(found.strip()) for found in _WIKI.findall(body))
        paths = (self._path(folder, unquote(found)) for found in _RELATIVE.findall(body))
        found = dict.fromkeys(one for one in (*wiki, *paths) if one is not None)
        return [one for one in found if one != name]

    def _wiki(self, named: str) -> str | None:
        key = named.lower().removesuffix(".md")
        return self._paths.get(f"{key}.md") or self._stems.get(key)

    def _path(self, folder: PurePosixPath, given: str) -> str | None:
        whole = os.path.normpath((folder / given).as_posix())
        return self._paths.get(PurePosixPath(whole).as_posix().lower())
