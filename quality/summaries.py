"""How well a session's key sentences are chosen: `python -m quality.summaries --data FOLDER`.

LoCoMo has observations of each session, each with the turns that it was made from. Of a session
with n such turns, n are chosen, by the key sentences and by plainer rules; told is which share of
the chosen ones is among them.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import apsw
from quality.locomo import FILE

from satchel.memory.search.tokens import Tokenizer
from satchel.memory.sessions.key_sentences import Sentence, choose, sentences
from satchel.ranking import choose as choose_engine

Turns = Sequence[Mapping[str, Any]]
Rule = Callable[[Turns, int], set[str]]
_TURN = re.compile(r"D\d+:\d+")


def main() -> None:
    """Print one line a rule."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    sessions = list(marked(parser.parse_args().data / FILE))
    turns, kept = (fmean(map(len, side)) for side in zip(*sessions, strict=True))
    print(f"{len(sessions)} sessions of {turns:.1f} turns, {kept:.1f} of them marked")
    rules: dict[str, Rule] = {"key sentences": key_sentences(), "longest": longest, "first": first}
    for name, rule in rules.items():
        hits = [len(rule(said, len(told)) & told) / len(told) for said, told in sessions]
        print(f"{name:15}{100 * fmean(hits):6.1f} %")
    print(f"{'chance':15}{100 * fmean(len(t) / len(s) for s, t in sessions):6.1f} %")


def marked(file: Path) -> Iterator[tuple[Turns, set[str]]]:
    """Each session's turns, and those of them that tell something."""
    for sample in json.loads(file.read_text("utf-8")):
        for name, observed in sample["observation"].items():
            said = sample["conversation"][name.removesuffix("_observation")]
            known = {turn["dia_id"] for turn in said}
            told = known & set(_TURN.findall(json.dumps(list(observed.values()))))
            if told:
                yield said, told


def key_sentences() -> Rule:
    """The rule that a session's summary follows."""
    engine, tokenizer = choose_engine("auto"), Tokenizer(apsw.Connection(":memory:"))

    def rule(turns: Turns, count: int) -> set[str]:
        given = list(_sentences(turns))
        for lines in range(count, len(given) + 1):  # several of a turn are one line of a summary
            chosen = choose(engine, tokenizer, given, lines)
            found = {turns[one.source]["dia_id"] for one in chosen}
            if len(found) >= count:
                return found
        return {turn["dia_id"] for turn in turns}

    return rule


def _sentences(turns: Turns) -> Iterator[Sentence]:
    asked = False
    for number, turn in enumerate(turns):
        for place, one in enumerate(sentences(turn["text"])):
            yield Sentence(number, place, one, answers=asked)
        asked = turn["text"].rstrip().endswith("?")


def longest(turns: Turns, count: int) -> set[str]:
    """The turns with the most characters."""
    return {one["dia_id"] for one in sorted(turns, key=lambda one: -len(one["text"]))[:count]}


def first(turns: Turns, count: int) -> set[str]:
    """The turns at the beginning."""
    return {one["dia_id"] for one in turns[:count]}


if __name__ == "__main__":
    main()
