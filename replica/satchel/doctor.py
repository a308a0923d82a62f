"""`satchel doctor`: checks of this machine, each with what was found and how to mend it.

A check never raises: what it cannot look at is a failed or warning check that says why. Nothing is
changed but what is derived: the digest of a model's weights is remembered.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import apsw

from satchel import config
from satchel.dsn import masked
from satchel.errors import SatchelError, describe, is_typed
from satchel.replica import DATABASE_FILE, open_replica
from satchel_crypto.errors import CryptoError
from satchel_sync.clock import OFFSET_WARN_MS

if TYPE_CHECKING:
    from satchel.config import Settings
    from satchel.replica import Replica

Verdict = Literal["ok", "warn", "fail"]
SQLITE_SAFE = (3, 51, 3)
"""The first SQLite without the bug that could corrupt a database when its WAL was reset."""
WAREHOUSE_TIMEOUT_S = 10
_COUNTED = ("outbox", "quarantine", "embed_queue", "turn_queue", "conflict")


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One check: what was found, why that matters, how to mend it."""

    name: str
    ok: Verdict
    found: str
    why: str = ""
    fix: str = ""

    def as_dict(self) -> dict[str, Any]:
        """As the CLI prints it."""
        return asdict(self)


def examine(read_settings: Callable[[], Settings], *, offline: bool = False) -> list[Check]:
    """Every check, in the order of what builds on what."""
    checks = [_sqlite()]
    try:
        settings = read_settings()
    except SatchelError as error:
        return [*checks, _failed("config", error)]
    checks += [_config(settings), *_replica(settings), _ranking(settings), _embedding(settings)]
    checks += [_secrets(settings), _hooks(settings)]
    return [*checks, _network(settings), *([] if offline else _warehouse(settings))]


def told(settings: Settings) -> dict[str, Any]:
    """{ok, checks}: what a door without a terminal answers."""
    checks = examine(lambda: settings)
    failed = any(check.ok == "fail" for check in checks)
    return {"ok": not failed, "checks": [check.as_dict() for check in checks]}


# ---- this machine -------------------------------------------------------------------------------


def _sqlite() -> Check:
    version = apsw.sqlite_lib_version()
    safe = tuple(int(part) for part in version.split(".")) >= SQLITE_SAFE
    return Check(
        name="sqlite",
        ok="ok" if safe else "fail",
        found=f"SQLite {version} (apsw {apsw.apsw_version()})",
        why="" if safe else "this SQLite can damage a database when its WAL is reset",
        fix="" if safe else "pip install --upgrade apsw",
    )


def _config(settings: Settings) -> Check:
    path = settings.home / config.CONFIG_FILE
    strange = config.unknown_variables()
    found = f"{path}" if path.exists() else f"no {path}: defaults and environment"
    if strange:
        names = ", ".join(f"{name} ({hint})" if hint else name for name, hint in strange)
        return Check(
            name="config",
            ok="warn",
            found=f"{found}; unknown variables: {names}",
            why="a misspelt variable changes nothing",
            fix="`satchel config show --origin` lists every variable",
        )
    return Check(name="config", ok="ok", found=found)


def _replica(settings: Settings) -> Iterator[Check]:
    path = settings.home / DATABASE_FILE
    if not path.exists():
        yield Check(name="replica", ok="ok", found=f"no {path} yet: the first write makes it")
        return
    try:
        with open_replica(settings) as replica:
            yield from _inside(replica)
    except (SatchelError, apsw.Error) as error:
        yield _failed("replica", error)


def _inside(replica: Replica) -> Iterator[Check]:
    with replica.store.read() as db:
        mode = db.execute("PRAGMA journal_mode").get
        schema = db.execute("PRAGMA user_version").get
        faults = [str(row[0]) for row in db.execute("PRAGMA quick_check(5)")]
        counts = {name: db.execute(f"SELECT count(*) FROM {name}").get for name in _COUNTED}
    place = f"{replica.store.path}, schema {schema}, journal {mode}"
    yield Check(name="replica", ok="ok" if mode == "wal" else "fail", found=place)
    sound = faults == ["ok"]
    yield Check(
        name="integrity",
        ok="ok" if sound else "fail",
        found="quick_check passed" if sound else "; ".join(faults),
        fix="" if sound else "stop every satchel, keep a copy of the file, restore a backup",
    )
    yield _queues(counts)
    yield _syncs(replica)
    yield _forgotten(replica)
    yield _audit(replica)
    yield _vectors(replica.store.home, replica.store.replica_id)


