"""Which texts have no vectors of a model: the truth behind the queues, which only remember it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from satchel.store.sql import alive

if TYPE_CHECKING:
    from apsw import Connection

BLANKS = (
    "\t\n\x0b\x0c\r\x1c\x1d\x1e\x1f \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007"
    "\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
)
"""What `str.strip` takes away: a turn of nothing else can have no vector."""
WORTH = {
    "memory": f"{alive('t')} AND t.text_hash <> ''",
    "chatlog": f"{alive('t')} AND typeof(t.content) = 'text' AND trim(t.content, :blanks) <> ''",
}
"""SQL: row `t` has a text that can be embedded."""
HAVING = {
    "memory": f"""SELECT 1 FROM embedding AS v WHERE v.memory_id = t.id
        AND v.content_hash = t.text_hash AND {alive("v")}""",
    "chatlog": "SELECT 1 FROM turn_vector AS v WHERE v.turn = t.row",
}
"""SQL: a vector `v` of the text of row `t`."""


def rows(kind: str, models: int = 1) -> str:
    """SQL: rows `t` that want vectors of one of so many models."""
    return f"FROM {kind} AS t WHERE {wanting(kind, models)}"


def wanting(kind: str, models: int = 1) -> str:
    """SQL: row `t` wants vectors of one of so many models."""
    lacks = (f"NOT EXISTS ({HAVING[kind]} AND v.model = :model{n})" for n in range(models))
    return f"{WORTH[kind]} AND ({' OR '.join(lacks)})"


def params(*model_ids: str) -> dict[str, Any]:
    """Values of the parameters of all statements."""
    return {"blanks": BLANKS, **{f"model{n}": one for n, one in enumerate(model_ids)}}


def count(db: Connection, model_id: str) -> int:
    """Texts that have no vectors of this model."""
    given = params(model_id)
    return sum(int(db.execute(f"SELECT count(*) {rows(kind)}", given).get) for kind in WORTH)


def texts(db: Connection) -> int:
    """Texts that can have vectors."""
    given = params()
    sql = "SELECT count(*) FROM {kind} AS t WHERE {worth}"
    return sum(
        int(db.execute(sql.format(kind=kind, worth=worth), given).get)
        for kind, worth in WORTH.items()
    )


def has_vectors(db: Connection, model_id: str | None) -> bool:
    """Whether there is a vector of this model at all."""
    return bool(
        db.execute(
            f"""SELECT EXISTS (SELECT 1 FROM embedding AS v WHERE v.model = ?1 AND {alive("v")})
                OR EXISTS (SELECT 1 FROM turn_vector WHERE model = ?1)""",
            (model_id,),
        ).get
    )


def models(db: Connection) -> list[str]:
    """Models that there are vectors of."""
    found = db.execute(
        f"""SELECT DISTINCT v.model FROM embedding AS v WHERE {alive("v")}
            UNION SELECT DISTINCT model FROM turn_vector ORDER BY 1"""
    )
    return [str(model) for (model,) in found if model is not None]
