"""The contract of a provider, with all its published vectors, on the module: tests/crypto again."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from fix_command import environment
from fix_fips import BUILD_TIMEOUT_S, FipsHome

from satchel_crypto.fips import module

pytestmark = pytest.mark.timeout(BUILD_TIMEOUT_S)

ROOT = Path(__file__).parents[2]
PASSED_MIN = 150
"""A run that finds no test would pass as well."""
OTHERWISE = {
    "test_what_one_seals_another_opens_where_it_has_the_cipher": "the others are refused here",
    "test_fips_is_not_claimed": "here it is, and proved",
    "test_pbkdf2": "vectors of one iteration or a short salt: NIST SP 800-132 allows none of them",
    "test_the_page_says_what_each_provider_has": "here it has the approved ones only",
    "test_in_fips_mode_no_other_provider_is_constructed": "this process is in it",
}
"""Tests that must come out otherwise in FIPS mode; tests/fips has what is so there."""


def test_the_providers_contract_holds_on_the_module(home: FipsHome) -> None:
    command = [
        sys.executable, "-m", "pytest", "tests/crypto", "-q", "-p", "fix_fips_provider",
        "-p", "no:cacheprovider", "-k", f"openssl and not ({' or '.join(OTHERWISE)})",
    ]  # fmt: skip
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=BUILD_TIMEOUT_S,
        env=environment(**module.environment(home.folder), PYTHONPATH=str(ROOT / "tests")),
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
    assert "fips: OpenSSL FIPS Provider 3.1.2" in done.stdout
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed is not None
    assert int(passed[1]) >= PASSED_MIN
