"""How two texts that mean nearly the same differ: in wording, by a denial, in values, in words.

A model finds "the left sensor" as near to "the right sensor" as a text to its paraphrase, so what
differs is read from the words. English rules; of another language what is not understood counts as
`words`, the answer that replaces nothing.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

Difference = Literal["wording", "denial", "addition", "values", "negation", "order", "words"]
REPLACING: frozenset[Difference] = frozenset({"wording", "denial", "addition"})
"""After these the old text says nothing true that the new one does not say."""
COMPARED_CHARS_MAX = 4_000
"""Longer texts are documents: two of them differ in more than this can tell."""
MOVED_WORDS_MIN = 2
ADDED_TO_WORDS_MIN = 3

_TOKEN = re.compile(
    r"""(?P<quoted>`[^`\n]{1,200}`|"[^"\n]{1,200}"|“[^”\n]{1,200}”|«[^»\n]{1,200}»
        |„[^“”\n]{1,200}[“”]
        |「[^」\n]{1,200}」|(?<![\w'])'[^'\n]{1,200}'(?!\w))
    |(?P<single>[\u3005-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff])
    |(?P<word>[-/$@#~.]{0,3}\w+(?:[-.,:/\\@+'’=&?%#~]{1,3}\w+)*[+#%]{0,3})
    |(?P<end>[.!?:;]|\n)
    |(?P<sign>[^\s,()\[\]{}"'’“”„«»…–—*•])""",
    re.VERBOSE,
)
_INNER = re.compile(r"[._/\\@:=&?#+~]|\d|^[-$]|[a-z][A-Z]")
"""What an identifier, a path, an option or a number has and no common word."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_FILLERS = _words(
    "a an the please just really very also now currently actually anymore still already simply"
    " basically located situated note remember reminder fyi"
)
_EMPTY = _FILLERS | _words("is of that it so there then being")
"""A text says the same with and without them."""
_OWNING = _words("my your our their his her")
"""So it does with and without one of these; another one is another owner."""
_SAME = {"are": "is", "am": "is", "have": "has", "do": "does"}
_PHRASES = re.compile(
    r"\b(?:(?P<over>rather than|instead of)|(?P<some>an? (?:few|little|number|lot|couple))"
    r"|no longer|not any longer)\b",
    re.IGNORECASE,
)
"""`over`, as in "tabs over spaces"; `few` and `a few`; and `not`, in two words."""
_SIGNS = re.compile(r"[\[\](){}<>|*&^=\\`$%@~]")
"""What is code or a formula in them is not compared word by word."""
_AUXILIARY = _words(
    "is are am be was were been do does did has have had can could will would shall should may"
    " might must"
)
_NEGATING = _words("not never no none")
_NUMBERS = _words(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen"
    " sixteen seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety"
    " hundred thousand million billion once twice half dozen first second third fourth fifth sixth"
    " seventh eighth ninth tenth last next today yesterday tomorrow tonight morning noon afternoon"
    " evening night midnight monday tuesday wednesday thursday friday saturday sunday january"
    " february march april may june july august september october november december spring summer"
    " autumn winter daily weekly monthly yearly hourly nightly"
)
"""Numbers, and words that date."""
_BRANCHING = _words(
    "who whom whose which that if when whenever where unless until while because although than"
    " without except after before since then once first"
)
"""With these the order counts, and a `not` may deny a part of which the other does not speak."""
_SOME = _words(
    "a-few a-little a-number a-lot a-couple few several many most some any another other others one"
    " either each half may might"
)
"""Of some it may be so, and of others not."""
_OPPOSITES = (
    ("enabled", "disabled"),
    ("active", "inactive"),
    ("allowed", "forbidden"),
    ("allowed", "disallowed"),
    ("permitted", "prohibited"),
    ("open", "closed"),
    ("opened", "closed"),
    ("on", "off"),
    ("true", "false"),
    ("possible", "impossible"),
    ("always", "never"),
    ("required", "optional"),
    ("up", "down"),
    ("online", "offline"),
    ("running", "stopped"),
    ("done", "undone"),
    ("complete", "incomplete"),
)
_OPPOSED = frozenset(_OPPOSITES) | frozenset((b, a) for a, b in _OPPOSITES)
_JOINING = _words(
    "and or but so because since as with without in on at by for from to into after before during"
    " when while where which who if unless until except only also though although including per"
    " via every each now"
)
"""What may stand behind a whole statement without changing what it is about."""