def _queues(counts: dict[str, int]) -> Check:
    found = ", ".join(f"{name} {count}" for name, count in counts.items())
    stuck = counts["quarantine"]
    return Check(
        name="queues",
        ok="warn" if stuck else "ok",
        found=found,
        why=f"{stuck} rows cannot travel as they are" if stuck else "",
        fix="`satchel sync quarantine` names them with the reason" if stuck else "",
    )


def _ranking(settings: Settings) -> Check:
    from satchel import ranking

    try:
        engine = ranking.engine_name(ranking.choose(settings.ranking))
    except ranking.RankingUnavailable as error:
        return _failed("ranking", error)
    refusal = ranking.native_refusal()
    if engine == "pure" and settings.ranking == "auto" and refusal:
        return Check(
            name="ranking",
            ok="warn",
            found="pure Python",
            why=f"slower than native, with the same answers: {refusal}",
            fix="install satchel[native], or `make native` where cargo is",
        )
    return Check(name="ranking", ok="ok", found=engine)


def _embedding(settings: Settings) -> Check:
    """The engine is really opened with its model: what a search could not use is no "ok"."""
    if settings.embedding == "off":
        return Check(name="embedding", ok="ok", found="off: search is by keyword")
    from satchel.embedding import open_engine

    try:
        engine, model = open_engine(settings)
    except SatchelError as error:
        asked = settings.embedding != "auto" or settings.model is not None
        return Check(
            name="embedding",
            ok="fail" if asked else "warn",
            found=str(error),
            why="search is by keyword only",
            fix=error.hint,
        )
    found = f"{engine}, {model.model_id}, {model.dims} dims, window {model.window}"
    return Check(name="embedding", ok="ok", found=found)


def _secrets(settings: Settings) -> Check:
    """The vault is really opened, where that asks nobody."""
    from satchel import secret_store

    try:
        told = secret_store.state(settings)
    except (SatchelError, CryptoError) as error:
        return _failed("secrets", error)
    if not told["names"]:
        return Check(name="secrets", ok="ok", found="none kept")
    found = f"{told['names']} in {told['place']}, opens {told['opens']}"
    return Check(name="secrets", ok="ok", found=found)


def _hooks(settings: Settings) -> Check:
    from satchel.doctor_hooks import hooks

    return hooks(settings.home)


# ---- the files of vectors -----------------------------------------------------------------------


def _vectors(home: Path, replica_id: bytes) -> Check:
    """Each file of vectors is read whole; none is the truth, so a bad one is a warning."""
    from satchel.vectors.place import FOLDER

    folder = home / FOLDER
    if not os.path.lexists(folder):
        found = f"no {folder} yet: the first search by meaning makes it"
        return Check(name="vectors", ok="ok", found=found)
    if not folder.is_dir() or not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        return Check(
            name="vectors",
            ok="warn",
            found=f"{folder} is no folder that this user can write to",
            why="every process makes the vectors anew, in its memory",
            fix="let this user write to that folder, or remove it",
        )
    told = [_vector_file(path, home, replica_id) for path in sorted(folder.glob("*.vec"))]
    sound = all(usable for _, usable in told)
    return Check(
        name="vectors",
        ok="ok" if sound else "warn",
        found="; ".join(said for said, _ in told) or f"{folder} is empty",
        why="" if sound else "the next search by meaning has to make them anew",
        fix="" if sound else "search once, or delete them: the vectors are in the database too",
    )


def _vector_file(path: Path, home: Path, replica_id: bytes) -> tuple[str, bool]:
    """What there is to say of a file, and whether every record of it can be used."""
    from satchel.vectors.errors import Damaged
    from satchel.vectors.format import HEADER_BYTES, read_header
    from satchel.vectors.place import Place

    try:
        with path.open("rb") as file:
            header = read_header(file.read(HEADER_BYTES))
        kind, _, model_id = header.name.partition(" ")
        place = Place(home, replica_id, kind, model_id, header.dims)
        opened = place.open()
        if opened is None or place.path != path:
            raise Damaged(f"a file of {header.name!r} has another name")
        opened.image.verify()
    except (Damaged, OSError, ValueError) as error:
        return f"{path.name} cannot be used: {error}", False
    rows, size = header.records - header.masked, path.stat().st_size / 1e6
    return f"{header.name}: {rows} rows, {header.dims} dims, {size:.1f} MB", True


