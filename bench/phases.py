"""A command step by step, as a process of its own: `python phases.py BEGAN ARGUMENTS`.

Prints {phase: ms} as JSON. `BEGAN` is the parent's `time.perf_counter()` before it started this
process; on Linux and macOS that clock is the same in every process.
"""

import sys
import time

PHASES = {"python": (time.perf_counter() - float(sys.argv[1])) * 1000}
_last = time.perf_counter()


def done(phase: str) -> None:
    """What ended just now."""
    global _last
    now = time.perf_counter()
    PHASES[phase], _last = (now - _last) * 1000, now


def main(words: list[str]) -> None:
    """As `satchel.cli.main.run` and `satchel.cli.call.run_tool` do it, with a clock between."""
    from satchel.cli import quick
    from satchel_crypto.network import enforce

    enforce()
    done("import the command line")
    call = quick.read(words)
    assert call is not None, "phases are of the plain call of a tool"
    arguments = call.tool.arguments(call.typed, frozenset(call.typed))
    done("read the words, import the tool")
    from satchel.cli.door import Door
    from satchel.replica import open_replica

    door = Door(call.options)
    settings = door.settings
    done("import the store, read the settings")
    replica = open_replica(settings)
    done("open the replica")
    if settings.embedding != "off":
        loaded = replica.embedder
        done("load the model" if loaded else "look for a model")
    answer = call.tool.call(replica, arguments)
    done("call the tool")
    replica.close()
    done("close the replica")
    sys.stdout = sys.stderr
    door.answer(answer)
    sys.stdout = sys.__stdout__
    done("write the answer")


if __name__ == "__main__":
    main(sys.argv[2:])
    import json

    print(json.dumps(PHASES))
