"""The configuration: sources, origins, masks, refusals, and writing one setting."""

from __future__ import annotations

import ast
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from satchel import config, config_file
from satchel.dsn import MASK, masked
from satchel.errors import ConfigInvalid, StoreUnusable
from satchel.settings import NETWORK_PATHS, SETTINGS, Setting
from satchel_crypto.network import PATHS


def load(home: Path, env: dict[str, str] | None = None, **flags: str) -> config.Settings:
    return config.load(flags={"home": str(home), **flags}, environ=env or {})


def origin(settings: config.Settings, name: str) -> str:
    return next(row["origin"] for row in config.show(settings) if row["setting"] == name)


def test_without_anything_the_operator_asks(tmp_path: Path) -> None:
    settings = load(tmp_path)

    assert settings.home == tmp_path
    assert (settings.role, settings.agent_id) == ("operator", None)
    assert {row["origin"] for row in config.show(settings)[1:]} == {"default"}


def test_file_then_environment_then_flag(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text('[agent]\nid = "from-file"\n')

    assert load(tmp_path).agent_id == "from-file"
    assert origin(load(tmp_path), "agent.id") == "file"
    env = {"SATCHEL_AGENT": "from-env"}
    assert load(tmp_path, env).agent_id == "from-env"
    assert origin(load(tmp_path, env), "agent.id") == "env SATCHEL_AGENT"
    both = config.load(flags={"home": str(tmp_path), "agent.id": "from-flag"}, environ=env)
    assert both.agent_id == "from-flag"
    assert origin(both, "agent.id") == "flag"


def test_an_agent_asks_as_an_agent(tmp_path: Path) -> None:
    assert load(tmp_path, {"SATCHEL_AGENT": "scout"}).role == "agent"
    named = load(tmp_path).as_agent("claude-code")
    assert (named.agent_id, named.role) == ("claude-code", "agent")
    supervisor = load(tmp_path, {"SATCHEL_AGENT_ROLE": "supervisor"}).as_agent("claude-code")
    assert supervisor.role == "supervisor"


def test_a_configured_operator_stays_one_whatever_its_client_is_called(tmp_path: Path) -> None:
    settings = load(tmp_path, {"SATCHEL_AGENT_ROLE": "operator"}).as_agent("claude-code")
    assert settings.role == "operator"


@pytest.mark.parametrize("blank", ["", " ", "\t\n"])
@pytest.mark.parametrize("name", ["home", "agent.id", "user.id"])
def test_an_empty_flag_is_refused_and_an_empty_variable_is_unset(
    name: str, blank: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigInvalid) as refusal:
        config.load(flags={"home": str(tmp_path)} | {name: blank}, environ={})
    assert refusal.value.field == name
    (tmp_path / "config.toml").write_text('[agent]\nid = "from-file"\n')
    assert load(tmp_path, {"SATCHEL_AGENT": blank}).agent_id == "from-file"
    assert config.load(environ={"SATCHEL_HOME": blank}).home_origin == "default"


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda one: one.name)
def test_each_setting_can_come_from_its_variables(setting: Setting, tmp_path: Path) -> None:
    value = {
        "bool": "true",
        "choice": setting.choices[-1:],
        "names": "task,agent",
        "days": "7",
        "whole": str(setting.range[1]),
    }
    text = value.get(setting.kind, "text")
    text = text[0] if isinstance(text, tuple) else text
    for variable in setting.environment:
        assert origin(load(tmp_path, {variable: text}), setting.name) == f"env {variable}"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[agent]\nidd = 'x'", ["config.toml:2", "agent.idd"]),
        ("[agnet]\nid = 'x'", ["config.toml:2", "agnet.id"]),
        ("[agent]\nid = 3", ["agent.id", "text"]),
        ("[ranking]\nengine = 'nativ'", ["config.toml:2", "ranking.engine", "native"]),
        ("[crypto]\nfips_mode = 'maybe'", ["crypto.fips_mode", "true or false"]),
        ("[agent\nid = 3", ["config.toml", "not TOML", "line 1"]),
        ("[mcp]\ntools = 7", ["mcp.tools"]),
        ('[agent]\nid = "a\\u0000b"', ["agent.id", "NUL", "position 1"]),
        ("top = 1", ["config.toml:1", "top"]),
    ],
)
def test_a_bad_file_is_refused_by_name(tmp_path: Path, text: str, words: list[str]) -> None:
    (tmp_path / "config.toml").write_text(text)

    with pytest.raises(ConfigInvalid) as caught:
        load(tmp_path)

    assert all(word in str(caught.value) for word in words), str(caught.value)
    assert caught.value.hint


def test_a_misspelt_key_is_answered_with_the_nearest(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text("[warehouse]\ndns = 'x'")

    with pytest.raises(ConfigInvalid) as caught:
        load(tmp_path)

    assert "warehouse.dsn" in caught.value.hint


def test_a_bad_variable_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigInvalid, match="SATCHEL_RANKING"):
        load(tmp_path, {"SATCHEL_RANKING": "fast"})


def test_unknown_variables_are_told() -> None:
    found = dict(config.unknown_variables({"SATCHEL_WAREHUSE_DSN": "x", "SATCHEL_HOME": "y"}))

    assert list(found) == ["SATCHEL_WAREHUSE_DSN"]
    assert "SATCHEL_WAREHOUSE_DSN" in found["SATCHEL_WAREHUSE_DSN"]


