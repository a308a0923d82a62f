"""What forgetting answers on one machine; that nothing is left is in `attacks/test_forget`."""

from __future__ import annotations

from collections.abc import Sequence

import apsw
import pytest
from fix_memory import seen_as

from satchel.errors import NotFound, Refused
from satchel.memory import change, forget, read, spaces
from satchel.memory.messages import messages
from satchel.memory.promotion import promote
from satchel.memory.search import search
from satchel.memory.sessions import sessions
from satchel.memory.tasks import tasks
from satchel.memory.write import write
from satchel.replica import Replica
from satchel.store import wiping
from satchel.store.connection import Store

SECRET = "The merger with Zanzibar Holdings closes in spring, decided by the board of Quillfeather."
FILLER = " ".join(f"Filler sentence number {n} about nothing at all." for n in range(20))


def test_a_reader_delays_the_wipe_and_costs_no_certificate(replica: Replica) -> None:
    key = write(replica, "the launch code is 1234", scope="org").id
    impatient = Store.open(replica.store.path, busy_timeout_ms=50, durability="process")
    reader = apsw.Connection(str(replica.store.path))
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM memory").fetchall()
    hurried = Replica(impatient, replica.settings, replica.caller)
    certificate = forget.forget(hurried, [key], confirm=True)["certificate"]
    assert key in {row["key"] for row in certificate["rows"]}
    assert not certificate["wiped"]
    reader.close()
    wiping.wipe(impatient)
    with impatient.read() as db:
        assert wiping.owed(db) == []
    impatient.close()


def test_a_certificate_says_that_all_is_wiped(replica: Replica) -> None:
    key = write(replica, "the launch code is 1234", scope="org").id
    assert forget.forget(replica, [key], confirm=True)["certificate"]["wiped"]


def chained(replica: Replica, steps: Sequence[str]) -> tuple[str, list[str]]:
    """A memory, and rows of which each quotes or names the one before it."""
    session = sessions.start(replica, title="The long planning session of the deal")["id"]
    other = sessions.start(replica, title="The next one", scope="session", agents=["bob"])["id"]
    source = write(replica, f"It rained a lot. {SECRET} {FILLER}", session=session).id
    at, made = source, list[str]()
    for step in steps:
        match step:
            case "summary":
                for n in range(6):
                    write(
                        replica, f"Service {n} ships on Friday, its owner is {n}.", session=session
                    )
                at = sessions.end(replica, session)["summary_memory_id"]
                assert SECRET in read.get(replica, [at])["items"][0]["content"]
                assert FILLER not in read.get(replica, [at])["items"][0]["content"]
            case "to org":
                at = promote(replica, at, scope="org").id
            case "to space":
                at = promote(replica, at, space="lab").id
            case "to session":
                at = promote(replica, at, session=other).id
            case "summary of that":
                at = sessions.end(replica, other)["summary_memory_id"]
            case "edit":  # what was said before can be read in the history
                change.update(replica, at, text=f"Nothing of it is left in {at}.")
                continue
            case "delete":
                change.delete(replica, at, confirm=True)
                continue
            case "message":
                made.append(messages.send(replica, "bob", "see", context_ids=[at])["id"])
                continue
            case "task":
                task = tasks.create(replica, "Write it down")["id"]
                tasks.complete(replica, task, result="done", result_memory=at)
                made.append(task)
                continue
            case "copy":
                text = read.get(replica, [at])["items"][0]["content"]
                at = write(replica, f"I was told: {text}", scope="org").id
        made.append(at)
    return source, made


@pytest.mark.parametrize(
    "steps",
    [
        ["summary", "to org"],
        ["summary", "to space", "to org"],
        ["summary", "to space", "edit", "to org"],
        ["summary", "message"],
        ["summary", "to org", "message", "task"],
        ["summary", "to org", "copy", "message"],
        ["summary", "to session", "summary of that", "to org", "message"],
        ["summary", "to org", "delete"],
        ["summary", "to space", "to org", "delete"],
        ["to session", "edit", "summary of that", "to org"],
    ],
    ids=" > ".join,
)
def test_what_names_or_repeats_is_followed_to_the_end(replica: Replica, steps: list[str]) -> None:
    source, made = chained(replica, steps)
    unrelated = write(replica, "Service 7 ships on Monday, its owner is 7.", scope="org").id
    answer = forget.forget(replica, [source], linked=True, confirm=True)
    assert sorted(answer["linked"]) == sorted(made)
    assert [one.id for one in search.search(replica, "Zanzibar merger Quillfeather").hits] == []
    for key in made:
        assert read.get(replica, [key])["items"] == []
        with pytest.raises((Refused, NotFound)):
            change.restore(replica, key)
    assert read.get(replica, [unrelated])["items"]
    with replica.store.read() as db:
        for table, column in (
            ("history", "changes"),
            ("memory", "content"),
            ("conflict", "content"),
        ):
            sql = f"SELECT count(*) FROM {table} WHERE instr({column}, 'Zanzibar') > 0"
            assert db.execute(sql).get == 0


def test_a_chain_through_a_row_that_is_anothers_tells_only_of_ones_own(ada: Replica) -> None:
    operator = seen_as(ada, None)
    spaces.change_members(operator, "closed", add=["bob"])
    source, _ = chained(ada, [])
    hidden = promote(operator, source, space="closed").id
    last = promote(operator, hidden, scope="org").id
    change.update(operator, last, text="What everybody may know.")
    change.update(operator, hidden, text="What ada said, in bob's words.")
    guess = write(ada, "Is it: What ada said, in bob's words.", scope="agent").id
    answer = forget.forget(ada, [source], linked=True, confirm=True)
    assert answer["linked"] == [last]  # neither the hidden one, nor a guess at what it says
    assert read.get(ada, [guess])["items"]
    assert read.get(operator, [hidden])["items"]
