"""The configuration: one frozen `Settings` from defaults, `config.toml`, environment and flags.

Later sources override earlier ones; an empty or blank variable counts as unset, an empty flag is
refused. This is the only file that reads the environment.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from satchel.errors import ConfigInvalid, did_you_mean
from satchel.home_path import home_of as home_of
from satchel.plain_file import read_bytes
from satchel.setting_values import checked, refuse_blank, refuse_store, unknown_setting
from satchel.settings import BY_NAME, NETWORK_PATHS, SETTINGS, Setting, Value
from satchel_crypto.network.paths import PATHS

if TYPE_CHECKING:
    from satchel_crypto.network import Policy

Role = Literal["operator", "supervisor", "agent"]
CONFIG_FILE = "config.toml"
CONFIG_CHARS_MAX = 16 * 1024
"""The parser takes seconds for a larger one that means harm."""
FIPS_FOLDER = "fips"
FIPS_RESTARTED = "SATCHEL_FIPS_RESTARTED"
"""Tells a process that it has started again for FIPS mode: its own number."""


@dataclass(frozen=True, slots=True)
class Sourced:
    """A setting's value and where it came from: default, file, env NAME or flag."""

    setting: Setting
    value: Value = field(repr=False)
    origin: str


@dataclass(frozen=True, kw_only=True, eq=False)
class Settings:
    """What this process was told. `sourced` has each value with its origin, for `config show`."""

    home: Path
    home_origin: str = "default"
    agent_id: str | None = None
    user_id: str | None = None
    role: Role = "operator"
    isolation: Literal["enforced", "advisory"] = "enforced"
    memory_secrets: Literal["warn", "redact", "refuse"] = "warn"
    memory_supersede: Literal["similar", "off"] = "similar"
    chatlog_secrets: Literal["redact", "refuse"] = "redact"
    session_working_days: int = 7
    session_abandoned_days: int = 2
    durability: Literal["full", "process"] = "full"
    embedding: Literal["auto", "native", "sentence-transformers", "http", "off"] = "auto"
    model: str | None = None
    ranking: Literal["auto", "pure", "native"] = "auto"
    warehouse_dsn: str | None = field(default=None, repr=False)
    warehouse_admin_dsn: str | None = field(default=None, repr=False)
    warehouse_report_dsn: str | None = field(default=None, repr=False)
    warehouse_retain_journal_days: int = 400
    warehouse_retain_reports_days: int = 400
    warehouse_retain_audit_days: int = 400
    warehouse_metrics_certificate: Path | None = None
    warehouse_metrics_key: Path | None = None
    crypto_provider: Literal["openssl", "nacl", "wolfcrypt"] = "openssl"
    crypto_suite: str = "auto"
    fips_mode: bool = False
    fips_module: Path | None = None
    wolfcrypt_sha256: str = ""
    wolfcrypt_certificate: str = ""
    secrets_store: Literal["auto", "keyring", "file"] = "auto"
    secrets_passphrase_file: Path | None = None
    secrets_attested: str = ""
    audit_keep_days: int = 90
    network_mode: Literal["open", "unix", "none"] = "open"
    network_paths: Mapping[str, tuple[bool, str]] = field(
        default_factory=lambda: {name: (path.enabled, "") for name, path in PATHS.items()}
    )
    """Path name -> (enabled, reason that attests weaker TLS or an address that others reach)."""
    recall_hits: int = 5
    recall_max_tokens: int = 800
    recall_timeout_ms: int = 1_500
    mcp_tools: tuple[str, ...] = ("core",)
    mcp_timeout_s: int = 60
    mcp_http_host: str = "127.0.0.1"
    mcp_http_port: int = 8765
    mcp_http_names: tuple[str, ...] = ()
    mcp_http_origins: tuple[str, ...] = ()
    mcp_http_certificate: Path | None = None
    mcp_http_key: Path | None = None
    sourced: tuple[Sourced, ...] = field(default=(), repr=False)

    def as_agent(self, name: str) -> Settings:
        """The same with `name` as the caller, unless an agent was configured.

        The role becomes `agent`, unless a role was configured: the operator's view is never given
        away by leaving something out.
        """
        if self.agent_id:
            return self
        said = any(one.setting.name == "agent.role" and one.value for one in self.sourced)
        return replace(self, agent_id=name, role=self.role if said else "agent")

    def as_caller(self, agent_id: str, role: Role, user_id: str | None) -> Settings:
        """The same for a caller whom a door has recognised: what was configured does not count."""
        return replace(self, agent_id=agent_id, role=role, user_id=user_id or self.user_id)

    def require_built(self) -> None:
        """Refuse where the crypto provider or the FIPS mode that was asked for cannot be had.

        Called before a replica is opened and before a socket is: nothing is touched. Raises
        FipsRefused, ProviderUnavailable.
        """
        from satchel.protection import provider_of

        if self.fips_mode or self.crypto_provider != "openssl":
            provider_of(self)
        else:
            from satchel_crypto import fips

            fips.plain()

    @property
    def fips_folder(self) -> Path:
        """Where the FIPS module lies."""
        return self.fips_module or self.home / FIPS_FOLDER

    def network_policy(self) -> Policy:
        """The same as the gate of `satchel_crypto.network` takes it."""
        from satchel_crypto.network import Policy, Rule

        rules = {
            path: Rule(enabled=enabled, attested=attested)
            for path, (enabled, attested) in self.network_paths.items()
        }
        return Policy(mode=self.network_mode, rules=rules)


