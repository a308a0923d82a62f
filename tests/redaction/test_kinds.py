"""Every kind of secret is found, alone and among other text, and nothing of it is left."""

from __future__ import annotations

import json

import pytest
from fix_secrets import TOKENS, Maker, fakes

from satchel.redaction import redact
from satchel.redaction.patterns import PATTERNS

SEEDS = range(3)
WORDS_OF_PLACES = (
    "mysql", "mariadb", "sshpass", "machine ", ":5432:", ":*:", "assword>", "Secret>", "|",
    "bindpw", "psk", "$6$", "$argon2", "ookie", "0x", "WIF", "bitcoin",
)  # fmt: skip
ALL = [one for seed in SEEDS for one in fakes(seed)]
# Some two thousand short questions: each test asks those of one row of its table.


@pytest.mark.parametrize("seed", SEEDS)
def test_it_is_replaced(seed: int) -> None:
    for fake in fakes(seed):
        done = redact(fake.text)
        assert fake.secret not in done.text, fake.kind
        assert fake.kind in done.kinds
        at, size = fake.text.index(fake.secret), len(fake.secret)
        assert any(one.start <= at and one.end >= at + size for one in done.found), (
            fake.kind,
            done,
        )
        assert redact(done.text).text == done.text, fake.kind


def test_every_row_of_the_table_is_tried() -> None:
    assert {pattern.kind for pattern in PATTERNS} == {one.kind for one in ALL}


AROUND = [
    ("{}", ""),
    ("see {} there", " there"),
    ('"{}"', '"'),
    ("({})", ")"),
    ("`{}`", "`"),
    ("x={}\n", "\n"),
    ("密钥是{}对吗", "对吗"),
    ("é{}è", "è"),
    ("🔑{}🔑", "🔑"),
    ("İİİ {} ", " "),
    ("\\n{}\\n", "\\n"),
    ("a%20{} b", " b"),
    ("<b>{}</b>", "</b>"),
    ("{}, and more", ", and more"),
    ("| a | {} |", " |"),
    ("> {}\n> more", "\n> more"),
]


@pytest.mark.parametrize("around", [one for one, _ in AROUND])
def test_a_token_is_found_among_other_text(around: str) -> None:
    head, tail = around.split("{}")
    for row, (kind, make) in enumerate(TOKENS):
        secret = make(Maker(row))
        done = redact(head + secret + tail)
        assert secret not in done.text, kind
        assert done.kinds == [kind]
        if not tail.startswith("\\"):
            assert done.text == f"{head}[redacted: {kind}]{tail}"


def test_a_token_in_json_leaves_json() -> None:
    for kind, make in TOKENS:
        document = {"a": [make(Maker(1)), 1], "b": {"c": f"x {make(Maker(2))}"}}
        for escaped in (json.dumps(document), json.dumps({"in": json.dumps(document)})):
            done = redact(escaped)
            assert len(done.found) >= 2, kind
            json.loads(done.text)


PLACES = [
    one for one in ALL if len(one.text) < 400 and any(word in one.text for word in WORDS_OF_PLACES)
]


def test_a_place_in_json_is_found_and_leaves_json() -> None:
    assert len(PLACES) > len(SEEDS) * len(WORDS_OF_PLACES)
    for fake in PLACES:
        done = redact(json.dumps([fake.text, "next"]))
        assert fake.kind in done.kinds
        assert json.dumps(fake.secret)[1:-1] not in done.text, fake.kind
        assert json.loads(done.text)[1] == "next", fake.kind


def test_all_of_them_in_one_text() -> None:
    text = "\n\n".join(one.text for one in fakes(9))
    done = redact(text)
    for one in fakes(9):
        assert one.secret not in done.text
    assert redact(done.text).text == done.text


def test_overlaps_become_one() -> None:
    """The password of a URL that is a token, in an assignment: one mark over all of it."""
    secret = "ghp_" + Maker(3).of("abc123XYZ", 36)
    done = redact(f'DB_PASSWORD="https://sam:{secret}@h/x"')
    assert secret not in done.text
    assert len(done.found) == 1
    assert done.found[0].kind == "GitHub token"


def test_what_was_found_does_not_hold_the_secret() -> None:
    secret = "ghp_" + Maker(3).of("abc123XYZ", 36)
    done = redact(f"a {secret} b")
    assert secret not in repr(done)
    (one,) = done.found
    assert (one.kind, one.start, one.end) == ("GitHub token", 2, 42)


def test_a_long_secret_is_taken_to_its_end() -> None:
    for head in ("sk-ant-", "Authorization: Bearer a1", "SECRET_KEY=a1", "see the token ghp_"):
        secret = Maker(4).of("abcdefXYZ0123456789", 5_000)
        done = redact(f"{head}{secret} end")
        assert done.text.endswith("] end")
        assert secret[-20:] not in done.text