class Token(NamedTuple):
    """One word: `key` is compared; `kind` tells what a difference in it means."""

    key: str
    kind: Literal["word", "name", "value", "owner", "empty", "end"]


def difference(old: str, new: str) -> Difference:
    """What became of `old` in `new`; the first of the seven that fits."""
    if max(len(old), len(new)) > COMPARED_CHARS_MAX:
        return "words"
    before, after = tokens(old), tokens(new)
    if _asks(before) != _asks(after):
        return "words"
    a, b = _weighty(before), _weighty(after)
    if _signs(old) == _signs(new):
        listed = any(sign in old + new for sign in ",:;")
        if _same(before, after) or (not listed and _moved(_spoken(before), _spoken(after))):
            return "wording"
        if _denied(_spoken(before), _spoken(after)):
            return "denial"
    if _signs(new).startswith(_signs(old)) and _continued(before, after):
        return "addition"
    x, y = ([_uncapped(key) for key in _keys(text)] for text in (a, b))
    if x == y:
        return "values"  # case or signs, which code reads
    if sorted(x) == sorted(y):
        return "order"
    if _only_values(a, b):
        return "values"
    return "negation" if _negated(x, y) else "words"


def same_words(one: str, other: str) -> bool:
    """Whether both say the same in the same words: case, punctuation and fillers aside."""
    if max(len(one), len(other)) > COMPARED_CHARS_MAX or _signs(one) != _signs(other):
        return False
    a, b = tokens(one), tokens(other)
    return _asks(a) == _asks(b) and _same(a, b)


@lru_cache(maxsize=32)
def tokens(text: str) -> tuple[Token, ...]:
    """The words of a text and the ends of its sentences."""
    found: list[Token] = []
    starts = True
    composed = unicodedata.normalize("NFC", text)
    plain = _PHRASES.sub(_phrase, composed)
    for match in _TOKEN.finditer(plain):
        token = _token(match, starts)
        found += token
        starts = token[-1].kind == "end"
    return tuple(found)


def _phrase(match: re.Match[str]) -> str:
    """Several words that mean one."""
    return "a-" + match["some"].split()[1] if match["some"] else "over" if match["over"] else "not"


def _token(match: re.Match[str], starts: bool) -> list[Token]:
    """One match as its words: `isn't` is two."""
    said = match.group()
    if match["end"]:
        return [Token(said, "end")]
    if match["quoted"] or match["sign"]:
        return [Token(said[1:-1] or said, "value")]
    if match["single"]:
        return [Token(said, "word")]
    lower = said.lower().replace("’", "'")
    if lower.endswith("n't"):
        return [_plain({"ca": "can", "wo": "will"}.get(lower[:-3], lower[:-3])), _plain("not")]
    if lower == "cannot":
        return [_plain("can"), _plain("not")]
    if lower in _NUMBERS or (said[0].isdigit() and said[-1].isalnum()):
        return [Token(lower, "value")]
    if _INNER.search(said) or (len(said) > 1 and said.isupper()):
        return [Token(said, "value" if any(one.isdigit() for one in said) else "name")]
    return [Token(said, "name") if said[0].isupper() and not starts else _plain(lower)]


def _plain(word: str) -> Token:
    word = _SAME.get(word, word)
    return Token(word, "empty" if word in _EMPTY else "owner" if word in _OWNING else "word")


def _same(before: Sequence[Token], after: Sequence[Token]) -> bool:
    """Whether the same words follow each other."""
    return _keys(_weighty(before)) == _keys(_weighty(after))


