"""Consoles of a page: its commands, run in one bash, and what counts as what they should say.

A fenced block ```console is a session: each line that begins with `$ ` is run, in order, in one
bash per page that starts in an empty folder with the venv's `satchel` on its PATH; a trailing `\\`
continues it, so does `<<'END'` up to a line END, a trailing `# exit N` names the exit code (else
0), a trailing ` &` runs it in the background. `<!-- $ COMMAND -->` before a block is run, too, and
a reader does not see it: it breaks what the page tells how to mend, and looks whether it is.
Blocks of another kind (```console hub) and what is hidden before them are for other tests.
What is shown below a command must be what it says, on stdout and stderr, after this:

- white space of any length counts as one blank, so that a long line of JSON may be wrapped;
- `…` stands for any text;
- an id (UUID) is bound to the one that is really made: later commands get the real one in its
  place, also where they give only its last 8 digits;
- times (ISO-8601), hex of 32 or more digits, and the numbers of the JSON keys in `VARYING` differ.

A plain call of satchel (no pipe, no redirection) may be forked from a process that has imported it
(`fix_forked`): bash expands its words, tells its variables and its folder.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import fix_forked

UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)"
VARYING = r"\w+_ms|\w+_s|score|pid|bytes_\w+"
MASKS = re.compile(
    rf"(?P<id>{UUID})|(?P<time>{TIME})|(?P<hex>[0-9a-f]{{32,}})|(?P<any>…)|(?P<gap>\s+)|"
    rf'(?P<key>"(?:{VARYING})": )[-\d.]+'
)
DONE = "@@done@@"
HIDDEN = re.compile(r"^<!-- \$ (.*) -->$")
HEREDOC = re.compile(r"<<'(\w+)'")
PLAIN = re.compile(r"""^satchel(?: |\\\n|'[^']*'|"[^"`]*"|[^\s'"|&;<>()`\\])*$""")
"""A call of satchel that bash only has to expand."""
SHELL_OWN = ("PWD", "OLDPWD", "SHLVL", "_")
"""Variables that bash sets by itself."""
TIMEOUT_S = 120


@dataclass
class Step:
    """One command of a page with what is shown below it."""

    line: int
    command: str
    shown: list[str] = field(default_factory=list)

    @property
    def exit_code(self) -> int:
        """The code that the page names."""
        named = re.search(r"#\s*exit (\d+)$", self.command)
        return int(named[1]) if named else 0

    @property
    def in_background(self) -> bool:
        return self.command.endswith(" &")


def steps_of(text: str) -> list[Step]:
    """The commands of every console block of a page, and the hidden ones, in order."""
    steps: list[Step] = []
    hidden: list[Step] = []
    inside, until, last = False, "", ""
    for number, line in enumerate(text.splitlines(), start=1):
        unseen = HIDDEN.match(line)
        if until:
            steps[-1].command += "\n" + line
            until = until if _goes_on(line, until) else ""
        elif line.startswith("```"):
            inside = line == "```console" and not inside
            if line.startswith("```console"):
                last, hidden = line, _taken(steps, hidden, line)
        elif unseen:
            hidden.append(Step(number, unseen[1]))
        elif inside and line.startswith("$ "):
            steps.append(Step(number, line[2:]))
            document = HEREDOC.search(line)
            until = document[1] if document else "\\" if line.endswith("\\") else ""
        elif inside:
            steps[-1].shown.append(line)
    _taken(steps, hidden, last)
    return steps


def _taken(steps: list[Step], hidden: list[Step], kind: str) -> list[Step]:
    """Take over what was hidden before a console of ours; what is hidden from then on."""
    if kind == "```console":
        steps += hidden
    return []


def _goes_on(line: str, until: str) -> bool:
    """Whether a command that this line belongs to has a further one."""
    return line.endswith("\\") if until == "\\" else line != until


