"""Installs satchel from the kit that this file lies in; it needs no network and only Python.

    python3 -I install.py --verify        is every file as it was when the kit was made?
    python3 -I install.py --target DIR    install; again = repair; from a newer kit = upgrade

Nothing is touched before the kit, this machine and DIR are checked. What is installed already stays
until the new one works, and comes back where it does not, or where this was interrupted.
"""

import sys

if sys.version_info < (3, 11):  # noqa: UP036 (it is started by whatever Python there is)
    sys.exit("satchel: Python 3.11 or newer is needed, and this is " + sys.version.split()[0])
if __name__ == "__main__" and not sys.flags.safe_path:
    del sys.path[0]  # the kit's folder: what somebody put there is no module of Python's

import argparse
import json
import os
import platform
import re
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType, ModuleType
from typing import TYPE_CHECKING, Any

KIT = Path(__file__).resolve().parent
if TYPE_CHECKING:
    from verify import MANIFEST, Refused, check, guarded, require, some, tell
else:
    # Not by an import: that would take a file that somebody added (a verify.pyc, a hashlib.py).
    _verify = ModuleType("verify")
    exec(compile((KIT / "verify.py").read_bytes(), KIT / "verify.py", "exec"), _verify.__dict__)
    MANIFEST, Refused, check = _verify.MANIFEST, _verify.Refused, _verify.check
    guarded, require, some, tell = _verify.guarded, _verify.require, _verify.some, _verify.tell

LOCK, VENV, BEFORE, FIPS, BIN = "satchel.lock", "venv", "venv.before", "fips", "bin"
OURS = {LOCK, VENV, BEFORE, FIPS, BIN}
"""In the target: whose it is, what works, what worked before, links to its module and programs."""
WHOLE = "satchel-kit.json"
"""In a venv: the manifest of the kit that it was installed from, to the end."""
SPARE_BYTES = 50_000_000
WINDOWS = os.name == "nt"
WINDOWS_PATH_MAX = 259
TIMEOUT_S = 1800
Manifest = dict[str, Any]


