"""Credentials of the large clouds; the shapes are those of the vendors' pages and of gitleaks."""

from __future__ import annotations

import re

from satchel.redaction.pattern import STARTS, Pattern, compiled, token
from satchel.redaction.randomness import is_random

_BASE64 = "[A-Za-z0-9+/]"


def _is_by_chance(found: re.Match[str]) -> bool:
    """Before version 1.10 tokens of Vault began with `s.`, as much code does."""
    return is_random(found.group()[2:]) and compiled("[0-9]").search(found.group()) is not None


CLOUD: tuple[Pattern, ...] = (
    token("AWS key", "AKIA", least=16, most=16, of="[A-Z0-9]"),
    Pattern(  # temporary keys; a digit, because ASIA begins words
        kind="AWS key",
        literals=("ASIA", "ABIA", "ACCA"),
        solid=True,
        shape=STARTS + r"A(?:SI|BI|CC)A(?=[A-Z]{0,15}[0-9])[A-Z0-9]{16}(?![A-Z0-9])",
    ),
    Pattern(
        kind="AWS secret key",
        literals=("secret",),
        folded=True,
        shape=r"(?i:secret[ _-]?(?:access[ _-]?)?key)[^\0A-Za-z0-9+/=]{0,4}(?:is )?[=:>]{0,2}"
        rf"[^\0A-Za-z0-9+/]{{0,4}}(?P<secret>{_BASE64}{{40}})(?![A-Za-z0-9+/=])",
    ),
    token("AWS key", "ABSK", least=100, of="[A-Za-z0-9+/=]"),
    token("Google key", "AIza", least=35, most=35, of="[A-Za-z0-9_-]"),
    token("Google client secret", "GOCSPX-", least=28, most=28, of="[A-Za-z0-9_-]"),
    token("Google OAuth token", "ya29.", least=20, of="[A-Za-z0-9_.-]"),
    token("Google OAuth token", "1//0", least=40, of="[A-Za-z0-9_-]"),
    Pattern(
        kind="Azure key",
        literals=("key",),
        also="=",
        folded=True,
        shape=rf"(?i:(?:(?<=Account)|(?<=SharedAccess))Key)=(?P<secret>{_BASE64}{{42,86}}={{1,2}})",
    ),
    Pattern(
        kind="Azure signature",
        literals=("sig",),
        also="=",
        folded=True,
        shape=r"(?i:sig)=(?P<secret>(?:[A-Za-z0-9+/]|%[0-9A-Fa-f]{2}){43,160}={0,2})",
    ),
    Pattern(
        kind="Azure client secret",
        literals=("Q~",),
        solid=True,
        before=4,
        shape=STARTS + r"[A-Za-z0-9_.~-]{3}[0-9]Q~[A-Za-z0-9_.~-]{31,34}(?![A-Za-z0-9_~-])",
    ),
    token("DigitalOcean token", "dop_v1_", "doo_v1_", "dor_v1_", least=64, most=64, of="[a-f0-9]"),
    token("Databricks token", "dapi", least=32, most=32, of="[a-f0-9]"),
    token("Vault token", "hvs.", "hvb.", least=24, of="[A-Za-z0-9_-]"),
    token("Vault token", "s.", least=24, most=24, holds=_is_by_chance),
    Pattern(
        kind="Terraform token",
        literals=(".atlasv1.",),
        solid=True,
        before=14,
        shape=STARTS + r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,80}",
    ),
)
