"""Where vectors come from: the SQL of memories and of chat turns, one shape for both."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from satchel.store.sql import alive
from satchel.store.vector_triggers import EMBEDDINGS, PAST, TURN_VECTORS
from satchel.vectors.groups import owner_columns

Kind = Literal["memory", "chatlog"]


class Source(NamedTuple):
    """Statements over vectors `v` and their rows `t`; parameters :model, :dims."""

    number: int
    """`vector_change.source`."""
    table: str
    counts: str
    """SQL: the vector `v` is one of this model and fit for use."""
    joined: str
    """SQL: `t` is the living row that `v` is of, with the text that `v` was made from."""
    row_table: str
    of_row: str
    """SQL: `v` may be a vector of row `t`; an index serves it."""
    view: str
    """SQL: 0 where `v` is of the row in its context, 1 of the row alone."""
    owner: str

    @property
    def all(self) -> str:
        """(source, row, scope, name, vector) of everything, by source."""
        return f"""SELECT v.row, t.row, {self.owner}, v.vector
            FROM {self.table} AS v CROSS JOIN {self.row_table} AS t ON {self.joined}
            WHERE {self.counts} ORDER BY v.row"""

    @property
    def changes(self) -> str:
        """The same of what changed behind :counter; row is NULL for what counts no longer."""
        return f"""SELECT c.row, t.row, {self.owner}, v.vector
            FROM vector_change AS c
            LEFT JOIN {self.table} AS v ON v.row = c.row AND {self.counts}
            LEFT JOIN {self.row_table} AS t ON {self.joined}
            WHERE c.source = {self.number} AND c.seq > :counter ORDER BY c.row"""

    @property
    def changed(self) -> str:
        """The sources that changed behind ?1."""
        return f"SELECT row FROM vector_change WHERE source = {self.number} AND seq > ?1"

    @property
    def newest(self) -> str:
        """The number of the last change."""
        return f"SELECT max(seq) FROM vector_change WHERE source = {self.number}"

    @property
    def known(self) -> str:
        """Whether this database has ever stood at ?1; a number replaced long ago is forgotten."""
        return f"""SELECT ?1 = 0
            OR EXISTS (SELECT 1 FROM vector_change WHERE source = {self.number} AND seq = ?1)
            OR EXISTS (SELECT 1 FROM vector_change
                       WHERE source = {self.number + PAST} AND row = ?1)"""

    def checked(self, where: str) -> str:
        """(place, row, id, vector) of the sources in a carray :vector_sources, in any order.

        `row` is NULL where the vector counts no longer, `vector` where the row does not pass.
        """
        return f"""SELECT s.rowid, t.row, t.id, CASE WHEN t.row IS NOT NULL AND ({where})
                                          THEN v.vector END
            FROM carray(:vector_sources) AS s
            LEFT JOIN {self.table} AS v ON v.row = s.value AND {self.counts}
            LEFT JOIN {self.row_table} AS t ON {self.joined}"""

    @property
    def of_rows(self) -> str:
        """(row, id, view, vector) of the rows in a carray :vector_rows, a chunk each."""
        return f"""SELECT t.row, t.id, {self.view}, v.vector FROM carray(:vector_rows) AS s
            CROSS JOIN {self.row_table} AS t ON t.row = s.value
            CROSS JOIN {self.table} AS v ON {self.of_row} AND {self.counts} AND {self.joined}"""

    def passing(self, where: str) -> str:
        """The row numbers that pass."""
        return f"SELECT t.row FROM {self.row_table} AS t WHERE {where}"


_FIT = """{v}.model = :vector_model AND {v}.dims = :vector_dims
    AND typeof({v}.vector) = 'blob' AND length({v}.vector) = 4 * :vector_dims"""
SOURCES: dict[str, Source] = {
    "memory": Source(
        number=EMBEDDINGS,
        table="embedding",
        counts=f"{_FIT.format(v='v')} AND v.dtype = 'f32' AND {alive('v')}",
        joined=f"t.id = v.memory_id AND t.text_hash = v.content_hash AND {alive('t')}",
        row_table="memory",
        of_row="v.memory_id = t.id",
        view="0",
        owner=owner_columns("session_id"),
    ),
    "chatlog": Source(
        number=TURN_VECTORS,
        table="turn_vector",
        counts=_FIT.format(v="v"),
        joined=f"t.row = v.turn AND {alive('t')}",
        row_table="chatlog",
        of_row="v.turn = t.row",
        view="v.view",
        owner=owner_columns("conversation_id"),
    ),
}
"""Row kind -> its source."""


def params_of(model_id: str, dims: int) -> dict[str, Any]:
    """Values of the parameters of all statements."""
    return {"vector_model": model_id, "vector_dims": dims}
