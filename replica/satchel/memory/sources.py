"""Where candidates come from: the text index, literal text, ids; each under the filters."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from satchel.memory.limits import COMMON_TERMS_MAX, LITERAL_ROWS_MAX, RANKED_ROWS_MAX
from satchel.memory.query import Term

if TYPE_CHECKING:
    from apsw import Connection

RANKED = {"memory": "bm25(memory_fts, 4.0, 1.0, 4.0)", "chatlog": "bm25(chatlog_fts)"}
"""Order of the index's own answers: title and aliases weigh more. The score is another matter."""
LITERAL_TEXT = {
    "memory": "coalesce(t.title, '') || char(10) || coalesce(t.content, '')"
    " || char(10) || coalesce(t.aliases, '')",
    "chatlog": "coalesce(t.content, '')",
}


class Source:
    """Rows of one kind under one filter; `where` narrows the rows `t`, visibility included."""

    def __init__(self, db: Connection, kind: str, where: str, params: Mapping[str, Any]) -> None:
        """`params` are the values of `where`."""
        self.db, self.kind, self.where, self.params = db, kind, where, dict(params)

    def narrowed(self, where: str, params: Mapping[str, Any]) -> Source:
        """The rows of this source that also pass `where`."""
        return Source(self.db, self.kind, f"{self.where} AND {where}", {**self.params, **params})

    def by_keyword(self, frequencies: Mapping[Term, int], limit: int) -> list[int]:
        """The rows that the index ranks first for these terms; the rarest term comes first.

        Ranking costs time for each row that has any of the words, so common words are left out
        where rarer ones fill the measure: they still count in the score. Are all common, the newest
        rows stand for the many that have them, those with all of the words before others.
        """
        words = [term for term in frequencies if term.kind != "literal"]
        if not words:
            return []
        picked, rows = _within_measure(words, frequencies)
        if picked:
            any_of = " OR ".join(term.fts for term in picked)
            found = self._ranked(any_of, limit)
            enough = len(found) >= min(limit // 2, rows)
            return found if enough else self._newest(any_of, limit)
        all_of = " AND ".join(term.fts for term in words[:COMMON_TERMS_MAX])
        found = self._newest(all_of, limit) if len(words) > 1 else []
        return found if len(found) >= limit else [*found, *self._newest(words[0].fts, limit)]

    def by_literal(self, text: str) -> list[int]:
        """Rows that hold this string, the newest first."""
        sql = f"""SELECT t.row FROM {self.kind} AS t
                  WHERE {self.where} AND instr({LITERAL_TEXT[self.kind]}, :literal)
                  ORDER BY t.row DESC LIMIT {LITERAL_ROWS_MAX}"""
        return self._rows(sql, literal=text)

    def by_key(self, keys: Sequence[str]) -> list[int]:
        """The rows with these ids."""
        if not keys:
            return []
        sql = f"""SELECT t.row FROM json_each(:keys) AS k
                  CROSS JOIN {self.kind} AS t ON t.id = k.value WHERE {self.where}"""
        return self._rows(sql, keys=json.dumps(list(keys)))

    def _ranked(self, expression: str, limit: int) -> list[int]:
        """The index's best `limit`, of those what passes the filters."""
        fts = f"{self.kind}_fts"
        sql = f"""SELECT t.row FROM (SELECT rowid AS row FROM {fts} WHERE {fts} MATCH :expression
                      ORDER BY {RANKED[self.kind]}, rowid LIMIT :limit) AS f
                  CROSS JOIN {self.kind} AS t ON t.row = f.row WHERE {self.where}"""
        return self._rows(sql, expression=expression, limit=limit)

    def _newest(self, expression: str, limit: int) -> list[int]:
        """The best of the newest rows that pass the filters, however many others there are."""
        fts = f"{self.kind}_fts"
        sql = f"""SELECT row FROM (
                      SELECT t.row AS row, {RANKED[self.kind]} AS place
                      FROM {fts} CROSS JOIN {self.kind} AS t ON t.row = {fts}.rowid
                      WHERE {fts} MATCH :expression AND {self.where}
                      ORDER BY {fts}.rowid DESC LIMIT {RANKED_ROWS_MAX})
                  ORDER BY place, row LIMIT :limit"""
        return self._rows(sql, expression=expression, limit=limit)

    def _rows(self, sql: str, **params: Any) -> list[int]:
        return [row for (row,) in self.db.execute(sql, {**self.params, **params})]


def _within_measure(
    words: Sequence[Term], frequencies: Mapping[Term, int]
) -> tuple[list[Term], int]:
    """The rarest words that together are in at most RANKED_ROWS_MAX rows, and that number."""
    picked: list[Term] = []
    rows = 0
    for term in words:
        if rows + frequencies[term] > RANKED_ROWS_MAX:
            break
        rows += frequencies[term]
        picked.append(term)
    return picked, rows
