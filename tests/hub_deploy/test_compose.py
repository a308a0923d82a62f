"""deploy/hub/compose.yaml: taken by docker-compose, and closed where a hub has to be.

No container is started: that takes a docker daemon. What its services run is run elsewhere: the
scripts and PostgreSQL's settings by test_guide, the clock of a container here.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

HUB = Path(__file__).parents[2] / "deploy/hub"
EVERY = HUB / "bin/satchel-hub-every"
FILE = yaml.safe_load((HUB / "compose.yaml").read_text("utf-8"))
SERVICES: dict[str, Any] = FILE["services"]
ONCE = {"folders", "admin"}
ROOT = {"folders"}
TLS_PORTS = {"postgres": ["5432:5432"], "metrics": ["9477:9477"]}
"""Both answer by TLS only: pg_hba.conf has no plain line, and metrics need it off loopback."""


def test_docker_compose_takes_it(tmp_path: Path) -> None:
    if not shutil.which("docker-compose"):
        pytest.skip("needs the system package docker-compose")
    shutil.copytree(HUB, tmp_path / "hub")
    done = subprocess.run(
        ["docker-compose", "--file", "compose.yaml", "config"],
        cwd=tmp_path / "hub", capture_output=True, text=True, check=False,
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path)},
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    taken = set(yaml.safe_load(done.stdout)["services"])
    assert taken | {"admin"} == set(SERVICES)  # of a profile: newer ones leave it out


@pytest.mark.parametrize("name", SERVICES)
def test_a_container_has_what_it_needs_and_no_more(name: str) -> None:
    service = SERVICES[name]
    image = service["image"]
    assert re.search(r":\d+\.\d+\.\d+", image), f"{image}: a version is named"
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert (service["user"] == "0:0") == (name in ROOT)
    assert name in ROOT or "cap_add" not in service
    assert not service.get("privileged")
    assert name in TLS_PORTS or service["network_mode"] == "none"
    assert service.get("ports", []) == TLS_PORTS.get(name, [])
    assert service["restart"] == ("no" if name in ONCE else "unless-stopped")
    healthy = service["healthcheck"]
    assert healthy.get("disable", False) == (name in ONCE)
    assert name in ONCE or {"test", "interval", "start_period"} <= healthy.keys()


def test_secrets_come_by_file_and_are_no_values() -> None:
    named = {secret["file"] for secret in FILE["secrets"].values()}
    assert all(file.startswith("secrets/") for file in named)
    used = {
        one if isinstance(one, str) else one["source"]
        for service in SERVICES.values()
        for one in service.get("secrets", [])
    }
    assert used == set(FILE["secrets"])
    for name, service in SERVICES.items():
        for key, value in (service.get("environment") or {}).items():
            secret = re.search("PASS|TOKEN|SECRET|KEY", key)
            assert not secret or str(value).startswith("/run/secrets/"), (name, key)
    assert not re.search(r"password=|://", json.dumps(SERVICES)), "a DSN has a password"
    ignored = (HUB / ".dockerignore").read_text("utf-8").split("\n")
    assert ignored[1:] == ["*", "!kit", "!bin", ""], "nothing else gets into an image"


def test_what_is_kept_is_in_named_volumes() -> None:
    used: dict[str, str] = {}
    for service in SERVICES.values():
        for volume in service.get("volumes", []):
            source, target, *mode = volume.split(":")
            if source.startswith("./"):
                assert mode == ["ro"], volume
                assert (HUB / source).exists(), volume
            else:
                assert used.setdefault(source, target) == target, volume
    assert set(used) == set(FILE["volumes"])
    assert used["database"] == "/var/lib/postgresql/data"


def test_both_ways_run_the_same() -> None:
    """What systemd does by the clock, the containers do, with the same words."""
    by_clock = {
        name: " ".join(service["entrypoint"][2:])
        for name, service in SERVICES.items()
        if service.get("entrypoint", [""])[0] == "/usr/local/sbin/satchel-hub-every"
    }
    units = {
        path.stem.removeprefix("satchel-hub-"): re.findall(
            r"^ExecStart=(.*)$", path.read_text("utf-8"), re.MULTILINE
        )[0]
        for path in HUB.glob("systemd/*.service")
    }
    served = " ".join(SERVICES["metrics"]["entrypoint"])
    assert served.replace("0.0.0.0:", "") == units.pop("metrics")
    assert by_clock == units
    settings = dict(
        line.split("=", 1)
        for line in (HUB / "hub.env").read_text("utf-8").splitlines()
        if re.match(r"HUB_", line)
    )
    for service in by_clock:
        assert settings.items() <= SERVICES[service]["environment"].items(), service


def test_only_the_keeper_comes_another_way() -> None:
    here, there = (
        [line.split() for line in (HUB / name).read_text("utf-8").splitlines() if line[0] != "#"]
        for name in ("pg_hba.conf", "compose/pg_hba.conf")
    )
    assert [pair for pair in zip(here, there, strict=True) if pair[0] != pair[1]] == [
        (["local", "memory", "satchel", "peer"], ["local", "memory", "satchel", "scram-sha-256"])
    ]
    assert all(line[0] in ("local", "hostssl") or line[-1] == "reject" for line in here)
    assert [line[-1] for line in here[-2:]] == ["reject", "reject"]


def test_the_dump_can_be_proved_by_the_server_that_comes_with_satchel() -> None:
    from satchel_warehouse.serve_embedded import packaged_server

    (major,) = re.findall(r"-pg(\d+)$", SERVICES["postgres"]["image"])
    told = subprocess.run([packaged_server(Path("/tmp")).programs / "postgres", "--version"],
                          capture_output=True, text=True, check=True)  # fmt: skip
    assert 15 <= int(major) <= int(re.findall(r" (\d+)\.", told.stdout)[0])


def test_the_clock_of_a_container(tmp_path: Path) -> None:
    """It runs again and again, sooner after a failure, and ends at once when it is told to."""
    log = tmp_path / "log"
    job = tmp_path / "job"
    job.write_text(f'#!/bin/sh\necho run >> "{log}"\n[ "$(wc -l < "{log}")" -ge 3 ]\n')
    job.chmod(0o755)
    script = tmp_path / "every"
    script.write_text(EVERY.read_text("utf-8").replace("/tmp/well", str(tmp_path / "well")))
    given = {"PATH": os.environ["PATH"], "HUB_RETRY_S": "0.1"}
    with subprocess.Popen(["sh", script, "3600", job], env=given) as process:
        deadline = time.monotonic() + 30
        while not (tmp_path / "well").exists():
            assert time.monotonic() < deadline
            time.sleep(0.02)
        assert log.read_text("utf-8") == "run\n" * 3
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 0
