"""The standard library's `socket` as its file has it: the loaded one may have been changed."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from functools import cache
from importlib.machinery import PathFinder
from pathlib import Path
from types import CodeType, FrameType

Written = tuple[object, ...]


def is_own(frame: FrameType) -> bool:
    """Whether a function of that file is running there, under the names of the loaded module."""
    loaded = getattr(sys.modules.get("socket"), "__dict__", None)
    return frame.f_globals is loaded and _written(frame.f_code) in _functions()


@cache
def _functions() -> frozenset[Written]:
    folder = str(Path(os.__file__).parent)
    loader = getattr(PathFinder.find_spec("socket", [folder]), "loader", None)
    code = loader.get_code("socket") if loader else None
    return frozenset(map(_written, _inside(code))) if code else frozenset()


def _inside(code: CodeType) -> Iterator[CodeType]:
    """Every function in a module's code."""
    for one in code.co_consts:
        if isinstance(one, CodeType):
            yield one
            yield from _inside(one)


def _written(code: CodeType) -> Written:
    """What a function does; not the file that it says it is from."""
    constants = tuple(repr(one) for one in code.co_consts if not isinstance(one, CodeType))
    names = (code.co_names, code.co_varnames, code.co_freevars)
    return code.co_qualname, code.co_firstlineno, code.co_code, constants, names
