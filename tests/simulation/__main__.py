"""Play many stories on all cores: `python -m simulation --runs 20000 --seed 1 --jobs 2`."""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import time
from collections.abc import Iterator
from itertools import islice

from simulation.mutations import caught
from simulation.mutations_of_identity import MUTATIONS
from simulation.play import failure
from simulation.shrink import printed, shrunk
from simulation.stories import story_of

CHUNK = 100


def main() -> int:
    """Play; 1 as soon as a story fails, which is shrunk and printed."""
    parser = argparse.ArgumentParser(prog="python -m simulation", description=__doc__)
    parser.add_argument("--runs", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--jobs", type=int, default=multiprocessing.cpu_count())
    parser.add_argument("--mutations", type=int, default=0, help="stories for each mutation")
    given = parser.parse_args()
    if given.mutations:
        return switch_off(given.mutations, given.jobs)
    seeds = iter(range(given.seed, given.seed + given.runs))
    began, done = time.monotonic(), 0
    with multiprocessing.Pool(given.jobs) as pool:
        for played, found in pool.imap_unordered(play_some, chunks(seeds)):
            if found:
                pool.terminate()
                return tell(*found)
            done += played
            a_minute = done / (time.monotonic() - began) * 60
            say(f"\r[satchel] {done} of {given.runs} stories, {a_minute:,.0f} a minute")
    say("\n[satchel] every story ends well\n")
    return 0


def switch_off(stories_max: int, jobs: int) -> int:
    """Switch every rule off, one at a time; 1 if no story of so many shows one."""
    missed = 0
    with multiprocessing.Pool(jobs) as pool:
        tasks = [(number, stories_max) for number in range(len(MUTATIONS))]
        for name, stories, why in pool.imap(switch_one_off, tasks):
            missed += not why
            say(f"[satchel] {name}: {f'story {stories}: {why[:80]}' if why else 'NOT SEEN'}\n")
    say(f"[satchel] {len(MUTATIONS) - missed} of {len(MUTATIONS)} mutations are seen\n")
    return int(missed > 0)


def switch_one_off(task: tuple[int, int]) -> tuple[str, int, str]:
    """(name, stories that it took, how the last one ended)."""
    number, stories_max = task
    return (MUTATIONS[number].name, *caught(MUTATIONS[number], stories_max))


def chunks(seeds: Iterator[int]) -> Iterator[tuple[int, ...]]:
    """`CHUNK` seeds at a time."""
    while some := tuple(islice(seeds, CHUNK)):
        yield some


def play_some(seeds: tuple[int, ...]) -> tuple[int, tuple[int, str] | None]:
    """(how many were played, (seed, why) of the first that failed)."""
    for played, seed in enumerate(seeds):
        if why := failure(story_of(seed)):
            return played, (seed, why)
    return len(seeds), None


def tell(seed: int, why: str) -> int:
    """Shrink a failing story and print it."""
    say(f"\n[satchel] seed {seed} fails: {why}\n[satchel] shrinking ...\n")
    story = shrunk(story_of(seed), failure)
    say(f"\n{printed(story)}\n[satchel] {failure(story)}\n")
    say(f"[satchel] again: python -m simulation --seed {seed} --runs 1 (PYTHONPATH=tests)\n")
    return 1


def say(text: str) -> None:
    """Print now."""
    sys.stdout.write(text)
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
