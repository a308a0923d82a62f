"""How people talk: words of time, numbers, openings that only react. English; others give nothing.

Measured on conversations (ranking/weights.py has what each is worth).
"""

from __future__ import annotations

import re

ASKS_WHEN = (
    r"\bwhen\b|\bhow (?:long|soon|recently|many (?:days|weeks|months|years))\b"
    r"|\b(?:what|which) (?:date|day|week|month|year|time)\b"
)
TIME_WORD = (
    r"\b(?:yesterday|today|tonight|tomorrow|ago|last|next|since|recently|(?:week|month|year|day"
    r"|hour|minute|night|morning|evening)s?|weekend|monday|tuesday|wednesday|thursday|friday"
    r"|saturday|sunday|january|february|march|april|june|july|august|september|october"
    r"|november|december|(?:19|20)\d\d)\b|\b\d{1,2}[:/.]\d\d"
)
NUMBER = (
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|couple|few|once|twice"
    r"|several)\b"
)
REACTION = (
    r"\W*(?:wow|thank|that'?s|sounds|awesome|cool|nice|congrat|glad|great|sorry|yeah|yep"
    r"|no problem|bye|take care|aww|oh\b)"
)


def asks_when(text: str) -> bool:
    """Whether a question asks for a time."""
    return re.search(ASKS_WHEN, text, re.IGNORECASE) is not None


def tells_time(text: str) -> bool:
    """Whether a text has a word of time: then it may answer such a question."""
    return bool(text) and re.search(TIME_WORD, text, re.IGNORECASE) is not None


def has_number(text: str) -> bool:
    """Whether a text counts something."""
    return bool(text) and re.search(NUMBER, text, re.IGNORECASE) is not None


def reacts(text: str) -> bool:
    """Whether a text opens as a reaction to what was said before."""
    return bool(text) and re.match(REACTION, text, re.IGNORECASE) is not None