class Shell:
    """One bash; stdout and stderr of its commands come through one pipe."""

    def __init__(self, folder: Path, *, forks: bool = False) -> None:
        self._forks = forks
        self._environment = {
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(folder),
            "LANG": "C.UTF-8",
        }
        self._process = subprocess.Popen(
            ["bash", "--norc"], cwd=folder, env=self._environment, text=True, encoding="utf-8",
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            start_new_session=True,
        )  # fmt: skip

    def run(self, step: Step, command: str) -> tuple[str, int]:
        """What a command said, and its exit code; in the background: its first line, and 0."""
        if self._forks and PLAIN.match(command):
            words, variables, folder = self._expanded(command)
            if fix_forked.fits(words, self._of_its_own(variables)):
                done = fix_forked.forked(
                    words, variables, b"", TIMEOUT_S, folder=folder, merged=True
                )
                return done.stdout.decode("utf-8"), done.returncode
        return self._typed(step, command)

    def _expanded(self, command: str) -> tuple[list[str], dict[str, str], str]:
        """The words of a call, the variables it gets, the folder it runs in."""
        ask = f'set -- {command}\nprintf \'%s\\0\' "$PWD" $# "$@"; env -0'
        said, code = self._typed(Step(0, ask), ask)
        assert code == 0, said
        folder, count, *told = said.removesuffix("\n").split("\0")
        words, variables = told[1 : int(count)], told[int(count) : -1]
        return words, dict(one.split("=", 1) for one in variables), folder

    def _of_its_own(self, variables: dict[str, str]) -> Iterator[str]:
        """The names of variables that the page set."""
        for name, value in variables.items():
            if self._environment.get(name) != value and name not in SHELL_OWN:
                yield name

    def _typed(self, step: Step, command: str) -> tuple[str, int]:
        pipe, out = ends_of(self._process)
        pipe.write(f"{command}\nprintf '\\n{DONE} %s\\n' $?\n")
        pipe.flush()
        lines: list[str] = []
        code = None
        for line in out:
            if line.startswith(DONE):
                code = int(line.split()[1])
            elif line.strip():
                lines.append(line)
            if code is not None and (lines or not (step.in_background and step.shown)):
                break
        assert code is not None, f"bash ended at {command!r}: {''.join(lines)}"
        return "".join(lines), code

    def close(self) -> None:
        """End what is still running, as Ctrl-C and a closed terminal would."""
        pipe, out = ends_of(self._process)
        pipe.write("kill $(jobs -p) 2>/dev/null; wait\n")
        pipe.close()
        try:
            self._process.wait(30)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        out.close()


def ends_of(process: subprocess.Popen[str]) -> tuple[IO[str], IO[str]]:
    assert process.stdin is not None
    assert process.stdout is not None
    return process.stdin, process.stdout


@dataclass
class Ids:
    """Ids that a page shows -> ids that were really made."""

    real: dict[str, str] = field(default_factory=dict)

    def put_into(self, command: str) -> str:
        """A command of the page with the real ids, or their last 8 digits."""
        for shown, real in self.real.items():
            command = command.replace(shown, real).replace(shown[-8:], real[-8:])
        return command

    def check(self, shown: str, said: str) -> bool:
        """Whether a command said what is shown; learns the ids that are new."""
        pattern, ids = _pattern(" ".join(shown.split()))
        found = re.fullmatch(pattern, " ".join(said.split()))
        if found is None:
            return False
        pairs = zip(ids, found.groups(), strict=True)
        return all(self.real.setdefault(one, real) == real for one, real in pairs)


def _pattern(shown: str) -> tuple[str, list[str]]:
    """A regular expression for what is shown, with a group for each id, and these ids."""
    ids: list[str] = []
    parts: list[str] = []
    end = 0
    for found in MASKS.finditer(shown):
        parts.append(re.escape(shown[end : found.start()]))
        end = found.end()
        if found["id"]:
            ids.append(found["id"])
        parts.append(_masked(found))
    return "".join([*parts, re.escape(shown[end:])]), ids


def _masked(found: re.Match[str]) -> str:
    if found["key"]:
        return re.escape(found["key"]) + r"[-\d.]+"
    whole = {"id": f"({UUID})", "time": TIME, "hex": "[0-9a-f]{32,}", "any": ".*?", "gap": " "}
    return whole[str(found.lastgroup)]
