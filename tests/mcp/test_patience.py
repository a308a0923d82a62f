"""Clients that dawdle: heads and bodies have to come in time, and others are served meanwhile."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from fix_mcp import HttpServer, http_server

HEAD_S, BODY_S = 1.0, 1.5
SOON = f"""
import sys
from satchel.mcp_server.http import patience
patience.HEAD_S, patience.BODY_S = {HEAD_S}, {BODY_S}
from satchel.cli.main import run
run(sys.argv[1:])
"""
SLACK_S = 30.0
"""A loaded machine is late."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    home = tmp_path_factory.mktemp("patience") / "home"
    with http_server(home, program=SOON) as listening:
        yield listening


def head(server: HttpServer, token: str, length: int) -> bytes:
    return (
        f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nAuthorization: Bearer {token}\r\n"
        f"Content-Type: application/json\r\nAccept: */*\r\nContent-Length: {length}\r\n\r\n"
    ).encode()


def dripped(server: HttpServer, first: bytes, drip: bytes) -> tuple[bytes, float]:
    """What comes back from `first` and then a byte now and then; seconds until it was closed."""
    began = time.monotonic()
    with socket.create_connection(("127.0.0.1", server.port), timeout=0.1) as line:
        line.sendall(first)
        received = b""
        while time.monotonic() - began < SLACK_S + BODY_S:
            try:
                line.sendall(drip)
                piece = line.recv(65536)
            except TimeoutError:
                continue
            except OSError:
                break
            if not piece:
                break
            received += piece
        return received, time.monotonic() - began


@pytest.mark.parametrize("first", [b"", b"P", b"POST /mcp HTTP/1.1\r\nX: "], ids=len)
def test_a_head_that_drips_is_cut_off(server: HttpServer, first: bytes) -> None:
    received, seconds = dripped(server, first, b"x" if first else b"")
    assert received in (b"",) or received.startswith(b"HTTP/1.1 400")
    assert HEAD_S * 0.9 <= seconds < HEAD_S + SLACK_S


def test_the_head_of_a_second_request_too(server: HttpServer) -> None:
    body = b"{}"
    first = head(server, server.token("ann"), len(body)) + body + b"POST /mcp HTTP/1.1\r\nX: "
    received, seconds = dripped(server, first, b"x")
    assert received.count(b"HTTP/1.1") == 1
    assert seconds < HEAD_S + SLACK_S


def test_a_body_that_drips_is_answered_with_408(server: HttpServer) -> None:
    received, seconds = dripped(server, head(server, server.token("ann"), 10_000), b" ")
    assert received.startswith(b"HTTP/1.1 408"), received
    assert BODY_S * 0.9 <= seconds < BODY_S + SLACK_S


def test_a_body_without_a_token_is_not_waited_for(server: HttpServer) -> None:
    began = time.monotonic()
    received = server.raw(head(server, "wrong", 10_000), wait_s=BODY_S / 2)
    assert received.startswith(b"HTTP/1.1 401")
    assert time.monotonic() - began < SLACK_S


def test_a_crowd_that_dawdles_keeps_nobody_out_for_long(server: HttpServer) -> None:
    good = server.token("ann")
    with ExitStack() as crowd:
        for number in range(300):  # more than CONNECTIONS_MAX
            line = crowd.enter_context(socket.create_connection(("127.0.0.1", server.port)))
            line.sendall(b"POST /mcp HTTP/1.1\r\nX: " if number % 2 else b"")
            if number == 100:
                assert server.post(good).status_code == 200
        deadline = time.monotonic() + HEAD_S + SLACK_S
        while server.post(good).status_code == 503:
            assert time.monotonic() < deadline
            time.sleep(0.1)
    assert server.post(good).status_code == 200
