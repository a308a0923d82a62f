"""The hub of docs/DEPLOY.md, made by typing the page's commands."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from fix_guide import Reader, Typed, guide
from fix_hub_machine import Machine, Shell, machine

ANN_PATH = "/opt/satchel/bin:/usr/bin:/bin"
AFTER_THE_DUMP = ["satchel write 'Not in the dump' --scope org", "satchel sync"]
"""What a machine does between the backup and the disaster."""


@dataclass
class Walked:
    """The machine after the page's last command, and where it did not say what is shown."""

    machine: Machine
    hub: Shell
    ann: Shell
    reader: Reader = field(default_factory=Reader)
    other: list[str] = field(default_factory=list)

    def type(self, step: Typed) -> None:
        """Type one command of the page."""
        if step.place == "machine":  # what the user carries there
            self.machine.did("install -o ann -m 644 /srv/hub/ca.crt /home/ann/ca.crt")
        shell = self.ann if step.place == "machine" else self.hub
        said, code = shell.run(self.reader.typed(step))
        try:
            self.reader.check(step, said, code)
        except AssertionError as error:
            self.other.append(str(error))

    def disaster(self) -> None:
        """What a machine does that no dump knows: it is the last before step 9."""
        for line in AFTER_THE_DUMP:
            said, code = self.ann.run(line)
            if code:
                self.other.append(f"{line}: {said}")


@contextmanager
def walked_through(*, last_step: int = 99) -> Iterator[Walked]:
    """The hub as the page makes it, up to the end of that step."""
    with machine() as made:
        hub = made.shell("root", "/srv/hub", HOME="/root")
        ann = made.shell("ann", "/home/ann", HOME="/home/ann", PATH=ANN_PATH,
                         SATCHEL_EMBEDDING="off")  # fmt: skip
        walked, before = Walked(made, hub, ann), 0
        for step in guide("A hub"):
            number = int(step.heading.partition(".")[0])
            if number == 9 and before < 9:
                walked.disaster()
            if number > last_step:
                break
            walked.type(step)
            before = number
        yield walked


def quoted(command: str) -> str:
    """A command as one word of a shell."""
    return "'" + command.replace("'", "'\\''") + "'"
