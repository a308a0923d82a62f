"""Numbers for Prometheus: what they say, who is let in, and where they may be served."""

from __future__ import annotations

import http.client
import json
import signal
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import trustme
from fix_command import COMMAND, environment, run
from fix_hub import HubWorld
from fix_operations import Kept
from prometheus_client.parser import text_string_to_metric_families

from satchel.warehouse.metrics.exposition import text_of
from satchel_warehouse.operations.measures import measure

OPEN = {"SATCHEL_NETWORK_WAREHOUSE_METRICS_ENABLED": "true"}


def samples(text: str) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    """(name without the prefix, sorted labels) -> value, as Prometheus reads it."""
    return {
        (one.name.removeprefix("satchel_warehouse_"), tuple(sorted(one.labels.items()))): one.value
        for family in text_string_to_metric_families(text)
        for one in family.samples
    }


def test_the_numbers_are_those_of_the_warehouse(kept: Kept) -> None:
    a, b = kept.pair()
    for number in range(3):
        a.put(f"{number}", "text that is nobody's business")
    kept.quiet()
    kept.retain()
    kept.world.psql().execute("ANALYZE satchel.memory")
    text = text_of(measure(kept.world.dsn))
    found = samples(text)
    label = next(labels for name, labels in found if name == "machine_exit"
                 and dict(labels)["machine"] == a.store.replica_id.hex())  # fmt: skip
    assert (found["machine_exit", label], found["machine_revoked", label]) == (0, 0)
    synced = kept.value(
        "SELECT max(finished_at) FROM satchel.attempt WHERE replica_id = %s", a.store.replica_id
    )
    assert found["machine_synced_timestamp_seconds", label] == synced / 1000
    assert found["up", ()] == 1
    assert found["rows_estimated", (("table", "memory"),)] == 3
    drawn = kept.value("SELECT last_value FROM satchel.change_seq_1")
    assert found["changes_total", (("tenant", "default"),)] == drawn
    assert found["size_bytes", ()] > 1_000_000
    assert found["retained_timestamp_seconds", ()] > 0
    assert "backup_reaches_timestamp_seconds" not in {name for name, _ in found}
    assert "nobody's business" not in text
    machines = [dict(labels)["machine"] for name, labels in found if name == "machine_revoked"]
    assert b.store.replica_id.hex() in machines


def test_a_warehouse_that_does_not_answer_is_down_and_nothing_else(tmp_path: Path) -> None:
    assert samples(text_of(None)) == {("up", ()): 0}
    done = run(
        "warehouse", "metrics", SATCHEL_HOME=str(tmp_path),
        SATCHEL_WAREHOUSE_ADMIN_DSN="postgresql://me@127.0.0.1:9/none",
    )  # fmt: skip
    assert (done.code, samples(done.out)) == (0, {("up", ()): 0})


