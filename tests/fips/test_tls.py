"""TLS that Python speaks: a context is listed and judged, and in FIPS mode offers no ChaCha20."""

from __future__ import annotations

import json
import ssl

import pytest
from fix_fips import BUILD_TIMEOUT_S, FipsHome

from satchel_crypto.errors import FipsRefused
from satchel_crypto.fips import tls

pytestmark = pytest.mark.timeout(BUILD_TIMEOUT_S)


def context(ciphers: str = tls.CIPHERS_1_2) -> ssl.SSLContext:
    made = ssl.create_default_context()
    made.set_ciphers(ciphers)
    return made


def test_an_ordinary_context_would_offer_chacha20() -> None:
    assert any("CHACHA20" in name for name in tls.tls_ciphers(ssl.create_default_context()))
    with pytest.raises(FipsRefused, match="CHACHA20"):
        tls.refuse_others(ssl.create_default_context())


@pytest.mark.parametrize("more", ["AES128-SHA", "ECDHE-RSA-AES128-SHA256", "AES128-GCM-SHA256"])
def test_an_old_suite_is_refused_by_name(more: str) -> None:
    made = context(f"{tls.CIPHERS_1_2}:{more}")
    with pytest.raises(FipsRefused, match=more):
        tls.refuse_others(made)


def test_outside_of_fips_mode_nothing_is_judged() -> None:
    tls.require_approved(ssl.create_default_context())


IN_FIPS_MODE = """
import json, ssl
from satchel_crypto.errors import FipsRefused
from satchel_crypto.fips import mode, tls
mode.enter()
default = ssl.create_default_context()
made = ssl.create_default_context()
made.set_ciphers(tls.CIPHERS_1_2)
tls.require_approved(made)
made.minimum_version = ssl.TLSVersion.TLSv1
try:
    tls.require_approved(made)
    old = "taken"
except FipsRefused:
    old = "refused"
print(json.dumps({"default": tls.tls_ciphers(default), "made": tls.tls_ciphers(made), "old": old}))
"""


def test_in_fips_mode_there_is_no_chacha20(home: FipsHome) -> None:
    told = home.python(IN_FIPS_MODE)
    assert told.code == 0, told
    said = json.loads(told.out)
    assert not [name for name in said["default"] if "CHACHA" in name]
    assert {"TLS_AES_256_GCM_SHA384", "ECDHE-RSA-AES256-GCM-SHA384"} <= set(said["made"])
    assert said["old"] == "refused"
