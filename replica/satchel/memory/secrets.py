"""Secrets in text: keys and tokens of well-known shapes, found and replaced. Not a vault."""

from __future__ import annotations

import re

PATTERNS: tuple[tuple[str, re.Pattern[str]], ...] = (
    (
        "private key",
        re.compile(
            r"-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----.*?"
            r"(?:-----END (?:[A-Z]+ )*PRIVATE KEY-----|\Z)",
            re.DOTALL,
        ),
    ),
    ("AWS key", re.compile(r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b")),
    (
        "GitHub token",
        re.compile(r"\b(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{60,})\b"),
    ),
    ("API key", re.compile(r"\bsk-(?:[a-z]+-)*[A-Za-z0-9_-]{20,}")),
    ("Google key", re.compile(r"\bAIza[0-9A-Za-z_-]{35}\b")),
    ("Slack token", re.compile(r"\bxox[abprs]-[0-9A-Za-z-]{10,}")),
    ("JWT", re.compile(r"\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}")),
    ("password in a URL", re.compile(r"(?<=://)[^\s/:@]+:[^\s/@]+(?=@)")),
)
"""Name and shape of each kind of secret."""


def redact(text: str) -> tuple[str, int]:
    """The text with each secret replaced by `[redacted: kind]`, and how many there were."""
    count = 0
    for name, pattern in PATTERNS:
        text, found = pattern.subn(f"[redacted: {name}]", text)
        count += found
    return text, count


def kinds(text: str) -> list[str]:
    """The kinds of secrets in a text."""
    return [name for name, pattern in PATTERNS if pattern.search(text)]