@contextmanager
def serving(
    world: HubWorld, home: Path, *options: str, **variables: str
) -> Iterator[dict[str, Any]]:
    """`satchel warehouse metrics` in a process; yields what it said once it listened."""
    given = environment(
        SATCHEL_HOME=str(home), SATCHEL_WAREHOUSE_ADMIN_DSN=world.dsn, **OPEN, **variables
    )  # fmt: skip
    with subprocess.Popen(
        [*COMMAND, "warehouse", "metrics", *options], env=given, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        assert process.stderr is not None
        try:
            said = process.stdout.readline()
            assert said, process.stderr.read()
            yield json.loads(said)
            process.send_signal(signal.SIGTERM)
            assert process.wait(20) in (0, -signal.SIGTERM), process.stderr.read()
        finally:
            process.kill()


def asked(
    where: dict[str, Any],
    path: str = "/metrics",
    context: ssl.SSLContext | None = None,
    **headers: str,
) -> tuple[int, str]:
    """The status and the body of a GET."""
    at = ("127.0.0.1", where["port"])
    connection = (
        http.client.HTTPSConnection(*at, timeout=30, context=context)
        if context
        else http.client.HTTPConnection(*at, timeout=30)
    )
    try:
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def test_a_scraper_on_this_machine_gets_them_and_a_page_of_the_web_does_not(
    world: HubWorld, tmp_path: Path
) -> None:
    with serving(world, tmp_path, "--listen", "0") as where:
        assert (where["host"], where["tls"], where["token"]) == ("127.0.0.1", False, False)
        status, text = asked(where)
        assert (status, samples(text)["up", ()]) == (200, 1)
        assert asked(where, Host="evil.example")[0] == 421
        assert asked(where, Origin="http://evil.example")[0] == 403
        assert asked(where, "/")[0] == 404
        assert asked(where)[1] == text, "given again for some seconds"


def with_token(folder: Path) -> dict[str, str]:
    """Keep a token in the home in that folder; the variables that open its secrets."""
    phrase = folder / "phrase"
    phrase.write_text("correct horse battery staple")
    phrase.chmod(0o600)
    kept = {"SATCHEL_SECRETS_STORE": "file", "SATCHEL_SECRETS_PASSPHRASE_FILE": str(phrase)}
    home = {"SATCHEL_HOME": str(folder / "home"), **kept}
    done = run("secret", "set", "warehouse.metrics_token", stdin=b"let me in", **home)
    assert done.code == 0, done.err
    return kept


def test_with_a_token_nobody_is_let_in_without_it(world: HubWorld, tmp_path: Path) -> None:
    kept = with_token(tmp_path)
    with serving(world, tmp_path / "home", "--listen", "127.0.0.1:0", **kept) as where:
        assert where["token"]
        assert "let me in" not in json.dumps(where)
        for said in ({}, {"Authorization": "Bearer no"}, {"Authorization": "Basic let me in"}):
            assert asked(where, **said)[0] == 401, said
        assert asked(where, Authorization="Bearer let me in")[0] == 200


@pytest.mark.parametrize(
    ("listen", "variables", "code", "word"),
    [
        ("9477", {}, "network_refused", "not enabled"),
        ("0.0.0.0:0", OPEN, "network_refused", "without TLS"),
        ("192.0.2.1:0", OPEN, "network_refused", "without TLS"),
        ("0.0.0.0:0", OPEN | {"SATCHEL_NETWORK_WAREHOUSE_METRICS_ATTESTED": "behind a proxy"},
         "refused", "there is no token"),
        ("0.0.0.0:0", OPEN | {"SATCHEL_WAREHOUSE_METRICS_CERTIFICATE": "a.pem"}, "config_invalid",
         "its key"),
        ("127.0.0.1", OPEN, "invalid_input", "no address"),
        ("::1:80", OPEN, "invalid_input", "no address"),
        ("127.0.0.1:99999", OPEN, "invalid_input", "no address"),
        ("9477", OPEN | {"SATCHEL_NETWORK_MODE": "none"}, "network_refused", "mode"),
    ],
)  # fmt: skip
def test_where_it_may_not_listen(
    tmp_path: Path, listen: str, variables: dict[str, str], code: str, word: str
) -> None:
    dsn = {"SATCHEL_WAREHOUSE_ADMIN_DSN": "postgresql://me@127.0.0.1:9/none"}
    done = run(
        "warehouse", "metrics", "--listen", listen, SATCHEL_HOME=str(tmp_path), **dsn, **variables
    )
    assert (done.error["code"], word in done.error["message"]) == (code, True), done.error


def test_on_all_addresses_it_speaks_tls_and_wants_the_token(
    world: HubWorld, tmp_path: Path
) -> None:
    authority = trustme.CA()
    made = authority.issue_cert("127.0.0.1")
    certificate, key = tmp_path / "server.pem", tmp_path / "server.key"
    made.private_key_pem.write_to_path(key)
    made.cert_chain_pems[0].write_to_path(certificate)
    given = with_token(tmp_path) | {
        "SATCHEL_WAREHOUSE_METRICS_CERTIFICATE": str(certificate),
        "SATCHEL_WAREHOUSE_METRICS_KEY": str(key),
    }
    trusting = ssl.create_default_context()
    authority.configure_trust(trusting)
    with serving(world, tmp_path / "home", "--listen", "0.0.0.0:0", **given) as where:
        assert (where["tls"], where["token"]) == (True, True)
        assert where["url"].startswith("https://0.0.0.0:")
        assert asked(where, context=trusting)[0] == 401
        status, text = asked(where, context=trusting, Authorization="Bearer let me in")
        assert (status, samples(text)["up", ()]) == (200, 1)
        with pytest.raises((http.client.HTTPException, OSError)):
            asked(where, Authorization="Bearer let me in")
