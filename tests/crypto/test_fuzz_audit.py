"""Records of the audit and exported chains as strangers write them: a verdict or a typed error."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing, suppress
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from fix_fuzz import (
    EXAMPLES,
    FEW,
    HOSTILE_JSON,
    NOISE,
    as_json,
    bounded,
    changed,
    cuts,
    odd_documents,
    refused,
    require_told,
)
from hypothesis import given
from hypothesis import strategies as st

from satchel.audit import exported
from satchel.audit.checking import check, require_whole
from satchel.audit.log import Wanted, log
from satchel.config import Settings
from satchel.errors import SatchelError
from satchel.memory.read import get as read_memories
from satchel.memory.write import write
from satchel.replica import open_replica, open_store
from satchel_crypto.algorithms import Signature
from satchel_crypto.audit_record import FIRST_LINK, HEAD_PURPOSE, Entry, Head, Record, append
from satchel_crypto.audit_verify import Verdict, start_of, verify
from satchel_crypto.canonical import canonical
from satchel_crypto.errors import AuditBroken, CryptoError
from satchel_crypto.registry import provider
from satchel_crypto.signed import Signed, statement

OPENSSL = provider("openssl")
KEY, ID = b"k" * 32, "ab" * 16
PRIVATE, PUBLIC = OPENSSL.signing_key(Signature.ECDSA_P256)


def chain(count: int) -> list[Record]:
    made, link = list[Record](), FIRST_LINK
    for seq in range(1, count + 1):
        action, detail = ("write", {"n": seq}) if seq > 1 else ("began", {"why": "first"})
        entry = Entry(
            chain="writes", replica_id=ID, seq=seq, at=1000 + seq, actor="ada", action=action,
            tool="memory_write", rows=(("memory", f"k{seq}"),), detail=detail,
        )  # fmt: skip
        made.append(append(OPENSSL, KEY, link, entry))
        link = made[-1].link
    return made


RECORDS = chain(4)
HEAD = Head(chain="writes", replica_id=ID, seq=4, link=RECORDS[-1].link, at=2000)


def signed(purpose: str, data: bytes) -> Signed:
    value = OPENSSL.sign(Signature.ECDSA_P256, PRIVATE, statement(purpose, data))
    return Signed(algorithm=Signature.ECDSA_P256, public=PUBLIC, value=value)


SIGNED = signed(HEAD_PURPOSE, HEAD.data())
HEADS = [json.loads(HEAD.data())]
LINES: list[dict[str, Any]] = [
    {"format": exported.FORMAT, "at": "2026-11-30T00:00:00+00:00", "replica_id": ID},
    {"chain": "writes", "replica_id": ID, "start": {"seq": 0, "link": FIRST_LINK.hex()}},
    *(
        {"seq": one.seq, "at": one.at, "body": one.body, "link": one.link.hex(), "mac": "00"}
        for one in RECORDS
    ),
    {"head": json.loads(HEAD.data()), "signature": SIGNED.as_dict(OPENSSL)},
    {
        "end": HEADS,
        "signature": signed(exported.END_PURPOSE, canonical(HEADS)).as_dict(OPENSSL),
    },
]
FILE = b"\n".join(as_json(line) for line in LINES) + b"\n"


def read(data: bytes) -> list[exported.Read]:
    text = data.decode("utf-8", "replace")
    return exported.read(iter(text.splitlines(keepends=True)), OPENSSL)


def is_whole(found: list[exported.Read]) -> bool:
    return all(one.verdict.ok and one.signed is not None for one in found)


def test_the_good_one() -> None:
    (one,) = read(FILE)
    assert (one.verdict.ok, one.verdict.records, one.signed) == (True, 4, SIGNED)


def told(data: bytes) -> None:
    """Read it; what is broken is told in words that can be printed."""
    for one in read(data):
        if one.verdict.broken is not None:
            one.verdict.broken.message.encode()
            assert len(one.verdict.broken.message) < 6_000


@EXAMPLES
@given(NOISE)
def test_noise(data: bytes) -> None:
    assert refused(told, data, CryptoError)


@EXAMPLES
@given(changed(FILE, (b"\n", b'"', b"null", b"\\ud800", b'{"head":', as_json(LINES[3]) + b"\n")))
def test_a_good_file_that_was_changed(data: bytes) -> None:
    refused(told, data, CryptoError)


@EXAMPLES
@given(odd_documents(LINES))
def test_odd_values_in_every_place(lines: Any) -> None:
    lines = lines if isinstance(lines, list) else [lines]
    refused(told, b"\n".join(as_json(line) for line in lines), CryptoError)


def test_every_beginning_of_a_good_one() -> None:
    for data in cuts(FILE.rstrip()):
        try:
            assert not is_whole(read(data))
        except CryptoError as error:
            assert error.code  # noqa: PT017 (either way it is told)


@pytest.mark.parametrize("number", range(len(HOSTILE_JSON)))
def test_hostile_json(number: int) -> None:
    for place in range(len(LINES)):
        lines = [*map(as_json, LINES[:place]), HOSTILE_JSON[number].replace(b"\n", b" ")]
        data = b"\n".join([*lines, *map(as_json, LINES[place + 1 :])])
        refused(told, data, CryptoError, times=40)


# ---- bodies of records --------------------------------------------------------------------------

BODY = json.loads(RECORDS[2].body)


def parsed(data: bytes) -> Entry:
    return Entry.parse(data.decode("utf-8", "surrogatepass"))


@EXAMPLES
@given(st.one_of(NOISE, changed(RECORDS[2].body.encode())))
def test_a_body_of_noise(data: bytes) -> None:
    refused(lambda one: Entry.parse(one.decode("utf-8", "replace")), data, CryptoError)


@EXAMPLES
@given(odd_documents(BODY))
def test_a_body_of_odd_values(body: Any) -> None:
    if refused(parsed, as_json(body), AuditBroken) is None:
        said = Entry.parse(as_json(body).decode())
        assert isinstance(said.actor, str | None)
        assert all(isinstance(part, str) for row in said.rows for part in row)


@pytest.mark.parametrize("number", range(len(HOSTILE_JSON)))
def test_a_hostile_body(number: int) -> None:
    data = HOSTILE_JSON[number]
    assert refused(lambda one: Entry.parse(one.decode("utf-8", "replace")), data, AuditBroken)


@EXAMPLES
@given(odd_documents(BODY), st.integers(0, 3))
def test_a_walk_over_a_forged_body(body: Any, place: int) -> None:
    """With links that fit, as whoever holds no key can make them: the walk ends in a verdict."""
    text = as_json(body).decode()
    records = list(RECORDS)
    records[place] = Record(
        seq=place + 1, at=1001 + place, body=text, link=RECORDS[place].link, mac=None
    )
    for key in (None, KEY):
        verdict = walked(records, key)
        assert not verdict.ok
        assert verdict.broken is not None


def walked(records: list[Record], key: bytes | None) -> Verdict:
    with bounded(b""):
        return verify(OPENSSL, records, chain="writes", replica_id=ID, key=key, heads=[HEAD])


@EXAMPLES
@given(st.dictionaries(st.sampled_from(["seq", "link", "replica_id", "why"]), st.one_of(
    st.integers(-(2**70), 2**70), st.text(max_size=70), st.just("ab" * 32), st.just("ab " * 32),
)))  # fmt: skip
def test_a_rotation_that_says_anything(detail: dict[str, str | int]) -> None:
    entry = Entry(
        chain="writes", replica_id=ID, seq=9, at=1, action="rotated", detail=detail
    )  # fmt: skip
    try:
        start = start_of(entry)
    except AuditBroken:
        return
    assert 0 < start.seq < 9
    assert len(start.link) == 32


# ---- the tables in a home -----------------------------------------------------------------------

COLUMNS = ("replica_id", "seq", "at", "body", "link", "mac")
IN_A_COLUMN: st.SearchStrategy[Any] = st.one_of(
    st.sampled_from([None, -1, 0, 2**62, -(2**63), 1.5, "", "x" * 300_000, b"", b"\xff" * 40]),
    st.binary(max_size=40),
    st.text(st.characters(codec="utf-8"), max_size=40),
    odd_documents(BODY).map(lambda body: as_json(body).decode()),
)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with some records in both chains."""
    folder = tmp_path_factory.mktemp("home")
    settings = Settings(home=folder, user_id="una", embedding="off", durability="process")
    with open_replica(settings) as replica:
        for text in ("one", "two", "three"):
            read_memories(replica, [write(replica, text).id])
        replica.activity.wait()
    return folder


