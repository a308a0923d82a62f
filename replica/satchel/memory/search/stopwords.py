"""Words that say nothing about what a memory is about: English stop and question words."""

from __future__ import annotations

import re

STOP_WORDS = frozenset(
    re.findall(
        r"[a-z]+",
        """
        a about after again all also am an and any are aren as at be because been before
        being between both but by can cannot could couldn d did didn do does doesn doing
        don down during each few for from further had hadn has hasn have haven having he
        her here hers herself him himself his how i if in into is isn it its itself just
        ll m me mightn more most mustn my myself needn no nor not now of off on once
        only or other our ours ourselves out over own please re s same shan she should
        shouldn so some such t tell than that the their theirs them themselves then
        there these they this those through to too under until up us ve very was wasn we
        were weren what when where which while who whom whose why will with won would
        wouldn you your yours yourself yourselves
        kind many much sort type
        """,
    )
)
"""Both halves of contractions are here: the tokenizer cuts `don't` into `don` and `t`."""
