"""A team of agents for the patterns: on one machine, or on two that meet through a warehouse.

Each machine is one `satchel mcp --http` that all its agents connect to, each with a token of its
own; between machines nothing travels but by a sync: `satchel sync`, or `sync_run` of the server.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any

from anyio.from_thread import BlockingPortal, start_blocking_portal
from fix_command import run
from fix_hub import HubWorld
from fix_mcp import HttpServer, http_server
from mcp import ClientSession

DIRECT = ("memory_write", "memory_search", "memory_get", "memory_supersede", "chatlog_search")
"""Tools that are listed at the start; all others are called by `satchel_call`."""
OPERATOR = "operator-of-the-machine"
EMBEDDING = {"SATCHEL_EMBEDDING": "auto"}


@dataclass
class Team:
    """Agents and where each of them lives; those that nobody placed are on the first machine."""

    servers: dict[str, HttpServer]
    logins: dict[str, str]
    portal: BlockingPortal
    open: ExitStack
    homes: dict[str, str] = field(default_factory=dict)
    sessions: dict[tuple[str, str], ClientSession] = field(default_factory=dict)
    connecting: Lock = field(default_factory=Lock)

    @property
    def machines(self) -> list[str]:
        return list(self.servers)

    def cast(self, *agents: str) -> None:
        """Place these agents, one on each machine in turn."""
        for number, agent in enumerate(agents):
            self.homes[agent] = self.machines[number % len(self.machines)]

    def place(self, agent: str) -> str:
        """The machine that an agent lives on."""
        return self.homes.setdefault(agent, self.machines[0])

    def ask(self, agent: str, tool: str, /, *, on: str = "", **arguments: Any) -> dict[str, Any]:
        """What a tool answers to an agent, on its machine or on another."""
        failed, answer = self._call(agent, tool, arguments, on)
        assert not failed, f"{agent}: {tool}: {answer}"
        return answer

    def refused(self, agent: str, tool: str, /, **arguments: Any) -> dict[str, str]:
        """The error with which a tool refuses an agent."""
        failed, answer = self._call(agent, tool, arguments, "")
        assert failed, f"{agent}: {tool} was not refused: {answer}"
        error: dict[str, str] = answer["error"]
        return error

    def found(self, agent: str, query: str, /, **arguments: Any) -> list[str]:
        """The texts that an agent's search finds, the best first."""
        return [hit["snippet"] for hit in self.hits(agent, query, **arguments)]

    def hits(self, agent: str, query: str, /, **arguments: Any) -> list[dict[str, Any]]:
        """The memories that it finds, with all that is said of each; turns have their own search.

        (What was said in chats has a low floor: this team's other talks would be among the hits.)
        """
        answer = self.ask(agent, "memory_search", query=query, kind="memory", **arguments)
        found: list[dict[str, Any]] = answer["hits"]
        return found

    def write(self, agent: str, text: str, /, **arguments: Any) -> str:
        """The id of a new memory."""
        made = self.ask(agent, "memory_write", text=text, **arguments)
        assert made["outcome"] == "created", made
        return str(made["id"])

    def carry(self, *agents: str, by_command: bool = False) -> None:
        """A sync where each of these agents lives, in this order: the last one knows all.

        The first machine and then the second if nobody is named; nothing where all live on one.
        """
        for machine in [self.place(agent) for agent in agents] or self.machines:
            if len(self.machines) > 1:
                self.sync(machine, by_command)

    def sync(self, machine: str, by_command: bool) -> None:
        """`satchel sync`, or the same asked of the server that runs already (`sync_run`)."""
        if by_command:
            report = self.command(machine, "sync")
        else:
            self.servers[machine].token(OPERATOR, role="operator")
            report = self.ask(OPERATOR, "sync_run", on=machine)
        assert report["exit"] == 0, report

    def command(self, machine: str, *words: str, agent: str = "") -> dict[str, Any]:
        """What `satchel WORDS` says on a machine, as the operator or as an agent."""
        caller = ("--agent", agent) if agent else ()
        home, dsn = str(self.servers[machine].home), self.logins[machine]
        done = run(
            *words, *caller, SATCHEL_HOME=home, SATCHEL_WAREHOUSE_DSN=dsn, **EMBEDDING
        )  # fmt: skip
        assert done.code == 0, done
        said: dict[str, Any] = done.json
        return said

    def as_supervisor(self, agent: str) -> None:
        """Let an agent connect in the role of a supervisor from now on."""
        for server in self.servers.values():
            server.token(agent, role="supervisor")

    def _call(
        self, agent: str, tool: str, arguments: dict[str, Any], on: str
    ) -> tuple[bool, dict[str, Any]]:
        if tool not in DIRECT:
            tool, arguments = "satchel_call", {"tool": tool, "args": arguments}
        session = self._session(agent, on or self.place(agent))
        result = self.portal.call(session.call_tool, tool, arguments)
        assert json.loads(result.content[0].text) == result.structured_content
        return bool(result.is_error), dict(result.structured_content)

    def _session(self, agent: str, machine: str) -> ClientSession:
        with self.connecting:  # agents of one test may be threads
            if (agent, machine) not in self.sessions:
                server = self.servers[machine]
                client = server.client(server.token(agent))
                managed = self.portal.wrap_async_context_manager(client)
                self.sessions[agent, machine] = self.open.enter_context(managed)
            return self.sessions[agent, machine]


@contextmanager
def team_on(folder: Path, world: HubWorld, *machines: str) -> Iterator[Team]:
    """A team whose machines are new and share a warehouse."""
    logins = {name: world.login() for name in machines}
    with ExitStack() as running:
        servers = {
            name: running.enter_context(
                http_server(folder / name, SATCHEL_WAREHOUSE_DSN=dsn, **EMBEDDING)
            )
            for name, dsn in logins.items()
        }
        portal = running.enter_context(start_blocking_portal())
        with ExitStack() as sessions:
            yield Team(servers, logins, portal, sessions)
