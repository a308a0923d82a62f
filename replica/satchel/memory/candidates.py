"""Where hits come from: the text index, the vectors and exact ids, each under the filters."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from satchel.memory.limits import CANDIDATES_MIN, FREQUENCY_MAX, SCANNED_ROWS_MAX
from satchel.memory.lookup import fetch
from satchel.memory.query import Term
from satchel_sync.tables import BY_NAME

if TYPE_CHECKING:
    from apsw import Connection

RowT = TypeVar("RowT")
WIDER = 8
"""A source that filters leave too little of is asked again for this many times as much."""
RANKED = {"memory": "bm25(memory_fts, 4.0, 1.0, 4.0)", "chatlog": "bm25(chatlog_fts)"}
"""Order of the index's own answers: title and aliases weigh more. The score is another matter."""
LITERAL_TEXT = {
    "memory": "coalesce(t.title, '') || char(10) || coalesce(t.content, '')"
    " || char(10) || coalesce(t.aliases, '')",
    "chatlog": "coalesce(t.content, '')",
}


class Source:
    """Rows of one kind under one filter."""

    def __init__(
        self, db: Connection, kind: str, row: type[Any], where: str, params: Mapping[str, Any]
    ) -> None:
        """`where` narrows the rows `t`, visibility included; `params` are its values."""
        self.db, self.kind, self.row, self.where, self.params = db, kind, row, where, dict(params)

    def size(self) -> int:
        """Rows in the index of this kind: the N of the inverse document frequency."""
        return int(self.db.execute(f"SELECT count(*) FROM {self.kind}_fts_docsize").get)

    def frequency(self, term: Term) -> int:
        """Rows that have the term, whoever sees them, up to FREQUENCY_MAX."""
        if term.kind == "literal":
            found, given = f"{self.kind} AS t WHERE instr({LITERAL_TEXT[self.kind]}, ?)", term.raw
        else:
            found, given = f"{self.kind}_fts WHERE {self.kind}_fts MATCH ?", term.fts
        sql = f"SELECT count(*) FROM (SELECT 1 FROM {found} LIMIT {FREQUENCY_MAX})"
        return int(self.db.execute(sql, (given,)).get)

    def by_keyword(self, terms: Sequence[Term]) -> list[Any]:
        """The rows that the index ranks first for any of these terms."""
        if not terms:
            return []
        expression = " OR ".join(term.fts for term in terms)
        sql = f"""SELECT rowid FROM {self.kind}_fts WHERE {self.kind}_fts MATCH ?
                  ORDER BY {RANKED[self.kind]}, rowid LIMIT ?"""

        def ranked(limit: int) -> list[int]:
            return [row for (row,) in self.db.execute(sql, (expression, limit))]

        return self._widening(ranked, "row")

    def by_literal(self, terms: Sequence[Term]) -> list[Any]:
        """Rows whose text holds one of these strings, the newest first."""
        found: list[Any] = []
        for term in terms:
            source = f"""FROM {self.kind} AS t WHERE {self.where}
                  AND instr({LITERAL_TEXT[self.kind]}, :literal)
                  ORDER BY t.row DESC LIMIT {CANDIDATES_MIN}"""
            found += self._rows(source, {"literal": term.raw})
        return found

    def by_order(self, ranked: Callable[[int], list[str]]) -> list[Any]:
        """Rows in the order that `ranked(limit)` gives their keys."""
        return self._widening(ranked, BY_NAME[self.kind].key)

    def by_key(self, keys: Sequence[str]) -> list[Any]:
        """These rows, where the filter lets them through."""
        return self._picked(keys, BY_NAME[self.kind].key)

    def _widening(self, ranked: Callable[[int], list[Any]], column: str) -> list[Any]:
        """Ask for more until the filter leaves enough or there is no more."""
        limit = CANDIDATES_MIN
        while True:
            keys = ranked(limit)
            found = self._picked(keys, column)
            if len(found) >= CANDIDATES_MIN // 2 or len(keys) < limit:
                return found
            limit *= WIDER

    def _picked(self, keys: Sequence[Any], column: str) -> list[Any]:
        if not keys:
            return []
        source = f"""FROM json_each(:keys) AS k
                  CROSS JOIN {self.kind} AS t ON t.{column} = k.value
                  WHERE {self.where} ORDER BY k.key LIMIT {2 * CANDIDATES_MIN}"""
        return self._rows(source, {"keys": json.dumps(list(keys))})

    def _rows(self, source: str, params: Mapping[str, Any]) -> list[Any]:
        return fetch(self.db, self.row, source, {**self.params, **params})


def by_text(source: Source, frequencies: Mapping[Term, int]) -> list[Any]:
    """What the words of the question find; `frequencies` has the rarest term first.

    Ranking costs time for each row that has any of the words, so common words are left out where
    rarer ones have filled the measure; they still count in the score.
    """
    picked: list[Term] = []
    rows = 0
    for term, found in frequencies.items():
        rows += found
        if picked and rows > SCANNED_ROWS_MAX:
            break
        picked.append(term)
    return [
        *source.by_keyword([term for term in picked if term.kind != "literal"]),
        *source.by_literal([term for term in frequencies if term.kind == "literal"]),
    ]