def load(
    *, flags: Mapping[str, str | None] | None = None, environ: Mapping[str, str] | None = None
) -> Settings:
    """Read the settings of this process.

    `flags` maps `home` or `section.key` to what the command line said; None = not said.
    Raises ConfigInvalid naming the file, variable or flag, the key and the nearest known one.
    """
    flags = flags or {}
    environ = os.environ if environ is None else environ
    home, home_origin = home_of(flags.get("home"), environ)
    refuse_store(environ)
    file = _read_file(home / CONFIG_FILE)
    sourced = tuple(_source(setting, file, environ, flags) for setting in SETTINGS)
    return _settings(home, home_origin, sourced)


def unknown_variables(environ: Mapping[str, str] | None = None) -> list[tuple[str, str]]:
    """SATCHEL_* variables that no setting has, each with a suggestion."""
    environ = os.environ if environ is None else environ
    known = {"SATCHEL_HOME", FIPS_RESTARTED} | {
        name for setting in SETTINGS for name in setting.environment
    }
    strange = sorted(n for n in environ if n.startswith("SATCHEL_") and n not in known)
    return [(name, did_you_mean(name, known)) for name in strange]


def libpq_variables(environ: Mapping[str, str] | None = None) -> list[str]:
    """PG* variables that are set: libpq reads them, and they are settings of nobody else's."""
    environ = os.environ if environ is None else environ
    return sorted(name for name in environ if re.fullmatch("PG[A-Z]+", name) and environ[name])


def environment() -> dict[str, str]:
    """The variables of this process."""
    return dict(os.environ)


def show(settings: Settings) -> list[dict[str, Any]]:
    """Every setting as {setting, value, origin, environment, help}; secrets are masked."""
    home = {
        "setting": "home",
        "value": str(settings.home),
        "origin": settings.home_origin,
        "environment": ["SATCHEL_HOME"],
        "help": "The folder of this replica",
    }
    return [home, *(_shown(one) for one in settings.sourced)]


# ---- sources ------------------------------------------------------------------------------------


def _read_file(path: Path) -> dict[str, Any]:
    """`config.toml` as {section.key: value}; an absent file is an empty one."""
    text = text_of(path)
    return parse(text, path) if text else {}


def text_of(path: Path) -> str:
    """What is in `config.toml`, "" where there is none. Raises ConfigInvalid.

    It has to be a plain file: in a pipe's place every command would wait for ever.
    """
    try:
        return read_bytes(path).decode("utf-8-sig")  # editors of Windows put a mark before it
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except UnicodeDecodeError as error:
        raise ConfigInvalid(
            f"{path}: not UTF-8 at byte {error.start}",
            hint="save the file as UTF-8",
            field="config",
        ) from error
    except OSError as error:
        raise ConfigInvalid(
            f"{path}: cannot be read: {error.strerror or error}",
            hint="it must be a plain file that this user can read",
            field="config",
        ) from error


def parse(text: str, path: Path) -> dict[str, Any]:
    """TOML text as {section.key: value}. Raises ConfigInvalid for broken TOML or unknown keys."""
    import tomllib  # 10 ms, and most homes have no config file

    if len(text) > CONFIG_CHARS_MAX:
        raise ConfigInvalid(
            f"{path}: more than {CONFIG_CHARS_MAX} characters",
            hint="keep the settings and leave out the rest",
            field="config",
        )
    try:
        found = dict(_leaves(tomllib.loads(text)))
    except (ValueError, RecursionError) as error:  # a number of many digits is a plain ValueError
        why = "nested too deeply" if isinstance(error, RecursionError) else str(error)[:200]
        raise ConfigInvalid(
            f"{path}: not TOML: {why}", hint="mend or remove the line", field="config"
        ) from error
    for name, value in found.items():
        if name not in BY_NAME:
            raise unknown_setting(name, f"{path}{_line_of(text, name)}")
        checked(BY_NAME[name], value, f"{path}{_line_of(text, name)}")
    return found


