"""What maturin writes anew each time or leaves out of a wheel: bill of materials, licences.

The bill of the crates (PEP 770) loses the time, number and folder of its build; the licence of
satchel and those of all crates that are linked in come along (PEP 639).
"""

from __future__ import annotations

import json
import zipfile
from base64 import urlsafe_b64encode
from collections.abc import Iterable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

LICENCE_FILES = ("LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE", "UNLICENSE")
OURS, CRATES = "LICENSE", "CRATES.txt"
OLDEST = (1980, 1, 1, 0, 0, 0)
"""The time that maturin gives to every file: the first that a zip file can tell."""
RULE = "\n" + "=" * 80 + "\n"


def settle(wheel: Path, native: Path, metadata: Mapping[str, Any]) -> None:
    """Make what maturin built from `native` whole and the same each time; the file is replaced.

    `metadata` is what `cargo metadata` says of the same sources.
    """
    with zipfile.ZipFile(wheel) as archive:
        files = {info.filename: archive.read(info) for info in archive.infolist()}
    [bill] = (name for name in files if name.endswith(".cyclonedx.json"))
    info = bill.split("/")[0]
    files[bill] = _bill(files[bill], native)
    crates = _folders(json.loads(files[bill])["components"], metadata)
    files[f"{info}/licenses/{OURS}"] = (native.parent / OURS).read_bytes()
    files[f"{info}/licenses/{CRATES}"] = _licences(crates, native).encode()
    files[f"{info}/METADATA"] = _named(files[f"{info}/METADATA"])
    files[f"{info}/RECORD"] = _record(files, f"{info}/RECORD")
    _write(wheel, files)


def _bill(bill: bytes, native: Path) -> bytes:
    found = json.loads(bill.replace(native.as_uri().encode(), b"file:///native"))
    found.pop("serialNumber", None)
    found["metadata"].pop("timestamp", None)
    return json.dumps(found, indent=2).encode() + b"\n"


def _folders(
    components: Iterable[Mapping[str, Any]], metadata: Mapping[str, Any]
) -> dict[str, tuple[Path, str]]:
    """Of each crate in the bill: the folder of its sources and the licence it names."""
    packages = {(one["name"], one["version"]): one for one in metadata["packages"]}
    found = {}
    for component in components:
        package = packages[component["name"], component["version"]]
        folder = Path(package["manifest_path"]).parent
        found[f"{package['name']} {package['version']}"] = (folder, package["license"] or "")
    return dict(sorted(found.items()))


def _licences(crates: Mapping[str, tuple[Path, str]], native: Path) -> str:
    """Every licence text once, under the crates that bring it; first the list of all crates."""
    texts: dict[str, list[str]] = {}
    lines = []
    for crate, (folder, licence) in crates.items():
        if folder.is_relative_to(native):
            continue
        lines.append(f"{crate}: {licence}")
        for file in sorted(folder.iterdir()):
            if file.name.upper().startswith(LICENCE_FILES) and file.is_file():
                text = file.read_text("utf-8", "replace").replace("\r\n", "\n").strip()
                texts.setdefault(text, []).append(f"{crate} ({file.name})")
    head = "The crates that are linked into satchel-native, and the licences they name.\n\n"
    parts = [f"{', '.join(bringing)}\n\n{text}\n" for text, bringing in texts.items()]
    return RULE.join([head + "\n".join(lines) + "\n", *parts])


def _named(metadata: bytes) -> bytes:
    """METADATA with the licence files, at the end of its head."""
    head, gap, body = metadata.partition(b"\n\n")
    names = "".join(f"\nLicense-File: {name}" for name in (OURS, CRATES))
    return head.rstrip(b"\n") + names.encode() + (gap + body if gap else b"\n")


def _record(files: Mapping[str, bytes], itself: str) -> bytes:
    """Hash and size of each file (PyPA's "recording installed projects")."""
    lines = []
    for name, data in files.items():
        if name != itself:
            digest = urlsafe_b64encode(sha256(data).digest()).rstrip(b"=").decode()
            lines.append(f"{name},sha256={digest},{len(data)}")
    return "\n".join([*lines, f"{itself},,", ""]).encode()


def _write(wheel: Path, files: Mapping[str, bytes]) -> None:
    """Replace the wheel; RECORD comes last, as the standard wishes."""
    whole = wheel.with_suffix(".new")
    with zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(files, key=lambda name: (name.endswith("/RECORD"), name)):
            info = zipfile.ZipInfo(name, OLDEST)
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = (0o100755 if name.endswith(".so") else 0o100644) << 16
            archive.writestr(info, files[name])
    whole.replace(wheel)
