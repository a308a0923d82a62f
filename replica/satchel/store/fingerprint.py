"""What tells a file from its copies: the machine that it lies on and its number in the file system.

Against nobody: it is to notice a copy before that writes, and what it misses the hub notices by the
chain of attempts. Every command comes here, so it loads nothing; what only another system needs is
in a file of its own.
"""

from __future__ import annotations

import sys
from pathlib import Path

PLACES = (Path("/etc/machine-id"), Path("/var/lib/dbus/machine-id"))
"""machine-id(5): 32 hex digits; the second place is where there is no systemd."""
PRIME = 4_294_967_291
"""A machine's id is told by its remainder: enough to notice, too little to give it away."""


def of(path: Path) -> str:
    """The fingerprint of a file; the same after a reboot, a VACUUM, a rename on its own disk.

    The device's number is left out, since it changes at reboots; Windows and some network disks
    give no file number, which is 0 then.
    """
    machine = int.from_bytes(machine_id().encode(), "big") % PRIME
    return f"{machine:08x}-{path.stat().st_ino:x}"


def machine_id(platform: str = sys.platform) -> str:
    """The machine's id, kept by its operating system; "" if it has none.

    It changes neither at a reboot nor with the network.
    """
    if platform == "darwin":
        from satchel.store import machine_macos

        return machine_macos.host_uuid()
    if platform == "win32":
        from satchel.store import machine_windows

        return machine_windows.machine_guid()
    return next((text for place in PLACES if (text := _text(place))), "")


def _text(place: Path) -> str:
    try:
        return place.read_text("ascii", "replace").strip()
    except OSError:
        return ""  # not every system has it
