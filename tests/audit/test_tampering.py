"""Whatever somebody does to a chain behind satchel's back is found, at the record where it is."""

from __future__ import annotations

import pytest
from home import Home

from satchel_crypto.algorithms import Hash
from satchel_crypto.audit_record import CHAINS, FIRST_LINK, READS, WRITES, Entry, link_of
from satchel_crypto.registry import provider

COLUMNS = ("seq", "at", "body", "link", "mac")


@pytest.fixture
def busy(home: Home) -> Home:
    """Two chains of eight records or so, anchored in each other."""
    home.busy()
    home.later()
    assert home.breaks() == []
    return home


@pytest.mark.parametrize("name", CHAINS)
@pytest.mark.parametrize("column", COLUMNS)
def test_one_changed_byte_in_any_column_of_any_record(busy: Home, name: str, column: str) -> None:
    for record in busy.records(name):
        for place in ("first", "last"):
            held = getattr(record, column)
            busy.by_hand(name, *_set(column, _changed(held, place), record.seq))
            (broken, *_) = busy.breaks()
            assert broken[0] == name, (record, place)
            assert broken[1] in (record.seq, record.seq + 1), (record, place)
            number = record.seq if column != "seq" else _changed(held, place)
            busy.by_hand(name, *_set(column, held, number))
            assert busy.breaks() == []


def _set(column: str, value: object, seq: int) -> tuple[str, tuple[object, int]]:
    return f"UPDATE audit SET {column} = ? WHERE seq = ?", (value, seq)


def _changed(value: int | str | bytes, place: str) -> int | str | bytes:
    at = 0 if place == "first" else -1
    match value:
        case int():
            return value + (1000 if place == "first" else 5000)
        case str():
            spot = range(len(value))[at]
            return value[:spot] + chr(ord(value[spot]) ^ 1) + value[spot + 1 :]
        case bytes():
            raw = bytearray(value)
            raw[at] ^= 1
            return bytes(raw)


@pytest.mark.parametrize("name", CHAINS)
def test_a_changed_value_of_another_type(busy: Home, name: str) -> None:
    for column in ("at", "body", "link", "mac"):
        (held,) = busy.by_hand(name, f"SELECT {column} FROM audit WHERE seq = 4").fetchone()
        for other in (b"\xff\xfe", "text", 1.5, 7):
            if other == held:
                continue
            busy.by_hand(name, *_set(column, other, 4))
            assert [(one[0], one[1]) for one in busy.breaks()] == [(name, 4)], (column, other)
        busy.by_hand(name, *_set(column, held, 4))
        assert busy.breaks() == []


