"""Attack 20 and its kind: what is forgotten on one machine is forgotten wherever it was written."""

from __future__ import annotations

import itertools
import json
from concurrent.futures import ThreadPoolExecutor
from random import Random
from threading import Event, get_ident

import pytest
from fix_machines import Fleet
from fix_memory import seen_as
from fix_traces import SECRET, TRACE, hub_traces, traces

from satchel.errors import ConfirmationNeeded, NotFound, Refused
from satchel.memory import change, edges, forget, promotion, read
from satchel.memory.messages import messages
from satchel.memory.search.search import search
from satchel.memory.sessions import sessions
from satchel.memory.tasks import tasks
from satchel.memory.write import write
from satchel.store import connection, rows, scrubbing, wiping
from satchel_crypto.certificate import Certificate
from satchel_crypto.registry import provider
from satchel_sync.stamp import SCRUBBED
from satchel_sync.tables import MEMORY, Memory

LATER = "the launch code is zebra-umbrella-43, edited offline"


ORDERS = sorted(set(itertools.permutations(["a", "b", "b", "a"])))


@pytest.mark.parametrize("order", ORDERS, ids="".join)
def test_20_forgotten_here_edited_there_is_nowhere_afterwards(
    fleet: Fleet, order: tuple[str, ...]
) -> None:
    a, b = fleet.pair()
    key = write(a.replica, SECRET, scope="org").id
    fleet.quiet()
    change.update(b.replica, key, text=LATER)
    change.update(b.replica, key, title=f"about {TRACE}")
    forget.forget(a.replica, [key], confirm=True)
    for name in order:
        fleet.machine(name).sync()
    fleet.quiet()
    for machine in (a, b):
        with machine.store.read() as db:
            assert db.execute(
                "SELECT life, hlc, origin, digest FROM memory WHERE id = ?", (key,)
            ).get == tuple(SCRUBBED)
        machine.store.close()
    assert (traces(a), traces(b), hub_traces(fleet)) == ([], [], [])


def test_20_a_third_machine_away_all_along_forgets_too(fleet: Fleet) -> None:
    a, b = fleet.pair()
    c = fleet.machine("c")
    key = write(a.replica, SECRET, scope="org").id
    fleet.quiet()
    other = write(c.replica, "another fact", scope="org").id
    edges.link(c.replica, key, other, "supports", metadata={"why": TRACE})
    change.update(c.replica, key, text=LATER)
    forget.forget(a.replica, [key], confirm=True)
    for machine in (a, b, c, a, b):
        machine.sync()
    fleet.quiet()
    for machine in (a, b, c):
        machine.store.close()
        assert traces(machine) == []
    assert hub_traces(fleet) == []


@pytest.mark.parametrize("from_it", [True, False], ids=["from it", "to it"])
@pytest.mark.parametrize("order", ["acba", "cab", "bac"])
def test_an_edge_that_was_unlinked_before_leaves_no_word_either(
    fleet: Fleet, order: str, from_it: bool
) -> None:
    """Its history tells whose it was: where it was edited and unlinked, and on machines away."""
    a, b = fleet.pair()
    c = fleet.machine("c")
    key = write(a.replica, SECRET, scope="org").id
    other = write(a.replica, "another fact", scope="org").id
    ends = (key, other) if from_it else (other, key)
    edges.link(a.replica, *ends, "supports", metadata={"why": TRACE})
    fleet.quiet()
    edges.link(c.replica, *ends, "refutes", metadata={"why": TRACE})
    for machine, name in ((a, "supports"), (c, "refutes")):
        edges.link(machine.replica, *ends, name, metadata={"why": f"{TRACE}, edited"})
        edges.link(machine.replica, *ends, name, metadata={"why": "harmless"})
        edges.unlink(machine.replica, *ends, name)
    forget.forget(b.replica, [key], confirm=True)
    for name in order:
        fleet.machine(name).sync()
    fleet.quiet()
    for machine in (a, b, c):
        machine.store.close()
        assert traces(machine) == []
    assert hub_traces(fleet) == []