@pytest.mark.parametrize(
    "dsn",
    [
        "postgresql://user:s3cret@host/db",
        "postgresql://user:s3@cret@host:5432/db?sslmode=verify-full",
        "postgresql://host/db?user=u&password=s3cret&sslmode=require",
        "host=h user=u password=s3cret dbname=d",
        "host=h password='s3cret with blanks' dbname=d",
        "host=h PASSWORD = s3cret",
    ],
)
def test_a_password_is_never_shown(tmp_path: Path, dsn: str) -> None:
    settings = load(tmp_path, {"SATCHEL_WAREHOUSE_DSN": dsn})

    assert settings.warehouse_dsn == dsn
    shown = str(config.show(settings)) + repr(settings)
    assert "s3cret" not in shown
    assert "cret@" not in shown
    assert MASK in shown


PIECE = st.text("ABCDEFGHJKLMNPQRSTUVWXYZ", min_size=6, max_size=9).map("Zz{}".format)
BETWEEN = st.sampled_from(
    ["", *":/@?#&=[]%' ,;\\", "://", "=x ", "%40", "\n", "é", "/?", "&b=", "@:"]
)
FORMS = st.sampled_from(
    [
        "postgresql://u:{}@localhost/db",
        "postgresql://u:{}@localhost:5432/db?sslmode=verify-full",
        "postgres://:{}@/db",
        "postgresql:/u:{}@localhost/db",
        "postgresql:u:{}@localhost/db",
        "postgresql://u:{}",
        "postgresql://u:{}/db",
        "postgresql://h/db?password={}",
        "postgresql://h:5432/db?user=u&password={}&sslmode=require",
        "host=h user=u password={} dbname=d",
        "host=h password='{}'",
        "password= {}",
        "{}",
    ]
)


@given(form=FORMS, pieces=st.lists(PIECE, min_size=1, max_size=3), between=BETWEEN)
def test_whatever_the_password_no_piece_of_it_is_shown(
    form: str, pieces: list[str], between: str
) -> None:
    if between == "@" and form in ("postgresql://u:{}", "postgresql://u:{}/db"):
        pieces = [*pieces[:-1], "localhost"]  # to libpq too, what is behind the last @ is a host
    dsn = form.format(between.join(pieces))
    pieces = [piece for piece in pieces if piece != "localhost"]
    settings = config.load(environ={"SATCHEL_HOME": "/nowhere", "SATCHEL_WAREHOUSE_DSN": dsn})

    shown = str(config.show(settings)) + repr(settings) + repr(settings.sourced)

    assert not [piece for piece in pieces if piece in masked(dsn) + shown]


@pytest.mark.parametrize(
    "dsn",
    [
        "postgresql://user@host:5432/db?sslmode=verify-full",
        "postgresql:///db?host=%2Ftmp%2Fx&port=5433",
        "postgresql://[::1]:5432,other/db",
        "host=/tmp/x dbname=d user=u",
        "service=warehouse",
        "",
    ],
)
def test_a_dsn_without_a_password_is_shown_whole(dsn: str) -> None:
    assert masked(dsn) == dsn


def test_set_keeps_the_rest_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text("# mine\n[agent]\nid = 'old' # who\n\n[ranking]\nengine = 'pure'\n")

    config_file.set_value(tmp_path, "agent.id", 'new "one" \\ é')
    config_file.set_value(tmp_path, "network.sync.postgres.enabled", "false")
    config_file.set_value(tmp_path, "mcp.tools", "core,task")

    text = path.read_text("utf-8")
    assert text.startswith("# mine\n[agent]\n")
    assert "# who" in text
    settings = load(tmp_path)
    assert settings.agent_id == 'new "one" \\ é'
    assert settings.ranking == "pure"
    assert settings.network_paths["sync.postgres"] == (False, "")
    assert settings.mcp_tools == ("core", "task")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("name", "value"), [("agent.idd", "x"), ("ranking.engine", "fast"), ("crypto.fips_mode", "")]
)
def test_set_refuses_what_could_not_be_read(tmp_path: Path, name: str, value: str) -> None:
    with pytest.raises(ConfigInvalid):
        config_file.set_value(tmp_path, name, value)

    assert list(tmp_path.iterdir()) == []


def test_set_refuses_a_form_it_cannot_edit(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text("agent = {id = 'x'}\n")

    with pytest.raises(ConfigInvalid):
        config_file.set_value(tmp_path, "agent.id", "y")

    assert path.read_text() == "agent = {id = 'x'}\n"


def test_set_into_a_file_that_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("a file")

    with pytest.raises(StoreUnusable):
        config_file.set_value(tmp_path / "home", "agent.id", "y")


def test_the_network_paths_are_those_of_the_gate() -> None:
    assert set(NETWORK_PATHS) <= set(PATHS)


def test_only_config_reads_the_environment() -> None:
    package = Path(config.__file__).parent
    readers = {
        str(path.relative_to(package))
        for path in package.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Attribute) and node.attr in ("environ", "getenv")
    }

    assert readers <= {"config.py"}
