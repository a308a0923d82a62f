"""The machines that a kit can be for: their wheel tags, and what a requirement's marker sees there.

Tags are those of PEP 425, 600 and 656, markers those of PEP 508.
"""

from __future__ import annotations

import platform
import sys
from dataclasses import dataclass

from airgap.errors import TargetUnknown

GLIBC_MINORS = (28, 27, 26, 24, 17, 12, 5)
"""glibc 2.x of the oldest Linux that third-party wheels are taken for: RHEL 8, Debian 10."""
MACOS = {"x86_64": "macosx_12_0_x86_64", "aarch64": "macosx_12_0_arm64"}
PYTHONS = ("3.11", "3.12", "3.13")
MACHINES = {"amd64": "x86_64", "x64": "x86_64", "arm64": "aarch64"}
"""Other words for the same machine -> ours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A machine: `system` is linux, macos or windows, `python` as `3.11`."""

    system: str
    machine: str
    python: str

    @property
    def name(self) -> str:
        """As `--platform` takes it."""
        return f"{self.system}-{self.machine}"

    @property
    def platforms(self) -> tuple[str, ...]:
        """Platform tags, the best first; pip adds those of older macOS itself."""
        if self.system == "linux":
            return tuple(f"manylinux_2_{minor}_{self.machine}" for minor in GLIBC_MINORS)
        return (MACOS[self.machine],) if self.system == "macos" else ("win_amd64",)

    @property
    def environment(self) -> dict[str, str]:
        """What markers are evaluated in. pip would take those of the machine that it runs on."""
        words = {
            "linux": ("linux", "Linux", "posix", self.machine),
            "macos": ("darwin", "Darwin", "posix", self.machine.replace("aarch64", "arm64")),
            "windows": ("win32", "Windows", "nt", "AMD64"),
        }
        sys_platform, system, os_name, machine = words[self.system]
        return {
            "sys_platform": sys_platform,
            "platform_system": system,
            "os_name": os_name,
            "platform_machine": machine,
            "python_version": self.python,
            "python_full_version": f"{self.python}.0",
            "implementation_name": "cpython",
            "platform_python_implementation": "CPython",
            "extra": "",
        }

    @property
    def pip_options(self) -> list[str]:
        """What makes pip choose wheels for this machine instead of its own."""
        digits = self.python.replace(".", "")
        abis = (f"cp{digits}", "abi3", "none")
        return [
            *("--python-version", self.python, "--implementation", "cp"),
            *(word for abi in abis for word in ("--abi", abi)),
            *(word for tag in self.platforms for word in ("--platform", tag)),
        ]

    def takes(self, platform_tag: str) -> bool:
        """Whether a wheel with this platform tag is for such a machine, of some age."""
        starts = {"linux": ("manylinux", "linux"), "macos": ("macosx",), "windows": ("win",)}
        ends = {"x86_64": ("x86_64", "amd64", "universal2"), "aarch64": ("aarch64", "arm64")}
        fits = platform_tag.startswith(starts[self.system])
        return fits and platform_tag.endswith(ends[self.machine])


NAMES = ("linux-x86_64", "linux-aarch64", "macos-aarch64", "windows-x86_64")


def target_of(name: str | None, python: str | None) -> Target:
    """The machine that is meant; None = this machine, this Python. Raises TargetUnknown."""
    system, _, machine = (name or _here()).partition("-")
    known = f"{system}-{MACHINES.get(machine, machine)}"
    if known not in NAMES:
        raise TargetUnknown(
            f"no kit can be built for {name or known!r}", hint=f"known are {', '.join(NAMES)}"
        )
    python = python or f"{sys.version_info[0]}.{sys.version_info[1]}"
    if python not in PYTHONS:
        raise TargetUnknown(
            f"no kit can be built for Python {python}", hint=f"known are {', '.join(PYTHONS)}"
        )
    return Target(system=system, machine=MACHINES.get(machine, machine), python=python)


def is_here(target: Target) -> bool:
    """Whether this machine is such a one, so that its Rust core can be built here."""
    return target.name == _here()


def _here() -> str:
    systems = {"linux": "linux", "darwin": "macos", "win32": "windows"}
    machine = platform.machine().lower()
    return f"{systems.get(sys.platform, sys.platform)}-{MACHINES.get(machine, machine)}"
