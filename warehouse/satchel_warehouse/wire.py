"""Hellos, rows, answers and journal entries as the hub's doors take them and give them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import isfinite
from typing import Any

from satchel_sync.audit import SHAPE, is_anew, why
from satchel_sync.changes import (
    AuditAnswer,
    AuditHeld,
    AuditPart,
    AuditRecord,
    Hello,
    Loser,
    PushAnswer,
    Refusal,
    Row,
    Version,
)
from satchel_sync.layout import Layout
from satchel_sync.limits import JOURNAL_MAX, PULL_BYTES_MAX, ROW_BYTES_MAX
from satchel_sync.stamp import Stamp
from satchel_sync.subjects import subjects
from satchel_sync.tables import BY_NAME, Table, Value
from satchel_sync.validity import sound_lineage
from satchel_warehouse.hostile import reason_unfit, reason_unfit_text


def said(hello: Hello) -> dict[str, Any]:
    """A hello as the door of that name takes it."""
    return {
        "replica_id": hello.replica_id.hex(),
        "attempt": hello.attempt,
        "protocol": hello.protocol,
        "schema": hello.schema,
        "hub_id": hello.hub_id.hex() if hello.hub_id else None,
        "epoch": hello.epoch,
        "predecessors": [replica_id.hex() for replica_id in hello.predecessors],
        "last_attempt": hello.last_attempt,
        "token": hello.token,
        "cursors": dict(hello.cursors),
        "reconcile": hello.reconcile,
        "host": hello.host,
        "version": hello.version,
    }


def layouts(columns: Mapping[str, Mapping[str, str]]) -> dict[str, Layout]:
    """How the kinds that both sides know lie at the hub."""
    return {
        name: Layout.of(BY_NAME[name], theirs)
        for name, theirs in columns.items()
        if name in BY_NAME
    }


def row(layout: Layout, found: Sequence[Any]) -> Row:
    """key, data, extra, life, hlc, origin, digest, lineage, … as a Row."""
    end = len(layout.columns) + 1
    life, hlc, origin, digest, lineage = found[end : end + 5]
    values = layout.from_hub(found[1:end])
    return Row(found[0], Stamp(life, hlc, origin, digest), lineage, values)


def bytes_in(layout: Layout, found: Sequence[Sequence[Any]]) -> int:
    """About the bytes of rows as they came: text as UTF-8, numbers and version as a constant."""
    wide = [at for at, tag in enumerate(layout.tags, start=1) if tag in "tb"]
    return sum(200 + sum(_length(row[at]) for at in wide if row[at]) for row in found)


def _length(value: str | bytes) -> int:
    if isinstance(value, bytes) or value.isascii():
        return len(value)
    return len(value.encode())


def storable(keys: Iterable[str]) -> list[str]:
    """The keys that Postgres can hold; a row under another is not at the hub."""
    return [key for key in keys if not reason_unfit_text(key)]


def sorted_out(table: Table, rows: Sequence[Row]) -> tuple[list[Row], tuple[Refusal, ...]]:
    """The rows that can be sent, and a refusal for each that cannot."""
    reasons = [(row, reason_unfit(table, row)) for row in rows]
    refused = tuple(Refusal(row.key, "invalid", reason) for row, reason in reasons if reason)
    return [row for row, reason in reasons if not reason], refused


def answer(
    rows: Sequence[Row], said: Mapping[str, Any], refused: tuple[Refusal, ...], bytes_out: int
) -> PushAnswer:
    superseded = {
        key: Version(Stamp.parse(version), lineage) for key, version, lineage in said["superseded"]
    }
    refused += tuple(Refusal(*entry) for entry in said["refused"])
    left_out = superseded.keys() | {refusal.key for refusal in refused}
    return PushAnswer(
        accepted=tuple(row.key for row in rows if row.key not in left_out),
        superseded=superseded,
        refused=refused,
        conflicts=said["conflicts"],
        now_ms=said["now_ms"],
        bytes_out=bytes_out,
        token=said["token"],
    )


def entry(loser: Loser) -> dict[str, Any]:
    """A journal entry as the hub's `journal` door takes it.

    What this machine wrote by hand may be odd: the entry leaves that out, so that it hinders no
    sync. This machine's own journal keeps it.
    """
    names = (*BY_NAME[loser.kind].names, "extra")
    content = {
        name: _plain(value)
        for name, value in zip(names, loser.row.values, strict=True)
        if value is not None
    }
    return {
        "kind": loser.kind,
        "key": loser.row.key,
        "version": loser.row.stamp.hex(),
        "lineage": loser.row.lineage if sound_lineage(loser.row.lineage) else "",
        "content": _content(content),
        "winner": loser.winner.hex(),
        "path": loser.path,
        "at": loser.at_ms,
        "about": [
            (kind, key)
            for kind, key in subjects(BY_NAME[loser.kind], loser.row)
            if not reason_unfit_text(key)
        ],
    }


def journal_pages(losers: Iterable[Loser]) -> Iterator[str]:
    """Entries as JSON lists that the `journal` door takes: bounded in entries, about in bytes."""
    page: list[str] = []
    for one in losers:
        page.append(json.dumps(entry(one)))
        if len(page) == JOURNAL_MAX or sum(map(len, page)) > PULL_BYTES_MAX:
            yield f"[{','.join(page)}]"
            page.clear()
    if page:
        yield f"[{','.join(page)}]"


def audit_held(found: Mapping[str, Any]) -> dict[str, AuditHeld]:
    """Chain -> last record, of {chain: [seq, link as hex]}."""
    return {chain: AuditHeld(seq, bytes.fromhex(link)) for chain, (seq, link) in found.items()}


def audit_parts(parts: Sequence[AuditPart]) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """Parts as the doors take them, and chain -> why not for those that Postgres cannot store."""
    unfit = {
        part.chain: why(SHAPE, record.seq, 0)
        for part in parts
        for record in reversed(part.records)
        if reason_unfit_text(record.body)
    }
    return [_audit_part(part) for part in parts if part.chain not in unfit], unfit


def audit_answer(found: Mapping[str, Any], unfit: Mapping[str, str]) -> AuditAnswer:
    """What a door said to parts."""
    refused = found.get("refused", {})
    told = {chain: why(said["what"], said["seq"], said["held"]) for chain, said in refused.items()}
    return AuditAnswer(
        audit_held(found.get("held", {})),
        found.get("taken", 0),
        {**told, **unfit},
        any(is_anew(said["what"], said["held"]) for said in refused.values()),
    )


def _audit_part(part: AuditPart) -> dict[str, Any]:
    head = part.head and {
        "seq": part.head.seq,
        "link": part.head.link.hex(),
        "at": part.head.at,
        "signature": part.head.signature,
    }
    return {
        "chain": part.chain,
        "records": [_audit_record(record) for record in part.records],
        "head": head,
        "cut": part.cut and _audit_record(part.cut),
    }


def _audit_record(record: AuditRecord) -> dict[str, Any]:
    return {
        "seq": record.seq,
        "body": record.body,
        "link": record.link.hex(),
        "mac": record.mac.hex(),
    }


def _content(columns: Mapping[str, Any]) -> str:
    """JSON text; of content that no row of the hub may have, only how large it was."""
    text = json.dumps(columns, ensure_ascii=False)
    if reason_unfit_text(text):
        text = json.dumps(columns)
    size = len(text.encode())
    return text if size <= ROW_BYTES_MAX else json.dumps({"left_out_bytes": size})


def _plain(value: Value) -> Value:
    """As JSON has it: bytes as hex digits, a number that is not finite as its name."""
    if isinstance(value, bytes):
        return value.hex()
    return str(value) if isinstance(value, float) and not isfinite(value) else value
