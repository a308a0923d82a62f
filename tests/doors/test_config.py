"""The configuration: sources, origins, masks, refusals, and writing one setting."""

from __future__ import annotations

import ast
import stat
from pathlib import Path

import pytest

from satchel import config, config_file
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


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda one: one.name)
def test_each_setting_can_come_from_its_variables(setting: Setting, tmp_path: Path) -> None:
    value = {"bool": "true", "choice": setting.choices[-1:], "names": "task,agent"}
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
    assert config.MASK in shown


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
