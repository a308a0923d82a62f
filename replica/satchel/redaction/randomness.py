"""Whether a word was made by chance: Shannon entropy, and how often letters change their kind."""

from __future__ import annotations

from collections import Counter
from math import log2

from satchel.redaction.pattern import compiled

BASE64_BITS_MIN = 4.5
HEX_BITS_MIN = 3.0
"""Bits a character, over base64 and hexadecimal digits: the defaults of truffleHog and of Yelp's
detect-secrets (`Base64HighEntropyString`, `HexHighEntropyString`)."""
SHARE_OF_POSSIBLE = 0.85
"""Of log2(length), the most that a short word can have: 20 characters never reach 4.5 bits."""
RANDOM_CHARS_MIN = 20
"""As truffleHog: below it, words and chance look alike."""
CHANGES_MIN = 0.25
"""Changes between lower case, upper case and digits, a character. In random base62 0.45, in base36
0.40, in hexadecimal 0.47; in camelCase and in-words-with-1-number below 0.2."""

_HEX = r"[0-9a-f]+|[0-9A-F]+"
_CHANGES = (
    r"(?<=[a-z])(?=[A-Z0-9])|(?<=[0-9])(?=[A-Za-z])|(?<=[A-Z])(?=[0-9])|(?<=[A-Z]{2})(?=[a-z])"
)
_NO_WORD = r"[^A-Za-z0-9]+"
_DIGIT = r"\d"
_LETTER = r"[^\W\d_]"


def bits(word: str) -> float:
    """Shannon entropy in bits a character; 0 for an empty word."""
    total = len(word)
    return -sum(n / total * log2(n / total) for n in Counter(word).values())


def changes(word: str) -> float:
    """Changes of kind a character; the capital at the start of a Word counts once."""
    plain = compiled(_NO_WORD).sub("", word)
    return len(compiled(_CHANGES).findall(plain)) / len(plain) if plain else 0.0


def is_hex(word: str) -> bool:
    """Whether a word has hexadecimal digits only, of one case."""
    return compiled(_HEX).fullmatch(word) is not None


def is_random(word: str) -> bool:
    """Whether a word of 20 or more characters looks like made by chance."""
    if len(word) < RANDOM_CHARS_MIN or changes(word) < CHANGES_MIN:
        return False
    if is_hex(word):
        return bits(word) >= HEX_BITS_MIN
    return bits(word) >= min(BASE64_BITS_MIN, SHARE_OF_POSSIBLE * log2(len(word)))


def is_mixed(word: str, chars_min: int) -> bool:
    """Whether a value that is called a secret may be one: letters and digits, not repeated."""
    if len(word) < chars_min:
        return False
    has_both = compiled(_DIGIT).search(word) and compiled(_LETTER).search(word)
    enough = min(HEX_BITS_MIN, SHARE_OF_POSSIBLE * log2(len(word)))
    if has_both:
        return bits(word) >= enough
    return is_random(word)
