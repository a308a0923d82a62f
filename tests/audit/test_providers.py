"""The chain is the same whichever provider made it: SHA-256 and HMAC are one everywhere."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from home import Home
from hypothesis import given
from hypothesis import strategies as st

from satchel_crypto.audit_record import FIRST_LINK, WRITES, Entry, append
from satchel_crypto.audit_verify import verify
from satchel_crypto.canonical import canonical
from satchel_crypto.registry import NAMES, provider

KEY = bytes(range(32))
ENTRY = Entry(
    chain=WRITES,
    replica_id="ab" * 16,
    seq=1,
    at=1_800_000_000_000,
    action="created",
    actor="una",
    tool="memory_write",
    rows=(("memory", "01a22acb-f62c-788c-b06e-f52b1985e3d5"),),
)
BODY = (
    '{"action":"created","actor":"una","at":1800000000000,"chain":"writes",'
    '"replica_id":"abababababababababababababababab",'
    '"rows":[["memory","01a22acb-f62c-788c-b06e-f52b1985e3d5"]],"seq":1,"tool":"memory_write"}'
)


@pytest.mark.parametrize("name", NAMES)
def test_the_bytes_of_a_record_are_fixed(name: str) -> None:
    """By Python's own hashlib and hmac, which know nothing of us."""
    import hashlib
    import hmac

    record = append(provider(name), KEY, FIRST_LINK, ENTRY)
    link = hashlib.sha256(b"satchel audit\0" + bytes(32) + BODY.encode()).digest()
    assert (record.body, record.link) == (BODY, link)
    assert record.mac == hmac.digest(KEY, link, "sha256")
    assert Entry.parse(record.body) == ENTRY


@pytest.mark.parametrize("name", NAMES)
def test_a_home_under_each_provider(tmp_path: Path, name: str) -> None:
    with Home(tmp_path / "home", crypto_provider=name) as home:
        home.busy()
        home.later()
        assert home.breaks() == []
        home.by_hand(WRITES, "UPDATE audit SET mac = zeroblob(32) WHERE seq = 3")
        assert home.breaks() == [(WRITES, 3, "forged")]
        records = home.records()
    for other in NAMES:
        replica_id = Entry.parse(records[0].body).replica_id
        assert verify(provider(other), records, chain=WRITES, replica_id=replica_id).ok


NAMES_AND_TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


@given(
    actor=st.none() | NAMES_AND_TEXTS,
    rows=st.lists(st.tuples(NAMES_AND_TEXTS, NAMES_AND_TEXTS), max_size=5),
    more=st.integers(0, 9),
    at=st.integers(-(2**53), 2**53),
    detail=st.dictionaries(NAMES_AND_TEXTS, NAMES_AND_TEXTS | st.integers(-9, 2**53), max_size=3),
)
def test_a_body_is_canonical_json(
    actor: str | None, rows: list[tuple[str, str]], more: int, at: int, detail: dict[str, str | int]
) -> None:
    """It is put together by hand, for speed."""
    entry = replace(ENTRY, actor=actor, rows=tuple(rows), more=more, at=at, detail=detail)
    body = entry.body()
    assert body.encode() == canonical(json.loads(body))
    assert Entry.parse(body) == entry
