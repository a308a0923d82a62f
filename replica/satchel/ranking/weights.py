"""The one table of the ranking: which signals there are, what each is worth, and why.

Points are those of LoCoMo at turn level (786 questions, all-MiniLM-L6-v2): what any@1, any@10 and
all@10 lose without the signal. docs/QUALITY.md has the ablation of today.
"""

from __future__ import annotations

from typing import Final

from satchel.ranking.recipe import Calibration, Floor, Recipe, Signal, Unasked

RECIPE: Final = Recipe(
    signals=(
        Signal(
            name="meaning",
            weight=0.7,
            role="core",
            evidence=True,
            reason="Calibrated cosine of question and text; of a chat turn, with the one before it."
            " Without any vector any@10 falls by about 6.",
        ),
        Signal(
            name="alone",
            weight=0.3,
            role="core",
            evidence=True,
            reason="The same of the turn by itself; of a memory, which has no turn before it, the"
            " same number again. The mean is right, the maximum loses. 0.7, 0.3, 0.4.",
        ),
        Signal(
            name="keyword",
            weight=0.224,
            role="core",
            evidence=True,
            reason="BM25 over ln N of its kind, so one weight (0.7 of 0.32) fits stores of every"
            " size and any mixture of kinds. 12.9, 6.3, 8.9: the strongest of all.",
        ),
        Signal(
            name="speaker",
            weight=0.4,
            role="fact",
            reason="The question names who said it; a filter would lose any@10. 5.0, 1.5, 2.9.",
        ),
        Signal(
            name="date",
            weight=0.4,
            role="fact",
            reason="The row's time fits a date of the question. 2.2, 1.5, 1.9.",
        ),
        Signal(
            name="phrase",
            weight=0.2,
            role="fact",
            evidence=True,
            reason="A quoted phrase stands in the text word for word: it was asked for.",
        ),
        Signal(
            name="title",
            weight=0.3,
            role="fact",
            evidence=True,
            reason="The title or an alias stands in the question, a typo allowed: with it a strict"
            " floor lets pass what is meant, and only that.",
        ),
        Signal(
            name="id",
            weight=2.0,
            role="fact",
            evidence=True,
            reason="The question names the row's id: nothing is more certain, so nothing beats it.",
        ),
        Signal(
            name="when",
            weight=0.15,
            role="extra",
            reason="The question asks when or how long and the turn has a word of time."
            " 0.5, 0.5, 0.4.",
        ),
        Signal(
            name="question",
            weight=-0.1,
            role="extra",
            reason="A turn that asks is seldom the answer. 1.0, 0.1, 0.4.",
        ),
        Signal(
            name="length",
            weight=0.03,
            role="extra",
            reason="ln(1 + words), a hundred at most: of two as good, what says more, but no"
            " document for its size. 0.4, 0.2, 0.3.",
        ),
        Signal(
            name="number",
            weight=0.05,
            role="extra",
            reason="A turn that holds a number tells something. 0.5, 0.0, 0.1.",
        ),
        Signal(
            name="reaction",
            weight=-0.05,
            role="extra",
            reason="A turn that opens as a reaction (wow, thanks, …) tells little. 0.9, 0.6, 0.7.",
        ),
        Signal(
            name="falls",
            weight=-0.4,
            role="extra",
            reason="How far the turn falls below the one before it, which did not ask: it comments"
            " on what that one says. 0.3, 0.3, 0.4.",
        ),
        Signal(
            name="importance",
            weight=0.02,
            role="extra",
            reason="Decides between equals only: a habit of writers, not evidence.",
        ),
        Signal(
            name="confidence",
            weight=0.01,
            role="extra",
            reason="As importance: between equals, what is surer.",
        ),
        Signal(
            name="pinned",
            weight=0.01,
            role="extra",
            reason="Between equals, what someone has pinned.",
        ),
        Signal(
            name="recency",
            weight=0.01,
            role="extra",
            reason="Between equals, the newer or more lately used, by the half-life of its type;"
            " more would bury what is old and right.",
        ),
        Signal(
            name="layer",
            weight=0.02,
            role="extra",
            reason="Between equals, what is nearer to who asks: the agent's own over its session's,"
            " its space's, its user's, everyone's. A layered recall is one search.",
        ),
        Signal(
            name="used",
            weight=0.01,
            role="extra",
            reason="Between equals, what was of use on more days; more would feed on itself.",
        ),
    ),
    contexts=(
        Signal(
            name="asked",
            weight=0.3,
            role="context",
            reason="The turn before asks what is asked now. 3.1, 0.5, 1.2.",
        ),
        Signal(
            name="session",
            weight=0.5,
            role="context",
            reason="The best of its session: the talk is about this. The mean of the best three"
            " loses, and so does a gate by the turn's own strength. -0.1, 0.8, 1.2.",
        ),
        Signal(
            name="neighbour",
            weight=0.3,
            role="context",
            reason="The best of the turn before, itself and the turn after: answers stand beside."
            " 0.7, 0.3, 0.5.",
        ),
        Signal(
            name="window",
            weight=0.3,
            role="context",
            reason="The best of three turns to either side: the same, a little further."
            " 0.3, 0.1, 0.5.",
        ),
    ),
    reach=3,
    k1=0.8,
    diversity=0.05,
)
"""`when`, `number` and `reaction` are rules of English chats, 0 for memories."""

