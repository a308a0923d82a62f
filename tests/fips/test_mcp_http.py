"""MCP over HTTP in FIPS mode: the server runs on the module, and its TLS offers what that knows."""

from __future__ import annotations

import socket
import ssl
from pathlib import Path

import pytest
import trustme
from fix_fips import BUILD_TIMEOUT_S, FipsHome
from fix_mcp import http_server

pytestmark = pytest.mark.timeout(BUILD_TIMEOUT_S)


def test_it_serves_tls_of_the_module(home: FipsHome, tmp_path: Path) -> None:
    authority = trustme.CA()
    made = authority.issue_cert("127.0.0.1")
    certificate, key = tmp_path / "server.pem", tmp_path / "server.key"
    made.private_key_pem.write_to_path(key)
    for part in made.cert_chain_pems:
        part.write_to_path(certificate, append=True)
    files = {"SATCHEL_MCP_HTTP_CERTIFICATE": str(certificate), "SATCHEL_MCP_HTTP_KEY": str(key)}
    with http_server(home.path, SATCHEL_FIPS="1", **files) as server:
        trusting = ssl.create_default_context()
        authority.configure_trust(trusting)
        with (
            socket.create_connection(("127.0.0.1", server.port)) as line,
            trusting.wrap_socket(line, server_hostname="127.0.0.1") as secure,
        ):
            cipher = secure.cipher()
            assert cipher is not None
            assert "GCM" in cipher[0]
            request = f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n"
            token = f"Authorization: Bearer {server.token('ann')}\r\n"
            secure.sendall(f"{request}{token}Content-Length: 0\r\n\r\n".encode())
            assert secure.recv(100).startswith(b"HTTP/1.1 4"), "known, and no message"
        chacha = ssl.create_default_context()
        authority.configure_trust(chacha)
        chacha.maximum_version = ssl.TLSVersion.TLSv1_2
        chacha.set_ciphers("ECDHE+CHACHA20")
        with (
            socket.create_connection(("127.0.0.1", server.port)) as line,
            pytest.raises(ssl.SSLError),
        ):
            chacha.wrap_socket(line, server_hostname="127.0.0.1")
