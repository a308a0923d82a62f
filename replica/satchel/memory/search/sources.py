"""Where candidates come from: the text index, literal text, ids; each under the filters."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from satchel.memory.limits import (
    COMMON_TERMS_MAX,
    FIRST_A_CANDIDATE,
    LITERAL_ROWS_MAX,
    NEWEST_A_CANDIDATE,
    RANKED_ROWS_MAX,
    RANKED_ROWS_MIN,
    RANKED_SHARE,
)
from satchel.memory.search.query import Term

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

    def by_keyword(self, frequencies: Mapping[Term, int], size: int, limit: int) -> list[int]:
        """The rows that the index ranks first for these terms; the rarest term comes first.

        `size` is how many rows there are.

        Ranking costs time for each row that has any of the words, so common words are left out
        where rarer ones fill the measure: they still count in the score. Are all common, the newest
        rows stand for the many that have them, those with all of the words before others.

        A word may be common in rows that do not pass the filters only: until there are `limit` rows
        every word is looked for, so that none is missed because of rows that nobody asked for.
        """
        words = [term for term in frequencies if term.kind != "literal"]
        if not words:
            return []
        picked = within_measure(words, frequencies, rows_to_rank(size))
        found = self._ranked(_any_of(picked), limit) if picked else self._common(words, limit)
        others = words[max(len(picked), 1) :]
        if others and len(found) < limit:
            measure = min(RANKED_ROWS_MAX, NEWEST_A_CANDIDATE * limit)
            found += self._newest(_any_of(others), limit, measure)
        return list(dict.fromkeys(found))[:limit]

    def _common(self, words: Sequence[Term], limit: int) -> list[int]:
        """Rows with all of the words, then such with the rarest."""
        all_of = " AND ".join(term.fts for term in words[:COMMON_TERMS_MAX])
        found = self._newest(all_of, limit, RANKED_ROWS_MAX) if len(words) > 1 else []
        if len(found) < limit:
            found += self._newest(words[0].fts, limit, RANKED_ROWS_MAX)
        return found

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
        """The best `limit` rows that pass the filters, however many better ones do not.

        Mostly all pass: then those that the index ranks first are looked at alone.
        """
        fts = f"{self.kind}_fts"
        sql = f"""SELECT f.row, EXISTS (SELECT 1 FROM {self.kind} AS t
                                        WHERE t.row = f.row AND {self.where})
                  FROM (SELECT rowid AS row FROM {fts} WHERE {fts} MATCH :expression
                        ORDER BY {RANKED[self.kind]}, rowid LIMIT :first) AS f"""
        first = FIRST_A_CANDIDATE * limit
        params = {**self.params, "expression": expression, "first": first}
        looked_at: list[Any] = self.db.execute(sql, params).fetchall()
        found = [row for row, passes in looked_at if passes][:limit]
        if len(found) == limit or len(looked_at) < first:
            return found
        sql = f"""SELECT t.row FROM {fts} CROSS JOIN {self.kind} AS t ON t.row = {fts}.rowid
                  WHERE {fts} MATCH :expression AND {self.where}
                  ORDER BY {RANKED[self.kind]}, t.row LIMIT :limit"""
        return self._rows(sql, expression=expression, limit=limit)

    def _newest(self, expression: str, limit: int, measure: int) -> list[int]:
        """The best of the newest `measure` rows that pass, however many others there are."""
        fts = f"{self.kind}_fts"
        sql = f"""SELECT row FROM (
                      SELECT t.row AS row, {RANKED[self.kind]} AS place
                      FROM {fts} CROSS JOIN {self.kind} AS t ON t.row = {fts}.rowid
                      WHERE {fts} MATCH :expression AND {self.where}
                      ORDER BY {fts}.rowid DESC LIMIT :measure)
                  ORDER BY place, row LIMIT :limit"""
        return self._rows(sql, expression=expression, limit=limit, measure=measure)

    def _rows(self, sql: str, **params: Any) -> list[int]:
        return [row for (row,) in self.db.execute(sql, {**self.params, **params})]


def rows_to_rank(size: int) -> int:
    """How many rows to rank: in a small store a word in so many of them would find all of it."""
    return max(RANKED_ROWS_MIN, min(RANKED_ROWS_MAX, size // RANKED_SHARE))


def within_measure(
    words: Sequence[Term], frequencies: Mapping[Term, int], measure: int
) -> list[Term]:
    """The rarest words that together are in at most `measure` rows."""
    picked: list[Term] = []
    rows = 0
    for term in words:
        if rows + frequencies[term] > measure:
            break
        rows += frequencies[term]
        picked.append(term)
    return picked


def _any_of(words: Sequence[Term]) -> str:
    return " OR ".join(term.fts for term in words)
