"""What an open path lets through behind the hook: its own target, in its own context."""

from __future__ import annotations

from fix_guarded import guarded, listener


def test_an_open_path_leads_to_its_target_only() -> None:
    with listener() as (port, came), listener() as (other, others):
        found = guarded(
            """
            import _socket, socket, urllib.request
            port, other = int(sys.argv[1]), int(sys.argv[2])
            with network.open("embed.http", Target("localhost", port), policy=ANY):
                socket.socket(type=socket.SOCK_STREAM | socket.SOCK_CLOEXEC).close()
                socket.socket(type=socket.SOCK_DGRAM | socket.SOCK_NONBLOCK).close()
                for name in ("localhost", "127.0.0.1"):
                    told[name] = urllib.request.urlopen(f"http://{name}:{port}/").read().decode()
                told["gethostbyname"] = socket.gethostbyname("localhost")
                told["gethostbyaddr"] = socket.gethostbyaddr("127.0.0.1")[2]
                told["getnameinfo"] = socket.getnameinfo(("127.0.0.1", port), 3)[0]
                attempts = {
                    "port": lambda: socket.create_connection(("127.0.0.1", other)),
                    "host": lambda: socket.create_connection(("127.0.0.2", port)),
                    "name": lambda: socket.getaddrinfo("example.org", port),
                    "bind": lambda: socket.socket().bind(("127.0.0.1", port)),
                    "raw": lambda: socket.socket(type=socket.SOCK_RAW, proto=1),
                    "packets": lambda: socket.socket(type=socket.SOCK_SEQPACKET),
                    "rdm": lambda: socket.socket(type=socket.SOCK_RDM),
                    "no kind": lambda: _socket.socket(socket.AF_INET),
                }
                for name, attempt in attempts.items():
                    try: told[name] = repr(attempt())
                    except NetworkRefused: told[name] = "refused"
            try: told["after"] = urllib.request.urlopen(f"http://localhost:{port}/").read()
            except NetworkRefused: told["after"] = "refused"
            """,
            str(port), str(other),
        )  # fmt: skip
    assert found.told.pop("localhost") == found.told.pop("127.0.0.1") == "hi"
    assert found.told.pop("gethostbyname") == found.told.pop("getnameinfo") == "127.0.0.1"
    assert found.told.pop("gethostbyaddr") == ["127.0.0.1"]
    assert set(found.told.values()) == {"refused"}
    assert (len(came), others) == (2, [])


def test_the_addresses_of_a_name_are_its_target() -> None:
    """Each is asked for anew: a name that leads nowhere else, and `localhost` to this machine."""
    found = guarded(
        """
        from satchel_crypto.network import gate, target
        import _socket
        known = {"hub.example": "192.0.2.7", "localhost": "192.0.2.8"}
        real = _socket.getaddrinfo
        _socket.getaddrinfo = lambda host, port: [(2, 1, 6, "", (known[host], port))]
        with network.open("embed.http", Target("hub.example", 443, "verify-full"), policy=ANY):
            opened = gate.opening()
            told["there"] = opened.leads_to("192.0.2.7", 443)
            told["port"] = opened.leads_to("192.0.2.7", 80)
            told["other"] = opened.leads_to("192.0.2.9", 443)
            known["hub.example"] = "192.0.2.9"
            told["moved"] = opened.leads_to("192.0.2.9", 443)
            told["case"] = opened.leads_to("HUB.example", 443)
        with network.open("embed.http", Target("localhost", 80), policy=ANY):
            told["poisoned"] = gate.opening().leads_to("192.0.2.8", 80)
        """
    )
    assert found.told == {
        "there": True, "port": False, "other": False, "moved": True, "case": True,
        "poisoned": False,
    }  # fmt: skip


def test_a_path_that_serves_listens_where_it_was_told() -> None:
    found = guarded(
        """
        import http.server, socket, threading
        with network.open("dashboard.http", Target("127.0.0.1", 0), policy=ANY):
            with socket.create_server(("127.0.0.1", 0)) as server:
                told["listening"] = server.getsockname()[0]
            class Server(http.server.ThreadingHTTPServer): pass
            with Server(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler) as server:
                told["named"] = server.server_address[0]
            for name, attempt in {
                "everywhere": lambda: socket.socket().bind(("0.0.0.0", 0)),
                "port": lambda: socket.socket().bind(("127.0.0.1", 4711)),
                "out": lambda: socket.socket().connect(("127.0.0.1", 0)),
            }.items():
                try: told[name] = repr(attempt())
                except NetworkRefused: told[name] = "refused"
        """
    )
    assert found.told == {
        "listening": "127.0.0.1", "named": "127.0.0.1",
        "everywhere": "refused", "port": "refused", "out": "refused",
    }  # fmt: skip


# ---- threads and tasks --------------------------------------------------------------------------

THREADS = """
import asyncio, anyio, anyio.to_thread, socket, threading
from concurrent.futures import ThreadPoolExecutor
port = int(sys.argv[1])
def dial():
    try:
        with socket.create_connection(("127.0.0.1", port)) as sock: return "through"
    except NetworkRefused: return "refused"
async def streams(host):
    reader, writer = await asyncio.open_connection(host, port)
    writer.close(); await writer.wait_closed()
    return "through"
async def tasks():
    told["asyncio thread"] = await asyncio.to_thread(dial)
    told["asyncio task"] = await asyncio.create_task(streams("127.0.0.1"))
    told["asyncio by name"] = await asyncio.create_task(streams("localhost"))
    told["asyncio executor"] = await asyncio.get_running_loop().run_in_executor(None, dial)
async def workers():
    told["anyio worker"] = await anyio.to_thread.run_sync(dial)
    stream = await anyio.connect_tcp("localhost", port)
    await stream.aclose(); told["anyio stream"] = "through"
async def outliving():
    started = asyncio.Event()
    async def late():
        started.set(); await asyncio.sleep(0.1); return dial()
    with network.open("embed.http", Target("localhost", port), policy=ANY):
        task = asyncio.create_task(late()); await started.wait()
    told["task that outlives the path"] = await task
def own():
    with network.open("embed.http", Target("localhost", port), policy=ANY): return dial()
pool, target = ThreadPoolExecutor(), Target("localhost", port)
with pool, network.open("embed.http", target, policy=ANY):
    told["here"] = dial()
    told["bare thread"] = pool.submit(dial).result()
    told["thread that opens its own"] = pool.submit(own).result()
    told["and then no more"] = pool.submit(dial).result()
    asyncio.run(tasks()); anyio.run(workers)
asyncio.run(outliving())
told["closed"] = dial()
"""


def test_a_path_is_open_in_the_context_that_opened_it() -> None:
    with listener() as (port, _):
        found = guarded(THREADS, str(port))
    assert found.told == {
        "here": "through",
        "bare thread": "refused",
        "thread that opens its own": "through",
        "and then no more": "refused",
        "asyncio thread": "through",
        "asyncio task": "through",
        "asyncio by name": "through",
        "asyncio executor": "refused",
        "anyio worker": "through",
        "anyio stream": "through",
        "task that outlives the path": "refused",
        "closed": "refused",
    }
