"""One process of a home embeds queued texts at a time: two would do the same work twice."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from satchel.store.connection import Store

LOCK_FILE = "embedding.lock"
PATIENCE_S = 60
"""For so long another's batch is waited for; then the work is done twice, which harms nothing."""
_log = logging.getLogger(__name__)
_threads: dict[Path, threading.Lock] = {}
"""The kernel's lock is between processes; this one is between the threads of one."""


@contextmanager
def one_at_a_time(store: Store) -> Iterator[None]:
    """Runs the body while no other process or thread of this home does, as far as can be had.

    The kernel releases the lock however a process ends. A store without a file is nobody else's.
    """
    if not store.path.is_file():
        yield
        return
    path = store.path.resolve().with_name(LOCK_FILE)
    ours = _threads.setdefault(path, threading.Lock())
    got = ours.acquire(timeout=PATIENCE_S)
    try:
        with _between_processes(path):
            yield
    finally:
        if got:
            ours.release()


@contextmanager
def _between_processes(path: Path) -> Iterator[None]:
    import fasteners  # its import takes longer than a search

    lock = fasteners.InterProcessLock(path)
    got = False
    try:
        path.touch(mode=0o600)
        got = lock.acquire(blocking=True, timeout=PATIENCE_S)
    except OSError as error:
        _log.warning("%s can't be locked, so others may embed the same texts: %s", path, error)
    try:
        yield
    finally:
        if got:
            lock.release()
