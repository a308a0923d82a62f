"""Every setting of satchel, declared once: section, key, type, default, environment names, help."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from satchel_crypto.network.paths import PATHS

Kind = Literal["text", "path", "reason", "bool", "choice", "names", "days", "whole"]
Value = str | bool | int | tuple[str, ...] | None
DAYS_MAX = 36_500


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One key of `config.toml`. `short` are environment names beside SATCHEL_SECTION_KEY.

    A `names` setting is one of `choices` or a list of names; `secret` values are shown masked. A
    `strict` switch takes no other word than true, false, 1 and 0, and its sources may not disagree.
    `days` are a whole number from 1 to `DAYS_MAX`, a `whole` one lies in `range`; a `reason` is
    text that says something.
    """

    section: str
    key: str
    kind: Kind = "text"
    default: Value = None
    choices: tuple[str, ...] = ()
    range: tuple[int, int] = (1, DAYS_MAX)
    short: tuple[str, ...] = ()
    secret: bool = False
    strict: bool = False
    help: str

    @property
    def name(self) -> str:
        """`section.key`, as `config set` takes it and `config show` prints it."""
        return f"{self.section}.{self.key}"

    @property
    def environment(self) -> tuple[str, ...]:
        """The names of its environment variables, the one that counts first."""
        long = "SATCHEL_" + self.name.replace(".", "_").upper()
        return (*self.short, long) if long not in self.short else self.short


NETWORK_PATHS = tuple(PATHS)
"""The network paths that can be opened, as `satchel_crypto.network` names them."""


_WEAKER = {
    "out": "reach a remote host without TLS that verifies it, or that FIPS mode approves of",
    "serve": "be reached from other machines without TLS",
}


def _network_path(path: str) -> tuple[Setting, Setting]:
    section = f"network.{path}"
    return (
        Setting(
            section=section,
            key="enabled",
            kind="bool",
            default=PATHS[path].enabled,
            help=f"May the path {path} be opened: {PATHS[path].purpose}",
        ),
        Setting(
            section=section,
            key="attested",
            kind="reason",
            default="",
            help=f"Why {path} may {_WEAKER[PATHS[path].direction]}",
        ),
    )


