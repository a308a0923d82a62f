"""Checks a kit: is every file as it was when the kit was made, and who says so?

    python3 -I verify.py [DIR] [--signer PEM]

It needs nothing but Python. DIR is the folder that this file lies in; one that you trust can check
another kit. With --signer, the maker's public key, the signature has to fit as well.
"""

import sys

if sys.version_info < (3, 11):  # noqa: UP036 (it is started by whatever Python there is)
    sys.exit("satchel: Python 3.11 or newer is needed, and this is " + sys.version.split()[0])
if __name__ == "__main__" and not sys.flags.safe_path:
    del sys.path[0]  # the kit's folder: what somebody put there is no module of Python's

import argparse
import hashlib
import json
import os
import re
import shutil
import stat
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import Any

SUMS, SIGNATURE, SIGNER, MANIFEST = "SHA256SUMS", "SHA256SUMS.sig", "signer.pem", "kit.json"
UNSUMMED = {SUMS, SIGNATURE, SIGNER}
REQUIREMENTS = "requirements.txt"
NEEDED = {MANIFEST, REQUIREMENTS, "install.py", "verify.py"}
FORMAT = 1
"""Of a kit: what its manifest says and where its parts lie."""
SAID = {
    "satchel": str, "platform": str, "python": str, "system_min": str, "native": bool,
    "unpacked_bytes": int, "longest_name": int, "model": dict | None, "fips": dict | None,
}  # fmt: skip
"""What the manifest has to say, and how."""
_LINE = re.compile(r"([0-9a-f]{64})  ([A-Za-z0-9._+!-]+(?:/[A-Za-z0-9._+!-]+)*)")
_KINDS = {
    "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE": "sha256",
    "MHYwEAYHKoZIzj0CAQYFK4EEACIDYgAE": "sha384",
    "MCowBQYDK2VwAyEA": "",
}
"""How a key in PEM begins (ECDSA P-256, P-384; Ed25519) -> the digest its signatures take."""


