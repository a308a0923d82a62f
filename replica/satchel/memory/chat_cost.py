"""What conversations cost: tokens and dollars of the models in them, by day, provider and model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from satchel import prices
from satchel.memory import text
from satchel.memory.limits import LIST_ROWS_MAX
from satchel.memory.lookup import can_see

if TYPE_CHECKING:
    from satchel.prices import Price
    from satchel.replica import Replica

GROUPS: Mapping[str, str] = {
    "day": "strftime('%Y-%m-%d', t.said_at / 1000, 'unixepoch')",
    "host": "t.host_agent",
    "provider": "t.provider",
    "model": "t.model",
    "conversation": "t.conversation_id",
}
"""What can be summed by -> SQL; a day is one of UTC."""
BY_DEFAULT = ("day", "provider", "model")
ROWS_DEFAULT = 100
_OF_METADATA = "CASE WHEN json_valid(t.metadata) THEN json_extract(t.metadata, '$.{name}') END"
_COUNTS = {
    "tokens_in": "t.tokens_in",
    "tokens_out": "t.tokens_out",
    "tokens_cached": _OF_METADATA.format(name="cached"),
    "tokens_cache_written": _OF_METADATA.format(name="cache_written"),
}


def stats(
    replica: Replica,
    *,
    by: Sequence[str] | None = None,
    since: int | None = None,
    until: int | None = None,
    conversation_id: str | None = None,
    limit: int = ROWS_DEFAULT,
) -> dict[str, Any]:
    """The cost report: `{items, total, unpriced, notices}`, over what this caller sees.

    An item is a group with its turns of models, tokens and dollars: `cost` as the hosts told it,
    `cost_estimated` by `prices.toml` for turns that none was told of. `since` <= said at < `until`
    (UTC ms). Raises InvalidInput, ConfigInvalid.
    """
    groups = [text.one_of(name, GROUPS, "by") for name in dict.fromkeys(by or BY_DEFAULT)]
    limit = text.whole(limit, "limit", 1, LIST_ROWS_MAX)
    known = prices.load(replica.settings.home)
    found = _sums(replica, groups, _bounds(since, until, conversation_id))
    items, unpriced = _items(found, groups, known)
    notices = [f"{len(items) - limit} more groups are in the total"] if len(items) > limit else []
    total = _total(items)
    return {"items": items[:limit], "total": total, "unpriced": unpriced, "notices": notices}


def _bounds(since: int | None, until: int | None, conversation_id: str | None) -> dict[str, Any]:
    return {
        "since": text.time_ms(since, "since"),
        "until": text.time_ms(until, "until"),
        "conversation": text.optional_name(conversation_id, "conversation_id"),
    }


def _sums(replica: Replica, groups: Sequence[str], bounds: Mapping[str, Any]) -> list[Any]:
    """Rows: the groups, the model (prices are by model), turns, sums, the sums without a cost."""
    keys = ", ".join(f"{GROUPS[name]} AS g_{name}" for name in groups)
    order = ", ".join(f"g_{name}{' DESC' if name == 'day' else ''}" for name in groups)
    # total() is a float and cannot overflow, whatever a host or a hand has written.
    sums = ", ".join(f"total({column})" for column in _COUNTS.values())
    untold = ", ".join(f"total(iif(t.cost IS NULL, {column}, 0))" for column in _COUNTS.values())
    sql = f"""
        SELECT {keys}, t.model, count(*), count(t.cost), total(t.cost), {sums}, {untold}
        FROM chatlog AS t
        WHERE {can_see(replica.caller, "chatlog")}
          AND coalesce(t.model, t.tokens_in, t.tokens_out, t.cost) IS NOT NULL
          AND (:since IS NULL OR t.said_at >= :since) AND (:until IS NULL OR t.said_at < :until)
          AND (:conversation IS NULL OR t.conversation_id = :conversation)
        GROUP BY {", ".join(f"g_{name}" for name in groups)}, t.model
        ORDER BY {order}, t.model"""
    with replica.store.read() as db:
        return db.execute(sql, {**replica.caller.params, **bounds}).fetchall()


def _items(
    found: Sequence[Sequence[Any]], groups: Sequence[str], known: Mapping[str, Price]
) -> tuple[list[dict[str, Any]], list[str]]:
    """One object a group; and the models that have no price although tokens were used."""
    items: dict[tuple[Any, ...], dict[str, Any]] = {}
    unpriced: set[str] = set()
    for row in found:
        key, (model, turns, told, cost), sums = _cut(row, len(groups), len(groups) + 4)
        counts = dict(zip(_COUNTS, map(int, sums), strict=False))
        read, written, cached, cache_written = (int(one) for one in sums[len(_COUNTS) :])
        price = prices.price_of(known, model)
        if price is None and read + written:
            unpriced.add(str(model))
        estimate = price.of(read, written, cached, cache_written) if price else None
        one = {
            "turns": turns,
            **counts,
            "cost": cost if told else None,
            "cost_estimated": estimate,
        }
        held = items.setdefault(tuple(key), dict(zip(groups, key, strict=True)))
        _add(held, one)
    return list(items.values()), sorted(unpriced)


def _cut(row: Sequence[Any], *at: int) -> Iterator[Sequence[Any]]:
    """The row in parts that begin at these places."""
    for start, end in zip((0, *at), (*at, len(row)), strict=True):
        yield row[start:end]


def _add(held: dict[str, Any], one: Mapping[str, Any]) -> None:
    """Sum up; nothing and nothing stays nothing."""
    for name, value in one.items():
        if value is not None:
            held[name] = (held.get(name) or 0) + value
        else:
            held.setdefault(name, None)


def _total(items: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    total: dict[str, Any] = {"turns": 0, **dict.fromkeys(_COUNTS, 0)}
    total |= {"cost": None, "cost_estimated": None}
    for item in items:
        _add(total, {name: item[name] for name in total})
    return total
