"""A turn that was forgotten stays so, whatever becomes of the file that it was in."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from fix_memory import opened

from satchel.capture.keep import capture
from satchel.memory import chatlog
from satchel.replica import Replica
from satchel.store import rows, scrubbing
from satchel.transcripts.turn import Turn
from satchel_sync.tables import CHATLOG

TALK_TURNS = 90


@pytest.fixture
def replica(tmp_path: Path) -> Iterator[Replica]:
    with opened(tmp_path, embedding="off") as found:
        yield found


def turn(words: str, said_at: int | None) -> Turn:
    return Turn(
        conversation_id="talk", role="user", content=words, said_at=said_at, host_agent="codex",
        line=1,
    )  # fmt: skip


def talk(*numbers: int, timed: bool = True) -> list[Turn]:
    return [turn(f"turn {number}", number if timed else None) for number in numbers]


def forget(replica: Replica, gone: set[int], how: str) -> None:
    items = chatlog.show(replica, "talk")["items"]
    keys = [one["id"] for one in items if one["ordinal"] in gone]
    with replica.store.write() as db:
        if how == "forgotten":
            scrubbing.scrub(db, [("chatlog", key) for key in keys], replica.now_ms())
        else:
            assert all(rows.delete(db, CHATLOG, key) for key in keys)


NEW = turn("brand new", 500)
SUMMARY = turn("They said much.", 400)
LATER = turn("turn 6", 600)
ALL = set(range(TALK_TURNS))
SHORTER = {  # what was forgotten, the file then, the turns of it that are new
    "only it": ({6}, talk(6), []),
    "it and a new one": ({6}, [*talk(6), NEW], [NEW]),
    "the tail": ({80}, [*talk(80, 81, 82), NEW], [NEW]),
    "a summary, then the tail": ({80}, [SUMMARY, *talk(80, 81), NEW], [SUMMARY, NEW]),
    "the tail, then a summary": ({89}, [*talk(88, 89), SUMMARY], [SUMMARY]),
    "a summary, then the last": ({89}, [SUMMARY, *talk(89)], [SUMMARY]),
    "a summary, then the last ones": ({86, 88, 89}, [SUMMARY, *talk(86, 87, 88, 89)], [SUMMARY]),
    "rewound to the beginning": ({80}, [*talk(0, 1, 80), NEW], [NEW]),
    "turned round": ({6, 80}, [*talk(81, 80, 7, 6, 5), NEW], [NEW]),
    "some far apart": ({3, 40, 89}, [*talk(3, 40, 89), NEW], [NEW]),
    "all, of which one is left": (ALL, [*talk(70), NEW], [NEW]),
    "all": (ALL, [*talk(*range(TALK_TURNS)), NEW], [NEW]),
    "said again later": ({6}, [*talk(5, 7), NEW, LATER], [NEW, LATER]),
    "said again as the next": ({6}, [*talk(5, 7, 89), LATER], [LATER]),
    "there, and said again": ({6}, [*talk(6, 89), LATER], [LATER]),
    "the last, said again": ({89}, [*talk(80, 89), NEW, turn("turn 89", 700)], [NEW, "again"]),
    "no times": ({6}, [*talk(6, timed=False), turn("brand new", None)], ["brand new"]),
    "no times, the tail": ({80}, [*talk(80, 81, timed=False)], []),
}


@pytest.mark.parametrize("how", ["forgotten", "deleted"])
@pytest.mark.parametrize("case", SHORTER)
def test_a_shorter_file_brings_nothing_back_and_hides_nothing_new(
    replica: Replica, case: str, how: str
) -> None:
    gone, file, new = SHORTER[case]
    timed = not case.startswith("no times")
    capture(replica, talk(*range(TALK_TURNS), timed=timed))
    forget(replica, gone, how)
    done = capture(replica, file)
    assert done.created == len(new)
    assert done.forgotten == sum(one in talk(*gone, timed=timed) for one in file)
    assert capture(replica, file).created == 0
    assert capture(replica, talk(*range(TALK_TURNS), timed=timed)).created == 0
