"""Each path of the product by name: what opens it, and everything that keeps it closed."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from satchel import config
from satchel.errors import ConfigInvalid
from satchel_crypto import network
from satchel_crypto.errors import CryptoError, FipsRefused, NetworkRefused
from satchel_crypto.network import PATHS, NetworkPath, Policy, Rule, Target, check, policy

NAMES = {
    "sync.postgres": ("out", True, "libpq"),
    "warehouse.admin": ("out", True, "libpq"),
    "warehouse.report": ("out", True, "libpq"),
    "warehouse.serve": ("serve", True, "program"),
    "warehouse.metrics": ("serve", False, "ssl"),
    "fips.source": ("out", True, "program"),
    "embed.http": ("out", False, "ssl"),
    "llm.http": ("out", False, "ssl"),
    "mcp.http": ("serve", False, "ssl"),
    "dashboard.http": ("serve", False, "ssl"),
}
"""Every path that there is. A new one is a decision: it stands here and in TRANSPORT.md."""

EACH = pytest.mark.parametrize("path", PATHS.values(), ids=lambda path: path.name)
OPEN = Policy(rules={name: Rule() for name in PATHS})
UNSEEN = (
    *("", " ", "\t\n", "\u200b", "\u2060", "\u00ad", "\ufeff", "\u200e\u2066", "\u00a0", "\u2800"),
    *("\u034f", "\ufe0f", "\u115f", "\u1160", "\u3164", "\uffa0", "\u17b4", ".", "-- \u3164"),
)
"""In what a reader of the config sees nothing, or no reason."""
LOCAL = Target("127.0.0.1", 7)
REMOTE = Target("hub.example", 7)


def verified(path: NetworkPath) -> Target:
    return replace(REMOTE, tls="verify-full" if path.direction == "out" else "serve")


def refused(path: str, target: Target, policy: Policy | None) -> NetworkRefused:
    """The refusal; the body is not entered and nothing is open."""
    entered = False
    with pytest.raises(NetworkRefused) as caught:  # noqa: SIM117
        with network.open(path, target, policy=policy):
            entered = True
    assert (entered, network.current()) == (False, None)
    assert (caught.value.exit_code, caught.value.code) == (4, "network_refused")
    return caught.value


def test_these_are_the_paths() -> None:
    found = {one.name: (one.direction, one.enabled, one.tls) for one in PATHS.values()}
    assert found == NAMES


@EACH
def test_it_opens_for_this_machine_and_closes_again(path: NetworkPath) -> None:
    with network.open(path.name, LOCAL, policy=OPEN):
        assert network.current() == path.name
        network.require_open(path.name)
    assert network.current() is None
    with pytest.raises(NetworkRefused, match="is not open here"):
        network.require_open(path.name)


@EACH
def test_what_the_operator_did_not_enable_is_closed(path: NetworkPath, tmp_path: Path) -> None:
    said = config.load(environ={"SATCHEL_HOME": str(tmp_path)})
    if path.enabled:
        check(path.name, LOCAL, said.network_policy())
    else:
        refused(path.name, LOCAL, said.network_policy())


@EACH
def test_it_is_closed_when_it_is_disabled(path: NetworkPath) -> None:
    rules = {**OPEN.rules, path.name: Rule(enabled=False, attested="a reason")}
    error = refused(path.name, LOCAL, Policy(rules=rules))
    assert path.name in str(error)
    assert f'[network."{path.name}"] enabled = true' in error.hint


@EACH
def test_it_is_closed_when_there_is_no_rule_for_it(path: NetworkPath) -> None:
    rules = {name: rule for name, rule in OPEN.rules.items() if name != path.name}
    refused(path.name, LOCAL, Policy(rules=rules))


@EACH
def test_it_is_closed_in_the_mode_none(path: NetworkPath, tmp_path: Path) -> None:
    refused(path.name, LOCAL, Policy(mode="none", rules=OPEN.rules))
    variables = {"SATCHEL_HOME": str(tmp_path), "SATCHEL_NETWORK_MODE": "none"}
    (tmp_path / "config.toml").write_text(f'[network."{path.name}"]\nenabled = true\n')
    said = config.load(environ=variables)
    assert "'none'" in str(refused(path.name, LOCAL, said.network_policy()))


@EACH
def test_it_is_closed_without_a_policy(path: NetworkPath) -> None:
    assert "no policy" in str(refused(path.name, LOCAL, None))


@EACH
@pytest.mark.parametrize(
    "fault",
    [
        {"mode": "opened"},
        {"mode": None},
        {"rules": None},
        {"rules": 7},
        {"enabled": "yes"},
        {"enabled": None},
        {"attested": None},
        {"attested": 7},
    ],
    ids=str,
)
def test_a_policy_that_is_none_keeps_it_closed(path: NetworkPath, fault: dict[str, object]) -> None:
    ruled = {name: value for name, value in fault.items() if name in ("enabled", "attested")}
    made: dict[str, Any] = {"rules": {path.name: Rule(**cast(Any, ruled))}}
    made |= {name: value for name, value in fault.items() if name not in ruled}
    refused(path.name, REMOTE, Policy(**made))


@EACH
@pytest.mark.parametrize("name", ["_rule", "_is_local", "_require_approved_tls"])
def test_a_check_that_breaks_keeps_it_closed(
    path: NetworkPath, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("a secret")

    monkeypatch.setattr(policy, name, broken)
    error = refused(path.name, verified(path), OPEN)
    assert "its check failed (ZeroDivisionError)" in str(error)
    assert "a secret" not in str(error)


@pytest.mark.parametrize("name", ["", "sync", "sync.postgres ", "SYNC.POSTGRES", "http", "none"])
def test_an_unknown_path_stays_closed(name: str) -> None:
    rules = {**OPEN.rules, name: Rule(attested="a reason")}
    assert "unknown" in str(refused(name, LOCAL, Policy(rules=rules)))


def test_a_path_without_a_target_stays_closed() -> None:
    with pytest.raises(NetworkRefused), network.open("sync.postgres", policy=OPEN):
        pass


def test_each_of_several_targets_is_judged() -> None:
    for order in ((LOCAL, REMOTE), (REMOTE, LOCAL)):
        with pytest.raises(NetworkRefused), network.open("sync.postgres", *order, policy=OPEN):
            pass


@EACH
def test_in_the_mode_unix_it_leads_to_a_unix_socket_only(path: NetworkPath) -> None:
    policy = Policy(mode="unix", rules={path.name: Rule(attested="a reason")})
    for host in ("/run/postgresql", "@abstract"):
        check(path.name, Target(host, 7), policy)
    for host in ("localhost", "127.0.0.1", "::1", "hub.example", "192.0.2.7", "run", "~/x"):
        for tls in ("", "verify-full", "serve"):
            assert "Unix socket only" in str(refused(path.name, Target(host, 7, tls), policy))


@EACH
def test_where_it_leads_need_not_be_known_to_refuse_it(path: NetworkPath) -> None:
    network.require_enabled(path.name, OPEN)
    network.require_enabled(path.name, Policy(mode="unix", rules=OPEN.rules))
    off = Policy(rules={**OPEN.rules, path.name: Rule(enabled=False)})
    broken = Policy(rules=cast(Any, None))
    for closed in (None, Policy(), off, broken, Policy(mode="none", rules=OPEN.rules)):
        with pytest.raises(NetworkRefused):
            network.require_enabled(path.name, closed)
    with pytest.raises(NetworkRefused, match="unknown"):
        network.require_enabled(path.name + ".", OPEN)


# ---- other machines -----------------------------------------------------------------------------


@EACH
@pytest.mark.parametrize(
    "host",
    ["hub.example", "192.0.2.7", "2001:db8::1", "0.0.0.0", "::", "*", "127.1", "localhost.", "0"],
)
def test_another_machine_needs_tls(path: NetworkPath, host: str) -> None:
    for tls in ("", "prefer", "require", "verify-ca", "verify-full ", "VERIFY-FULL"):
        error = refused(path.name, Target(host, 7, tls), OPEN)
        assert host in str(error)
        assert f'[network."{path.name}"] attested = "why"' in error.hint
    check(path.name, replace(verified(path), host=host), OPEN)


@EACH
@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.8.8.8", "::1", "/run/postgresql"])
def test_this_machine_does_not(path: NetworkPath, host: str) -> None:
    check(path.name, Target(host, 7), OPEN)


@EACH
def test_a_recorded_reason_attests_less(path: NetworkPath) -> None:
    rules = {path.name: Rule(attested="the line is a tunnel")}
    check(path.name, REMOTE, Policy(rules=rules))
    for blank in UNSEEN:
        refused(path.name, REMOTE, Policy(rules={path.name: Rule(attested=blank)}))


@EACH
def test_no_host_is_the_local_socket_to_libpq_only(path: NetworkPath) -> None:
    target = Target("", 7)
    if path.name in ("sync.postgres", "warehouse.admin", "warehouse.report"):
        check(path.name, target, OPEN)
    else:
        assert "no host" in str(refused(path.name, target, OPEN))


@EACH
def test_in_fips_mode_the_tls_library_is_judged(
    path: NetworkPath, monkeypatch: pytest.MonkeyPatch
) -> None:
    from satchel_crypto import fips
    from satchel_crypto.fips import libpq

    asked: list[tuple[str, str]] = []

    def require(name: str, *, attested: str = "") -> None:
        asked.append((name, attested))
        raise FipsRefused("another OpenSSL")

    monkeypatch.setattr(libpq, "require_approved", require)
    check(path.name, verified(path), OPEN)
    monkeypatch.setattr(fips, "active", lambda: True)
    if (path.direction, path.tls) == ("serve", "program"):  # its logins are hashed on loopback too
        with pytest.raises(FipsRefused, match="another program's"):
            check(path.name, LOCAL, OPEN)
        check(path.name, LOCAL, Policy(rules={path.name: Rule(attested="why")}))
    else:
        check(path.name, LOCAL, OPEN)
    assert asked == []
    if path.tls == "program":
        with pytest.raises(FipsRefused, match="another program's"):
            check(path.name, verified(path), OPEN)
        check(path.name, verified(path), Policy(rules={path.name: Rule(attested="why")}))
    if path.tls == "libpq":
        with pytest.raises(CryptoError, match="another OpenSSL"):
            check(path.name, verified(path), OPEN)
        assert asked == [(path.name, "")]


def test_no_reason_is_of_letters_that_nobody_sees() -> None:
    """Of all of Unicode: what prints nothing at all is no reason, and every word is one."""
    every = map(chr, range(sys.maxunicode + 1))
    assert not network.is_reason("".join(one for one in every if not one.isprintable()))
    for word in ("VPN", "\u96a7\u9053", "\u0646\u0641\u0642", "7", " -> \u200bx"):
        assert network.is_reason(word)


# ---- the settings -------------------------------------------------------------------------------


@EACH
def test_the_config_has_both_keys_of_each_path(path: NetworkPath, tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text(
        f'[network."{path.name}"]\nattested = "a tunnel"\n'
        f"enabled = {str(not path.enabled).lower()}\n"
    )
    said = config.load(environ={"SATCHEL_HOME": str(tmp_path)})
    assert said.network_policy().rules[path.name] == Rule(not path.enabled, "a tunnel")
    shown = {row["setting"]: row for row in config.show(said)}
    assert shown[f"network.{path.name}.enabled"]["origin"] == "file"
    assert shown[f"network.{path.name}.attested"]["value"] == "a tunnel"


@pytest.mark.parametrize("blank", UNSEEN, ids=ascii)
def test_a_blank_reason_is_refused(tmp_path: Path, blank: str) -> None:
    (tmp_path / "config.toml").write_text(
        f'[network."sync.postgres"]\nattested = {json.dumps(blank)}\n'
    )
    with pytest.raises(ConfigInvalid, match="is blank: it has to say why") as caught:
        config.load(environ={"SATCHEL_HOME": str(tmp_path)})
    assert caught.value.field == "network.sync.postgres.attested"


def test_settings_made_in_a_program_have_the_same_defaults(tmp_path: Path) -> None:
    made: Callable[..., config.Settings] = config.Settings
    assert made(home=tmp_path).network_paths == {
        name: (path.enabled, "") for name, path in PATHS.items()
    }
