"""What a command is given: the settings it was told and the two streams it may write to."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TextIO

from satchel import config
from satchel.errors import OutputFailed
from satchel.terminal import is_terminal

if TYPE_CHECKING:
    from rich.console import Console


class ReaderGone(Exception):
    """Who read our stdout has closed it: what was to be done is done, nobody wants to hear it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Globals:
    """The options that every command takes, before the noun or after the verb; None = not said."""

    home: str | None = None
    agent: str | None = None
    user: str | None = None
    json: bool | None = None
    quiet: bool | None = None
    verbose: bool | None = None
    no_color: bool | None = None

    def overridden(self, later: Mapping[str, Any]) -> Globals:
        """These, with what was said after the verb."""
        return replace(self, **{name: said for name, said in later.items() if said is not None})


@dataclass(frozen=True)
class Door:
    """A command's view of the world. stdout carries the answer only, the rest goes to stderr."""

    options: Globals

    @cached_property
    def settings(self) -> config.Settings:
        """Read once. Raises ConfigInvalid."""
        flags = {
            "home": self.options.home,
            "agent.id": self.options.agent,
            "user.id": self.options.user,
        }
        return config.load(flags=flags)

    @property
    def json(self) -> bool:
        """Whether answers and errors are JSON: asked for, or stdout is no terminal."""
        return bool(self.options.json) or not is_terminal(sys.stdout)

    @cached_property
    def console(self) -> Console:
        """A rich console on stdout."""
        return self._console(sys.stdout)

    @cached_property
    def errors(self) -> Console:
        """A rich console on stderr, for progress and notes."""
        return self._console(sys.stderr)

    def answer(
        self,
        answer: Any,
        *,
        changed: bool = False,
        shown: Callable[[Any], Iterable[Any]] = lambda answer: [answer],
    ) -> None:
        """Print an answer: one JSON document, or tables at a terminal: of each part of `shown`.

        Raises ReaderGone, or OutputFailed, which says so where something was `changed` before.
        """
        try:
            if self.json:
                sys.stdout.write(json.dumps(answer, ensure_ascii=False, allow_nan=False) + "\n")
            else:
                from satchel.cli.render import render

                for part in shown(answer):
                    render(self.console, part)
            sys.stdout.flush()
        except BrokenPipeError as error:
            # Not an OSError any more: typer would make exit code 1 of that.
            raise ReaderGone from error
        except OSError as error:
            raise OutputFailed(
                f"the answer could not be written to stdout: {error.strerror or error}"
                + (": what was asked for is done all the same" if changed else ""),
                hint="do not ask for it again: it would be done twice" if changed else "",
            ) from error

    def asked(self, question: str) -> bool:
        """Whether a person says yes; nobody is asked but at a terminal."""
        import typer

        return not self.json and is_terminal(sys.stdin) and typer.confirm(question, err=True)

    def note(self, text: str) -> None:
        """A remark on stderr, unless --quiet."""
        if not self.options.quiet:
            sys.stderr.write(text + "\n")

    def _console(self, stream: TextIO) -> Console:
        from rich.console import Console

        return Console(
            file=stream,
            no_color=self.options.no_color or None,
            quiet=bool(self.options.quiet) and stream is sys.stderr,
            highlight=False,
        )