# ---- the network and the warehouse ---------------------------------------------------------------


def _network(settings: Settings) -> Check:
    from satchel.doctor_network import network

    return network(settings)


def _warehouse(settings: Settings) -> list[Check]:
    try:
        named = _warehouse_named(settings)
    except CryptoError as damaged:
        return [_failed("warehouse", damaged)]
    if not named:
        found = "none configured: this machine keeps to itself"
        return [Check(name="warehouse", ok="ok", found=found)]
    offset_ms, error = _within(WAREHOUSE_TIMEOUT_S, lambda: _clock_offset_ms(settings))
    if error is not None:
        return [_failed("warehouse", error)]
    if offset_ms is None:
        return [
            Check(
                name="warehouse",
                ok="fail",
                found=f"no answer within {WAREHOUSE_TIMEOUT_S} s",
                fix="is the host up, and its port open?",
            )
        ]
    found = f"{named} answers"
    return [Check(name="warehouse", ok="ok", found=found), _clock(offset_ms)]


def _warehouse_named(settings: Settings) -> str:
    """What the warehouse's DSN may be shown as; "" where none is named."""
    from satchel.warehouse import dsns

    if settings.warehouse_dsn:
        return masked(settings.warehouse_dsn)
    return "the warehouse of the secret warehouse.dsn" if dsns.is_named(settings) else ""


def _audit(replica: Replica) -> Check:
    from satchel.audit.health import health

    try:
        verdict, found, fix = health(replica.store, replica.settings)
    except CryptoError as error:
        return _failed("audit", error)
    why = "" if verdict == "ok" else "who read and wrote what cannot be relied on"
    return Check(name="audit", ok=verdict, found=found, why=why, fix=fix)


def _forgotten(replica: Replica) -> Check:
    from satchel.store import wiping

    with replica.store.read() as db:
        owed = wiping.owed(db)
    return Check(
        name="forgotten",
        ok="warn" if owed else "ok",
        found=f"{len(owed)} forgotten rows may have left traces in files" if owed else "no traces",
        why="the program that forgot them was stopped, or a reader kept the log" if owed else "",
        fix="`satchel sync`, or `satchel memory forget ID` once more" if owed else "",
    )


def _syncs(replica: Replica) -> Check:
    from satchel.syncing.status import status

    told = status(replica.store)
    if told["reconcile_due"]:
        return Check(
            name="sync",
            ok="warn",
            found=f"a reconcile is due: {told['reconcile_due']}",
            why="until then neither side is sure to hold what the other has",
            fix="`satchel sync` does it",
        )
    if told["stuck"]:
        return Check(
            name="sync",
            ok="fail",
            found=told["stuck"],
            why="what this machine writes stays on it",
            fix="`satchel sync status` shows the last report",
        )
    last = told["last_sync"]
    return Check(name="sync", ok="ok", found=f"last sync: {last}" if last else "no sync yet")


def _clock(offset_ms: int) -> Check:
    near = abs(offset_ms) <= OFFSET_WARN_MS
    return Check(
        name="clock",
        ok="ok" if near else "warn",
        found=f"this machine's minus the warehouse's: {offset_ms} ms",
        why="" if near else "the later write wins, and this clock says wrongly what is later",
        fix="" if near else "synchronise this machine's clock (NTP)",
    )


def _clock_offset_ms(settings: Settings) -> int:
    from satchel import peers

    return peers.clock_offset_ms(settings)


def _within(timeout_s: float, work: Callable[[], int]) -> tuple[int | None, Exception | None]:
    """(answer, error) of `work`, or (None, None) when it takes longer."""
    answers: list[int] = []
    errors: list[Exception] = []

    def run() -> None:
        try:
            answers.append(work())
        except Exception as error:  # noqa: BLE001 (it becomes a failed check that names it)
            errors.append(error)

    # A daemon: a hub that never answers must not keep the process from ending.
    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(timeout_s)
    return (answers[0] if answers else None), (errors[0] if errors else None)


def _failed(name: str, error: Exception) -> Check:
    if is_typed(error):
        shown = describe(error)
        return Check(name=name, ok="fail", found=shown["message"], fix=shown["hint"])
    return Check(name=name, ok="fail", found=f"{type(error).__name__}: {error}")
