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

from satchel.errors import ConfigInvalid, Refused, did_you_mean
from satchel.settings import BY_NAME, NETWORK_PATHS, SETTINGS, Setting, Value

if TYPE_CHECKING:
    from satchel_crypto.network import Policy

CONFIG_FILE = "config.toml"


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
    role: Literal["operator", "supervisor", "agent"] = "operator"
    isolation: Literal["enforced", "advisory"] = "enforced"
    durability: Literal["full", "process"] = "full"
    embedding: Literal["auto", "native", "sentence-transformers", "http", "off"] = "auto"
    model: str | None = None
    ranking: Literal["auto", "pure", "native"] = "auto"
    warehouse_dsn: str | None = field(default=None, repr=False)
    warehouse_admin_dsn: str | None = field(default=None, repr=False)
    crypto_provider: Literal["openssl", "nacl", "wolfcrypt"] = "openssl"
    fips_mode: bool = False
    network_mode: Literal["open", "none"] = "open"
    network_paths: Mapping[str, tuple[bool, str]] = field(
        default_factory=lambda: dict.fromkeys(NETWORK_PATHS, (True, ""))
    )
    """Path name -> (enabled, reason that attests weaker TLS)."""
    mcp_tools: tuple[str, ...] = ("core",)
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

    def require_built(self) -> None:
        """Raise Refused where a promise was asked for that this release cannot keep.

        Called before a replica is opened and before a socket is: nothing is touched.
        """
        if self.fips_mode:
            raise Refused(
                "FIPS mode was asked for, and this release has no FIPS provider",
                hint="unset SATCHEL_FIPS and `crypto.fips_mode` to work without it",
                field="crypto.fips_mode",
            )
        if self.crypto_provider != "openssl":
            raise Refused(
                f"this release has no crypto provider {self.crypto_provider!r}",
                hint="unset SATCHEL_CRYPTO_PROVIDER and `crypto.provider`",
                field="crypto.provider",
            )

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
    home, home_origin = _home(flags.get("home"), environ)
    file = _read_file(home / CONFIG_FILE)
    sourced = tuple(_source(setting, file, environ, flags) for setting in SETTINGS)
    return _settings(home, home_origin, sourced)


def unknown_variables(environ: Mapping[str, str] | None = None) -> list[tuple[str, str]]:
    """SATCHEL_* variables that no setting has, each with a suggestion."""
    environ = os.environ if environ is None else environ
    known = {"SATCHEL_HOME"} | {name for setting in SETTINGS for name in setting.environment}
    strange = sorted(n for n in environ if n.startswith("SATCHEL_") and n not in known)
    return [(name, did_you_mean(name, known)) for name in strange]


def libpq_variables(environ: Mapping[str, str] | None = None) -> list[str]:
    """PG* variables that are set: libpq reads them, and they are settings of nobody else's."""
    environ = os.environ if environ is None else environ
    return sorted(name for name in environ if re.fullmatch("PG[A-Z]+", name) and environ[name])


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


def _home(flag: str | None, environ: Mapping[str, str]) -> tuple[Path, str]:
    if flag is not None:
        _refuse_blank(flag, "home")
    given, origin = (flag, "flag") if flag else (environ.get("SATCHEL_HOME"), "env SATCHEL_HOME")
    if given and given.strip():
        _refuse_nul(given, "home", origin)
        return Path(given).expanduser().absolute(), origin
    from platformdirs import user_data_path  # 10 ms, and most processes are told their home

    return user_data_path("satchel", appauthor=False), "default"


