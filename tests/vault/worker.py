"""A process that works on a vault: `worker.py FOLDER VERB [ORIGIN]`, passphrases by stdin.

With ORIGIN it does the verb in copies of that folder, FOLDER/1, FOLDER/2, … The n-th is done by a
child that kills itself by SIGKILL before its n-th file event (open, rename, remove, …), as a power
cut might; the last by one that came to its end. For each it prints how the child ended.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

import fasteners  # noqa: F401 (so that its import is no step of a verb)
from fix_vault import Said, vault_in

from satchel_crypto.vault import Vault

STEPS_MAX = 99
EVENTS = ("open", "os.", "fcntl.", "tempfile.", "shutil.")


def main() -> None:
    """Do the verb, once or once for each of its steps."""
    folder, verb, *origin = sys.argv[1:]
    said = Said(sys.stdin.readline().rstrip("\n"), sys.stdin.readline().rstrip("\n"))
    vault = vault_in(Path(folder), said)
    if not origin:
        print("ready", flush=True)
        do(vault, verb)
        print("done", flush=True)
        return
    for step in range(1, STEPS_MAX):
        vault = vault_in(Path(folder) / str(step), said)
        shutil.copytree(origin[0], vault.folder)
        code = in_a_child(lambda vault=vault, step=step: (kill_before(step), do(vault, verb)))
        print(code, flush=True)
        if code == 0:
            return


def do(vault: Vault, verb: str) -> None:
    """One change."""
    match verb.split("="):
        case ["set", name, value]:
            vault.set(name, value)
        case ["rotate"]:
            vault.rotate(new_passphrase=bool(vault.passphrases.fresh))
        case ["unlock"]:
            vault.unlock()
        case ["lock"]:
            vault.lock()


def in_a_child(work: Callable[[], Any]) -> int:
    """The exit code of a child that does it; minus the signal that ended it."""
    child = os.fork()
    if child == 0:
        work()
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def kill_before(number: int) -> None:
    """End this process before its `number`-th file event from now on."""
    left = number

    def count(event: str, _: tuple[Any, ...]) -> None:
        nonlocal left
        if event.startswith(EVENTS):
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(count)


if __name__ == "__main__":
    main()
