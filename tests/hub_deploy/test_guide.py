"""docs/DEPLOY.md, "A hub": each command of it on a machine made for it, and what stands afterwards.

Debian's PostgreSQL and systemd run in it for real; units with all that is taken from them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from fix_guide import PAGE, guide
from fix_hub_walked import Walked, quoted, walked_through

pytestmark = pytest.mark.timeout(600)
HUB = Path(__file__).parents[2] / "deploy/hub"
SERVICES = sorted(path.stem for path in HUB.glob("systemd/*.service"))
EXPOSURE_MAX = 20
"""Tenths, of `systemd-analyze security`: 0 is nothing open, 96 a unit without any setting."""


CHECKS: list[Callable[[Walked], None]] = []
"""What has to be true of the machine afterwards, in this order."""


def checked(check: Callable[[Walked], None]) -> Callable[[Walked], None]:
    """One of these."""
    CHECKS.append(check)
    return check


def test_the_page_makes_a_hub_that_holds() -> None:
    """One test, as the machine costs half a minute: all that does not hold is told together."""
    found = {}
    with walked_through() as walked:
        for check in CHECKS:
            try:
                check(walked)
            except AssertionError as error:
                found[check.__name__] = str(error)
    assert found == {}, "\n\n".join(f"{name}:\n{why}" for name, why in found.items())


@checked
def each_command_says_what_the_page_shows(walked: Walked) -> None:
    steps = guide("A hub")
    assert walked.other == []
    assert len(steps) > 40
    assert {step.place for step in steps} == {"hub", "machine"}


@checked
def a_machine_brought_back_what_the_dump_did_not_know(walked: Walked) -> None:
    rows = "runuser -u postgres -- psql -At -d memory -c 'SELECT content FROM satchel.memory'"
    held, _ = walked.hub.run(rows)
    assert sorted(held.splitlines()) == ["Not in the dump", "The hub of acme is hub.example.org"]
    told, code = walked.hub.run('pg_restore --data-only --table=memory -f - "$DUMP"')
    assert (code, "Not in the dump" in told, "The hub of acme" in told) == (0, False, True)


@checked
def every_file_of_the_hub_is_where_the_page_puts_it(walked: Walked) -> None:
    said, code = walked.hub.run(
        "for one in bin/*; do cmp $one /usr/local/sbin/${one#*/}; done;"
        " (cd systemd && find . -type f -exec cmp {} /etc/systemd/system/{} \\;)"
    )
    assert (said, code) == ("", 0)


REFUSED = [
    ("root", "psql 'host=hub.example.org user=postgres dbname=memory sslmode=require'", "rejects"),
    ("root", "psql 'host=hub.example.org user=ada dbname=memory sslmode=disable'", "rejects"),
    ("root", "psql 'host=hub.example.org user=ada dbname=postgres sslmode=require'", "rejects"),
    ("root", "psql 'host=hub.example.org user=satchel dbname=memory sslmode=require'", "rejects"),
    ("ann", "psql -h /run/postgresql -U satchel memory", "Peer authentication failed"),
    ("ann", "psql -h /run/postgresql -U ada memory", "rejects"),
    ("ann", "ls /var/backups/satchel", "Permission denied"),
    ("ann", "cat /etc/satchel/tls/server.key", "Permission denied"),
    ("satchel", "cat /var/backups/satchel/roles-*.sql", "Permission denied"),
    ("satchel", "touch /var/backups/satchel/memory-9.dump", "Permission denied"),
    ("satchel", "psql memory -c 'CREATE ROLE more'", "permission denied"),
    ("root", "openssl s_client -starttls postgres -connect localhost:5432 -tls1_2 </dev/null",
     "alert protocol version"),
]  # fmt: skip
"""(who, what, the word that says why not)"""


@checked
def nobody_gets_further_than_the_page_says(walked: Walked) -> None:
    let_in = []
    for who, command, words in REFUSED:
        line = f"cd /tmp; PGPASSWORD=guessed runuser -u {who} -- bash -c {quoted(command)}"
        said, code = walked.machine.did(line)
        if code == 0 or words not in said:
            let_in.append((who, command, code, said))
    assert let_in == []


PROBES = [
    "touch /etc/x", "touch /var/lib/x", "ls /home/ann", "cat /etc/shadow", "cat /proc/1/environ",
    "echo > /dev/tcp/192.0.2.10/5432", "unshare --user true", "psql -h 192.0.2.10 memory",
    "kill -0 1", "mknod x c 1 3", "cat /dev/mem", "cat /var/log/postgresql/*", "chmod u+s /tmp",
]  # fmt: skip


@checked
def a_unit_of_the_hub_can_do_nothing_else(walked: Walked) -> None:
    """One more unit of such a name gets what all get."""
    units = Path(f"/proc/{walked.machine.pid}/root/run/units")
    lines = (f"{{ {probe}; }} >&2 && echo did {quoted(probe)}" for probe in PROBES)
    (units / "probe").write_text("\n".join([*lines, "touch /tmp/mine && echo probed"]))
    (units / "satchel-hub-probe.service").write_text(
        "[Service]\nType=oneshot\nUser=satchel\nExecStart=/bin/bash /run/units/probe\n"
        "StandardError=null\n"
    )
    said, code = walked.machine.did("systemctl daemon-reload && systemctl start satchel-hub-probe;"
        " journalctl --quiet --output=cat -t bash")  # fmt: skip
    assert (said, code) == ("probed\n", 0)


@checked
def systemd_finds_nothing_wrong_and_little_open(walked: Walked) -> None:
    units = " ".join(f"{name}.service" for name in SERVICES)
    timers = " ".join(path.name for path in sorted(HUB.glob("systemd/*.timer")))
    at = "cd /etc/systemd/system && systemd-analyze"
    assert walked.machine.did(f"{at} verify {units} {timers}") == ("", 0)
    told, code = walked.machine.did(
        f"for one in {units}; do {at} security --threshold={EXPOSURE_MAX} $one | tail -n 1"
        " && [ ${PIPESTATUS[0]} = 0 ] || exit 1; done"
    )
    assert code == 0, told


@checked
def a_new_certificate_is_shown_without_a_restart(walked: Walked) -> None:
    show = (
        "openssl s_client -starttls postgres -connect hub.example.org:5432 -CAfile ca.crt"
        " -verify_return_error -verify_hostname hub.example.org </dev/null 2>/dev/null"
        " | openssl x509 -noout -serial"
    )
    before, code = walked.hub.run(show)
    assert code == 0, before
    started = walked.hub.run("runuser -u postgres -- psql -Atc 'SELECT pg_postmaster_start_time()'")
    for step in guide("A hub"):
        if step.heading.startswith("2.") and "ca.key -out" not in step.command:
            said, code = walked.hub.run(step.command)
            assert code == 0, said
    walked.hub.run('systemctl reload "postgresql@$VERSION-main"; sleep 0.3')
    after, code = walked.hub.run(show)
    assert code == 0
    assert after != before
    assert started == walked.hub.run(
        "runuser -u postgres -- psql -Atc 'SELECT pg_postmaster_start_time()'"
    )


@checked
def old_dumps_go_only_while_a_proved_one_stays(walked: Walked) -> None:
    age = "touch -d '20 days ago' /var/backups/satchel/*; ls /var/backups/satchel | wc -l"
    count, _ = walked.hub.run(age)
    # A dump that cannot be restored: it is the newest, and proves nothing.
    broken = "/var/backups/satchel/memory-29990101T000000Z.dump"
    walked.hub.run(f"printf 'PGDMP and nothing else' > {broken}; chgrp satchel {broken}")
    said, code = walked.hub.run("systemctl start satchel-hub-prove.service")
    assert code == 1, said
    assert "cannot be restored" in walked.hub.run(
        "journalctl --quiet --output=cat -u satchel-hub-prove -n 20")[0]  # fmt: skip
    assert walked.hub.run("ls /var/backups/satchel | wc -l")[0].strip() == str(int(count) + 1)
    said, code = walked.hub.run(f"rm {broken}; systemctl start satchel-hub-prune.service;"
                                " ls /var/backups/satchel")  # fmt: skip
    assert code == 0, said
    assert re.fullmatch(r"memory-(\w+)\.dump\s+roles-\1\.sql", said.strip()), said
    walked.hub.run("systemctl reset-failed")


@checked
def a_dump_that_does_not_fit_leaves_nothing_behind(walked: Walked) -> None:
    said, code = walked.hub.run(
        "mount -t tmpfs -o size=64k,mode=2750 none /var/backups/satchel &&"
        " chown postgres:satchel /var/backups/satchel &&"
        " systemctl start satchel-hub-backup.service;"
        " echo $?; ls -A /var/backups/satchel; umount /var/backups/satchel;"
        " systemctl reset-failed"
    )
    assert code == 0
    assert said.splitlines()[-1] == "1", said
    assert "memory-" not in said


@checked
def the_alerts_ask_for_numbers_that_there_are(walked: Walked) -> None:
    told, code = walked.hub.run("curl --silent http://127.0.0.1:9477/metrics")
    assert code == 0
    there = set(re.findall(r"^# TYPE (\w+)", told, re.MULTILINE))
    groups = yaml.safe_load((HUB / "alerts.yaml").read_text("utf-8"))["groups"]
    rules = [rule for group in groups for rule in group["rules"]]
    named = {name for rule in rules for name in re.findall(r"satchel_warehouse_\w+", rule["expr"])}
    assert named - there == set()
    assert len(named) > 10
    assert [rule for rule in rules if not (rule["annotations"]["action"])] == []


@checked
def what_runs_in_containers_gets_in_there_too(walked: Walked) -> None:
    """Their pg_hba.conf, accounts, secrets and environments; but for the container around them."""
    services = yaml.safe_load((HUB / "compose.yaml").read_text("utf-8"))
    run = walked.hub.run
    for command in [*BEFORE_CONTAINERS, made_by_hand("superuser_password")]:
        said, code = run(command)
        assert code == 0, (command, said)
    for name, secret in services["secrets"].items():
        run(f"mkdir -p /run/secrets; ln -s /srv/hub/{secret['file']} /run/secrets/{name}")
    said, code = run("runuser -u postgres -- psql -Atc 'SELECT count(*), count(error) FROM"
                     " pg_hba_file_rules' -c \"ALTER ROLE satchel PASSWORD"
                     " '$(cut -d: -f5 secrets/keeper_pgpass)'\"")  # fmt: skip
    assert (said.split(), code) == (["10|0", "ALTER", "ROLE"], 0)

    metrics = services["services"]["metrics"]
    keep = contained(metrics, "/opt/satchel/bin/satchel secret set warehouse.metrics_token")
    said, code = run(f"echo a-token-of-some-length | {keep}")
    assert code == 0, said
    run(f"systemctl stop satchel-hub-metrics; {contained(metrics)} >/tmp/metrics.log 2>&1 &")
    ask = ("curl --silent --retry 30 --retry-delay 1 --retry-connrefused --cacert ca.crt"
           " https://hub.example.org:9477/metrics -H 'Authorization: Bearer {}'")  # fmt: skip
    assert "satchel_warehouse_up 1.0" in run(ask.format("a-token-of-some-length"))[0]
    assert "satchel" not in run(ask.format("another"))[0]
    assert "satchel" not in run(ask.replace("https", "http").format("a-token-of-some-length"))[0]
    run("kill %1; wait")


BEFORE_CONTAINERS = [
    "useradd --uid 10001 --no-create-home keeper",
    "install -d -o 10001 -g 999 -m 700 /var/lib/keeper",
    "cp /etc/satchel/tls/server.crt /etc/satchel/tls/server.key .",
    'install -o postgres compose/pg_hba.conf "/etc/postgresql/$VERSION/main/pg_hba.conf"',
    'systemctl reload "postgresql@$VERSION-main"',
]


def contained(service: dict[str, Any], words: str = "") -> str:
    """A command line that is what a service of compose.yaml runs, by its account."""
    uid, gid = service["user"].split(":")
    given = service["environment"] | {"SATCHEL_HOME": "/var/lib/keeper"}
    environment = " ".join(f"{name}={quoted(str(value))}" for name, value in given.items())
    words = words or " ".join(service["entrypoint"])
    account = f"setpriv --reuid={uid} --regid={gid} --clear-groups --no-new-privs"
    return f"{account} env -C / {environment} {words}"


def made_by_hand(word: str) -> str:
    """The block of the page's section on containers that has this word in it."""
    section = PAGE.read_text("utf-8").split("\n### In containers\n")[1]
    blocks = re.findall(r"^```sh\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    return "set -e\n" + next(block for block in blocks if word in block) + "set +e"


@checked
def no_password_is_in_any_log(walked: Walked) -> None:
    password, _ = walked.machine.did("cut -d: -f5 /home/ann/.pgpass")
    assert len(password.strip()) > 16
    found, _ = walked.machine.did(
        f"journalctl --quiet | grep -cF '{password.strip()}';"
        f" grep -rlF '{password.strip()}' /var/log/postgresql /etc /var/lib/satchel"
    )
    assert found.strip() == "0"