@FEW
@given(
    file=st.sampled_from(["satchel.db", "activity.db"]),
    table=st.sampled_from(["audit", "audit_head"]),
    changes=st.lists(st.tuples(st.sampled_from(COLUMNS), IN_A_COLUMN), min_size=1, max_size=3),
)  # fmt: skip
def test_a_table_of_any_values(
    home: Path, file: str, table: str, changes: list[tuple[str, Any]]
) -> None:
    """Somebody wrote what he liked: it is shown, found and exported, and nothing breaks."""
    with TemporaryDirectory() as name:
        copy = Path(name)
        shutil.copytree(home, copy, dirs_exist_ok=True)
        changed = forge(copy / file, table, changes)
        settings = Settings(home=copy, user_id="una", embedding="off", durability="process")
        found = attempts(settings)
    if changed and table == "audit":
        assert not found


def forge(file: Path, table: str, changes: list[tuple[str, Any]]) -> bool:
    """Whether anything was changed: a column may refuse a value."""
    with closing(sqlite3.connect(file)) as db:
        before = db.execute(f"SELECT * FROM {table}").fetchall()
        for column, value in changes:
            row = "WHERE seq = (SELECT max(seq) FROM audit)" if table == "audit" else ""
            with suppress(sqlite3.Error):
                db.execute(f"UPDATE {table} SET {column} = ? {row}", (value,))
        db.commit()
        return bool(db.execute(f"SELECT * FROM {table}").fetchall() != before)


def attempts(settings: Settings) -> bool:
    """Everything that reads the audit, printed as the command prints it; whether it is whole."""
    whole = False
    with open_store(settings) as store:
        for attempt in (
            lambda: json.dumps(log(store, Wanted()), ensure_ascii=False).encode(),
            lambda: exported.export(store, settings, StringIO(), 1),
            lambda: require_whole(check(store, settings)),
        ):
            try:
                attempt()
            except (CryptoError, SatchelError) as error:
                require_told(error)
                whole = False
            else:
                whole = True
    return whole
