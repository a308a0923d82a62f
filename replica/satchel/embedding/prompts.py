"""Words that a model wants before a text: what its folder says, or what is known of its family."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompts:
    """Put before a question, and before a text that is to be found."""

    query: str = ""
    document: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """Models whose name fits `name`, for folders that do not say their prompts themselves."""

    name: str
    prompts: Prompts
    reason: str


FAMILIES = (
    Family(
        name=r"(multilingual-)?e5-(small|base|large)(-v2)?",
        prompts=Prompts(query="query: ", document="passage: "),
        reason="trained with both (model card of intfloat/e5-base-v2): without them it gets worse",
    ),
    Family(
        name=r"bge-(small|base|large)-en(-v1\.5)?",
        prompts=Prompts(query="Represent this sentence for searching relevant passages: "),
        reason="its card (BAAI/bge-base-en-v1.5) puts this before short questions, never passages",
    ),
    Family(
        name=r"bge-(small|base|large)-zh(-v1\.5)?",
        prompts=Prompts(query="为这个句子生成表示以用于检索相关文章："),
        reason="the same in Chinese (BAAI/bge-base-zh-v1.5)",
    ),
)
"""MiniLM and BGE-M3 are not here: they were trained on bare texts."""

# The names that sentence-transformers looks for in `encode_query` and `encode_document`.
QUERY_NAMES = ("query",)
DOCUMENT_NAMES = ("document", "passage", "corpus")


def prompts_of(names: Iterable[str], config: Mapping[str, object]) -> Prompts:
    """The prompts of a model that goes by these names.

    `config` is its config_sentence_transformers.json. What that says wins; newer versions of the
    library write empty prompts into every folder, so those say nothing.
    """
    given = config.get("prompts")
    said = {key: text for key, text in given.items() if text} if isinstance(given, dict) else {}
    if said:
        default = str(said.get(str(config.get("default_prompt_name")), ""))
        return Prompts(
            query=_first(said, QUERY_NAMES, default),
            document=_first(said, DOCUMENT_NAMES, default),
        )
    for family in FAMILIES:
        if any(re.fullmatch(family.name, name, re.IGNORECASE) for name in names):
            return family.prompts
    return Prompts()


def _first(said: Mapping[str, object], names: Iterable[str], default: str) -> str:
    return next((str(said[name]) for name in names if name in said), default)
