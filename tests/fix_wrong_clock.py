"""A process whose clock is wrong: a few lines of C between it and the kernel."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

COMPILER = shutil.which("gcc")
NEEDS_COMPILER = pytest.mark.skipif(
    COMPILER is None, reason="needs the system package build-essential"
)
_SOURCE = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>
int clock_gettime(clockid_t id, struct timespec *now) {
  int (*real)(clockid_t, struct timespec *) = dlsym(RTLD_NEXT, "clock_gettime");
  int said = real(id, now);
  if (id == CLOCK_REALTIME) now->tv_sec += atoll(getenv("WRONG_BY_S"));
  return said;
}
"""


def wrong_clock(folder: Path, seconds: int) -> tuple[str, ...]:
    """Words before a command that is to see a clock so many seconds ahead, or behind."""
    assert COMPILER is not None
    library = folder / "wrong_clock.so"
    if not library.exists():
        (folder / "wrong_clock.c").write_text(_SOURCE)
        command = [COMPILER, "-shared", "-fPIC", "-o", library, folder / "wrong_clock.c", "-ldl"]
        subprocess.run(command, check=True, capture_output=True)
    return ("env", f"LD_PRELOAD={library}", f"WRONG_BY_S={seconds}")
