"""A TCP proxy that cuts or stalls connections after so many bytes, either way."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Literal

WAYS = ("up", "down")
Fate = Literal["cut", "stall"]
RESET = struct.pack("ii", 1, 0)
"""SO_LINGER of a socket that is closed by a reset, as a broken line looks like."""


@dataclass
class Proxy:
    """Forwards to `target` until one way has used up its bytes; then every connection is over."""

    target: tuple[str, int]
    listener: socket.socket
    left: dict[str, int] = field(default_factory=dict)
    passed: dict[str, int] = field(default_factory=lambda: dict.fromkeys(WAYS, 0))
    fate: Fate = "cut"
    broken: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _open: list[socket.socket] = field(default_factory=list)
    _threads: list[threading.Thread] = field(default_factory=list)

    @property
    def port(self) -> int:
        """Where it listens on 127.0.0.1."""
        return int(self.listener.getsockname()[1])

    def lay(self, left: Mapping[str, int] | None = None, *, fate: Fate = "cut") -> None:
        """A new line: so many bytes `up` and `down` are left, any number where none is given."""
        self.drop()
        with self._lock:
            self.left, self.fate, self.broken = dict(left or {}), fate, False
            self.passed = dict.fromkeys(WAYS, 0)

    def drop(self) -> None:
        """End all connections by a reset."""
        with self._lock:
            ended, self._open = self._open, []
        for end in ended:
            with suppress(OSError):
                end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
                end.shutdown(socket.SHUT_RDWR)
            end.close()

    def accepting(self) -> None:
        """Until the listener is closed."""
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            with self._lock:
                refused = self.broken and self.fate == "cut"
            if refused:
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
                client.close()
                continue
            server = socket.create_connection(self.target)
            with self._lock:
                self._open += [client, server]
            for way, source, sink in zip(WAYS, (client, server), (server, client), strict=True):
                self._spawn(way, source, sink)

    def close(self) -> None:
        """End everything."""
        with suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.drop()
        for thread in self._threads:
            thread.join(10)

    def _spawn(self, way: str, source: socket.socket, sink: socket.socket) -> None:
        thread = threading.Thread(target=self._pump, args=(way, source, sink), daemon=True)
        self._threads.append(thread)
        thread.start()

    def _pump(self, way: str, source: socket.socket, sink: socket.socket) -> None:
        while True:
            try:
                data = source.recv(65536)
                allowed = self._allowed(way, len(data))
                sink.sendall(data[:allowed])
                if not data:
                    sink.shutdown(socket.SHUT_WR)
                    return
            except OSError:
                return
            if allowed < len(data):
                if self.fate == "cut":
                    self.drop()
                return

    def _allowed(self, way: str, count: int) -> int:
        """How many of `count` bytes still pass; a stalled line lets nothing pass either way."""
        with self._lock:
            allowed = 0 if self.broken else min(count, self.left.get(way, count))
            if way in self.left:
                self.left[way] -= allowed
            self.passed[way] += allowed
            self.broken = self.broken or allowed < count
            return allowed


@contextmanager
def proxy(target: tuple[str, int]) -> Iterator[Proxy]:
    """A proxy on a port of its own, closed at the end."""
    made = Proxy(target, socket.create_server(("127.0.0.1", 0)))
    thread = threading.Thread(target=made.accepting, daemon=True)
    thread.start()
    try:
        yield made
    finally:
        made.close()
        thread.join(10)