def test_unlinked_and_forgotten_before_any_sync_nothing_ever_leaves(fleet: Fleet) -> None:
    a, b = fleet.pair()
    key = write(a.replica, SECRET, scope="org").id
    other = write(a.replica, "another fact", scope="org").id
    kept = write(a.replica, "a third fact", scope="org").id
    for end, why in ((key, TRACE), (kept, "stays")):
        edges.link(a.replica, end, other, "supports", metadata={"why": why})
        edges.unlink(a.replica, end, other, "supports")
    answer = forget.forget(a.replica, [key], confirm=True)
    assert "history" in {row["kind"] for row in answer["certificate"]["rows"]}
    fleet.quiet()
    assert b.sql("SELECT count(*) FROM history WHERE changes LIKE '%stays%'") == [(1,)]
    for machine in (a, b):
        machine.store.close()
        assert traces(machine) == []
    assert hub_traces(fleet) == []


def test_forget_takes_history_vectors_edges_journal_and_queries_with_it(fleet: Fleet) -> None:
    a, _ = fleet.pair()
    replica = a.replica
    key = write(replica, SECRET, scope="org").id
    other = write(replica, "another fact", scope="org").id
    edges.link(replica, key, other, "supports")
    change.update(replica, key, text=LATER)
    search(replica, TRACE)
    answer = forget.forget(replica, [key], confirm=True)
    certificate = answer["certificate"]
    assert {row["kind"] for row in certificate["rows"]} >= {"memory", "history", "relationship"}
    assert Certificate.parse(json.dumps(answer).encode(), provider()).document == certificate
    assert search(replica, "launch code").hits == []
    a.store.close()
    assert traces(a) == []
    assert TRACE not in str(certificate)


def test_forgotten_is_final(fleet: Fleet) -> None:
    a, _ = fleet.pair()
    replica = a.replica
    key = write(replica, SECRET, scope="org").id
    forget.forget(replica, [key], confirm=True)
    for attempt in (
        lambda: change.update(replica, key, text="again"),
        lambda: change.restore(replica, key),
        lambda: forget.forget(seen_as(replica, "bob"), [key], confirm=True),
    ):
        with pytest.raises((NotFound, Refused)):
            attempt()


