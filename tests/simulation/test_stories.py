"""Stories of crashes, restores, clones, rewinds, wrong clocks and lost sticks end well.

`make sim` plays 20,000 of them.
"""

from __future__ import annotations

import pytest
from simulation.play import failure, play
from simulation.scenes import SCENES, Scene
from simulation.shrink import printed, shrunk
from simulation.steps import Edit, Pass, Story, Sync
from simulation.stories import story_of

SEEDS, AT_ONCE = 400, 50


@pytest.mark.parametrize("first", range(0, SEEDS, AT_ONCE))
def test_every_story_ends_well(first: int) -> None:
    for seed in range(first, first + AT_ONCE):
        why = failure(story_of(seed))
        assert not why, f"seed {seed}: {why}\n{printed(shrunk(story_of(seed), failure))}"


@pytest.mark.parametrize(("scene", "calls"), SCENES, ids=lambda one: getattr(one, "__name__", ""))
def test_every_scene_ends_well(scene: Scene, calls: range) -> None:
    assert {call: why for call in calls if (why := failure(scene(call)))} == {}


def test_a_story_played_again_ends_the_same() -> None:
    ends = [play(story_of(7)).hub.state for _ in range(2)]
    assert ends[0].rows == ends[1].rows
    assert ends[0].losers.keys() == ends[1].losers.keys()


def test_a_failing_story_is_shrunk_to_what_makes_it_fail_and_printed_as_python() -> None:
    story = Story(3, (Edit(0, 0), Pass(5), Sync(1), Edit(1, 2), Sync(0), Pass(1)))

    def fails(story: Story) -> str:
        return "it edits 2" if Edit(1, 2) in story.steps else ""

    short = shrunk(story, fails)
    assert short == Story(1, (Edit(1, 2),))
    assert "Edit(at=1, key=2)" in printed(short)
    found: dict[str, object] = {}
    exec(printed(short).replace("play(Story(", "story = (Story("), found)
    assert found["story"] == short
