"""The summary of a session: what was decided, noted, done and said, with who and when.

It is extractive and follows from its sources alone. Whoever wants a model to write the text gives a
`Summarizer`: it gets what was extracted, and nothing else of the session.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final, Protocol

from satchel.memory import text
from satchel.memory.limits import (
    SESSION_LINE_CHARS_MAX,
    SESSION_LINES_MAX,
    SOURCE_CHARS_MAX,
    TIME_MS_MAX,
    TIME_MS_MIN,
)
from satchel.memory.sessions.key_sentences import Sentence, choose, sentences
from satchel.memory.sessions.sources import Source

if TYPE_CHECKING:
    from satchel.memory.search.tokens import Tokenizer
    from satchel.ranking.contract import Ranking
    from satchel_sync.tables import Session

DECISION = "decision"
PEOPLE_SHOWN_MAX = 12
SECTIONS: Final = {
    "decided": "Decided:",
    "noted": "Noted:",
    "done": "Tasks:",
    "said": "Said:",
}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Quote:
    """A line of a summary: what a source says, in its own words. `at` is UTC ms."""

    source: Source
    text: str

    @property
    def section(self) -> str:
        """Which of SECTIONS it stands in."""
        if self.source.kind == "memory":
            return "decided" if self.source.label == DECISION else "noted"
        return "done" if self.source.kind == "task" else "said"


@dataclass(frozen=True, slots=True, kw_only=True)
class Extract:
    """What a session comes to. Times are UTC ms; `counts` are sources by kind."""

    title: str | None
    began_at: int | None
    ended_at: int | None
    people: Sequence[str]
    counts: dict[str, int]
    quotes: Sequence[Quote]

    @property
    def heading(self) -> str:
        """The title, or the day."""
        return self.title or f"Session of {_moment(self.began_at)[:10] or 'unknown day'}"


class Summarizer(Protocol):
    """What may write the text of a summary in place of `render`."""

    @property
    def name(self) -> str:
        """Kept with the summary; one that a model wrote is not written anew by a sweep."""
        ...

    def summarise(self, extract: Extract) -> str:
        """The text: not empty, at most 1 MB. Called outside of any transaction."""
        ...


class Extractive:
    """The summarizer that is used unless another is given."""

    name = "extractive"

    def summarise(self, extract: Extract) -> str:
        """The extract itself, laid out for people."""
        return render(extract)


def extract(
    engine: Ranking, tokenizer: Tokenizer, session: Session, sources: Sequence[Source]
) -> Extract:
    """The key sentences of the sources, with who and when. Pure: the same for the same rows."""
    times = [source.at for source in sources if source.at is not None]
    began = session.opened_at if session.opened_at is not None else min(times, default=None)
    speakers = (source.who for source in sources if source.who)
    return Extract(
        title=session.title,
        began_at=began,
        ended_at=max(times, default=began),
        people=list(dict.fromkeys([*text.stored_list(session.agent_ids), *speakers])),
        counts={kind: sum(source.kind == kind for source in sources) for kind in SESSION_LINES_MAX},
        quotes=[
            quote
            for kind, lines in SESSION_LINES_MAX.items()
            for quote in _quotes(
                engine, tokenizer, [one for one in sources if one.kind == kind], lines
            )
        ],
    )


def render(extract: Extract) -> str:
    """The text: a line on what, when and who, then the sections that have something."""
    lines = [_headline(extract)]
    for section, heading in SECTIONS.items():
        quotes = [quote for quote in extract.quotes if quote.section == section]
        if quotes:
            lines += ["", heading, *(_line(quote, extract) for quote in quotes)]
    return "\n".join(lines)


def _quotes(
    engine: Ranking, tokenizer: Tokenizer, sources: Sequence[Source], lines: int
) -> list[Quote]:
    chosen = choose(engine, tokenizer, _sentences(sources), lines)
    return [
        Quote(source=sources[number], text=_joined([one for one in chosen if one.source == number]))
        for number in dict.fromkeys(one.source for one in chosen)
    ]


def _sentences(sources: Sequence[Source]) -> list[Sentence]:
    """All sentences in order, each wording once; a task is one."""
    found: dict[str, Sentence] = {}
    for number, source in enumerate(sources):
        before = sources[number - 1] if number else None
        answers = (
            source.kind == "chatlog"
            and before is not None
            and before.who != source.who
            and before.text.rstrip().endswith("?")
        )
        lifted = source.lifted + (0.5 if source.label == DECISION else 0.0)
        said = source.text[:SOURCE_CHARS_MAX]
        for place, one in enumerate([said] if source.kind == "task" else sentences(said)):
            sentence = Sentence(number, place, one, lifted, answers)
            found.setdefault(text.normalised(one).casefold(), sentence)
    return list(found.values())


def _joined(chosen: Sequence[Sentence]) -> str:
    """The sentences of one source as one line; a gap between them is shown."""
    said, last = "", None
    for one in chosen:
        gap = "" if last is None else " " if one.number == last + 1 else " … "
        said, last = f"{said}{gap}{_one_line(one.text)}", one.number
    return said


def _headline(extract: Extract) -> str:
    began, ended = _moment(extract.began_at), _moment(extract.ended_at)
    until = ended[11:] if ended[:10] == began[:10] else ended
    when = began if ended == began else f"{began} to {until}"
    words = {"memory": "memory", "task": "task", "chatlog": "turn"}
    counted = [_count(extract.counts[kind], word) for kind, word in words.items()]
    people = [_one_line(name) for name in extract.people[:PEOPLE_SHOWN_MAX]]
    if len(extract.people) > len(people):
        people.append(f"{len(extract.people) - len(people)} more")
    named = f"{_one_line(extract.title or 'Session')}, {when} UTC"
    parts = [named, _and(people), ", ".join(one for one in counted if one)]
    return "; ".join(part for part in parts if part) + "."


def _line(quote: Quote, extract: Extract) -> str:
    source = quote.source
    at, began = _moment(source.at), _moment(extract.began_at)
    when = at[11:] if at[:10] == began[:10] else at
    told = ", ".join(part for part in (_one_line(source.who or ""), when) if part)
    label = f"{source.label}: " if source.kind == "task" and source.label else ""
    return f"- {label}{_cut(quote.text)}" + (f" ({told})" if told else "")


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _cut(line: str) -> str:
    """A long line ends after a word, with an ellipsis."""
    if len(line) <= SESSION_LINE_CHARS_MAX:
        return line
    kept = line[: SESSION_LINE_CHARS_MAX - 2]
    return f"{kept[: kept.rfind(' ')] if ' ' in kept else kept} …"


def _moment(at_ms: int | None) -> str:
    """`2027-01-15 08:00`, or nothing where no calendar has the time."""
    if at_ms is None or not TIME_MS_MIN <= at_ms <= TIME_MS_MAX:
        return ""
    return f"{_EPOCH + timedelta(milliseconds=at_ms):%Y-%m-%d %H:%M}"


def _count(number: int, word: str) -> str:
    if not number:
        return ""
    plural = {"memory": "memories"}.get(word, f"{word}s")
    return f"{number} {word if number == 1 else plural}"


def _and(names: Iterable[str]) -> str:
    *first, last = [*names] or [""]
    return f"{', '.join(first)} and {last}" if first else last