def main() -> int:
    """Do what the command line says; 0 done, 1 failed, 2 wrong usage, 4 refused."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--target", type=Path, metavar="DIR", help="the folder to install into")
    what.add_argument("--verify", action="store_true", help="check the kit, and install nothing")
    parser.add_argument(
        "--signer", type=Path, metavar="PEM", help="the maker's public key: it has to fit, too"
    )
    parser.add_argument(
        "--allow-downgrade", action="store_true", help="replace a newer satchel with this one"
    )
    parser.add_argument(
        "--no-compile", action="store_true", help="faster: Python compiles at the first use instead"
    )
    asked = parser.parse_args()

    def work() -> None:
        manifest = check(KIT, asked.signer)
        if not asked.verify:
            check_machine(manifest)
            target = check_target(asked.target, manifest, downgrade=asked.allow_downgrade)
            install(KIT, target, manifest, compiled=not asked.no_compile)
            tell_next_steps(target, manifest)

    for name in ("SIGTERM", "SIGHUP", "SIGBREAK"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), ended)
    return guarded(work)


def ended(number: int, _: FrameType | None) -> None:
    """Whoever ends this, or closes its terminal: what was there before is put back first."""
    sys.exit(128 + number)


# ---- the machine and the target -----------------------------------------------------------------


def check_machine(manifest: Manifest) -> None:
    """Whether the kit is for this Python and this system. Raises Refused("kit_unfit")."""
    fits = f"the kit is for {manifest['platform']}, Python {manifest['python']}"
    python = f"{sys.version_info[0]}.{sys.version_info[1]}"
    hint = f"start it with python{manifest['python']}, or have a kit made with --python {python}"
    same = python == manifest["python"] and sys.implementation.name == "cpython"
    require(same, "kit_unfit", f"{fits}; this is {sys.implementation.name} {python}", hint)
    systems = {"linux": "linux", "darwin": "macos", "win32": "windows"}
    machines = {"amd64": "x86_64", "x64": "x86_64", "arm64": "aarch64"}
    machine = platform.machine().lower()
    here = f"{systems.get(sys.platform, sys.platform)}-{machines.get(machine, machine)}"
    require(here == manifest["platform"], "kit_unfit", f"{fits}; this is {here}")
    if least := str(manifest["system_min"]):
        name, version = system_version()
        enough = version and as_numbers(version) >= as_numbers(least)
        hint = "have a kit made on an older system"
        require(enough, "kit_unfit", f"it needs {name} {least}; this has {version or 'none'}", hint)


def system_version() -> tuple[str, str]:
    """(what compiled wheels depend on here, its version or an empty text)."""
    if sys.platform == "darwin":
        return "macOS", platform.mac_ver()[0]
    said = os.confstr("CS_GNU_LIBC_VERSION") if sys.platform == "linux" else None
    return "glibc", (said or "").partition(" ")[2]


def check_target(given: Path, manifest: Manifest, *, downgrade: bool) -> Path:
    """The folder to install into, made absolute. Raises Refused("target_refused")."""
    code, target = "target_refused", given.resolve()
    require(target != KIT and KIT not in target.parents, code, "the target lies inside the kit")
    require(target not in KIT.parents, code, "the kit lies inside the target")
    there = next(one for one in (target, *target.parents) if os.path.lexists(one))
    require(there.is_dir() and os.access(there, os.W_OK), code, f"{there} cannot be written to")
    check_held(target)
    check_version(target, manifest, downgrade=downgrade)
    need, free = manifest["unpacked_bytes"] + SPARE_BYTES, shutil.disk_usage(there).free
    require(free >= need, code, f"{there} has {free >> 20} MiB free, and {need >> 20} are needed")
    longest = len(str(target / VENV / "Lib" / "site-packages")) + 1 + manifest["longest_name"]
    told = f"names under {target} would have {longest} characters"
    require(not WINDOWS or longest <= WINDOWS_PATH_MAX, code, told, "name a shorter folder")
    return target


def check_held(target: Path) -> None:
    """A folder that is there already holds nothing, or an installation of ours. Raises Refused."""
    held = {one.name for one in target.iterdir()} if target.exists() else set()
    told = f"{target} holds other things: {some(sorted(held - OURS or held))}"
    ours = not held or (LOCK in held and held <= OURS)
    require(ours, "target_refused", told, "name a folder that is empty or not there yet")


def check_version(target: Path, manifest: Manifest, *, downgrade: bool) -> None:
    """No older satchel replaces a newer one unasked: it may not read its store. Raises Refused."""
    installed = read_whole(target / VENV) or read_whole(target / BEFORE) or {"satchel": "0"}
    older = as_numbers(manifest["satchel"]) < as_numbers(installed["satchel"])
    told = f"satchel {installed['satchel']} is there, and the kit has {manifest['satchel']}"
    hint = "an older satchel may not read newer data: see `satchel restore`; then --allow-downgrade"
    require(downgrade or not older, "target_refused", told, hint)


# ---- installing ---------------------------------------------------------------------------------


def install(kit: Path, target: Path, manifest: Manifest, *, compiled: bool = True) -> None:
    """Install into the target; where a step fails, what was there before is there again."""
    target.mkdir(parents=True, exist_ok=True)
    with only_one(target / LOCK):
        put_back(target)
        if (target / VENV).exists():
            move(target / VENV, target / BEFORE)
        try:
            fill(kit, target, manifest, compiled=compiled)
        finally:
            put_back(target)


def fill(kit: Path, target: Path, manifest: Manifest, *, compiled: bool) -> None:
    """Make the venv, install every wheel into it, and see that it works."""
    venv, python, satchel = target / VENV, program(target, "python"), program(target, "satchel")
    tell(f"making {venv}")
    run([sys.executable, "-I", "-m", "venv", "--without-pip", str(venv)])
    [installer] = (kit / "installer").glob("pip-*.whl")
    pip = [str(python), "-I", f"{installer}/pip", "--isolated", "--disable-pip-version-check"]
    tell("installing its wheels")
    wheels = ["--no-index", "--find-links", str(kit / "wheels"), "--require-hashes", "--no-deps"]
    listed = ["--only-binary=:all:", "--no-cache-dir", "-r", str(kit / "requirements.txt")]
    run([*pip, "install", "--quiet", *wheels, *listed, *([] if compiled else ["--no-compile"])])
    tell("checking what is installed")
    run([*pip, "check"])
    said = run([str(satchel), "--version"]).split()
    require(manifest["satchel"] in said, "install_failed", f"it says that it is {' '.join(said)}")
    if manifest["model"] and manifest["native"]:
        check_model(satchel, manifest["model"])
    if manifest["fips"]:
        shutil.copytree(kit / "fips", venv / FIPS)
    (venv / WHOLE).write_bytes((kit / MANIFEST).read_bytes())


def check_model(satchel: Path, model: dict[str, Any]) -> None:
    """Whether the kit's model is installed and opens, by name: it need not be the packaged one."""
    found = json.loads(run([str(satchel), "model", "verify", "--json", "--", model["name"]]))
    told = f"the installed model has the SHA-256 {found['sha256']}"
    require(found["sha256"] == model["sha256"], "install_failed", told)


