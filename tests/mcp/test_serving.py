"""Where a server listens: loopback by default, elsewhere with TLS, and never past the policy."""

from __future__ import annotations

import ssl
from pathlib import Path

import httpx2
import pytest
import trustme
from fix_command import run
from fix_mcp import ACCEPT, ASKED, http_server

from satchel import config, mcp_tokens
from satchel.config import Settings
from satchel.errors import ConfigInvalid, Refused
from satchel.mcp_server.http.listening import permitted
from satchel_crypto.errors import FipsRefused, KeyInvalid, NetworkRefused
from satchel_crypto.fips.tls import refuse_others, server_context, tls_ciphers

ENABLED = {"SATCHEL_NETWORK_MCP_HTTP_ENABLED": "true"}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def files(authority: trustme.CA, tmp_path: Path) -> dict[str, str]:
    """The variables that name a certificate for 127.0.0.1 and its key."""
    made = authority.issue_cert("127.0.0.1", "satchel.test")
    certificate, key = tmp_path / "server.pem", tmp_path / "server.key"
    made.private_key_pem.write_to_path(key)
    for part in made.cert_chain_pems:
        part.write_to_path(certificate, append=True)
    return {
        "SATCHEL_MCP_HTTP_CERTIFICATE": str(certificate),
        "SATCHEL_MCP_HTTP_KEY": str(key),
    }


def settings(home: Path, **variables: str) -> Settings:
    return config.load(environ={"SATCHEL_HOME": str(home), **variables})


def token(home: Path) -> str:
    made = mcp_tokens.create(settings(home), "ann", role="agent", name="first", days=None)
    return str(made["token"])


REFUSED: list[tuple[str | None, dict[str, str], str]] = [
    # host, variables, code
    (None, {}, "network_refused"),
    (None, ENABLED | {"SATCHEL_NETWORK_MODE": "none"}, "network_refused"),
    ("", ENABLED, "network_refused"),
    ("0.0.0.0", ENABLED, "network_refused"),
    ("::", ENABLED, "network_refused"),
    ("192.0.2.7", ENABLED, "network_refused"),
    ("satchel.test", ENABLED, "network_refused"),
    (None, {**ENABLED, "SATCHEL_MCP_HTTP_HOST": "192.0.2.7"}, "network_refused"),
    (None, {**ENABLED, "SATCHEL_MCP_HTTP_KEY": "/nowhere.key"}, "config_invalid"),
]


@pytest.mark.parametrize(("host", "variables", "code"), REFUSED)
def test_a_server_that_may_not_be_is_not(
    home: Path, host: str | None, variables: dict[str, str], code: str
) -> None:
    token(home)
    with pytest.raises((NetworkRefused, ConfigInvalid)) as caught:
        permitted(settings(home, **variables), host)
    assert caught.value.code == code


def test_loopback_or_tls_or_an_attested_reason_is_permitted(
    home: Path, files: dict[str, str]
) -> None:
    token(home)
    reason = {"SATCHEL_NETWORK_MCP_HTTP_ATTESTED": "behind a proxy that speaks TLS"}
    assert permitted(settings(home, **ENABLED)).target().local
    assert permitted(settings(home, **ENABLED), "::1", 0).target().local
    assert permitted(settings(home, **ENABLED, **files), "0.0.0.0").tls
    assert not permitted(settings(home, **ENABLED, **reason), "192.0.2.7").tls


def test_without_a_token_nobody_could_come_in(home: Path) -> None:
    with pytest.raises(Refused) as caught:
        permitted(settings(home, **ENABLED))
    assert "mcp token create" in caught.value.hint


def test_the_command_refuses_as_the_rule_does(home: Path) -> None:
    token(home)
    closed = run("mcp", "--http", "--port", "0", SATCHEL_HOME=str(home))
    assert (closed.code, closed.error["code"], closed.out) == (4, "network_refused", "")
    agent = run("mcp", "--http", "--agent", "ann", SATCHEL_HOME=str(home), **ENABLED)
    assert (agent.code, agent.error["field"], agent.out) == (4, "agent", "")


def test_off_loopback_it_speaks_tls(
    home: Path, files: dict[str, str], authority: trustme.CA
) -> None:
    carried = token(home)
    trusting = ssl.create_default_context()
    authority.configure_trust(trusting)
    with http_server(home, "--host", "0.0.0.0", SATCHEL_MCP_HTTP_NAMES="satchel.test", **files) as (
        server
    ):
        assert server.url.startswith("https://0.0.0.0:")
        url = f"https://127.0.0.1:{server.port}/mcp"
        headers = {"authorization": f"Bearer {carried}", "accept": ACCEPT}
        with httpx2.Client(verify=trusting, headers=headers) as client:
            assert client.post(url, json=ASKED).status_code == 200
            for host, code in (("satchel.test", 200), ("0.0.0.0", 421), ("evil.test", 421)):
                asked = client.post(url, json=ASKED, headers={"host": host})
                assert asked.status_code == code, host
        taken = ("mcp", "--http", "--port", str(server.port))
        second = run(*taken, SATCHEL_HOME=str(home), **ENABLED)
        assert (second.code, second.error["code"]) == (2, "config_invalid")
        assert str(server.port) in second.error["message"]
        with pytest.raises(httpx2.HTTPError):
            httpx2.post(f"http://127.0.0.1:{server.port}/mcp", json=ASKED)
        old = ssl.create_default_context()
        authority.configure_trust(old)
        old.maximum_version = ssl.TLSVersion.TLSv1_2
        old.set_ciphers("ECDHE+CHACHA20")
        with httpx2.Client(verify=old) as client, pytest.raises(httpx2.HTTPError):
            client.post(url, json=ASKED)


def test_a_context_offers_what_fips_mode_knows_and_else_tls_1_3(files: dict[str, str]) -> None:
    certificate = Path(files["SATCHEL_MCP_HTTP_CERTIFICATE"])
    context = server_context(certificate, Path(files["SATCHEL_MCP_HTTP_KEY"]))
    others = {name for name in tls_ciphers(context) if "CHACHA20" in name}
    assert others <= {"TLS_CHACHA20_POLY1305_SHA256"}, "of TLS 1.3 the module decides"
    assert context.minimum_version == ssl.TLSVersion.TLSv1_2
    if others:
        with pytest.raises(FipsRefused):
            refuse_others(context)
    with pytest.raises(KeyInvalid, match=r"server\.pem"):
        server_context(certificate, certificate)
    with pytest.raises(KeyInvalid):
        server_context(Path("/nowhere.pem"), Path("/nowhere.key"))
