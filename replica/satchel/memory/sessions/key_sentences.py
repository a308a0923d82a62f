"""The few sentences that say what a stretch of work was about, chosen by words alone.

No model is asked, so the same rows give the same sentences on every machine. Sentences are scored
by how much of what is rare within the session they hold (`Ranking.keyword`) and by how people talk
(`WEIGHTS`), then chosen so that no two say the same (`Ranking.select`).
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from satchel.memory.search import talk
from satchel.memory.search.stopwords import STOP_WORDS
from satchel.ranking.packed import pack

if TYPE_CHECKING:
    from satchel.memory.search.tokens import Tokenizer
    from satchel.ranking.contract import Ranking

K1 = 0.8
DIVERSITY = 0.3
CONTENDERS_A_PLACE = 6
"""Of so many sentences for each place one is chosen: the others stand too far behind."""
SHORT_TERMS = 3
"""A sentence with fewer different terms says nothing by itself."""

WEIGHTS: Final = {
    "central": 1.0,
    "self": 0.4,
    "settles": 0.2,
    "answers": 0.2,
    "time": 0.2,
    "other": -0.2,
    "question": -0.3,
    "short": -0.3,
}
"""What each signal is worth. On 136 chat sessions of LoCoMo, of as many turns as people marked as
telling something 70 % are among those; by chance 43 %, of the first turns 52 %, of the longest 65 %
(`python -m quality.summaries`). No signal alone is worth more than two points: none is finely
tuned."""

_END = re.compile(r"[.!?…][\"'”’)\]]*(?=\s+[^\s\d.,;])|[。！？]|\n|$")
_ABBREVIATED = re.compile(r"\b(?:Mr|Mrs|Ms|Dr|Prof|St|vs|approx|e\.g|i\.e|(?!I\.)[^\W\d_])\.$")
_SELF = re.compile(r"\b(?:I|I['’](?:m|ve|d|ll)|my|we|we['’](?:re|ve|d|ll)|our)\b", re.IGNORECASE)
_OTHER = re.compile(r"\byou(?:r|rs|['’](?:re|ve|d|ll))?\b", re.IGNORECASE)
_SETTLES = re.compile(
    r"\b(?:decid|agreed|conclu|confirm|chose|must|fixed|root cause|turns? out|deadline|blocked)",
    re.IGNORECASE,
)
_UNSPACED = re.compile("[\u0e00-\u0eff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]{3,}")


class Sentence(NamedTuple):
    """A sentence with its place: of source number `source` it is number `number`.

    `lifted` is what it is worth beside its words (a pin, say); `answers`: it was said right after
    another asked.
    """

    source: int
    number: int
    text: str
    lifted: float = 0.0
    answers: bool = False


def sentences(text: str) -> list[str]:
    """The sentences of a text, in order; a line end is an end of a sentence."""
    found: list[str] = []
    start = 0
    for end in _END.finditer(text):
        part, start = text[start : end.end()].strip(), end.end()
        if part and found and _ABBREVIATED.search(found[-1]):
            found[-1] = f"{found[-1]} {part}"
        elif part:
            found.append(part)
    return found


def choose(
    engine: Ranking, tokenizer: Tokenizer, given: Sequence[Sentence], count: int
) -> list[Sentence]:
    """The `count` sentences that tell the most, in the order in which they were given."""
    if len(given) <= count:
        return list(given)
    terms = [Counter(_terms(tokenizer, one.text)) for one in given]
    scores = _scores(engine, given, terms)
    best = sorted(range(len(given)), key=lambda n: (-scores[n], n))[: count * CONTENDERS_A_PLACE]
    vectors, dims = _vectors([terms[n] for n in best])
    chosen = engine.select(
        [scores[n] for n in best],
        [f"{n:09d}" for n in best],
        bytes([1]) * len(best),
        vectors,
        dims,
        count,
        DIVERSITY if dims else 0.0,
    )
    return [given[n] for n in sorted(best[place] for place in chosen)]


def _scores(
    engine: Ranking, given: Sequence[Sentence], terms: Sequence[Counter[str]]
) -> list[float]:
    central = _central(engine, terms)
    most = max(central, default=0.0) or 1.0
    return [
        round(_weighed(one, counted, value / most) + one.lifted, 6)
        for one, counted, value in zip(given, terms, central, strict=True)
    ]


def _central(engine: Ranking, terms: Sequence[Counter[str]]) -> list[float]:
    """BM25 of each sentence against all words of the session: what holds its rare ones leads."""
    frequency = Counter(term for counted in terms for term in counted)
    rarity = {term: math.log1p(len(terms) / count) for term, count in frequency.items()}
    found = []
    for counted in terms:
        # A sentence has few of the words: the engine is given those alone.
        row = pack("I", counted.values())
        idf = pack("d", (rarity[term] for term in counted))
        found.append(engine.keyword(row, 1, idf, K1)[0] if counted else 0.0)
    return found


def _weighed(one: Sentence, counted: Counter[str], central: float) -> float:
    signals = {
        "central": central,
        "self": float(_SELF.search(one.text) is not None),
        "settles": float(_SETTLES.search(one.text) is not None),
        "answers": float(one.answers),
        "time": float(talk.tells_time(one.text)),
        "other": float(_OTHER.search(one.text) is not None),
        "question": float(one.text.rstrip("\"'”’) ").endswith(("?", "？"))),
        "short": float(len(counted) < SHORT_TERMS),
    }
    return sum(WEIGHTS[name] * value for name, value in signals.items())


def _terms(tokenizer: Tokenizer, text: str) -> Iterable[str]:
    """Stems without stop words; scripts without spaces give pairs of characters."""
    words = tokenizer.words(text)
    for stem, raw in zip(words.stems, words.folded, strict=True):
        if not raw.isascii() and _UNSPACED.search(raw):
            yield from (raw[n : n + 2] for n in range(len(raw) - 1))
        elif raw not in STOP_WORDS:
            yield stem


def _vectors(terms: Sequence[Counter[str]]) -> tuple[bytes, int]:
    """Which of the words each sentence has, as rows of float32: likeness is shared words."""
    place = {term: n for n, term in enumerate(dict.fromkeys(t for one in terms for t in one))}
    rows = []
    for counted in terms:
        row = [0.0] * len(place)
        for term in counted:
            row[place[term]] = 1.0
        rows.append(pack("f", row))
    return b"".join(rows), len(place)
