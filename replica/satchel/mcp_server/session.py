"""One caller's session: who it is, and its calls of tools by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from satchel.mcp_server import by_name
from satchel.mcp_server.household import Household
from satchel.memory.limits import NAME_CHARS_MAX
from satchel.tools import aliases

if TYPE_CHECKING:
    from satchel.config import Settings
    from satchel.memory.visibility import Caller
    from satchel.replica import Replica
    from satchel.tools.aliases import Meant

UNNAMED = "unnamed"
"""The agent that a client is which gives itself no name, or none that can be read."""


class Session:
    """Calls of one caller; any number of threads may make them at once."""

    def __init__(
        self,
        settings: Settings,
        client: str | None,
        household: Household | None = None,
        still_allowed: Callable[[], None] | None = None,
    ) -> None:
        """`client` is the name the client gives itself; --agent and SATCHEL_AGENT stand above.

        Sessions of one `household` share a replica; without one this is the only session.
        `still_allowed` raises Refused once the caller may come in no more.
        """
        self.still_allowed = still_allowed
        self._settings = settings.as_agent(agent_name(client))
        self._household = household or Household(settings)

    def call(self, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The answer of a tool, as plain JSON. Raises typed errors."""
        if name == by_name.CALL.name:
            return by_name.call(self, arguments)
        return self.run(name, arguments)

    def run(self, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Run one tool by its name or by one that m3 has for it."""
        meant, checked = self._checked(name, arguments)
        answer = meant.tool.call(self._replica(meant), checked)
        if meant.tool.writes:
            self._household.wrote()
        return answer

    @property
    def caller(self) -> Caller:
        """Who calls."""
        from satchel.replica import caller_of  # the handshake has no use for a store

        return caller_of(self._settings)

    def wait_s(self, name: str, arguments: Mapping[str, Any]) -> float:
        """How long a call means to wait for something to come.

        Only then its arguments are checked: raises what `run` raises for wrong ones.
        """
        if not arguments.get("wait"):
            return 0.0
        _, checked = self._checked(name, arguments)
        return float(checked.get("wait") or 0)

    def rehearse(self, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """What a call would answer; nothing of it is kept.

        A tool that does more than read and change rows is only checked: `would` is None then.
        """
        meant, checked = self._checked(name, arguments)
        tool = meant.tool
        checked.pop("wait", None)  # others could not write meanwhile
        would: dict[str, Any] | None = None
        if not tool.outside:
            replica = self._replica(meant)
            with replica.store.rehearsal():
                would = tool.call(replica, checked)
        return {
            "dry_run": True,
            "tool": tool.name,
            "writes": tool.writes,
            "destructive": tool.destructive,
            "would": would,
        }

    def close(self) -> None:
        """Close the replica, if it was opened."""
        self._household.close()

    def _checked(self, name: str, arguments: Mapping[str, Any]) -> tuple[Meant, dict[str, Any]]:
        """The tool that is meant and its checked arguments, one that names the caller too."""
        meant = aliases.meant(name, arguments)
        checked = meant.tool.arguments(meant.arguments)
        if meant.agent is not None:
            aliases.require_caller(meant.agent, self._settings.agent_id, self._settings.role)
        return meant, checked

    def _replica(self, meant: Meant) -> Replica:
        settings = self._settings
        if meant.agent is not None:
            settings = settings.as_caller(meant.agent, "agent", settings.user_id)
        return self._household.replica(settings)


def agent_name(client: str | None) -> str:
    """A client's own name as an agent's name: one line without odd characters, never empty."""
    printable = "".join(one for one in client or "" if one.isprintable()).strip()
    return printable[:NAME_CHARS_MAX].strip() or UNNAMED