SETTINGS: tuple[Setting, ...] = (
    Setting(
        section="agent",
        key="id",
        short=("SATCHEL_AGENT",),
        help="Who asks; unset or empty = the operator; under MCP the client by its own name",
    ),
    Setting(
        section="agent",
        key="role",
        kind="choice",
        choices=("operator", "supervisor", "agent"),
        help="What the caller may see; default: agent when it has an id, else operator",
    ),
    Setting(section="user", key="id", short=("SATCHEL_USER",), help="The user that rows are about"),
    Setting(
        section="memory",
        key="isolation",
        kind="choice",
        default="enforced",
        choices=("enforced", "advisory"),
        short=("SATCHEL_ISOLATION",),
        help="enforced: agents see their own rows; advisory: agents see what the operator sees",
    ),
    Setting(
        section="memory",
        key="secrets",
        kind="choice",
        default="warn",
        choices=("warn", "redact", "refuse"),
        help="What becomes of a secret in a memory: told of, replaced, or the write is refused",
    ),
    Setting(
        section="memory",
        key="supersede",
        kind="choice",
        default="similar",
        choices=("similar", "off"),
        help="similar: a write replaces what it rewords or denies; off: it only tells of it",
    ),
    Setting(
        section="chatlog",
        key="secrets",
        kind="choice",
        default="redact",
        choices=("redact", "refuse"),
        help="What becomes of a secret in a chat log: replaced, or the turn is refused",
    ),
    Setting(
        section="session",
        key="working_days",
        kind="days",
        default=7,
        help="For how many days working memories are shown once their session has ended",
    ),
    Setting(
        section="session",
        key="abandoned_days",
        kind="days",
        default=2,
        help="After how many days without a write `session sweep` ends an open session",
    ),
    Setting(
        section="store",
        key="durability",
        kind="choice",
        default="full",
        choices=("full", "process"),
        help="full: on disk before the answer; process: may lose the last writes in a power cut",
    ),
    Setting(
        section="embedding",
        key="engine",
        kind="choice",
        default="auto",
        choices=("auto", "native", "sentence-transformers", "http", "off"),
        short=("SATCHEL_EMBEDDING",),
        help="Which engine turns text into vectors",
    ),
    Setting(
        section="embedding",
        key="model",
        short=("SATCHEL_MODEL",),
        help="The embedding model: a folder or a known name",
    ),
    Setting(
        section="ranking",
        key="engine",
        kind="choice",
        default="auto",
        choices=("auto", "pure", "native"),
        short=("SATCHEL_RANKING",),
        help="Which ranking core is used; both give the same answers",
    ),
    Setting(
        section="warehouse",
        key="dsn",
        secret=True,
        help="The warehouse this replica syncs with: a libpq URI or service",
    ),
    Setting(
        section="warehouse",
        key="admin_dsn",
        secret=True,
        help="The warehouse as its owner, for init, migrate and grant",
    ),
    Setting(
        section="warehouse",
        key="report_dsn",
        secret=True,
        help="The warehouse as a reporter or auditor reads it; default: as its owner",
    ),
    *(
        Setting(
            section="warehouse",
            key=f"retain_{what}_days",
            kind="whole",
            default=400,
            range=(0, DAYS_MAX),
            help=f"For how many days `satchel warehouse retain` keeps {words}; 0 = for ever",
        )
        for what, words in (
            ("journal", "the conflict journal"),
            ("reports", "the reports of syncs"),
            ("audit", "audit records"),
        )
    ),
    Setting(
        section="warehouse",
        key="metrics_certificate",
        kind="path",
        help="The TLS certificate (PEM, with its chain) of the metrics: needed off loopback",
    ),
    Setting(
        section="warehouse",
        key="metrics_key",
        kind="path",
        help="The private key of that certificate (PEM)",
    ),
    Setting(
        section="crypto",
        key="provider",
        kind="choice",
        default="openssl",
        choices=("openssl", "nacl", "wolfcrypt"),
        help="Which library does the cryptography",
    ),
    Setting(
        section="crypto",
        key="suite",
        kind="choice",
        default="auto",
        choices=("auto", "p256-aes256gcm", "p384-aes256gcm", "x25519-xchacha"),
        help="What this machine signs and seals with; auto = the provider's own",
    ),
    Setting(
        section="crypto",
        key="fips_mode",
        kind="bool",
        default=False,
        short=("SATCHEL_FIPS",),
        strict=True,
        help="Use FIPS-approved cryptography only, or stop",
    ),
    Setting(
        section="crypto",
        key="fips_module",
        kind="path",
        help="The folder of the FIPS module; default: `fips` in the home",
    ),
    Setting(
        section="crypto",
        key="wolfcrypt_sha256",
        help="SHA-256 of the wolfSSL FIPS build that the operator attests",
    ),
    Setting(
        section="crypto",
        key="wolfcrypt_certificate",
        help="The number of its certificate",
    ),
    Setting(
        section="secrets",
        key="store",
        kind="choice",
        default="auto",
        choices=("auto", "keyring", "file"),
        help="Where secrets are kept; auto: where they are; at first the keyring if there is one",
    ),
    Setting(
        section="secrets",
        key="passphrase_file",
        kind="path",
        help="The file with the passphrase that opens the encrypted file of secrets",
    ),
    Setting(
        section="secrets",
        key="attested",
        default="",
        help="Why a keyring, which nobody validated, may keep secrets in FIPS mode",
    ),
    Setting(
        section="audit",
        key="keep_days",
        kind="days",
        default=90,
        help="For how many days it is kept who read and wrote what",
    ),
    Setting(
        section="network",
        key="mode",
        kind="choice",
        default="open",
        choices=("open", "none"),
        help="none closes every network path (air gap)",
    ),
    Setting(
        section="recall",
        key="hits",
        kind="whole",
        default=5,
        range=(1, 50),
        help="How many memories `satchel recall` gives at most",
    ),
    Setting(
        section="recall",
        key="max_tokens",
        kind="whole",
        default=800,
        range=(50, 2_300),
        help="How many tokens `satchel recall` puts into a context at most",
    ),
    Setting(
        section="recall",
        key="timeout_ms",
        kind="whole",
        default=1_500,
        range=(50, 60_000),
        help="After so many ms a hook of `satchel recall` gives up and lets its host go on",
    ),
    *(setting for path in NETWORK_PATHS for setting in _network_path(path)),
    Setting(
        section="mcp",
        key="tools",
        kind="names",
        default="core",
        choices=("core", "all"),
        help="Tools at the start of an MCP session: core, all, or a list of groups",
    ),
    Setting(
        section="mcp",
        key="timeout_s",
        kind="whole",
        default=60,
        range=(1, 3600),
        help="Seconds after which a call over MCP is stopped; satchel_call can ask for others",
    ),
    Setting(
        section="mcp",
        key="http_host",
        default="127.0.0.1",
        help="The address that `satchel mcp --http` listens on",
    ),
    Setting(
        section="mcp",
        key="http_port",
        kind="whole",
        default=8765,
        range=(0, 65535),
        help="Its port; 0 = any that is free",
    ),
    Setting(
        section="mcp",
        key="http_names",
        kind="names",
        default=(),
        help="Other host names by which clients reach it: their Host header is accepted",
    ),
    Setting(
        section="mcp",
        key="http_origins",
        kind="names",
        default=(),
        help="Web pages that may call it, as https://host:port; none but its own by default",
    ),
    Setting(
        section="mcp",
        key="http_certificate",
        kind="path",
        help="The TLS certificate (PEM, with its chain): needed off loopback",
    ),
    Setting(
        section="mcp",
        key="http_key",
        kind="path",
        help="The private key of that certificate (PEM)",
    ),
)
"""In the order in which `config show` prints them."""

BY_NAME: dict[str, Setting] = {setting.name: setting for setting in SETTINGS}