class Refused(Exception):
    """Nothing was changed, or all is as it was before; `code` and `hint` are for who reads it."""

    def __init__(self, code: str, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.code, self.hint = code, hint


def require(held: object, code: str, message: str, hint: str = "") -> None:
    """Raise Refused unless `held` is true."""
    if not held:
        raise Refused(code, message, hint)


def tell(text: str) -> None:
    """A line for who installs."""
    print(f"satchel: {text}", flush=True)


def main() -> int:
    """Check the kit that the command line names; 0, or 4 where it is refused."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("kit", type=Path, nargs="?", default=Path(__file__).parent, metavar="DIR")
    parser.add_argument("--signer", type=Path, metavar="PEM", help="the maker's public key")
    asked = parser.parse_args()
    return guarded(lambda: check(asked.kit.resolve(), asked.signer))


def guarded(work: Callable[[], object]) -> int:
    """Do it, and tell what was refused; 0 done, 1 failed, 2 wrong usage, 4 refused."""
    try:
        work()
    except Refused as error:
        print(f"satchel: {error} [{error.code}]", file=sys.stderr)
        if error.hint:
            print(f"  {error.hint}", file=sys.stderr)
        return {"install_failed": 1, "wrong_usage": 2}.get(error.code, 4)
    except (OSError, subprocess.SubprocessError) as error:
        print(f"satchel: {error} [failed]", file=sys.stderr)
        return 1
    return 0


def check(kit: Path, signer: Path | None) -> dict[str, Any]:
    """Check the files, then the signature; the kit's manifest. Raises Refused."""
    manifest = check_files(kit)
    tell(f"{len(read_sums(kit))} files of the kit are as they were made")
    check_signature(kit, signer)
    return manifest


# ---- files --------------------------------------------------------------------------------------


def check_files(kit: Path) -> dict[str, Any]:
    """Compare every file with its sum; the manifest. Raises Refused("kit_damaged")."""
    sums, found = read_sums(kit), set(files_of(kit))
    missing, extra = sorted(sums.keys() - found), sorted(found - sums.keys() - UNSUMMED)
    require(not missing, "kit_damaged", f"missing: {some(missing)}")
    require(not extra, "kit_damaged", f"not of this kit: {some(extra)}")
    changed = [name for name in sorted(sums) if sha256_of(kit / name) != sums[name]]
    require(not changed, "kit_damaged", f"changed since the kit was made: {some(changed)}")
    text = (kit / REQUIREMENTS).read_text("latin-1")
    wheels = {digest for name, digest in sums.items() if name.startswith("wheels/")}
    same = set(re.findall(r"sha256:([0-9a-f]{64})", text)) == wheels
    require(same, "kit_damaged", f"{REQUIREMENTS} names other wheels than there are")
    return read_manifest(kit)


def read_manifest(kit: Path) -> dict[str, Any]:
    """What the kit says of itself. Raises Refused, also for a format that is not known here."""
    try:
        manifest = json.loads((kit / MANIFEST).read_bytes())
    except (ValueError, RecursionError) as error:
        raise Refused("kit_damaged", f"{MANIFEST} is not as a kit has it: {error}") from error
    require(isinstance(manifest, dict), "kit_damaged", f"{MANIFEST} is no map")
    told = f"the kit has the format {manifest.get('format')!r}, and this knows {FORMAT}"
    hint = "take the verify.py of a satchel that is as new as the kit"
    require(manifest.get("format") == FORMAT, "kit_unfit", told, hint)
    for name, kind in SAID.items():
        fits = name in manifest and isinstance(manifest[name], kind)
        require(fits, "kit_damaged", f"{MANIFEST} does not say {name!r} as a kit does")
    found: dict[str, Any] = manifest
    return found


def read_sums(kit: Path) -> dict[str, str]:
    """Name of each file -> its SHA-256. Raises Refused for a line that no kit has."""
    try:
        text = (kit / SUMS).read_bytes().decode("ascii")
    except (OSError, UnicodeDecodeError) as error:
        raise Refused("kit_damaged", f"{kit / SUMS} cannot be read: {error}") from error
    sums: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        found = _LINE.fullmatch(line)
        name = found[2] if found else ""
        fits = found and not {".", ".."} & set(name.split("/")) and name not in UNSUMMED
        require(fits, "kit_damaged", f"{SUMS}, line {number} is not as a kit has it")
        require(name not in sums, "kit_damaged", f"{SUMS} names {name} twice")
        sums[name] = found[1] if found else ""
    missing = sorted(NEEDED - sums.keys())
    require(not missing, "kit_damaged", f"{SUMS} does not name {some(missing)}")
    return sums


def files_of(kit: Path, inside: str = "") -> Iterator[str]:
    """The names of all files; a link or a pipe is refused: it may lead anywhere."""
    for entry in sorted(os.scandir(kit / inside), key=lambda one: one.name):
        name = str(PurePosixPath(inside) / entry.name)
        status = entry.stat(follow_symlinks=False)
        # A junction of Windows is a folder that leads elsewhere.
        leads = getattr(status, "st_file_attributes", 0) & stat.FILE_ATTRIBUTE_REPARSE_POINT
        if stat.S_ISDIR(status.st_mode) and not leads:
            yield from files_of(kit, name)
        else:
            plain = stat.S_ISREG(status.st_mode) and not leads
            require(plain, "kit_damaged", f"{name} is a link or no file, which no kit has")
            yield name


def sha256_of(path: Path) -> str:
    """SHA-256 of a file, to compare it with what was made; 64 hex digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def some(names: list[str]) -> str:
    """The first few names."""
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")


# ---- the signature ------------------------------------------------------------------------------


def check_signature(kit: Path, signer: Path | None) -> None:
    """Verify with the key in `signer` by openssl, or tell how to. Raises Refused."""
    signed = (kit / SIGNATURE).is_file() and (kit / SIGNER).is_file()
    if signer is None:
        tell_how(kit) if signed else tell("it is not signed: compare SHA256SUMS with its maker's")
        return
    code = "signature_refused"
    require(signed, code, "the kit is not signed, and a signer was named")
    openssl = shutil.which("openssl")
    require(openssl, code, "there is no program openssl here to check the signature with")
    require(signer.is_file(), "wrong_usage", f"--signer: there is no file {signer}")
    words = openssl_words(str(signer.resolve()), read_key(signer))
    done = subprocess.run(
        [str(openssl), *words[1:]], cwd=kit, capture_output=True, text=True, check=False
    )
    hint = f"the kit is not by the owner of {signer}, or was changed"
    require(done.returncode == 0, code, "the signature does not fit", hint)
    tell(f"it is signed by the key in {signer}")


def tell_how(kit: Path) -> None:
    """Print the lines that check the signature, to run in the folder of the kit."""
    tell("its signature is not checked yet. In the folder of the kit, this checks it:")
    tell("  " + " ".join(openssl_words(SIGNER, read_key(kit / SIGNER))))
    tell(f"Whoever made a kit can sign it: compare {SIGNER} with the one that its maker gave you")
    tell("by another way, or name that one with --signer. An installed satchel, which knows whom")
    tell(f"it trusts, checks with:  satchel key verify {SUMS}")


def read_key(path: Path) -> str:
    """A public key in PEM. Raises Refused."""
    try:
        return path.read_text("ascii")
    except (OSError, UnicodeDecodeError) as error:
        raise Refused("signature_refused", f"{path} cannot be read: {error}") from error


def openssl_words(path: str, pem: str) -> list[str]:
    """The command that verifies the kit's signature with the public key `pem` that lies at `path`.

    Raises Refused for a key that no kit is signed with.
    """
    body = "".join(pem.split("-----")[2].split()) if pem.count("-----") == 4 else ""
    digest = next((one for start, one in _KINDS.items() if body.startswith(start)), None)
    require(digest is not None, "signature_refused", f"{path} is no key that signs kits")
    if digest:
        return ["openssl", "dgst", f"-{digest}", "-verify", path, "-signature", SIGNATURE, SUMS]
    inputs = ["-inkey", path, "-in", SUMS, "-sigfile", SIGNATURE]
    return ["openssl", "pkeyutl", "-verify", "-rawin", "-pubin", *inputs]


if __name__ == "__main__":
    sys.exit(main())