def _leaves(document: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in document.items():
        if isinstance(value, dict):
            yield from _leaves(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _line_of(text: str, name: str) -> str:
    """`:LINE` of a key's assignment, as near as a plain search tells, or nothing."""
    key = name.rpartition(".")[2]
    for number, line in enumerate(text.splitlines(), start=1):
        if re.match(rf"""\s*["']?[\w."' -]*{re.escape(key)}["']?\s*=""", line):
            return f":{number}"
    return ""


def _source(
    setting: Setting,
    file: Mapping[str, Any],
    environ: Mapping[str, str],
    flags: Mapping[str, str | None],
) -> Sourced:
    if setting.strict:
        return _strict(setting, file, environ)
    flag = flags.get(setting.name)
    if flag is not None:
        refuse_blank(flag, setting.name)
        return Sourced(setting, checked(setting, flag, "the command line"), "flag")
    for name in setting.environment:
        if environ.get(name, "").strip():
            return Sourced(setting, checked(setting, environ[name], name), f"env {name}")
    if setting.name in file:
        return Sourced(setting, checked(setting, file[setting.name], CONFIG_FILE), "file")
    return Sourced(setting, setting.default, "default")


def _strict(setting: Setting, file: Mapping[str, Any], environ: Mapping[str, str]) -> Sourced:
    """A switch that protects: a blank variable is a mistake, two sources that disagree as well."""
    said = [
        Sourced(setting, checked(setting, environ[name], name), f"env {name}")
        for name in setting.environment
        if name in environ
    ]
    if setting.name in file:
        said.append(Sourced(setting, checked(setting, file[setting.name], CONFIG_FILE), "file"))
    if len({one.value for one in said}) > 1:
        told = ", ".join(f"{one.origin} says {str(one.value).lower()}" for one in said)
        raise ConfigInvalid(
            f"{setting.name} is said in two ways: {told}",
            hint="let them agree, or leave one out",
            field=setting.name,
        )
    return said[0] if said else Sourced(setting, setting.default, "default")


# ---- the frozen result --------------------------------------------------------------------------


def _settings(home: Path, home_origin: str, sourced: tuple[Sourced, ...]) -> Settings:
    # `_checked` held every value against its declaration, so the casts below are true.
    value: dict[str, Any] = {one.setting.name: one.value for one in sourced}
    agent_id = value["agent.id"] or None
    tools = value["mcp.tools"]
    return Settings(
        home=home,
        home_origin=home_origin,
        agent_id=agent_id,
        user_id=value["user.id"] or None,
        role=value["agent.role"] or ("agent" if agent_id else "operator"),
        isolation=value["memory.isolation"],
        memory_secrets=value["memory.secrets"],
        memory_supersede=value["memory.supersede"],
        chatlog_secrets=value["chatlog.secrets"],
        session_working_days=value["session.working_days"],
        session_abandoned_days=value["session.abandoned_days"],
        durability=value["store.durability"],
        embedding=value["embedding.engine"],
        model=value["embedding.model"] or None,
        ranking=value["ranking.engine"],
        warehouse_dsn=value["warehouse.dsn"] or None,
        warehouse_admin_dsn=value["warehouse.admin_dsn"] or None,
        warehouse_report_dsn=value["warehouse.report_dsn"] or None,
        warehouse_retain_journal_days=value["warehouse.retain_journal_days"],
        warehouse_retain_reports_days=value["warehouse.retain_reports_days"],
        warehouse_retain_audit_days=value["warehouse.retain_audit_days"],
        warehouse_metrics_certificate=_path(value["warehouse.metrics_certificate"]),
        warehouse_metrics_key=_path(value["warehouse.metrics_key"]),
        crypto_provider=value["crypto.provider"],
        crypto_suite=value["crypto.suite"],
        fips_mode=value["crypto.fips_mode"],
        fips_module=_path(value["crypto.fips_module"]),
        wolfcrypt_sha256=value["crypto.wolfcrypt_sha256"] or "",
        wolfcrypt_certificate=value["crypto.wolfcrypt_certificate"] or "",
        secrets_store=value["secrets.store"],
        secrets_passphrase_file=_path(value["secrets.passphrase_file"]),
        secrets_attested=value["secrets.attested"] or "",
        audit_keep_days=value["audit.keep_days"],
        network_mode=value["network.mode"],
        network_paths={
            path: (value[f"network.{path}.enabled"], value[f"network.{path}.attested"])
            for path in NETWORK_PATHS
        },
        recall_hits=value["recall.hits"],
        recall_max_tokens=value["recall.max_tokens"],
        recall_timeout_ms=value["recall.timeout_ms"],
        mcp_tools=(tools,) if isinstance(tools, str) else tools,
        mcp_timeout_s=value["mcp.timeout_s"],
        mcp_http_host=value["mcp.http_host"],
        mcp_http_port=value["mcp.http_port"],
        mcp_http_names=value["mcp.http_names"],
        mcp_http_origins=value["mcp.http_origins"],
        mcp_http_certificate=_path(value["mcp.http_certificate"]),
        mcp_http_key=_path(value["mcp.http_key"]),
        sourced=sourced,
    )


def _path(said: str | None) -> Path | None:
    return Path(said).expanduser().absolute() if said else None


def _shown(one: Sourced) -> dict[str, Any]:
    value = one.value
    if one.setting.secret and isinstance(value, str):
        from satchel.dsn import masked

        value = masked(value)
    return {
        "setting": one.setting.name,
        "value": list(value) if isinstance(value, tuple) else value,
        "origin": one.origin,
        "environment": list(one.setting.environment),
        "help": one.setting.help,
    }
