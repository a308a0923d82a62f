"""Machines with the settings of hosts as their programs write them, on three systems."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from satchel.setup import hosts, jsonc
from satchel.setup.apply import apply
from satchel.setup.host import Host
from satchel.setup.machine import Machine
from satchel.setup.plan import Plan, plan
from satchel.setup.program import Program

PROGRAM = Program("/opt/satchel/bin/satchel")
SYSTEMS = ("linux", "darwin", "win32")

CLAUDE_STATE = """{
  "numStartups": 12,
  "installMethod": "native",
  "tipsHistory": {
    "new-user-warmup": 3
  },
  "projects": {
    "/home/una/acme": {
      "allowedTools": [],
      "mcpServers": {}
    }
  },
  "mcpServers": {
    "github": {
      "type": "http",
      "url": "https://api.githubcopilot.com/mcp/"
    }
  },
  "userID": "5b1f"
}
"""
CLAUDE_SETTINGS = """{
  "$schema": "https://json.schemastore.org/claude-code-settings.json",
  "permissions": {
    "allow": [
      "Bash(npm run lint)"
    ]
  },
  "hooks": {
    "PostToolUse": [
      {
        "matcher": "Write|Edit",
        "hooks": [
          {
            "type": "command",
            "command": "npx prettier --write"
          }
        ]
      }
    ],
    "Stop": [
      {
        "hooks": [
          {
            "type": "command",
            "command": "say done"
          }
        ]
      }
    ]
  }
}
"""
CODEX_CONFIG = """# what Codex is to use
model = "gpt-6-codex"  # the large one
approval_policy = "on-request"

[mcp_servers.docs]
command = "npx"
args = ["-y", "docs-mcp"]  # no key needed

[mcp_servers.docs.env]
TOKEN = "x"

[features]
web_search_request = true

[projects."/home/una/acme"]
trust_level = "trusted"
"""
CODEX_HOOKS = """{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "notify done"}]}]}}
"""
CURSOR = """{
  // servers of all projects
  "mcpServers": {
    "linear": { "url": "https://mcp.linear.app/sse" }, // by the team
  },
}
"""
GEMINI = """{
  "security": {
    "auth": {
      "selectedType": "gemini-api-key"
    }
  },
  /* looks */
  "ui": { "theme": "Dracula" },
  "mcpServers": {
    "git": {
      "command": "uvx",
      "args": ["mcp-server-git"]
    }
  }
}
"""
CLINE = """{
  "mcpServers": {
    "local-server": {
      "command": "node",
      "args": ["/path/to/server.js"],
      "env": {
        "API_KEY": "your_api_key"
      },
      "disabled": false,
      "autoApprove": []
    }
  }
}"""
OPENCODE = """{
\t"$schema": "https://opencode.ai/config.json",
\t"theme": "opencode", // dark
\t"mcp": {
\t\t"jira": {
\t\t\t"type": "remote",
\t\t\t"url": "https://jira.example.com/mcp",
\t\t\t"enabled": false,
\t\t},
\t},
}
"""
VSCODE = """{
\t"servers": {
\t\t"playwright": {
\t\t\t"type": "stdio",
\t\t\t"command": "npx",
\t\t\t"args": ["-y", "@playwright/mcp"]
\t\t}
\t},
\t"inputs": []
}
"""
SAMPLES = {
    "claude-code": (CLAUDE_STATE, CLAUDE_SETTINGS),
    "codex": (CODEX_CONFIG, CODEX_HOOKS),
    "cursor": (CURSOR,),
    "gemini-cli": (GEMINI,),
    "cline": (CLINE,),
    "opencode": (OPENCODE,),
    "vscode": (VSCODE,),
}
"""The files of each host, in the order in which setup names them."""


def machine(
    home: Path, system: str = "linux", programs: Iterable[str] = (), **variables: str
) -> Machine:
    """A machine whose user's folder is `home`; `programs` are on its PATH."""
    found = frozenset(programs)
    return Machine(system, home, variables, lambda name: name in found)


# ---- what setup made of them -----------------------------------------------------------------

HOSTS = {one.name: one for one in hosts.HOSTS}
EACH = pytest.mark.parametrize("name", HOSTS)
"""A test for each host."""


def paths(here: Machine, name: str) -> list[Path]:
    return [file.path for file in HOSTS[name].files(here, PROGRAM)]


def fill(here: Machine, name: str) -> dict[Path, bytes]:
    """The host's files, as its program writes them."""
    made = {}
    for path, text in zip(paths(here, name), SAMPLES[name], strict=True):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8", newline="")
        made[path] = text.encode()
    return made


def run(host: Host, here: Machine, *, remove: bool = False, program: Program = PROGRAM) -> Plan:
    planned = plan(host, here, program, remove=remove)
    for change in planned.changes:
        apply(change)
    return planned


def tree(folder: Path) -> dict[str, bytes]:
    found = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


def parsed(path: Path) -> Any:
    text = path.read_text("utf-8-sig")
    return tomllib.loads(text) if path.suffix == ".toml" else jsonc.value_of(text)


def server(name: str, path: Path) -> Any:
    said = parsed(path)
    under = {"codex": ["mcp_servers"], "opencode": ["mcp"], "vscode": ["servers"]}
    for key in under.get(name, ["mcpServers"]):
        said = said[key]
    return said["satchel"]