def _read_file(path: Path) -> dict[str, Any]:
    """`config.toml` as {section.key: value}; an absent file is an empty one."""
    try:
        text = path.read_bytes().decode("utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except UnicodeDecodeError as error:
        raise ConfigInvalid(
            f"{path}: not UTF-8 at byte {error.start}",
            hint="save the file as UTF-8",
            field="config",
        ) from error
    except OSError as error:
        raise ConfigInvalid(
            f"{path}: cannot be read: {error.strerror}",
            hint="the file must be readable by this user",
            field="config",
        ) from error
    return parse(text, path)


def parse(text: str, path: Path) -> dict[str, Any]:
    """TOML text as {section.key: value}. Raises ConfigInvalid for broken TOML or unknown keys."""
    import tomllib  # 10 ms, and most homes have no config file

    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigInvalid(
            f"{path}: not TOML: {error}", hint="mend or remove the line", field="config"
        ) from error
    found = dict(_leaves(document))
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
    flag = flags.get(setting.name)
    if flag is not None:
        _refuse_blank(flag, setting.name)
        return Sourced(setting, checked(setting, flag, "the command line"), "flag")
    for name in setting.environment:
        if environ.get(name, "").strip():
            return Sourced(setting, checked(setting, environ[name], name), f"env {name}")
    if setting.name in file:
        return Sourced(setting, checked(setting, file[setting.name], CONFIG_FILE), "file")
    return Sourced(setting, setting.default, "default")


# ---- values -------------------------------------------------------------------------------------


def checked(setting: Setting, value: Any, where: str) -> Value:
    """`value` as the setting's type. Raises ConfigInvalid naming `where`, key and remedy."""
    if setting.kind == "bool":
        return _checked_bool(setting, value, where)
    if setting.kind == "names":
        return _checked_names(setting, value, where)
    if not isinstance(value, str):
        raise _bad(setting, where, f"must be text, not {type(value).__name__}")
    _refuse_nul(value, setting.name, where)
    if setting.kind == "choice" and value not in setting.choices:
        choices = ", ".join(setting.choices)
        raise _bad(
            setting, where, f"is {value!r}, must be one of: {choices}", setting.choices, value
        )
    return value


def _checked_bool(setting: Setting, value: Any, where: str) -> bool:
    words = {"true": True, "1": True, "yes": True, "on": True}
    words |= {"false": False, "0": False, "no": False, "off": False}
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.lower() in words:
        return words[value.lower()]
    raise _bad(setting, where, f"is {value!r}, must be true or false")


def _checked_names(setting: Setting, value: Any, where: str) -> str | tuple[str, ...]:
    if isinstance(value, str):
        value = [part.strip() for part in value.split(",") if part.strip()]
    if not isinstance(value, list) or not all(isinstance(part, str) for part in value):
        raise _bad(setting, where, f"must be {', '.join(setting.choices)} or a list of names")
    return tuple(value)


def _bad(
    setting: Setting, where: str, fault: str, known: tuple[str, ...] = (), given: str = ""
) -> ConfigInvalid:
    hint = did_you_mean(given, known) or f"see `satchel config show`: {setting.help}"
    return ConfigInvalid(f"{where}: {setting.name} {fault}", hint=hint, field=setting.name)


def unknown_setting(name: str, where: str) -> ConfigInvalid:
    known = sorted(BY_NAME)
    last = name.rpartition(".")[2]
    alike = [one for one in known if one.rpartition(".")[2] == last]
    hint = did_you_mean(name, known) or did_you_mean(name, alike)
    return ConfigInvalid(
        f"{where}: unknown setting {name!r}",
        hint=hint or "`satchel config show` lists every setting",
        field=name,
    )


def _refuse_blank(flag: str, name: str) -> None:
    """An empty flag is a variable that was not set: taken as "not said" it would be the operator's.

    (`satchel --agent "$AGENT"`.) An empty environment variable counts as unset.
    """
    if not flag.strip():
        raise ConfigInvalid(
            f"the command line: {name} is empty",
            hint="give a value, or leave the option out",
            field=name,
        )


def _refuse_nul(value: str, name: str, where: str) -> None:
    for position, character in enumerate(value):
        if character == "\0" or "\ud800" <= character <= "\udfff":
            what = "NUL" if character == "\0" else "a lone surrogate"
            raise ConfigInvalid(
                f"{where}: {name} has {what} at position {position}",
                hint="remove that character",
                field=name,
            )


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
        durability=value["store.durability"],
        embedding=value["embedding.engine"],
        model=value["embedding.model"] or None,
        ranking=value["ranking.engine"],
        warehouse_dsn=value["warehouse.dsn"] or None,
        warehouse_admin_dsn=value["warehouse.admin_dsn"] or None,
        crypto_provider=value["crypto.provider"],
        fips_mode=value["crypto.fips_mode"],
        network_mode=value["network.mode"],
        network_paths={
            path: (value[f"network.{path}.enabled"], value[f"network.{path}.attested"])
            for path in NETWORK_PATHS
        },
        mcp_tools=(tools,) if isinstance(tools, str) else tools,
        sourced=sourced,
    )


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
