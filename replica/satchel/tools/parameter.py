"""A tool's parameter, read once from its annotation: type, limits, default, help, JSON schema."""

from __future__ import annotations

import inspect
import types
import typing
from dataclasses import dataclass
from typing import Annotated, Any, Literal, get_args, get_origin

from satchel.tools.kinds import JSON_OBJECT, LONG, MOMENT, Range

Base = Literal["text", "integer", "number", "boolean", "time", "object"]

_PLAIN: dict[Any, Base] = {str: "text", int: "integer", float: "number", bool: "boolean"}
_SCHEMA_TYPE: dict[Base, str] = {"text": "string", "time": "string"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One argument of a tool. `many` = a list of `base`; `choices` = the only values accepted."""

    name: str
    base: Base
    help: str = ""
    many: bool = False
    required: bool = False
    nullable: bool = False
    default: Any = None
    choices: tuple[str, ...] = ()
    long: bool = False
    range: Range | None = None

    def schema(self) -> dict[str, Any]:
        """The JSON schema of this argument."""
        one: dict[str, Any] = {"type": _SCHEMA_TYPE.get(self.base, self.base)}
        if self.base == "time":
            one["format"] = "date-time"
        if self.choices:
            one["enum"] = list(self.choices)
        if self.range:
            one |= {"minimum": self.range.least, "maximum": self.range.most}
        whole = {"type": "array", "items": one} if self.many else one
        return whole | ({"description": self.told} if self.help else {})

    @property
    def told(self) -> str:
        """The help, and the default where there is one."""
        return (
            self.help if self.default in (None, False) else f"{self.help}, default {self.default}"
        )


def read_parameter(
    name: str,
    annotation: Any,
    default: Any,
    help: str,  # noqa: A002 (the word of every CLI)
) -> Parameter:
    """Read one annotation. Raises TypeError for a type that has no place at a door."""
    required = default is inspect.Parameter.empty
    annotation, nullable = _without_none(annotation)
    annotation, marks = _without_marks(annotation, ())
    many = get_origin(annotation) is list
    if many:
        annotation, marks = _without_marks(get_args(annotation)[0], marks)
    choices: tuple[str, ...] = ()
    if get_origin(annotation) is Literal:
        choices, annotation = get_args(annotation), str
    return Parameter(
        name=name,
        base=_base(name, annotation, marks),
        help=help,
        many=many,
        required=required,
        nullable=nullable,
        default=None if required else default,
        choices=choices,
        long=LONG in marks,
        range=next((mark for mark in marks if isinstance(mark, Range)), None),
    )


def _base(name: str, annotation: Any, marks: tuple[Any, ...]) -> Base:
    if MOMENT in marks:
        return "time"
    if JSON_OBJECT in marks:
        return "object"
    if annotation not in _PLAIN:
        raise TypeError(f"parameter {name}: {annotation} cannot be given at a door")
    return _PLAIN[annotation]


def _without_none(annotation: Any) -> tuple[Any, bool]:
    if get_origin(annotation) not in (types.UnionType, typing.Union):
        return annotation, False
    plain = [option for option in get_args(annotation) if option is not type(None)]
    if len(plain) != 1:
        raise TypeError(f"{annotation}: one type, or one type and None")
    return plain[0], True


def _without_marks(annotation: Any, marks: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
    if get_origin(annotation) is Annotated:
        plain, *more = get_args(annotation)
        return plain, (*marks, *more)
    return annotation, marks