MEMORIES: Final = Floor(best_least=0.4, of_best=0.5)
TURNS: Final = Floor(best_least=0.15, of_best=0.1)
NO_FLOOR: Final = Floor(best_least=0.0)
UNASKED: Final = Unasked(least=0.55, keyword_most=0.2, words_full=10_000)
"""On PrecisionMemBench 0.95/0.91 (precision/recall) and on the lone notes 0.76/0.40, with 46 of 47
questions that nothing answers left empty and 12 of 14 long prompts about other things; without the
cap on words 4 of those 14. docs/adr/0030 has the table."""
UNASKED_KEYWORDS: Final = Unasked(least=0.35, keyword_most=10.0, words_full=8)
"""By words alone 0.98/0.85 and 0.77/0.12, with 46 of 47 and 14 of 14."""
CALIBRATED: Final[dict[str, Calibration]] = {
    "": Calibration(
        nothing=0.0,
        all=1.0,
        memory=MEMORIES,
        chatlog=TURNS,
        unasked=UNASKED,
        reason="all-MiniLM-L6-v2, as measured; and every model that is not listed. The floor of"
        " memories: on PrecisionMemBench 0.55 for every hit gives 0.935/0.976 (precision/recall),"
        " but leaves half of the paraphrased questions about lone notes without a hit (recall"
        " 0.49); 0.4 for the best and half of it for the rest gives 0.90/0.95 and recall 0.78."
        " 0.35 to 0.45 and 0.5 to 0.6 do about the same. That of chat turns only keeps out what has"
        " nothing to do with the question, and costs nothing; a strict one (0.4) costs four points"
        " of any@10.",
    ),
    "e5": Calibration(
        nothing=0.7,
        all=1.0,
        memory=MEMORIES,
        chatlog=TURNS,
        unasked=UNASKED,
        reason="e5 models give cosines from 0.7 to 1.0 (their model card: a temperature of 0.01);"
        " not measured here.",
    ),
}
"""By a word of the model's name; the empty one fits all."""
KEYWORD_ONLY: Final = Calibration(
    nothing=0.0,
    all=1.0,
    memory=NO_FLOOR,
    chatlog=NO_FLOOR,
    unasked=UNASKED_KEYWORDS,
    reason="Without a model one keyword is enough: there is nothing else to go by.",
)


def calibration(model_id: str | None) -> Calibration:
    """The scale of a model, by its name; of a search by keyword without one."""
    if model_id is None:
        return KEYWORD_ONLY
    words = model_id.partition("@")[0].lower().replace("_", "-").split("-")
    return next((CALIBRATED[word] for word in words if word in CALIBRATED), CALIBRATED[""])
