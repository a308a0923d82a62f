"""Texts to measure with: words by Zipf's law, half of each text from the words of its topic."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import accumulate, islice

from satchel.memory.text import content_hash
from satchel.store import rows
from satchel_sync.tables import Memory

SEED = 770
WORDS = 20_000
TOPICS = 200
TOPIC_WORDS = 120
CONTENT_WORDS = 68
"""Gives rows of about 770 bytes as `satchel.store.quarantine.row_bytes` counts them."""
TYPES = ("note", "fact", "decision", "procedure")
START_MS = 1_780_000_000_000
_CONSONANTS, _VOWELS = "bcdfghklmnprstvz", "aeiou"


class Corpus:
    """An endless, repeatable stream of memories and of questions about them."""

    def __init__(self, seed: int = SEED) -> None:
        """The same words whatever the seed; it chooses what is written with them."""
        of_language = random.Random(SEED)
        words = {_word(of_language) for _ in range(WORDS * 2)}
        self._words = of_language.sample(sorted(words), WORDS)
        self._weights = list(accumulate(1 / (rank + 3) for rank in range(len(self._words))))
        self._topics = [of_language.sample(self._words, TOPIC_WORDS) for _ in range(TOPICS)]
        self._random = random.Random(seed)

    def text(self, words: int = CONTENT_WORDS) -> str:
        """So many words, half of them common to all topics."""
        topic = self._random.choice(self._topics)
        common = self._random.choices(self._words, cum_weights=self._weights, k=words // 2)
        mixed = [*common, *self._random.choices(topic, k=words - words // 2)]
        self._random.shuffle(mixed)
        return " ".join(mixed)

    def question(self) -> str:
        """One to five words: a topic's, and now and then a common one."""
        length = self._random.randint(1, 4)
        words = self._random.sample(self._random.choice(self._topics), length)
        if self._random.random() < 0.5:
            words += self._random.choices(self._words, cum_weights=self._weights, k=1)
        return " ".join(words)

    def memories(self, count: int) -> Iterator[Memory]:
        """Memories one second apart."""
        return islice(self._endless(), count)

    def _endless(self) -> Iterator[Memory]:
        at_ms = START_MS
        while True:
            at_ms += 1000
            content = self.text()
            yield Memory(
                id=rows.new_id(at_ms),
                type=self._random.choice(TYPES),
                title=self.text(4),
                content=content,
                metadata='{"file": "src/parser.py", "line": 120}',
                scope="user",
                user_id="una",
                source="bench",
                importance=self._random.random(),
                valid_from=at_ms,
                recorded_at=at_ms,
                content_hash=content_hash(content),
            )


def _word(source: random.Random) -> str:
    syllables = source.choices((1, 2, 3, 4), weights=(1, 4, 3, 1))[0]
    return "".join(source.choice(_CONSONANTS) + source.choice(_VOWELS) for _ in range(syllables))
