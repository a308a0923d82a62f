"""Runs commands of satchel one after another, as one process of another system would.

stdin: a JSON list of lists of words. stdout: for each its exit code, stdout and stderr.
"""

from __future__ import annotations

import io
import json
import sys
from contextlib import redirect_stderr, redirect_stdout
from typing import Any

from satchel.cli.main import run


def ran(words: list[str]) -> dict[str, Any]:
    """What a command did."""
    out, err = io.StringIO(), io.StringIO()
    try:
        with redirect_stdout(out), redirect_stderr(err):
            run(words)
    except SystemExit as end:
        return {"code": end.code, "out": out.getvalue(), "err": err.getvalue()}


if __name__ == "__main__":
    done = [ran(words) for words in json.load(sys.stdin)]
    json.dump(done, sys.stdout)
