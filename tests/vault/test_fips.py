"""The vault on a real FIPS module: the same file, and no other algorithm."""

from __future__ import annotations

from pathlib import Path

import pytest
from fix_command import run
from fix_fips import FipsHome, built_module, fips_home
from fix_vault import RIGHT, VALUE

NAME = "warehouse.password"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> FipsHome:
    return fips_home(tmp_path_factory.mktemp("fips"), built_module())


@pytest.fixture(scope="module")
def given(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    path = tmp_path_factory.mktemp("passphrase") / "file"
    path.write_text(RIGHT)
    path.chmod(0o600)
    return "--passphrase-file", str(path)


def test_a_vault_in_fips_mode_and_outside(home: FipsHome, given: tuple[str, str]) -> None:
    made = home.satchel("secret", "set", NAME, *given, stdin=VALUE)
    assert made.code == 0, made.err
    assert home.satchel("secret", "get", NAME, *given).out == VALUE + "\n"
    outside = {"SATCHEL_HOME": str(home.path)}
    assert run("secret", "get", NAME, *given, **outside).out == VALUE + "\n"
    assert run("secret", "rotate", *given, **outside).code == 0
    assert home.satchel("secret", "unlock", *given).code == 0
    assert home.satchel("secret", "get", NAME).out == VALUE + "\n"
    assert home.satchel("secret", "lock", *given).code == 0
    assert home.satchel("secret", "delete", NAME, "--yes", *given).code == 0


def test_a_vault_of_another_provider_is_refused(
    home: FipsHome, given: tuple[str, str], tmp_path: Path
) -> None:
    other = {"SATCHEL_HOME": str(tmp_path / "home")}
    made = run("secret", "set", NAME, *given, stdin=VALUE, SATCHEL_CRYPTO_PROVIDER="nacl", **other)
    if made.code and made.error["code"] == "provider_unavailable":
        pytest.skip("nacl is not installed")
    assert made.code == 0, made.err
    module = {"SATCHEL_CRYPTO_FIPS_MODULE": str(home.folder)}
    refused = home.satchel("secret", "get", NAME, *given, **other, **module)
    assert (refused.code, refused.error["code"]) == (4, "algorithm_refused"), refused.err
    assert VALUE not in refused.out + refused.err


def test_a_keyring_in_fips_mode_is_refused(home: FipsHome, tmp_path: Path) -> None:
    refused = home.satchel(
        "secret", "set", NAME, stdin=VALUE, SATCHEL_SECRETS_STORE="keyring",
    )  # fmt: skip
    assert (refused.code, refused.error["code"]) == (4, "refused")
    assert "attest" in refused.error["hint"]