def put_back(target: Path) -> None:
    """Leave one venv, the last that was whole: after success, failure and interruption alike."""
    venv, before = target / VENV, target / BEFORE
    if venv.exists() and read_whole(venv) is None:
        remove(venv)
    if before.exists() and venv.exists():
        remove(before)
    elif before.exists():
        move(before, venv)
    if not WINDOWS:
        lay_links(target)


def lay_links(target: Path) -> None:
    """Links into the venv, to what it has: all that comes and goes with a program lies in there."""
    for name in (BIN, FIPS):
        link, there = target / name, (target / VENV / name).exists()
        if there and not link.is_symlink():
            link.symlink_to(f"{VENV}/{name}")
        elif link.is_symlink() and not there:
            link.unlink()


def read_whole(venv: Path) -> Manifest | None:
    """The manifest of the kit that this venv was installed from to the end, or None."""
    try:
        found: Manifest = json.loads((venv / WHOLE).read_bytes())
    except (OSError, ValueError):
        return None
    return found


def run(words: list[str]) -> str:
    """What a program says, without this user's settings of pip, Python or satchel.

    Raises Refused("install_failed") where it ends with an error.
    """
    with tempfile.TemporaryDirectory(prefix="satchel-kit-") as home:
        cut = ("PIP_", "PYTHON", "SATCHEL_", "VIRTUAL_ENV")
        clean = {name: value for name, value in os.environ.items() if not name.startswith(cut)}
        clean |= {"PIP_CONFIG_FILE": os.devnull, "SATCHEL_HOME": str(Path(home) / "home")}
        done = subprocess.run(
            words, env=clean, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            encoding="utf-8", errors="replace", timeout=TIMEOUT_S, check=False,
        )  # fmt: skip
    if done.returncode:
        last = "\n  ".join((done.stdout + done.stderr).strip().splitlines()[-8:])
        named = " ".join([Path(words[0]).name, *words[1:4]])
        raise Refused("install_failed", f"`{named}` ended with {done.returncode}:\n  {last}")
    return done.stdout


@contextmanager
def only_one(path: Path) -> Iterator[None]:
    """One installation at a time; the lock goes with the process, however it ends."""
    with path.open("a+b") as file:
        try:
            if sys.platform == "win32":
                import msvcrt

                msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
            else:
                import fcntl

                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            told = f"another installation works in {path.parent}"
            raise Refused("target_refused", told, "wait for it") from error
        yield


def program(target: Path, name: str) -> Path:
    """Where a program of the venv lies."""
    return target / VENV / ("Scripts" if WINDOWS else "bin") / (f"{name}.exe" if WINDOWS else name)


def move(old: Path, new: Path) -> None:
    """Rename a folder; on Windows that fails while something in it runs. Raises Refused."""
    try:
        old.rename(new)
    except PermissionError as error:
        hint = "end every satchel that runs from there (MCP servers too), and start this again"
        raise Refused("target_refused", f"{old} is in use: {error.strerror}", hint) from error


def remove(folder: Path) -> None:
    """Remove a venv, its mark first, so that half of one never counts as whole."""
    (folder / WHOLE).unlink(missing_ok=True)
    shutil.rmtree(folder)


def as_numbers(version: str) -> list[int]:
    """A version as numbers to compare; what follows them (rc1, +local) does not count."""
    return [int(one) for one in re.findall(r"\d+", version.partition("+")[0])[:4]]


def tell_next_steps(target: Path, manifest: Manifest) -> None:
    """What to do now."""
    tell(f"satchel {manifest['satchel']} is installed. What to do next:")
    tell(f"  put {program(target, 'satchel').parent if WINDOWS else target / BIN} on the PATH")
    tell("  satchel config set network.mode none    closes every network path")
    tell("  satchel doctor --offline                proves that it works without one")
    if manifest["native"] and manifest["model"] and not manifest["model"]["packaged"]:
        name = manifest["model"]["name"]
        tell(f"  satchel model use {name}    searches by meaning with the model of this kit")
    if not manifest["native"]:
        tell("  this kit has no Rust core: satchel searches by words, not by meaning")
    if manifest["fips"]:
        tell(f"  satchel crypto fips install {target / FIPS}")
        tell("  satchel config set crypto.fips_mode true")


if __name__ == "__main__":
    sys.exit(main())
