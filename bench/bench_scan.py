"""The nearest of many vectors: the scan alone, the whole question, numpy and sqlite-vec."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any

import apsw
import pytest
from bench.measure import COLUMNS, Samples, in_turn, sampled
from bench.page import Section
from bench.stock import opened
from bench.vector_stock import DIMS, MODEL, Vectors, stocked_with_vectors

from satchel.memory.lookup import can_see
from satchel.memory.visibility import Caller
from satchel.ranking import choose, native_refusal
from satchel.replica import Replica
from satchel.vectors.nearest import SCANNED_EACH, SCANNED_MORE, SCORE_ERROR
from satchel.vectors.place import Place

SIZES = (10_000, 100_000, 1_000_000)
LIMIT = 50
CANDIDATES = SCANNED_EACH * LIMIT + SCANNED_MORE
TIMES = 60
QUESTIONS = 40
METHOD = f"""
The {LIMIT} nearest of so many vectors of {DIMS} numbers, {TIMES} questions in turn after one that
is not counted. Random: any direction; clustered: around 200 centres; questions are drawn likewise.
`scan` is `scan_halves` over the mapped file as `nearest` calls it; `nearest` is the whole of
`VectorIndex.nearest`, with proof by exact cosines from the database: of all (the operator), of one
agent of a hundred (by owner group), of a half and of one row in a thousand (by SQL on a column).
`write + nearest`: a vector is changed in a durable transaction, then the file is appended to and
asked. `first of a process`: a new process that finds the file asks twice. recall@10 is against
exact float32 (numpy), of {QUESTIONS} questions. numpy: a resident float32 matrix, `matmul` and
`argpartition`; sqlite-vec: `vec0` with cosine distance; both in the same turns.
"""

needs_native = pytest.mark.skipif(native_refusal() is not None, reason=str(native_refusal()))
CALLER = Caller(None, "una")
AGENT = Caller("a7", "una", "agent")


@pytest.fixture(scope="module")
def section() -> Iterator[Section]:
    columns = ("vectors", "kind", "what", *COLUMNS, "recall@10")
    one = Section("scan", "Nearest vectors", METHOD, columns)
    for name in ("numpy", "sqlite_vec"):
        if find_spec(name) is None:
            one.remarks.append(f"{name} is not installed where this ran: its rows are missing.")
    yield one
    one.write()


@needs_native
@pytest.mark.parametrize("count", SIZES)
@pytest.mark.parametrize("clustered", [False, True], ids=["random", "clustered"])
def bench_nearest(tmp_path: Path, section: Section, count: int, clustered: bool) -> None:
    stocked_with_vectors(tmp_path, count, clustered)
    kind = "clustered" if clustered else "random"
    with opened(tmp_path, embedding="off") as replica:
        made_s = timed_s(lambda: asked(replica, next(questions(clustered, 1))))
        works, recalls = ours(replica, clustered), {}
        exact = Peers(replica) if find_spec("numpy") else None
        if exact:
            works["numpy"] = exact.numpy(clustered)
            recalls = recalls_of(replica, exact, clustered)
        if find_spec("sqlite_vec"):
            works["sqlite-vec"] = sqlite_vec(tmp_path, replica, clustered)
        for work in works.values():
            work()
        for name, samples in in_turn(works, TIMES).items():
            section.add(f"{count:,}", kind, name, *samples.columns(), recalls.get(name, ""))
            section.raw[f"{count:,} {kind} {name}"] = samples.raw()
        followed = sampled(follow(replica, clustered), TIMES)
        section.add(f"{count:,}", kind, "write + nearest", *followed.columns(), "")
        file = place(replica).path.stat()
    for name, samples in cold(tmp_path, clustered).items():
        section.add(f"{count:,}", kind, name, *samples.columns(), "")
    section.remarks.append(
        f"{count:,} {kind}: the file was made in {made_s:.1f} s and takes"
        f" {file.st_blocks * 512 / 1e6:.0f} MB of the disk; a new process that asks twice has"
        f" {peak_mb(tmp_path):.0f} MB resident at most, the mapped file included."
    )


def questions(clustered: bool, seed: int) -> Iterator[bytes]:
    """Vectors like those of the store."""
    return iter(Vectors(clustered, seed=1000 + seed))


def asked(
    replica: Replica, query: bytes, caller: Caller = CALLER, where: str = "1", limit: int = LIMIT
) -> list[int]:
    with replica.store.read() as db:
        rule = f"{can_see(caller, 'memory')} AND {where}"
        return replica.vectors.nearest(
            db, caller, "memory", MODEL, DIMS, query, limit, rule, caller.params
        )


def ours(replica: Replica, clustered: bool) -> dict[str, Callable[[], object]]:
    ranking = choose("native")
    opened_file = place(replica).open()
    assert opened_file is not None
    image = opened_file.image
    kinds: dict[str, tuple[Caller, str]] = {
        "nearest, all": (CALLER, "1"),
        "nearest, one agent of a hundred": (AGENT, "1"),
        "nearest, every second row": (CALLER, "t.type = 'note'"),
        "nearest, one row in a thousand": (CALLER, "t.row % 1000 = 7"),
    }
    stream = questions(clustered, 2)
    works: dict[str, Callable[[], object]] = {
        "scan": lambda: image.scan(
            ranking, next(stream), image.owners, b"\xff" * 16, CANDIDATES, 2 * SCORE_ERROR
        )
    }
    for name, (caller, where) in kinds.items():
        works[name] = lambda caller=caller, where=where: asked(  # type: ignore[misc]
            replica, next(stream), caller, where
        )
    return works


def follow(replica: Replica, clustered: bool) -> Callable[[], object]:
    """A question right after a memory got another vector; the write itself counts, too."""
    stream = questions(clustered, 3)
    rows = iter(range(1, TIMES + 1))

    def once() -> None:
        with replica.store.write() as db:
            db.execute("UPDATE embedding SET vector = ? WHERE row = ?", (next(stream), next(rows)))
        asked(replica, next(stream))

    return once


def place(replica: Replica) -> Place:
    return Place(replica.store.home, replica.store.replica_id, "memory", MODEL, DIMS)


class Peers:
    """The same vectors as one numpy matrix of float32 of length one."""

    def __init__(self, replica: Replica) -> None:
        """Read all vectors into memory."""
        self.np: Any = import_module("numpy")
        with replica.store.read() as db:
            found = db.execute("SELECT vector FROM embedding ORDER BY row")
            count: Any = db.execute("SELECT count(*) FROM embedding").get
            self.matrix = self.np.empty((count, DIMS), dtype=self.np.float32)
            for row, (vector,) in enumerate(found):
                self.matrix[row] = self.np.frombuffer(vector, dtype=self.np.float32)
        self.matrix /= self.np.linalg.norm(self.matrix, axis=1, keepdims=True)

    def best(self, query: bytes, k: int) -> Sequence[int]:
        """Indexes of the `k` most similar, best first."""
        scores = self.matrix @ self.np.frombuffer(query, dtype=self.np.float32)
        found = self.np.argpartition(-scores, k)[:k]
        return [int(row) for row in found[self.np.argsort(-scores[found], kind="stable")]]

    def numpy(self, clustered: bool) -> Callable[[], object]:
        """The question as numpy answers it."""
        stream = questions(clustered, 2)
        return lambda: self.best(next(stream), LIMIT)


def recalls_of(replica: Replica, exact: Peers, clustered: bool) -> dict[str, str]:
    """The share of the exact ten that the scan's candidates and the answers hold."""
    image = place(replica).open()
    assert image is not None
    held, ranking = image.image, choose("native")
    hits = {"scan": 0, "nearest, all": 0}
    for query in islice(questions(clustered, 4), QUESTIONS):
        ten = {row + 1 for row in exact.best(query, 10)}
        found = held.scan(ranking, query, held.owners, b"\xff" * 16, CANDIDATES, 2 * SCORE_ERROR)
        hits["scan"] += len(ten & {row for _, _, _, row in held.named(found)})
        hits["nearest, all"] += len(ten & set(asked(replica, query, limit=10)))
    return {name: f"{found / QUESTIONS / 10:.4f}" for name, found in hits.items()}


