"""The facts of a change: whatever is asked for in whatever order, they never contradict."""

from __future__ import annotations

import sys
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from satchel.embedding.lacking import BLANKS
from satchel.embedding.standing import Standing

models = st.sampled_from(["a@1", "b@2", "c@3"])
steps = st.lists(st.one_of(models, st.just("arrived"), st.just("dropped")))


@given(steps)
def test_plain_whatever_is_asked_for_in_whatever_order(story: list[str]) -> None:
    standing, wanted = Standing(), None
    for step in story:
        before = standing
        if step == "arrived":
            standing = standing.arrived()
            assert standing.in_use == before.target
        elif step == "dropped":
            standing = replace(standing, dropped=True)
        else:
            wanted = step
            standing = standing.towards(step)
            assert standing.in_use == (before.in_use or step), "a wish alone changes nothing"
        assert standing.target == wanted
        assert standing.becoming != standing.in_use or wanted is None
        assert not {standing.in_use, standing.becoming} & set(standing.left)
        assert len(set(standing.left)) == len(standing.left)
        new = set(standing.left) - set(before.left)
        assert not (new and standing.dropped), "what is newly left is not dropped yet"


def test_plain_blanks_are_what_strip_takes_away() -> None:
    assert set(BLANKS) == {chr(one) for one in range(sys.maxunicode + 1) if chr(one).isspace()}
