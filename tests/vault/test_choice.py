"""Which store a home uses: the one that is in use; at first the keyring, if there is a real one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from time import monotonic, sleep

import keyring
import pytest
from fix_keyring import Memory, Plaintext, memory, session
from fix_vault import VALUE

from satchel import secret_store
from satchel.config import Settings
from satchel.errors import Refused
from satchel.secret_store import (
    has_secret,
    keyring_of,
    notes_for_timers,
    secret_of,
    state,
    store_of,
    vault_of,
)
from satchel_crypto.vault import KeyringStore, Vault

__all__ = ["memory", "session"]
NAME = "warehouse.password"


@pytest.fixture
def passphrase(tmp_path: Path) -> Path:
    path = tmp_path / "passphrase"
    path.write_text("correct horse battery staple")
    path.chmod(0o600)
    return path


def settings_of(tmp_path: Path, **said: object) -> Settings:
    return Settings(home=tmp_path / "home", **said)  # type: ignore[arg-type]


def test_a_new_home_takes_a_real_keyring(memory: Memory, tmp_path: Path) -> None:
    settings = settings_of(tmp_path)
    assert isinstance(store_of(settings), Vault), "to read it is not looked for"
    store = store_of(settings, making=True)
    assert isinstance(store, KeyringStore)
    store.set(NAME, VALUE)
    assert isinstance(store_of(settings), KeyringStore)
    assert (secret_of(settings, NAME)(), secret_of(settings, "other")()) == (VALUE, None)
    assert state(settings)["opens"] == "by the session's keyring"
    assert not (tmp_path / "home/keys/vault.json").exists()


def test_a_new_home_without_one_takes_the_file(session: None, tmp_path: Path) -> None:
    keyring.set_keyring(Plaintext())
    assert isinstance(store_of(settings_of(tmp_path), making=True), Vault)


def test_a_keyring_that_is_not_found_in_time_is_none(
    session: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(secret_store, "UNASKED_S", 0.2)
    monkeypatch.setattr(keyring, "get_keyring", lambda: sleep(5))
    began = monotonic()
    assert isinstance(store_of(settings_of(tmp_path), making=True), Vault)
    assert monotonic() - began < 2


def test_what_is_in_use_stays_in_use(memory: Memory, tmp_path: Path, passphrase: Path) -> None:
    file = settings_of(tmp_path, secrets_store="file", secrets_passphrase_file=passphrase)
    vault = store_of(file, making=True)
    vault.set(NAME, VALUE)
    auto = settings_of(tmp_path, secrets_passphrase_file=passphrase)
    assert isinstance(store_of(auto, making=True), Vault)
    assert secret_of(auto, NAME)() == VALUE
    asked = settings_of(tmp_path, secrets_store="keyring")
    assert isinstance(store_of(asked), KeyringStore)
    assert not has_secret(asked, NAME)
    assert memory.entries == {}


def test_in_fips_mode_a_keyring_has_to_be_attested(memory: Memory, tmp_path: Path) -> None:
    with pytest.raises(Refused, match="no keyring is validated") as caught:
        keyring_of(settings_of(tmp_path, fips_mode=True, secrets_store="keyring"))
    assert "attest" in caught.value.hint
    attested = settings_of(tmp_path, fips_mode=True, secrets_attested="evaluated by us, 2026")
    keyring_of(attested).set(NAME, VALUE)
    assert len(memory.entries) == 1


def test_a_secret_is_asked_for_once(tmp_path: Path, passphrase: Path) -> None:
    settings = settings_of(tmp_path, secrets_store="file", secrets_passphrase_file=passphrase)
    store_of(settings, making=True).set(NAME, VALUE)
    asked = secret_of(settings, NAME)
    assert asked() == VALUE
    (tmp_path / "home/keys/vault.json").unlink()
    assert asked() == VALUE


def test_where_no_secret_is_kept_nothing_is_loaded(tmp_path: Path) -> None:
    """A sync without secrets pays for none of it."""
    program = (
        "import sys, pathlib\n"
        "from satchel.config import Settings\n"
        "from satchel.secret_store import secret_of\n"
        f"assert secret_of(Settings(home=pathlib.Path({str(tmp_path)!r})), 'x')() is None\n"
        "print([m for m in ('keyring', 'cryptography', 'satchel_crypto.vault', 'fasteners')"
        " if m in sys.modules])"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    assert ran.stdout == "[]\n"


def test_the_file_alone_loads_no_keyring(tmp_path: Path, passphrase: Path) -> None:
    program = (
        "import sys, pathlib\n"
        "from satchel.config import Settings\n"
        "from satchel.secret_store import secret_of, store_of\n"
        f"home = pathlib.Path({str(tmp_path / 'home')!r})\n"
        f"file = pathlib.Path({str(passphrase)!r})\n"
        "said = Settings(home=home, secrets_store='file', secrets_passphrase_file=file)\n"
        "store_of(said, making=True).set('name', 'value')\n"
        "auto = Settings(home=home, secrets_passphrase_file=file)\n"
        "assert secret_of(auto, 'name')() == 'value'\n"
        "print('keyring' in sys.modules)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    assert ran.stdout == "False\n"


def test_a_timer_is_told_what_it_cannot_open(tmp_path: Path, passphrase: Path) -> None:
    asked = settings_of(tmp_path, secrets_store="file")
    assert notes_for_timers(asked) == []
    named = settings_of(tmp_path, secrets_store="file", secrets_passphrase_file=passphrase)
    vault = vault_of(named)
    vault.set("other", VALUE)
    assert notes_for_timers(asked) == [], "a timer has no use for it"
    vault.set("warehouse.dsn", VALUE)
    assert ["secret unlock" in one for one in notes_for_timers(asked)] == [True]
    assert notes_for_timers(named) == []
    vault.unlock()
    assert notes_for_timers(asked) == []


def test_a_timer_is_told_that_a_keyring_may_be_closed(memory: Memory, tmp_path: Path) -> None:
    settings = settings_of(tmp_path)
    store_of(settings, making=True).set(NAME, VALUE)
    assert ["logged in" in one for one in notes_for_timers(settings)] == [True]
