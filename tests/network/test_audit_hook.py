"""The audit hook in real processes: no library opens a socket outside of an open path."""

from __future__ import annotations

import _socket
import re
import subprocess
import sys
from pathlib import Path

import pytest
from fix_guarded import guarded, listener

from satchel_crypto.network.audit_hook import HARMLESS, JUDGES

PROGRAMS = {
    "urllib": "import urllib.request as r; r.urlopen(f'http://127.0.0.1:{port}/')",
    "http.client": "import http.client as c\n"
    "c.HTTPConnection('127.0.0.1', port).request('GET', '/')",
    "socket": "import socket; socket.create_connection(('127.0.0.1', port))",
    "connect_ex": "import socket; socket.socket().connect_ex(('127.0.0.1', port))",
    "_socket": "import _socket; _socket.socket(2, 1).connect(('127.0.0.1', port))",
    "asyncio": "import asyncio; asyncio.run(asyncio.open_connection('127.0.0.1', port))",
    "asyncio by name": "import asyncio; asyncio.run(asyncio.open_connection('localhost', port))",
    "anyio": "import anyio; anyio.run(anyio.connect_tcp, '127.0.0.1', port)",
    "datagram": "import socket\n"
    "socket.socket(type=socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', port))",
    "smtp": "import smtplib; smtplib.SMTP('127.0.0.1', port)",
    "ftp": "import ftplib; ftplib.FTP().connect('127.0.0.1', port)",
    "xmlrpc": "import xmlrpc.client as x; x.ServerProxy(f'http://127.0.0.1:{port}').hi()",
    "thread": "import socket\nfrom concurrent.futures import ThreadPoolExecutor as T\n"
    "T().submit(socket.create_connection, ('127.0.0.1', port)).result()",
    "listen": "import socket; socket.create_server(('127.0.0.1', 0))",
    "listen unbound": "import socket; socket.socket().listen()",
    "serve": "import http.server as s; s.HTTPServer(('', 0), s.BaseHTTPRequestHandler)",
    "asyncio serve": "import asyncio\n"
    "async def f(): await asyncio.start_server(print, '127.0.0.1', 0)\n"
    "asyncio.run(f())",
    "name": "import socket; socket.getaddrinfo('example.org', 80)",
    "old name": "import socket; socket.gethostbyname('example.org')",
    "names": "import socket; socket.gethostbyname_ex('example.org')",
    "reverse": "import socket; socket.gethostbyaddr('192.0.2.1')",
    "reverse info": "import socket; socket.getnameinfo(('192.0.2.1', 80), 0)",
    "netlink": "import socket; socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)",
    "raw": "import socket; socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)",
    "no family": "import _socket; _socket.socket().listen()",
    "no number": "import _socket; _socket.socket(-1, 1, -1, None).listen()",
    "no family by a class": "import socket\n"
    "class S(socket.socket):\n"
    "    def __init__(self, fileno=7): super(socket.socket, self).__init__()\n"
    "S().listen()",
    "no family by a function of the same name": "import socket\n"
    "exec('class socket(_socket.socket):\\n'\n"
    "     ' def __init__(self, fileno): _socket.socket.__init__(self)', socket.__dict__)\n"
    "socket.socket(7).listen()",
    "a pair of one's own": "import socket\n"
    "exec('def socketpair(): return socket(AF_INET)', socket.__dict__)\n"
    "socket.socketpair().listen()",
    "within a pair": "import _socket; del _socket.socketpair; import socket\n"
    "exec('class socket(_socket.socket):\\n'\n"
    "     ' def bind(self, address): _socket.socket.bind(self, (\"\", 0))', socket.__dict__)\n"
    "socket.socketpair()",
}
"""What a program might do; `port` is of a server that would notice it."""


