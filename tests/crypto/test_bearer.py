"""Bearer tokens: told once, known by their digest, compared without telling, gone when revoked."""

from __future__ import annotations

import json
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from satchel_crypto.bearer import BEARERS_MAX, FILE, PREFIX, Bearers
from satchel_crypto.errors import KeyInvalid, KeyMissing
from satchel_crypto.provider import Provider
from satchel_crypto.registry import provider

NOW_MS = 1_800_000_000_000


@dataclass
class Watched:
    """A provider that notes what it compares."""

    inner: Provider
    compared: list[bool] = field(default_factory=list)

    def same(self, left: bytes, right: bytes) -> bool:
        self.compared.append(self.inner.same(left, right))
        return self.compared[-1]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


@pytest.fixture
def bearers(tmp_path: Path) -> Bearers:
    return Bearers(tmp_path / "keys", provider("openssl", fips=False))


def make(bearers: Bearers, name: str, expires_at: int | None = None) -> str:
    _, token = bearers.create(
        name, agent=name, role="agent", user="una", created_at=NOW_MS, expires_at=expires_at
    )
    return token


def test_a_token_is_known_again_and_kept_nowhere(bearers: Bearers) -> None:
    token = make(bearers, "ann")
    assert token.startswith(PREFIX)
    assert len(token) >= len(PREFIX) + 43, "256 bits"
    found = bearers.bearer(token, NOW_MS)
    assert found is not None
    assert (found.agent, found.role, found.user) == ("ann", "agent", "una")
    path = bearers.folder / FILE
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    for file in bearers.folder.iterdir():
        assert token.removeprefix(PREFIX).encode() not in file.read_bytes()
    assert token not in repr(bearers.all()) + repr(bearers)


def test_no_other_token_is_let_in(bearers: Bearers) -> None:
    token = make(bearers, "ann")
    assert make(bearers, "bob") != token
    for wrong in ("", "x", token[:-1], token + "=", token.lower(), token[len(PREFIX) :], "é" * 40):
        assert bearers.bearer(wrong, NOW_MS) is None, wrong
    assert bearers.bearer("\ud800", NOW_MS) is None
    assert bearers.bearer("A" * 10_000_000, NOW_MS) is None


def test_every_digest_is_compared_whichever_fits(tmp_path: Path) -> None:
    watched = Watched(provider("openssl", fips=False))
    bearers = Bearers(tmp_path / "keys", watched)
    tokens = [make(bearers, f"agent-{number}") for number in range(5)]
    for place, token in enumerate(tokens):
        watched.compared.clear()
        assert bearers.bearer(token, NOW_MS) is not None
        assert watched.compared == [number == place for number in range(5)]
    watched.compared.clear()
    assert bearers.bearer("satchel_wrong", NOW_MS) is None
    assert watched.compared == [False] * 5


def test_a_token_ends_with_its_day_and_when_it_is_revoked(bearers: Bearers) -> None:
    short, long = make(bearers, "short", expires_at=NOW_MS + 1000), make(bearers, "long")
    assert bearers.bearer(short, NOW_MS + 999)
    assert bearers.bearer(short, NOW_MS + 1000) is None
    assert bearers.bearer(long, NOW_MS * 2)
    assert bearers.revoke("long").name == "long"
    assert bearers.bearer(long, NOW_MS) is None
    with pytest.raises(KeyMissing, match="no token 'long'"):
        bearers.revoke("long")


def test_threads_and_names_at_once_keep_every_token(bearers: Bearers) -> None:
    """The lock of a file is the process's: threads of one need their own."""

    def some(thread: int) -> None:
        for number in range(8):
            make(bearers, f"agent-{thread}-{number}")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(some, range(4)))
    assert len(bearers.all()) == 32


def test_a_name_is_taken_once_and_free_again(bearers: Bearers) -> None:
    make(bearers, "ann")
    with pytest.raises(KeyInvalid) as caught:
        make(bearers, "ann")
    assert caught.value.field == "name"
    bearers.revoke("ann")
    make(bearers, "ann")


MAKING = """
import sys
from pathlib import Path
from satchel_crypto.bearer import Bearers
from satchel_crypto.registry import provider
bearers = Bearers(Path(sys.argv[1]), provider("openssl", fips=False))
for number in range(6):
    given = dict(agent="ann", role="agent", user=None, created_at=1, expires_at=None)
    bearers.create(f"{sys.argv[2]}-{number}", **given)
"""


def test_processes_at_once_lose_none(bearers: Bearers) -> None:
    makers = [
        subprocess.Popen([sys.executable, "-c", MAKING, str(bearers.folder), name])
        for name in ("left", "right", "third")
    ]
    assert [maker.wait(timeout=60) for maker in makers] == [0, 0, 0]
    assert len({one.name for one in bearers.all()}) == 18


GOOD = {
    "name": "ann",
    "agent": "ann",
    "role": "agent",
    "user": None,
    "created_at": 1,
    "expires_at": None,
    "digest": "0" * 64,
}
DAMAGED: list[Any] = [
    b"",
    b"{",
    b"[]",
    b"\xff",
    {"format": "satchel-bearers-2", "bearers": []},
    {"format": "satchel-bearers-1"},
    {"format": "satchel-bearers-1", "bearers": {}},
    {"format": "satchel-bearers-1", "bearers": [1]},
    {"format": "satchel-bearers-1", "bearers": [{**GOOD, "digest": "0" * 63}]},
    {"format": "satchel-bearers-1", "bearers": [{**GOOD, "digest": "zz" * 32}]},
    {"format": "satchel-bearers-1", "bearers": [{**GOOD, "agent": ""}]},
    {"format": "satchel-bearers-1", "bearers": [{**GOOD, "agent": 7}]},
    {"format": "satchel-bearers-1", "bearers": [{**GOOD, "user": 7}]},
    {"format": "satchel-bearers-1", "bearers": [{**GOOD, "expires_at": "never"}]},
    {"format": "satchel-bearers-1", "bearers": [{**GOOD, "created_at": True}]},
    {"format": "satchel-bearers-1", "bearers": [{**GOOD, "more": 1}]},
    {"format": "satchel-bearers-1", "bearers": [{"name": "ann"}]},
    {"format": "satchel-bearers-1", "bearers": [GOOD] * (BEARERS_MAX + 1)},
]


@pytest.mark.parametrize("said", DAMAGED, ids=range(len(DAMAGED)))
def test_a_file_that_is_not_ours_lets_nobody_in(bearers: Bearers, said: Any) -> None:
    token = make(bearers, "ann")
    path = bearers.folder / FILE
    path.write_bytes(said if isinstance(said, bytes) else json.dumps(said).encode())
    with pytest.raises(KeyInvalid):
        bearers.bearer(token, NOW_MS)


def test_a_file_that_others_may_write_lets_nobody_in(bearers: Bearers) -> None:
    token = make(bearers, "ann")
    (bearers.folder / FILE).chmod(0o620)
    with pytest.raises(KeyInvalid, match="open to others"):
        bearers.bearer(token, NOW_MS)
