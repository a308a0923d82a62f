"""docs/DEPLOY.md, "Restore", on a new server: all that was lost but the dumps is made again."""

from __future__ import annotations

import pytest
from fix_guide import guide
from fix_hub_walked import walked_through

pytestmark = pytest.mark.timeout(600)
SET_UP = ("1.", "2.", "3.")


def test_a_new_server_takes_what_was_saved() -> None:
    """The accounts and folders are there: a second server is the first without its cluster."""
    with walked_through(last_step=8) as walked:
        assert walked.other == []
        lost, code = walked.hub.run("rm -rf /etc/satchel /usr/local/sbin/satchel-hub*")
        assert code == 0, lost
        for step in guide("A hub"):
            if step.heading.startswith(SET_UP) and "-keyout ca.key" not in step.command:
                walked.type(step)
        for step in guide("A hub", ("rescue",)):
            walked.type(step)
        walked.other = [said for said in walked.other if "adduser" not in said]
        assert walked.other == []
        said, code = walked.ann.run("satchel sync")
        assert code == 0, said
        rows = "runuser -u postgres -- psql -At -d memory -c 'SELECT content FROM satchel.memory'"
        held, _ = walked.hub.run(rows)
        assert sorted(held.splitlines()) == [
            "Not in the dump",
            "The hub of acme is hub.example.org",
        ]
        said, code = walked.hub.run(
            "systemctl restart satchel-hub-metrics &&"
            " systemctl start satchel-hub-refresh satchel-hub-backup satchel-hub-prove"
        )
        assert code == 0, said