@pytest.mark.parametrize("name", PROGRAMS)
def test_no_way_to_a_socket(name: str) -> None:
    if name == "netlink" and not sys.platform.startswith("linux"):
        pytest.skip("only Linux has it")
    with listener() as (port, came):
        found = guarded(
            f"port = int(sys.argv[1])\ntry:\n    exec({PROGRAMS[name]!r})\n"
            "except* NetworkRefused as group:\n"  # anyio raises groups
            "    told['error'] = str(group.exceptions[0])\n",
            str(port),
        )
    assert found.told["error"], "it was not refused"
    assert found.refused >= 1
    assert came == []


def test_without_the_hook_the_same_programs_come_through() -> None:
    """So that the test above can fail: it is the hook that refuses."""
    names = ("urllib", "http.client", "socket", "connect_ex", "_socket", "asyncio", "thread")
    programs = [PROGRAMS[name] for name in names]
    with listener() as (port, came):
        code = f"port = int(sys.argv[1])\nfor one in {programs!r}: exec(one)"
        assert guarded(code, str(port), hook=False).refused == 0
    assert len(came) == len(names)


HELD = """
import socket
with network.open("embed.http", Target("127.0.0.1", 9), policy=ANY):
    stream, datagram = socket.socket(), socket.socket(type=socket.SOCK_DGRAM)
port = int(sys.argv[1])
def attempt(name, call, *arguments):
    try:
        told[name] = repr(call(*arguments))
    except NetworkRefused:
        told[name] = "refused"
attempt("connect", stream.connect, ("127.0.0.1", port))
attempt("connect_ex", stream.connect_ex, ("127.0.0.1", port))
attempt("bind", stream.bind, ("127.0.0.1", 0))
attempt("sendto", datagram.sendto, b"x", ("127.0.0.1", port))
attempt("sendmsg", datagram.sendmsg, [b"x"], [], 0, ("127.0.0.1", port))
again = socket.socket(fileno=stream.detach())
attempt("by number", again.connect, ("127.0.0.1", port))
again.close(); datagram.close()
class Unix(socket.socket):
    family = socket.AF_UNIX
for name, kind in (("stream", socket.SOCK_STREAM), ("datagram", socket.SOCK_DGRAM)):
    with network.open("embed.http", Target("127.0.0.1", 9), policy=ANY):
        lying = Unix(socket.AF_INET, kind)
    attempt(f"lying {name}: connect", lying.connect, ("127.0.0.1", port))
    attempt(f"lying {name}: bind", lying.bind, ("", 0))
    attempt(f"lying {name}: sendto", lying.sendto, b"x", ("127.0.0.1", port))
    lying.close()
"""


def test_each_event_is_judged_by_itself() -> None:
    """Sockets that were made while a path was open are of no use when it is closed."""
    with listener() as (port, came):
        found = guarded(HELD, str(port))
    assert set(found.told.values()) == {"refused"}
    assert len(found.told) == 12
    assert found.refused == 12
    assert came == []


OTHERS = {"socket.herror", "socket.gaierror", "socket.h"}
"""Names of errors and of a C file that stand in the library beside the events."""


def test_every_event_of_the_socket_module_is_judged_or_known_as_harmless() -> None:
    """A newer Python may have more of them."""
    library = getattr(_socket, "__file__", None)
    if library is None:
        pytest.skip("this Python has the socket module built in")
    names = set(re.findall(rb"\x00socket\.([a-z_]+)\x00", Path(library).read_bytes()))
    events = {f"socket.{name.decode()}" for name in names} - OTHERS
    assert "socket.connect" in events, "nothing was found: the test looks in the wrong place"
    assert events - set(JUDGES) - HARMLESS == set()


# ---- what is let through ------------------------------------------------------------------------


def test_a_unix_socket_is_let_through(tmp_path: Path) -> None:
    """A keyring speaks D-Bus over one."""
    found = guarded(
        """
        import socket
        with socket.socket(socket.AF_UNIX) as server, socket.socket(socket.AF_UNIX) as client:
            server.bind(sys.argv[1]); server.listen()
            client.connect(sys.argv[1])
            told["sent"] = client.send(b"hello")
        """,
        str(tmp_path / "bus"),
    )
    assert (found.told, found.refused) == ({"sent": 5}, 0)