def sqlite_vec(home: Path, replica: Replica, clustered: bool) -> Callable[[], object]:
    """A table of sqlite-vec with the same vectors."""
    db = apsw.Connection(str(home / "vec.db"))
    db.enable_load_extension(True)
    db.load_extension(import_module("sqlite_vec").loadable_path())
    db.execute(f"CREATE VIRTUAL TABLE v USING vec0(e float[{DIMS}] distance_metric=cosine)")
    with replica.store.read() as held, db:
        found = held.execute("SELECT row, vector FROM embedding")
        db.executemany("INSERT INTO v(rowid, e) VALUES(?, ?)", found)
    stream = questions(clustered, 2)
    sql = f"SELECT rowid FROM v WHERE e MATCH ? ORDER BY distance LIMIT {LIMIT}"
    return lambda: db.execute(sql, (next(stream),)).fetchall()


COLD = """
import sys, time
began = time.perf_counter()
from pathlib import Path
from bench.bench_scan import asked, opened, questions
imported = time.perf_counter()
stream = questions(sys.argv[2] == "True", 5)
with opened(Path(sys.argv[1]), embedding="off") as replica:
    for _ in range(2):
        query, began = next(stream), time.perf_counter()
        asked(replica, query)
        print((time.perf_counter() - began) * 1000)
status = Path("/proc/self/status").read_text()
print(int(status.partition("VmHWM:")[2].split()[0]) / 1024)
"""


def _fresh(home: Path, clustered: bool) -> list[float]:
    """ms of the first answer in a new process, of the second, MB resident."""
    command = [sys.executable, "-c", COLD, str(home), str(clustered)]
    root = Path(__file__).parents[1]
    path = [str(root), *(str(root / name) for name in ("replica", "sync", "crypto", "tests"))]
    env = {"PYTHONPATH": ":".join([*path, *sys.path])}
    ran = subprocess.run(command, env=env, check=True, capture_output=True, text=True)
    return [float(line) for line in ran.stdout.split()]


def cold(home: Path, clustered: bool) -> dict[str, Samples]:
    """The first answer of a new process that finds the file, and the second."""
    found = [_fresh(home, clustered) for _ in range(7)]
    names = ("nearest, first of a process", "nearest, second of a process")
    return {name: Samples([one[at] for one in found]) for at, name in enumerate(names)}


def peak_mb(home: Path) -> float:
    return _fresh(home, False)[2]


def timed_s(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began
