"""Owner groups: vectors of one owner are seen by the same callers, so groups are asked, not rows.

An owner is the scope and the one name that decides in it. The rule of visibility.py, the same SQL,
is run over the groups; it may let more through than the caller sees, never less, because each row
that is found passes the full predicate afterwards.
"""

from __future__ import annotations

import json
import zlib
from typing import TYPE_CHECKING, Any

from satchel.memory.visibility import Caller, owned
from satchel.vectors.errors import Damaged

if TYPE_CHECKING:
    from apsw import Connection

CALLERS_KEPT = 16
Owner = tuple[str | None, str | None]
"""(scope, user, agent, session, conversation or space)."""
UNCLEAR = "?"
"""The scope of an owner that a hand wrote as no text: its rows are always looked at closely."""

DECIDES = """CASE t.scope WHEN 'user' THEN t.user_id WHEN 'agent' THEN t.agent_id
    WHEN 'session' THEN t.{session} WHEN 'space' THEN t.space END"""

_HANDS_OVER = """(t.scope = 'agent' AND t.agent_id IN
    (SELECT h.from_agent FROM message AS h WHERE h.to_agent = :see_agent))"""
_SEEN = f"""
SELECT t.number FROM (
    SELECT number, scope, name, name AS user_id, name AS agent_id, name AS session_id, name AS space
    FROM (SELECT key AS number, value ->> 0 AS scope, value ->> 1 AS name
          FROM json_each(:owner_groups))) AS t
WHERE {owned("t", "read", "t.session_id")} OR {_HANDS_OVER} OR t.scope = '{UNCLEAR}'
"""


def owner_columns(session: str) -> str:
    """SQL: scope and deciding name of row `t`, as bytes; `session` is the column of its session."""
    return f"CAST(t.scope AS BLOB), CAST({DECIDES.format(session=session)} AS BLOB)"


def owner_of(scope: bytes | None, name: bytes | None) -> Owner:
    """The owner that `owner_columns` selected."""
    try:
        return None if scope is None else scope.decode(), None if name is None else name.decode()
    except UnicodeDecodeError:
        return UNCLEAR, None


class Groups:
    """The owners of a file's records, by number; grows at the end."""

    def __init__(self, table: bytes = b"") -> None:
        """Read the table of a file. Raises Damaged."""
        self.owners: list[Owner] = []
        self._numbers: dict[Owner, int] = {}
        self.table = b""
        try:
            for line in table.splitlines():
                scope, name = json.loads(line)
                self.number((scope, name))
        except (ValueError, TypeError) as error:
            raise Damaged(f"its table of groups cannot be read: {error}") from error

    def number(self, owner: Owner) -> int:
        """The group's number, a new one where it is new."""
        found = self._numbers.get(owner)
        if found is None:
            found = self._numbers[owner] = len(self.owners)
            self.owners.append(owner)
            self.table += json.dumps(owner).encode() + b"\n"
        return found

    @property
    def check(self) -> int:
        """CRC-32 of the table."""
        return zlib.crc32(self.table)


class Seen:
    """Which groups of one file a caller may see, kept until the store or the groups change."""

    def __init__(self) -> None:
        self._kept: dict[tuple[Any, ...], tuple[Connection, bytes]] = {}

    def bits(self, db: Connection, caller: Caller, groups: Groups) -> bytes:
        """A bit a group, set where the caller may see rows of it."""
        count = len(groups.owners)
        if caller.sees_all:
            return b"\xff" * (count // 8) + bytes(((1 << count % 8) - 1,))
        version = db.execute("PRAGMA data_version").get
        key = (count, caller, id(db), version, db.total_changes())
        if key not in self._kept:
            if len(self._kept) >= CALLERS_KEPT:
                self._kept.clear()
            # The connection is held, or another one might get its id.
            self._kept[key] = db, _ask(db, caller, groups)
        return self._kept[key][1]


def _ask(db: Connection, caller: Caller, groups: Groups) -> bytes:
    bits = bytearray(len(groups.owners) // 8 + 1)
    asked = {**caller.params, "owner_groups": json.dumps(groups.owners)}
    for (number,) in db.execute(_SEEN, asked):
        bits[int(number) >> 3] |= 1 << (int(number) & 7)
    return bytes(bits)
