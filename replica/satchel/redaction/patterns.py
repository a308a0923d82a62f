"""The table of all kinds; where two overlap, the one that stands first gives its name."""

from __future__ import annotations

from satchel.redaction.cloud_patterns import CLOUD
from satchel.redaction.key_patterns import KEYS
from satchel.redaction.pattern import Pattern
from satchel.redaction.place_patterns import PLACES
from satchel.redaction.service_patterns import SERVICES
from satchel.redaction.url_patterns import URLS
from satchel.redaction.word_patterns import WORDS

PATTERNS: tuple[Pattern, ...] = (*KEYS, *CLOUD, *SERVICES, *URLS, *PLACES, *WORDS)