@pytest.mark.parametrize("name", CHAINS)
def test_a_removed_record(busy: Home, name: str) -> None:
    last = busy.records(name)[-1].seq
    for seq in (1, 2, last // 2):
        held = _row(busy, name, seq)
        busy.by_hand(name, "DELETE FROM audit WHERE seq = ?", (seq,))
        assert busy.breaks() == [(name, seq, "removed")]
        busy.by_hand(name, "INSERT INTO audit VALUES(?, ?, ?, ?, ?, ?)", held)
        assert busy.breaks() == []


@pytest.mark.parametrize("name", CHAINS)
def test_a_chain_that_is_cut_at_its_end(busy: Home, name: str) -> None:
    last = busy.records(name)[-1].seq
    busy.by_hand(name, "DELETE FROM audit WHERE seq > ?", (last - 2,))
    assert busy.breaks() == [(name, last - 1, "cut off")]


@pytest.mark.parametrize("name", CHAINS)
def test_a_cut_is_seen_also_after_more_was_written(busy: Home, name: str) -> None:
    last = busy.records(name)[-1].seq
    busy.by_hand(name, "DELETE FROM audit WHERE seq > ?", (last - 2,))
    busy.busy(2)
    assert busy.breaks() == [(name, last - 1, "removed")]


@pytest.mark.parametrize("name", CHAINS)
def test_a_cut_with_the_note_of_the_end_set_back(busy: Home, name: str) -> None:
    """The note has a MAC of its own, and writing goes on all the same."""
    kept = busy.records(name)[-3]
    busy.by_hand(name, "DELETE FROM audit WHERE seq > ?", (kept.seq,))
    busy.by_hand(name, "UPDATE audit_head SET seq = ?, link = ?", (kept.seq, kept.link))
    assert [one[0] for one in busy.breaks()] == [name]
    busy.busy(8)
    assert [one[0] for one in busy.breaks()] == [name]


@pytest.mark.parametrize("name", CHAINS)
def test_a_note_of_the_end_that_is_gone(busy: Home, name: str) -> None:
    last = busy.records(name)[-1].seq
    busy.by_hand(name, "DELETE FROM audit_head")
    assert busy.breaks() == [(name, last, "wrong head")]
    busy.busy(1)
    assert busy.breaks() == [(name, last + 1, "wrong head")]


@pytest.mark.parametrize("name", CHAINS)
def test_two_swapped_records(busy: Home, name: str) -> None:
    third, fifth = _row(busy, name, 3), _row(busy, name, 5)
    for seq, other in ((3, fifth), (5, third)):
        values = (*other[2:], seq)
        busy.by_hand(
            name, "UPDATE audit SET at = ?, body = ?, link = ?, mac = ? WHERE seq = ?", values
        )
    assert busy.breaks() == [(name, 3, "swapped")]


@pytest.mark.parametrize("name", CHAINS)
def test_a_whole_chain_that_was_written_anew_without_the_key(busy: Home, name: str) -> None:
    """Every link fits; only who has the key can make the MACs."""
    crypto, link = provider("openssl"), FIRST_LINK
    for record in busy.records(name):
        body = record.body.replace("una", "eve")
        link = link_of(crypto, link, body)
        values = (body, link, crypto.digest(Hash.SHA256, link), record.seq)
        busy.by_hand(name, "UPDATE audit SET body = ?, link = ?, mac = ? WHERE seq = ?", values)
    assert busy.breaks()[0][0] == name


@pytest.mark.parametrize("name", CHAINS)
def test_an_inserted_record_that_is_linked_well(busy: Home, name: str) -> None:
    last = busy.records(name)[-1]
    said = Entry.parse(last.body)
    forged = Entry(
        chain=name, replica_id=said.replica_id, seq=last.seq + 1, at=last.at, action="read"
    )
    link = link_of(provider("openssl"), last.link, forged.body())
    row = (*_row(busy, name, last.seq)[:1], forged.seq, forged.at, forged.body(), link, last.mac)
    busy.by_hand(name, "INSERT INTO audit VALUES(?, ?, ?, ?, ?, ?)", row)
    assert busy.breaks() == [(name, forged.seq, "forged")]
    busy.busy(1)  # the next record has that number: it goes on behind, and it stays seen
    assert [one[:2] for one in busy.breaks()] == [(name, forged.seq)]


def test_both_chains_removed_from_one_file(busy: Home) -> None:
    for table in ("audit", "audit_head"):
        busy.by_hand(WRITES, f"DELETE FROM {table}")
    assert [one for one in busy.breaks() if one[0] == WRITES]
    busy.busy(3)
    assert [one for one in busy.breaks() if one[0] == WRITES]


def test_a_file_of_reads_that_is_deleted(busy: Home) -> None:
    last = next(one for one in reversed(busy.said()) if one.action == "anchor").detail["seq"]
    busy.close()
    for file in busy.folder.glob("activity.db*"):
        file.unlink()
    busy.open()
    assert busy.breaks() == [(READS, 1, "cut off")]
    busy.busy(2)
    (broken,) = busy.breaks()
    assert broken == (READS, 4, "cut off")
    busy.busy(int(last))
    assert busy.breaks() == [(READS, int(last), "wrong head")]


def test_a_file_of_reads_that_is_forged(busy: Home) -> None:
    busy.close()
    for file in busy.folder.glob("activity.db*"):
        file.unlink()
    (busy.folder / "activity.db").write_bytes(b"no database at all" * 500)
    busy.open()
    assert busy.breaks() == [(READS, 0, "removed")]
    busy.write("it is written all the same")


def test_an_old_file_of_reads_put_back(busy: Home) -> None:
    busy.close()
    old = {file: file.read_bytes() for file in busy.folder.glob("activity.db*")}
    busy.open()
    busy.busy()
    busy.later()
    busy.close()
    for file in busy.folder.glob("activity.db*"):
        file.unlink()
    for file, data in old.items():
        file.write_bytes(data)
    busy.open()
    assert [one[::2] for one in busy.breaks()] == [(READS, "cut off")]
    busy.busy(20)
    assert [one[::2] for one in busy.breaks()] == [(READS, "wrong head")]


# ---- the key ------------------------------------------------------------------------------------


@pytest.fixture
def keyless(busy: Home) -> Home:
    """Its key is gone."""
    busy.close()
    (busy.folder / "keys" / "audit.key").unlink()
    busy.open()
    return busy


def test_a_key_that_is_gone(keyless: Home) -> None:
    assert {one[2] for one in keyless.breaks()} == {"key replaced"}
    assert not (keyless.folder / "keys" / "audit.key").exists()  # looking makes none


def test_writing_and_reading_goes_on_with_a_new_key_and_it_is_told(keyless: Home) -> None:
    before = {name: keyless.records(name)[-1].seq for name in CHAINS}
    keyless.busy(3)
    assert keyless.replica.activity.failures == 0
    assert keyless.breaks() == [
        (WRITES, before[WRITES] + 1, "key replaced"), (READS, before[READS] + 1, "key replaced"),
    ]  # fmt: skip
    began = keyless.said()[before[WRITES]]
    assert (began.action, began.detail) == ("began", {"why": "key"})


def test_a_changed_record_behind_a_new_key_is_told_before_the_key(keyless: Home) -> None:
    keyless.busy(3)
    last = keyless.records()[-1].seq
    keyless.by_hand(WRITES, "UPDATE audit SET mac = zeroblob(32) WHERE seq = ?", (last,))
    assert (WRITES, last, "forged") in keyless.breaks()


def test_another_process_makes_the_new_key(busy: Home) -> None:
    """A process that runs on has the old one in its memory: it takes over the new one."""
    (busy.folder / "keys" / "audit.key").unlink()
    with Home(busy.folder) as other:
        other.clock.at_ms = busy.clock.at_ms
        other.write("under the new key")
    busy.write("and so is this")
    began = [one for one in busy.said() if one.action == "began"]
    assert [one.detail["why"] for one in began] == ["first", "key"]


def test_a_key_that_others_may_read_is_refused(busy: Home) -> None:
    from satchel_crypto.errors import KeyInvalid

    busy.close()
    (busy.folder / "keys" / "audit.key").chmod(0o644)
    busy.open()
    with pytest.raises(KeyInvalid, match="open to others"):
        busy.write("nothing of it stays")
    (busy.folder / "keys" / "audit.key").chmod(0o600)
    assert busy.breaks() == []


def _row(home: Home, name: str, seq: int) -> tuple[object, ...]:
    query = "SELECT replica_id, seq, at, body, link, mac FROM audit WHERE seq = ?"
    return home.by_hand(name, query, (seq,)).fetchone()
