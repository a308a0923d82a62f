"""A tool: a typed function with a docstring, read once into what both doors need.

    @tool(positional=("text",))
    def memory_write(replica: Replica, text: Text, title: str | None = None) -> Written:
        '''Keep a fact, decision or note.

        text: What to remember.
        title: A few words that name it.
        '''

gives the JSON schema, the CLI's parameters and the validation of arguments. The body is one call
into memory/.
"""

from __future__ import annotations

import inspect
import re
import typing
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from satchel.errors import ConfirmationNeeded, Refused, UnknownArgument, did_you_mean
from satchel.store.touched import TOOL
from satchel.tools.answer import jsonable
from satchel.tools.parameter import Parameter, read_parameter
from satchel.tools.values import parse, wrong

if TYPE_CHECKING:
    from satchel.replica import Replica

Answer = dict[str, Any]

_CONFIRM = Parameter(
    name="confirm", base="boolean", default=False, help="Must be true: this cannot be undone."
)
_HELP_LINE = re.compile(r"^(\w+): (.*)$")


@dataclass(frozen=True)
class Tool:
    """One tool of the catalog. `positional` are its CLI arguments in order, the rest are options.

    `short` gives extra option names on the CLI, `synonyms` other names of a plural argument,
    `exit_code` reads the shell's exit code from an answer. `operator_only` tools are refused to
    agents; one that is `outside` does more than read and change rows: it cannot be rehearsed.
    """

    function: Callable[..., Any]
    positional: tuple[str, ...] = ()
    writes: bool = True
    destructive: bool = False
    short: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    synonyms: Mapping[str, str] = field(default_factory=dict)
    exit_code: Callable[[Answer], int] = lambda answer: 0
    operator_only: bool = False
    outside: bool = False

    @property
    def name(self) -> str:
        """`noun_verb`."""
        return self.function.__name__

    @property
    def noun(self) -> str:
        """The first word of the name: `satchel NOUN VERB`."""
        return self.name.partition("_")[0]

    @property
    def verb(self) -> str:
        """The rest of the name."""
        return self.name.partition("_")[2]

    @property
    def command(self) -> str:
        """The verb as it is typed: `satchel NOUN COMMAND`."""
        return self.verb.replace("_", "-")

    @cached_property
    def summary(self) -> str:
        """The docstring without the lines on parameters."""
        lines = inspect.cleandoc(self.function.__doc__ or "").splitlines()
        kept = [line for line in lines if not _is_help(line, self._names)]
        return re.sub(r"\n{3,}", "\n\n", "\n".join(kept)).strip()

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """Its arguments, without `replica`; `confirm` last where the tool is destructive."""
        hints = typing.get_type_hints(self.function, self._namespace, include_extras=True)
        helps = self._helps()
        read = tuple(
            read_parameter(name, hints[name], parameter.default, helps.get(name, ""))
            for name, parameter in self._signature.items()
        )
        return (*read, _CONFIRM) if self.destructive else read

    def input_schema(self) -> dict[str, Any]:
        """The JSON schema of the arguments; unknown ones are refused."""
        return {
            "type": "object",
            "properties": {one.name: one.schema() for one in self.parameters},
            "required": [one.name for one in self.parameters if one.required],
            "additionalProperties": False,
        }

    def output_schema(self) -> dict[str, Any]:
        """The JSON schema of the answer, whole."""
        from satchel.tools.shapes import schema_of  # a call from the shell has no use for it

        answer = typing.get_type_hints(self.function, self._namespace).get("return")
        return schema_of(self.name, answer)

    def arguments(
        self, given: Mapping[str, Any], typed: Collection[str] = (), *, usage: str = ""
    ) -> dict[str, Any]:
        """Checked arguments; those in `typed` came as text from a shell.

        `usage` is the command with what it needs, for the error when that is missing. Raises
        UnknownArgument, InvalidInput or ConfirmationNeeded.
        """
        given = self._renamed(given)
        known = {one.name: one for one in self.parameters}
        for name in given:
            if name not in known:
                raise self._unknown(name, known)
        missing = [one.name for one in self.parameters if one.required and one.name not in given]
        if missing:
            needed = ", ".join(one.name for one in self.parameters if one.required)
            raise wrong(
                missing[0],
                f"is missing: `{usage or self.name}` needs it",
                f"give it: {usage}" if usage else f"{self.name} needs: {needed}",
            )
        checked = {
            name: parse(known[name], value, from_text=name in typed)
            for name, value in given.items()
        }
        if self.destructive and not checked.pop("confirm", False):
            raise ConfirmationNeeded(
                f"{self.name} destroys rows and was not confirmed",
                hint="give confirm=true (on the command line: --yes)",
                field="confirm",
            )
        return checked

    def call(self, replica: Replica, arguments: Mapping[str, Any]) -> Answer:
        """Run the tool on checked arguments; the answer is plain JSON.

        Raises Refused where it is the operator's and somebody else asks, and what the tool raises.
        """
        if self.operator_only:
            self._require_operator(replica)
        token = TOOL.set(self.name)
        try:
            answer = jsonable(self.function(replica, **arguments))
        finally:
            TOOL.reset(token)
        if not isinstance(answer, dict):
            raise TypeError(f"{self.name} must answer an object, not {type(answer).__name__}")
        return answer

    def _require_operator(self, replica: Replica) -> None:
        """Advisory isolation opens rows, not this."""
        settings = replica.settings
        if settings.role != "operator":
            raise Refused(
                f"{self.name} is for the operator of this machine, and the {settings.role}"
                f" {settings.agent_id or 'without a name'} asked",
                hint="the operator runs it from a shell, without --agent and SATCHEL_AGENT",
                field="agent",
            )

    @property
    def _namespace(self) -> dict[str, Any]:
        # `Replica` is imported for type checkers only, so that help costs no store.
        return {**vars(inspect.getmodule(self.function)), "Replica": object}

    @cached_property
    def _signature(self) -> dict[str, inspect.Parameter]:
        parameters = dict(inspect.signature(self.function).parameters)
        parameters.pop("replica")
        return parameters

    @property
    def _names(self) -> set[str]:
        return set(self._signature)

    def _helps(self) -> dict[str, str]:
        lines = inspect.cleandoc(self.function.__doc__ or "").splitlines()
        found = (_HELP_LINE.match(line.strip()) for line in lines)
        return {one[1]: one[2] for one in found if one and one[1] in self._names}

    def _renamed(self, given: Mapping[str, Any]) -> dict[str, Any]:
        renamed: dict[str, Any] = {}
        for name, value in given.items():
            plural = self.synonyms.get(name)
            if plural is None:
                renamed[name] = value
            elif plural in given:
                raise wrong(name, f"and {plural} are the same argument: give one of them")
            else:
                renamed[plural] = [value] if isinstance(value, str) else value
        return renamed

    def _unknown(self, name: str, known: Mapping[str, Parameter]) -> UnknownArgument:
        names = ", ".join(known)
        return UnknownArgument(
            f"{self.name} has no argument {name[:60]!r}",
            hint=did_you_mean(name, known) or f"it takes: {names}",
            field=name,
        )


def tool(
    *,
    positional: tuple[str, ...] = (),
    writes: bool = True,
    destructive: bool = False,
    short: Mapping[str, tuple[str, ...]] | None = None,
    synonyms: Mapping[str, str] | None = None,
    exit_code: Callable[[Answer], int] = lambda answer: 0,
    operator_only: bool = False,
    outside: bool = False,
) -> Callable[[Callable[..., Any]], Tool]:
    """Make a `Tool` of a function named `noun_verb`."""

    def read(function: Callable[..., Any]) -> Tool:
        return Tool(
            function,
            positional,
            writes,
            destructive,
            short or {},
            synonyms or {},
            exit_code,
            operator_only,
            outside,
        )

    return read


def _is_help(line: str, names: set[str]) -> bool:
    found = _HELP_LINE.match(line.strip())
    return bool(found) and found is not None and found[1] in names
