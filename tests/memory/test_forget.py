"""What forgetting answers on one machine; that nothing is left is in `attacks/test_forget`."""

from __future__ import annotations

import apsw

from satchel.memory import forget
from satchel.memory.write import write
from satchel.replica import Replica
from satchel.store import wiping
from satchel.store.connection import Store


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
