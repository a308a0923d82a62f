"""Tokens of services, known by a prefix that the service put there to be found.

Sources: the services' own pages, GitHub's list of supported secret scanning patterns, gitleaks.
"""

from __future__ import annotations

import re

from satchel.redaction.pattern import STARTS, Pattern, token
from satchel.redaction.randomness import CHANGES_MIN, changes

_WORD = "[A-Za-z0-9_-]"


def _is_key(found: re.Match[str]) -> bool:
    """Class names of style sheets begin with `sk-` too."""
    word = found.group()
    return word[3:].isalnum() or any(one.isdigit() for one in word)


def _is_bot(found: re.Match[str]) -> bool:
    return changes(found.group("made")) >= CHANGES_MIN


def _is_random(found: re.Match[str]) -> bool:
    return changes(found.group()) >= CHANGES_MIN


SERVICES: tuple[Pattern, ...] = (
    token("GitHub token", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", least=36),
    token("GitHub token", "github_pat_", least=60, of="[A-Za-z0-9_]"),
    token(
        "GitLab token", "glpat-", "gldt-", "glptt-", "glrt-", "glft-", "glsoat-", "gloas-",
        "glcbt-", "glimt-", "glagent-", "glffct-", "GR1348941", least=20, of="[A-Za-z0-9_.-]",
    ),
    token("Atlassian token", "ATATT3", "ATCTT3", least=60, of="[A-Za-z0-9_=-]"),
    token("Bitbucket token", "ATBB", least=32, most=32),
    token("Slack token", "xoxa-", "xoxb-", "xoxe-", "xoxo-", "xoxp-", "xoxr-", "xoxs-",
          "xoxe.xox", "xapp-", least=10, of="[A-Za-z0-9-]"),
    Pattern(
        kind="Slack webhook",
        literals=("hooks.slack",),
        solid=True,
        shape=r"hooks\.slack(?:-gov)?\.com/(?:services|workflows|triggers)/"
        r"(?P<secret>[A-Za-z0-9_/-]{20,128})",
    ),
    Pattern(
        kind="Discord webhook",
        literals=("/api/webhooks/",),
        solid=True,
        shape=r"/api/webhooks/[0-9]{15,20}/(?P<secret>[A-Za-z0-9_-]{50,128})",
    ),
    Pattern(  # base64 of the bot's number, of the time, and a signature
        kind="Discord token",
        literals=("MD", "MT", "Mj", "Mz", "ND", "NT", "Nj", "Nz", "OD", "OT"),
        solid=True,
        shape=STARTS + r"(?:M[DTjz]|N[DTjz]|O[DT])[A-Za-z0-9]{21,26}\.[A-Za-z0-9_-]{6}\."
        r"(?P<made>[A-Za-z0-9_-]{27,38})(?![A-Za-z0-9_-])",
        holds=_is_bot,
    ),
    Pattern(
        kind="Firebase key",
        literals=(":APA91b",),
        solid=True,
        before=11,
        shape=r"[A-Za-z0-9_-]{11}:APA91b[A-Za-z0-9_-]{100,256}",
        tail="[A-Za-z0-9_-]",
    ),
    Pattern(
        kind="Telegram token",
        literals=(":AA",),
        solid=True,
        shape=r"(?<=[0-9]{8}):(?P<secret>AA[A-Za-z0-9_-]{33})(?![A-Za-z0-9_-])",
    ),
    token("Stripe key", "sk_live_", "sk_test_", "sk_prod_", "rk_live_", "rk_test_", "rk_prod_",
          least=10),
    token("Stripe webhook secret", "whsec_", least=24, of="[A-Za-z0-9+/=]"),
    token("Twilio key", "SK", least=32, most=32, of="[0-9a-f]"),
    Pattern(
        kind="SendGrid key",
        literals=("SG.",),
        solid=True,
        shape=STARTS + r"SG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{32,64}(?![A-Za-z0-9_-])",
    ),
    token("Mailgun key", "key-", least=32, most=32, of="[0-9a-f]"),
    Pattern(
        kind="Mailchimp key",
        literals=("-us",),
        solid=True,
        before=32,
        shape=STARTS + r"[0-9a-f]{32}-us[0-9]{1,2}(?![A-Za-z0-9])",
    ),
    token("npm token", "npm_", least=36, most=36),
    token("PyPI token", "pypi-Ag", least=50, of=_WORD),
    token("RubyGems key", "rubygems_", least=48, most=48, of="[a-f0-9]"),
    token("Docker token", "dckr_pat_", "dckr_oat_", least=24, of=_WORD),
    token("Hugging Face token", "hf_", "api_org_", least=30),
    token("Anthropic key", "sk-ant-", least=20, of=_WORD),
    token("OpenAI key", "sk-proj-", "sk-svcacct-", "sk-admin-", "sk-None-", least=20, of=_WORD),
    token("API key", "sk-", least=20, of=_WORD, holds=_is_key),
    token("Groq key", "gsk_", least=40),
    token("xAI key", "xai-", least=60),
    token("Perplexity key", "pplx-", least=40),
    token("Replicate token", "r8_", least=37, most=37),
    token("Notion token", "ntn_", least=40),
    token("Linear key", "lin_api_", least=32),
    token("Grafana token", "glsa_", "glc_", least=32, of="[A-Za-z0-9_=+/]"),
    token("New Relic key", "NRAK-", least=27, most=27, of="[A-Z0-9]"),
    token("Sentry token", "sntrys_", "sntryu_", least=40, of="[A-Za-z0-9_=+/]"),
    token("Shopify token", "shpat_", "shpca_", "shppa_", "shpss_", least=32, most=32,
          of="[a-fA-F0-9]"),
    token("Square token", "sq0atp-", "sq0csp-", least=22, of=_WORD),
    token("Figma token", "figd_", least=40, of=_WORD),
    token("Pulumi token", "pul-", least=40, most=40, of="[a-f0-9]"),
    token("PlanetScale token", "pscale_tkn_", "pscale_pw_", "pscale_oauth_", least=32,
          of="[A-Za-z0-9_=.-]"),
    token("Doppler token", "dp.pt.", "dp.st.", "dp.sa.", least=40, of="[A-Za-z0-9.]"),
    token("Tailscale key", "tskey-", least=20, of=_WORD),
    token("Supabase token", "sbp_", least=40, most=40, of="[a-f0-9]"),
    token("satchel token", "satchel_", least=43, most=43, of=_WORD, holds=_is_random),
)  # fmt: skip
