"""Whether a value fits a JSON schema, judged by a library of its own.

It is imported late: with all formats it compiles dozens of grammars, and every worker collects.
"""

from __future__ import annotations

from typing import Any


def misfit(schema: dict[str, Any], value: object) -> str:
    """What of the value does not fit; empty where all does."""
    from jsonschema import Draft202012Validator

    return "\n".join(error.message for error in Draft202012Validator(schema).iter_errors(value))


def check_schema(schema: dict[str, Any]) -> None:
    """Raises jsonschema.SchemaError for what is none."""
    from jsonschema import Draft202012Validator

    Draft202012Validator.check_schema(schema)
