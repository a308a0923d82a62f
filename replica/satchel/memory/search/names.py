"""People in questions and rows: who is named, who speaks.

A name says who was speaking and little about what was said: it is taken out of the text that is
embedded, and counts as the signal `speaker` instead.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from satchel.memory.lookup import can_see
from satchel.memory.search.stopwords import STOP_WORDS
from satchel.memory.visibility import Caller

if TYPE_CHECKING:
    from apsw import Connection

GENERIC = ("user", "assistant", "system", "tool")
"""Roles that are no names. The index `chatlog_speaker` leaves out the same."""
NAMES_MAX = 8
LEADING_ROWS_MAX = 200
_WORD = re.compile(r"[^\W\d_][\w-]*(?:['’]s\b)?")
_POSSESSIVE = re.compile(r"['’]s$")
_LEADING = re.compile(r"\s*([^\W\d_][\w.'’-]*(?: [^\W\d_][\w.'’-]*){0,2}):\s")


def said(text: str) -> str:
    """What is said, without a leading "Name:"."""
    leading = _LEADING.match(text)
    return text[leading.end() :] if leading and leading[1][:1].isupper() else text


def speaker(role: str | None, text: str | None, agent_id: str | None) -> str | None:
    """Who says a row: a role that is a name, a leading "Name:", else the agent."""
    if role and role not in GENERIC:
        return role
    leading = _LEADING.match(text) if text else None
    return leading[1] if leading and leading[1][:1].isupper() else agent_id


def is_named(spoken_by: str | None, names: tuple[str, ...]) -> bool:
    """Whether the speaker is one of these; a first name is enough."""
    if not spoken_by or not names:
        return False
    folded = spoken_by.casefold()
    return folded in names or folded.partition(" ")[0] in names


def known(db: Connection, caller: Caller, text: str) -> tuple[str, ...]:
    """Capitalised words of a question that are people here, folded.

    People are whoever speaks in a turn or wrote a memory that this caller sees, in its role or by a
    leading "Name:", registered agents, and the user who asks.
    """
    words = capitalised(text)
    if not words:
        return ()
    params = {**caller.params, "names": json.dumps(words)}
    found = db.execute(_sql(caller), params).fetchall()
    return tuple(str(name).casefold() for (name,) in found)


def capitalised(text: str) -> list[str]:
    """Words that may be names, without "'s"; a question word at the beginning is none."""
    words = (_POSSESSIVE.sub("", word) for word in _WORD.findall(text))
    return list(
        dict.fromkeys(w for w in words if w[0].isupper() and w.casefold() not in STOP_WORDS)
    )[:NAMES_MAX]


def without(text: str, names: tuple[str, ...]) -> str:
    """The question without these names; the whole of it where nothing else is left."""
    if not names:
        return text
    left = _WORD.sub(
        lambda word: "" if _POSSESSIVE.sub("", word[0]).casefold() in names else word[0], text
    )
    return " ".join(left.split()) if re.search(r"\w", left) else text


def _sql(caller: Caller) -> str:
    """Names of `:names` that are people; each look is one in an index."""
    generic = ", ".join(f"'{one}'" for one in GENERIC)
    turn = f"t.role NOT IN ({generic}) AND {can_see(caller, 'chatlog')}"
    return f"""SELECT n.value FROM json_each(:names) AS n WHERE
        EXISTS (SELECT 1 FROM chatlog AS t WHERE t.role = n.value COLLATE NOCASE AND {turn})
        OR EXISTS (SELECT 1 FROM chatlog AS t WHERE t.role COLLATE NOCASE >= n.value || ' '
                   AND t.role COLLATE NOCASE < n.value || '!' AND {turn})
        OR EXISTS (SELECT 1 FROM memory AS t WHERE t.agent_id = n.value COLLATE NOCASE
                   AND t.agent_id IS NOT NULL AND {can_see(caller, "memory")})
        OR EXISTS (SELECT 1 FROM agent AS t WHERE t.agent_id IN (n.value, lower(n.value))
                   AND {can_see(caller, "agent")})
        OR lower(n.value) = lower(:see_user)
        OR {_leads("chatlog", caller)} OR {_leads("memory", caller)}"""


def _leads(kind: str, caller: Caller) -> str:
    """A text that begins with "Name:", among the first seen that begin with this word."""
    fts = f"{kind}_fts"
    return f"""EXISTS (
        SELECT 1 FROM (SELECT t.content AS content FROM {fts}
                       CROSS JOIN {kind} AS t ON t.row = {fts}.rowid
                       WHERE {fts} MATCH 'content : ^ "' || replace(n.value, '"', '') || '"'
                         AND {can_see(caller, kind)}
                       LIMIT {LEADING_ROWS_MAX}) AS f
        WHERE f.content LIKE n.value || ':%')"""