def test_a_keyring_on_a_bus_is_asked(tmp_path: Path) -> None:
    """jeepney is what keyring's Secret Service speaks with; nobody answers on this bus."""
    pytest.importorskip("jeepney")
    found = guarded(
        """
        import os, socket, threading
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(sys.argv[1]); server.listen()
            def answer():
                client, _ = server.accept()
                heard = b""
                while len(heard) < 5: heard += client.recv(5)
                told["heard"] = heard[:5].hex()
                client.close()
            thread = threading.Thread(target=answer); thread.start()
            from jeepney.io.blocking import open_dbus_connection
            try:
                open_dbus_connection(bus="unix:path=" + sys.argv[1])
            except NetworkRefused: told["refused"] = True
            except Exception as error: told["error"] = type(error).__name__
            thread.join(5)
        """,
        str(tmp_path / "bus"),
    )
    assert found.refused == 0
    assert found.told["heard"] == "0041555448", "the bus was spoken to: NUL AUTH"
    assert "refused" not in found.told


PAIR = """
import socket
a, b = socket.socketpair()
a.sendall(b"through"); told["heard"] = b.recv(7).decode(); told["family"] = a.family.name
a.close(); b.close()
"""


def test_the_standard_librarys_pair_is_let_through() -> None:
    found = guarded(PAIR)
    assert (found.told["heard"], found.refused) == ("through", 0)


def test_its_pair_of_loopback_sockets_too() -> None:
    """What Windows has: Python's own fallback, once the system's call is taken away."""
    found = guarded("import _socket\ndel _socket.socketpair\n" + PAIR)
    assert found.told == {"heard": "through", "family": "AF_INET"}
    assert found.refused == 0


def test_a_function_of_the_same_name_is_none() -> None:
    found = guarded(
        """
        import socket
        def _fallback_socketpair(): return socket.socket()
        try: _fallback_socketpair()
        except NetworkRefused: told["refused"] = True
        """
    )
    assert found.told == {"refused": True}


# ---- the hook itself ----------------------------------------------------------------------------


def test_it_is_put_on_once_and_tells_so() -> None:
    found = guarded(
        """
        before = network.enforced(); network.enforce(); network.enforce()
        import socket
        try: socket.socket()
        except NetworkRefused: pass
        told["on"] = before
        """
    )
    assert (found.told, found.refused) == ({"on": True}, 1)


def test_a_hook_that_keeps_it_out_is_noticed() -> None:
    """CPython drops a hook in silence when another one raises RuntimeError for it."""
    code = """
import sys
def no(event, arguments):
    if event == "sys.addaudithook": raise RuntimeError
sys.addaudithook(no)
from satchel_crypto.errors import NetworkRefused
from satchel_crypto.network import enforce
try: enforce()
except NetworkRefused as error: print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "another audit hook keeps ours out" in done.stdout


@pytest.mark.parametrize(
    "broken",
    [
        "gate.opening = None",
        "gate.openings = lambda: 1 / 0",
        "gate.Opening.leads_to = lambda *a: [][0]",
        "gate.Opening.names = None",
    ],
)
def test_a_hook_that_breaks_refuses(broken: str) -> None:
    with listener() as (port, came):
        found = guarded(
            f"""
            import socket
            from satchel_crypto.network import gate
            port = int(sys.argv[1])
            with network.open("embed.http", Target("localhost", port), policy=ANY):
                {broken}
                try: socket.create_connection(("localhost", port)); told["through"] = True
                except NetworkRefused as error: told["error"] = str(error)
            """,
            str(port),
        )
    assert "a check that failed" in str(found.told["error"])
    assert came == []


def test_what_is_kept_of_refusals_has_an_end() -> None:
    found = guarded(
        """
        import socket
        for number in range(150):
            try: socket.getaddrinfo(b"h" * 500, number)
            except NetworkRefused as error: assert len(str(error)) < 200
        """
    )
    assert (found.refused, len(found.kept)) == (150, 100)
    assert {len(what) for _, what in found.kept} == {100}
