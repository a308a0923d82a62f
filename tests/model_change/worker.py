"""A process that works on a home until it is ended: `python worker.py HOME MODEL WHAT`.

`write` writes memories, a few chat turns among them, and prints the id of each; `ask` asks every
question again and again and prints `right`, or what it got instead; `embed` carries the change of
the model on and prints the number of texts left after each batch, at last `done`.
"""

from __future__ import annotations

import itertools
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from fix_model_change import PAIRS, TURN, best, machine

from satchel.embedding import library, queue
from satchel.memory.chatlog import write as say
from satchel.memory.write import write
from satchel.replica import Replica


def main(home: Path, model: str, what: str) -> None:
    with machine(home, model or None) as replica:
        {"write": writes, "ask": asks, "embed": embeds}[what](replica)


def writes(replica: Replica) -> None:
    for number in itertools.count():
        said = f"Report {number} of department {number * 7 % 31} was filed on shelf {number}"
        if number % 5 == 4:
            print(say(replica, "work", said)["id"], flush=True)
        else:
            print(write(replica, said).id, flush=True)


def asks(replica: Replica) -> None:
    for text, question in itertools.cycle([*PAIRS.items(), TURN]):
        found = best(replica, question)
        print("right" if found == text else f"{question}: {found}", flush=True)


def embeds(replica: Replica) -> None:
    library.want_configured(replica)
    queue.drain(replica, progress=lambda done, left: print(left, flush=True))
    print("done", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3])