def _signs(text: str) -> str:
    return "".join(_SIGNS.findall(text))


def _asks(found: Sequence[Token]) -> int:
    return sum(one.key == "?" for one in found)


def _keys(found: Sequence[Token]) -> list[str]:
    return [one.key for one in found]


def _uncapped(key: str) -> str:
    """A name as it stands at the start of a sentence too."""
    return key.lower() if key[:1].isupper() and key[1:].islower() else key


def _weighty(found: Sequence[Token]) -> list[Token]:
    return [one for one in found if one.kind not in ("empty", "end")]


def _spoken(found: Sequence[Token]) -> list[str]:
    """The words as they follow each other, without articles and fillers."""
    return [one.key for one in found if one.kind != "end" and one.key not in _FILLERS]


def _changed(a: list[str], b: list[str]) -> tuple[list[str], list[str], list[str]]:
    """What stands before the changed place, what stood there and what stands there now."""
    most = min(len(a), len(b))
    start = next((n for n in range(most) if a[n] != b[n]), most)
    end = next((n for n in range(most - start) if a[-1 - n] != b[-1 - n]), most - start)
    return a[:start], a[start : len(a) - end], b[start : len(b) - end]


def _moved(a: list[str], b: list[str]) -> bool:
    """Whether two neighbouring groups of words changed places, each with all that belongs to it.

    Who does what to whom would be told by the words between, and those move along.
    """
    if sorted(a) != sorted(b) or _BRANCHING & {*a}:
        return False
    _, x, y = _changed(a, b)
    cuts = range(MOVED_WORDS_MIN, len(x) - MOVED_WORDS_MIN + 1)
    return any(x[cut:] + x[:cut] == y for cut in cuts)


def _denied(a: list[str], b: list[str]) -> bool:
    """Whether one says of the same thing that it is so, and the other that it is not."""
    if (_BRANCHING | _SOME) & {*a, *b}:
        return False
    before, gone, come = _changed(a, b)
    behind = bool(before) and before[-1] in _AUXILIARY
    if [*gone, *come] == ["not"]:
        return behind
    opposed = len(gone) == len(come) == 1 and _opposed(gone[0], come[0])
    return opposed and (behind or (not before and {*gone, *come} == {"always", "never"}))


def _negated(a: list[str], b: list[str]) -> bool:
    """Whether they differ by a `not` and what it does to the verb: they may both be true.

    "We use Redis", "we do not use Redis", "we used no Redis": told of, so a wide net will do.
    """
    counts = [sum(key in _NEGATING for key in text) for text in (a, b)]
    dropped = _NEGATING | {"does", "did"}
    left = [[key.rstrip("sde") for key in text if key not in dropped] for text in (a, b)]
    return counts[0] != counts[1] and left[0] == left[1]


def _opposed(one: str, other: str) -> bool:
    short, long = sorted((one, other), key=len)
    prefixed = len(short) > 3 and long in {p + short for p in ("un", "in", "dis", "non", "non-")}
    return (one, other) in _OPPOSED or prefixed


def _continued(before: Sequence[Token], after: Sequence[Token]) -> bool:
    """Whether the new text goes on behind the whole old one, and not in the middle of a phrase."""
    a = [one for one in before if one.key not in _FILLERS]
    b = [one for one in after if one.key not in _FILLERS]
    while a and a[-1].kind == "end":
        a.pop()
    if len(_weighty(a)) < ADDED_TO_WORDS_MIN or _keys(b[: len(a)]) != _keys(a) or len(b) == len(a):
        return False
    follows = b[len(a)]
    return follows.kind == "end" or follows.key in _JOINING


def _only_values(a: Sequence[Token], b: Sequence[Token]) -> bool:
    """Whether all that differs are numbers, dates, quoted texts, names and identifiers."""
    bare = [[one.key for one in text if one.kind not in ("value", "name")] for text in (a, b)]
    return bare[0] == bare[1]