def test_a_forget_that_was_killed_before_the_wipe_is_finished_by_another(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, _ = fleet.pair()
    replica = a.replica
    key = write(replica, SECRET, scope="org").id
    with monkeypatch.context() as killed:
        killed.setattr(wiping, "wipe", _killed)
        with pytest.raises(KeyboardInterrupt):
            forget.forget(replica, [key], confirm=True)
    with a.store.read() as db:
        assert wiping.owed(db)
    again = forget.forget(replica, [key], confirm=True)
    assert (again["certificate"]["rows"], again["certificate"]["wiped"]) == ([], True)
    a.store.close()
    assert traces(a) == []


def _killed(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


def test_forget_needs_confirm_and_takes_all_or_none(fleet: Fleet) -> None:
    a, _ = fleet.pair()
    key = write(a.replica, SECRET, scope="org").id
    with pytest.raises(ConfirmationNeeded):
        forget.forget(a.replica, [key])
    with pytest.raises(NotFound):
        forget.forget(a.replica, [key, "0" * 36], confirm=True)
    assert a.text(key) == SECRET


def test_a_deleted_memory_can_still_be_forgotten(fleet: Fleet) -> None:
    a, _ = fleet.pair()
    key = write(a.replica, SECRET, scope="org").id
    change.delete(a.replica, key, confirm=True)
    forget.forget(a.replica, [key], confirm=True)
    a.store.close()
    assert traces(a) == []


def test_rows_that_repeat_the_text_are_named_and_with_linked_go_too(fleet: Fleet) -> None:
    a, _ = fleet.pair()
    replica = a.replica
    key = write(replica, SECRET, scope="org").id
    copy = write(replica, f"noted again: {SECRET}", scope="org").id
    sent = messages.send(replica, "bob", "look at this", context_ids=[key])["id"]
    answer = forget.forget(replica, [key], confirm=True)
    assert set(answer["linked"]) == {copy, sent}
    with a.store.read() as db:
        assert rows.get(db, MEMORY, copy).content == f"noted again: {SECRET}"


def test_with_linked_they_are_scrubbed(fleet: Fleet) -> None:
    a, _ = fleet.pair()
    replica = a.replica
    key = write(replica, SECRET, scope="org").id
    copy = write(replica, f"noted again: {SECRET}", scope="org").id
    answer = forget.forget(replica, [key], linked=True, confirm=True)
    assert answer["linked"] == [copy]
    fleet.quiet()
    a.store.close()
    assert (traces(a), hub_traces(fleet)) == ([], [])


def test_forgotten_while_a_push_that_loses_is_on_the_way_leaves_no_journal_entry(
    fleet: Fleet,
) -> None:
    a, b = fleet.pair()
    key = write(a.replica, SECRET, scope="org").id
    fleet.quiet()
    a.put(key, LATER)
    b.clock.at_ms += 1000
    b.put(key, "b's later word")
    b.sync()

    def forget_in_flight(call: int) -> None:
        if call == 2:  # the push has been answered, and not been settled
            forget.forget(a.replica, [key], confirm=True)

    lossy = a.lossy(0, answer_lost=False)
    lossy.meanwhile = forget_in_flight
    a.sync(lossy)
    fleet.quiet()
    assert a.sql("SELECT kind, key FROM conflict") == []
    assert hub_traces(fleet) == []


def test_nothing_is_left_between_the_rows_of_pages_that_were_split(fleet: Fleet) -> None:
    # Random(0): by these lengths a copy that a split leaves is in no row any more.
    draw, (a, _) = Random(0), fleet.pair()
    keys = [f"{TRACE}-{number}." for number in range(300)]
    with a.store.write() as db:
        for key in keys:
            rows.insert(db, Memory(id=key, type="note", content=f"text of {key}", scope="org"))
    for _ in range(4):
        with a.store.write() as db:
            for key in draw.sample(keys, 200):
                rows.update(db, MEMORY, key, content=f"text of {key}" + "x" * draw.randrange(700))
    forget.forget(a.replica, keys[::3], confirm=True)
    a.store.close()
    left = a.store.path.read_bytes()
    assert [key for key in keys[::3] if f"text of {key}".encode() in left] == []


def test_two_that_cut_the_log_at_once_wait_for_each_other(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, _ = fleet.pair()
    waiting, both_wait = set[int](), Event()

    def noted() -> float:
        waiting.add(get_ident())
        if len(waiting) == 2:
            both_wait.set()
        return 0.001

    monkeypatch.setattr(connection, "_jitter_s", noted)
    with ThreadPoolExecutor(2) as both:
        with a.store.read() as db:
            assert db.execute("SELECT count(*) FROM memory").get == 0
            both.submit(a.put, "x", "what the reader does not see yet").result()
            cuts = [both.submit(a.store.cut_log) for _ in range(2)]
            assert both_wait.wait(60), "one waits for the reader, the other for the first"
        assert [cut.result() for cut in cuts] == [None, None]


def test_a_short_text_with_blanks_around_it_is_repeated_by_its_like_only(fleet: Fleet) -> None:
    a, _ = fleet.pair()
    replica = a.replica
    for text in ("apples are red", "the bank account", "cats and dogs"):
        write(replica, text, scope="org")
    key = write(replica, "a" + " " * 13, scope="org").id
    like = write(replica, " a ", scope="org").id
    assert forget.forget(replica, [key], confirm=True)["linked"] in ([like], [])


def test_what_a_memory_said_before_it_was_edited_or_deleted_is_looked_for_too(
    fleet: Fleet,
) -> None:
    a, _ = fleet.pair()
    replica = a.replica
    for how in ("edited", "deleted"):
        key = write(replica, f"{SECRET} ({how})", scope="org").id
        copy = write(replica, f"it was said: {SECRET} ({how})", scope="org").id
        if how == "edited":
            for number in range(120):
                change.update(replica, key, text=f"something else, {number}")
        else:
            change.delete(replica, key, confirm=True)
        assert forget.forget(replica, [key], linked=True, confirm=True)["linked"] == [copy]
    a.store.close()
    assert traces(a) == []


def test_many_rows_are_not_forgotten_by_one_word(fleet: Fleet) -> None:
    a, _ = fleet.pair()
    replica = a.replica
    key = write(replica, SECRET, scope="org").id
    with a.store.write() as db:
        for number in range(forget.LINKED_MAX + 1):
            rows.insert(db, Memory(id=f"copy-{number}", content=f"{number}: {SECRET}", scope="org"))
    with pytest.raises(Refused, match="so many"):
        forget.forget(replica, [key], linked=True, confirm=True)
    assert a.text(key) == SECRET
    assert len(forget.forget(replica, [key], confirm=True)["linked"]) == forget.LINKED_MAX + 1


@pytest.mark.parametrize(
    ("what", "swept_by", "alone"),
    [
        ("memory", "a", False),
        ("memory", "ba", False),
        ("memory", "b", True),
        ("task", "ab", False),
        ("task", "a", True),
    ],
)
def test_a_summary_swept_after_a_forget_is_without_it_and_so_are_its_past_and_versions(
    fleet: Fleet, what: str, swept_by: str, alone: bool
) -> None:
    a, b = fleet.pair()
    ada, bob = seen_as(a.replica, "ada"), seen_as(b.replica, "bob")
    session = sessions.start(ada, title="Deal", agents=["bob"])["id"]
    source = write(ada, SECRET, **({"session": session} if what == "memory" else {})).id
    if what == "task":
        tasks.create(ada, f"Remember: {SECRET}", session=session)
    summary = sessions.end(ada, session)["summary_memory_id"]
    org = promotion.promote(ada, summary).id
    changed = promotion.promote(ada, summary, space="lab").id
    change.update(ada, changed, text="What somebody wrote instead.")
    if not alone:  # what came later is in the summary, and its history has the old one
        write(ada, "We deploy on Friday.", session=session)
        assert sessions.sweep(ada)["refreshed"] == [session]
    fleet.quiet()

    with a.store.read() as db:  # the memory and its task, and neither summary nor versions
        others = [key for (key,) in db.execute("SELECT id FROM task")]
    operator = seen_as(ada, None)
    told = forget.forget(operator, [source], confirm=True)["linked"]
    assert set(told) == {summary, org, changed, *others}
    with a.store.write() as db:
        scrubbing.scrub(db, [("task", key) for key in others], a.replica.now_ms())
    if "b" in swept_by:
        fleet.quiet()
    for name in swept_by:
        who = {"a": ada, "b": bob}[name]
        assert sessions.sweep(who)["refreshed"] == [session]
    fleet.quiet()

    for who in (ada, bob):
        assert sessions.sweep(who) == {"ended": [], "refreshed": []}
        texts = [one["content"] for one in read.get(who, [summary, org, changed])["items"]]
        assert [text.splitlines()[0][:5] for text in texts] == ["Deal,", "Deal,", "What "]
        assert ("Friday" in texts[0], "Friday" in texts[1]) == (not alone, False)
    with a.store.write() as db:  # which somebody wrote anew keeps its history: it was told
        scrubbing.scrub(db, [("memory", changed)], a.replica.now_ms())
    fleet.quiet()
    for machine in (a, b):
        machine.store.close()
    assert (traces(a), traces(b), hub_traces(fleet)) == ([], [], [])
