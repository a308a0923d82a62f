"""A change of the model while others write and ask, and whoever embeds is killed in the middle."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fix_model_change import change, filled, finds_all, machine

from satchel.embedding import lacking, queue

WORKER = Path(__file__).with_name("worker.py")
FILLERS = 70
"""Several batches: whoever is killed in the middle leaves some to do."""

PATIENCE_S = 120


class Worker:
    """A process of worker.py; what it prints goes to a file of its own."""

    def __init__(self, home: Path, model: Path | None, what: str, out: Path) -> None:
        self._out, self._seen = out, 0
        command = [sys.executable, str(WORKER), str(home), str(model or ""), what]
        env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        with out.open("w") as file, out.with_suffix(".err").open("w") as errors:
            self.process = subprocess.Popen(command, stdout=file, stderr=errors, env=env)

    def lines(self) -> list[str]:
        """All whole lines that it printed."""
        return self._out.read_text().rpartition("\n")[0].splitlines()

    def go_on(self, lines: int) -> str:
        """Wait for so many more lines; the last one."""
        end_s = time.monotonic() + PATIENCE_S
        while len(found := self.lines()) < self._seen + lines:
            assert self.process.poll() is None, self.said()
            assert time.monotonic() < end_s, "it hangs"
            time.sleep(0.02)
        self._seen = len(found)
        return found[-1]

    def said(self) -> str:
        """What is on its stderr."""
        return self._out.with_suffix(".err").read_text()

    def killed(self) -> list[str]:
        """What it printed until a kill -9, which must find it alive."""
        self.process.kill()
        assert self.process.wait(30) == -signal.SIGKILL, self.said()
        return self.lines()


@contextmanager
def workers(folder: Path, home: Path) -> Iterator[list[Worker]]:
    """One that asks and one that writes; neither knows of a change. Killed if all fails."""
    started = [
        Worker(home, None, what, folder / f"{number}-{what}")
        for number, what in enumerate(("ask", "write"))
    ]
    try:
        yield started
    finally:
        for one in started:
            one.process.kill()
            one.process.wait(30)


def test_no_search_fails_and_no_row_is_lost(tmp_path: Path, turned: Path) -> None:
    home = tmp_path / "home"
    with machine(home) as old:
        ids = filled(old, FILLERS)
        queue.drain(old)
    with machine(home) as replica, workers(tmp_path, home) as busy:
        for one in busy:
            one.go_on(1)
        with change(replica, turned) as new:
            embedder = Worker(home, turned, "embed", tmp_path / "killed")
            left = int(embedder.go_on(1))
            assert left > 0, "killed in the middle"
            embedder.killed()
            assert new.standing().becoming is not None
            pair = [Worker(home, turned, "embed", tmp_path / f"embed{n}") for n in range(2)]
            ends = [(one.process.wait(PATIENCE_S), one.said()) for one in pair]
            assert ends == [(0, ""), (0, "")]
            assert new.standing().becoming is None
            assert (new.standing().in_use or "").startswith("turned@")
            for one in busy:  # and further, with the new model, in the same processes
                one.go_on(6)
            answers, wrote = (one.killed() for one in busy)
            assert len(answers) > 6
            assert set(answers) == {"right"}, set(answers)
            queue.drain(new)
            finds_all(new)
            with new.store.read() as db:
                rows = db.execute("SELECT id FROM memory UNION SELECT id FROM chatlog")
                held = {key for (key,) in rows}
                assert held >= {*ids, *wrote}
                assert lacking.count(db, new.standing().in_use or "") == 0
                assert db.execute("PRAGMA integrity_check").get == "ok"
                models = lacking.models(db)
            assert [one.partition("@")[0] for one in models] == ["turned"]
