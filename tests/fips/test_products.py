"""What satchel makes of cryptography, made on the module: keys, seals, certificates, audit."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from fix_command import COMMAND, environment, run
from fix_fips import BUILD_TIMEOUT_S, FipsHome
from fix_hub import HubWorld
from fix_stick import Desk
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

pytestmark = pytest.mark.timeout(BUILD_TIMEOUT_S)


@pytest.fixture
def anyio_backend() -> str:
    """One event loop is enough."""
    return "asyncio"


@pytest.fixture
def variables(home: FipsHome) -> dict[str, str]:
    """Every machine of a desk in FIPS mode."""
    return {"SATCHEL_FIPS": "1", "SATCHEL_CRYPTO_FIPS_MODULE": str(home.folder)}


@pytest.fixture
def desk(hub_world: HubWorld, tmp_path: Path, variables: dict[str, str]) -> Desk:
    return Desk(tmp_path, hub_world.dsn, variables=variables)


def test_a_sealed_bundle_there_and_back(desk: Desk) -> None:
    assert desk.run("a", "write", "by a", "--scope", "org").code == 0
    desk.introduce("a")
    assert [step.code for step in desk.trip("a", sealed=True)] == [0] * 4
    assert b"by a" not in Path(desk.stick("a.up")).read_bytes()
    sealed = desk.run("a", "sync", "inspect", desk.stick("a.up")).json
    assert (sealed["suite"], sealed["opens_here"]) == ("p256-aes256gcm", True)


def test_a_bundle_of_other_algorithms_is_refused(desk: Desk) -> None:
    """Between a FIPS machine and one of nacl no bundle passes, and both say why."""
    pytest.importorskip("nacl")
    plain = {"SATCHEL_FIPS": "0", "SATCHEL_CRYPTO_PROVIDER": "nacl"}
    other = Desk(desk.folder, desk.dsn, variables=plain)
    keys = desk.stick("nacl.json")
    assert other.run("n", "write", "by nacl").code == 0
    assert other.run("n", "key", "export", keys, "--yes").code == 0
    refused = desk.run("a", "key", "trust", keys, "--name", "n", "--yes")
    assert (refused.code, refused.error["code"]) in ((4, "algorithm_refused"), (4, "fips_refused"))


def test_a_certificate_of_erasure(tmp_path: Path, variables: dict[str, str]) -> None:
    here = {**variables, "SATCHEL_HOME": str(tmp_path / "home")}
    made = run("write", "to be forgotten", **here).json["id"]
    file = tmp_path / "certificate.json"
    forgotten = run("memory", "forget", made, "--yes", **here)
    assert forgotten.code == 0, forgotten
    file.write_text(forgotten.out)
    signature = json.loads(forgotten.out)["certificate"]["signature"]
    assert signature["algorithm"] == "ecdsa-p256-sha256"
    assert run("audit", "verify-certificate", str(file), **here).code == 0
    # And elsewhere, outside of FIPS mode, with another library.
    plain = {"SATCHEL_HOME": str(tmp_path / "other")}
    assert run("audit", "verify-certificate", str(file), **plain).code in (0, 4)
    file.write_text(forgotten.out.replace(made, made[::-1]))
    assert run("audit", "verify-certificate", str(file), **here).code == 1


def test_the_audit_chain(tmp_path: Path, variables: dict[str, str]) -> None:
    here = {**variables, "SATCHEL_HOME": str(tmp_path / "home")}
    assert run("write", "one", **here).code == 0
    assert run("search", "one", **here).code == 0
    verified = run("audit", "verify", **here)
    assert (verified.code, verified.json["ok"]) == (0, True)
    file = tmp_path / "export"
    assert run("audit", "export", str(file), **here).code == 0
    plain = {"SATCHEL_HOME": str(tmp_path / "home")}
    assert run("audit", "verify", **plain).json["ok"]


def test_keys(tmp_path: Path, variables: dict[str, str]) -> None:
    here = {**variables, "SATCHEL_HOME": str(tmp_path / "home")}
    made = run("key", "init", **here).json
    assert made["suite"] == "p256-aes256gcm"
    assert {key["suite"] for key in made["keys"]} == {"p256-aes256gcm", "p384-aes256gcm"}
    files = {path.name for path in (tmp_path / "home" / "keys").iterdir()}
    assert not [name for name in files if "25519" in name]


@pytest.mark.anyio
async def test_mcp(tmp_path: Path, variables: dict[str, str]) -> None:
    """The handshake is answered by the process that has started again on the same streams."""
    server = StdioServerParameters(
        command=COMMAND[0], args=[*COMMAND[1:], "mcp"],
        env=environment(**variables, SATCHEL_HOME=str(tmp_path / "home")),
    )  # fmt: skip
    async with stdio_client(server) as streams, ClientSession(*streams) as session:
        await session.initialize()
        result = await session.call_tool("memory_write", {"text": "by MCP"})
        assert not result.is_error, result.content
