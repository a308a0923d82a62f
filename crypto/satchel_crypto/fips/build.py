"""Build OpenSSL 3.1.2's FIPS provider from source, once a machine: kept by the hash of its recipe.

The source comes by cargo, held against `source/Cargo.lock`, the steps are those of OpenSSL's
README-FIPS: Configure with `enable-fips`, make, `fipsinstall`, which runs every self-test.
"""

from __future__ import annotations

import json
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from importlib.resources import files
from os import cpu_count
from pathlib import Path

from satchel_crypto.errors import FipsRefused, ProviderUnavailable
from satchel_crypto.fips.module import MODULE_CONFIG, PROVIDER

CRATE = "openssl-src"
OPTIONS = ("enable-fips", "no-tests")
TOOLS = ("cargo", "perl", "make", "cc")
TOOLS_HINT = "on Debian: apt-get install build-essential perl cargo"
SOURCE = "source.json"
"""What was built, and of what, beside the module in the cache."""
RECIPE = 1
"""To be raised when the steps below change what comes out."""
_SAID_LINES = 15
_PLAIN = ("env", "-u", "OPENSSL_CONF", "-u", "OPENSSL_MODULES")

Say = Callable[[str], None]


def missing_tools() -> list[str]:
    """The programs that a build needs and that are not here."""
    return [tool for tool in TOOLS if shutil.which(tool) is None]


def build(cache: Path, *, offline: bool = False, say: Say = lambda _: None) -> Path:
    """The folder with the provider and its fipsmodule.cnf, built there unless it is there already.

    `cache` is a folder of this account. `offline` takes the source only from cargo's own cache.
    About 40 s on two cores. Raises FipsRefused where there is no FIPS mode, ProviderUnavailable for
    a missing tool or a step that fails.
    """
    if sys.platform != "linux":
        raise FipsRefused(f"FIPS mode works on Linux, not on {sys.platform}")
    source = recipe()
    done = cache / _key(source)
    with _one_at_a_time(cache):
        if _whole(done):
            return done
        _require_tools()
        with tempfile.TemporaryDirectory(prefix="build-", dir=cache) as folder:
            work = Path(folder)
            tree = _fetch(work, offline, say)
            _compile(tree, say)
            made = work / "made"
            made.mkdir(mode=0o700)
            shutil.copyfile(tree / "providers" / PROVIDER, made / PROVIDER)
            _fipsinstall(tree, made, say)
            said = source | {"sha256": _hash(made / PROVIDER)}
            (made / SOURCE).write_text(json.dumps(said, indent=2) + "\n", "utf-8")
            shutil.rmtree(done, ignore_errors=True)
            made.rename(done)
    return done


def recipe() -> dict[str, str]:
    """What the outcome depends on."""
    lock = tomllib.loads(_text("Cargo.lock"))
    crate = next(one for one in lock["package"] if one["name"] == CRATE)
    compiler = shutil.which("cc")
    return {
        "crate": f"{CRATE} {crate['version']}",
        "checksum": crate["checksum"],
        "options": " ".join(OPTIONS),
        "machine": f"{platform.system()} {platform.machine()}",
        "compiler": _first_line([compiler, "--version"]) if compiler else "",
        "recipe": str(RECIPE),
    }


# ---- steps --------------------------------------------------------------------------------------


def _fetch(work: Path, offline: bool, say: Say) -> Path:
    """The source tree, each file held against the crate's checksum by cargo."""
    say("fetching the source of OpenSSL 3.1.2")
    for name in ("Cargo.toml", "Cargo.lock", "nothing.rs"):
        (work / name).write_text(_text(name), "utf-8")
    more = ["--offline"] if offline else []
    _run(["cargo", "vendor", "--locked", *more, "vendor"], work)
    return work / "vendor" / CRATE / "openssl"


def _compile(tree: Path, say: Say) -> None:
    say("building its FIPS provider")
    _run(["perl", "Configure", *OPTIONS], tree)
    _run(["make", "build_generated"], tree)
    _run(["make", f"-j{cpu_count() or 1}", f"providers/{PROVIDER}"], tree)


def _fipsinstall(tree: Path, made: Path, say: Say) -> None:
    """Run the self-tests and write fipsmodule.cnf, by an openssl of here or the module's own."""
    say("running its self-tests")
    program = shutil.which("openssl")
    if program is None or not re.match(r"OpenSSL [3-9]", _first_line([program, "version"])):
        _run(["make", f"-j{cpu_count() or 1}", "apps/openssl"], tree)
        command = ["perl", str(tree / "util/wrap.pl"), str(tree / "apps/openssl")]
    else:
        command = [program]
    _run(
        [
            "env", "OPENSSL_CONF=/dev/null", *command, "fipsinstall",
            "-module", str(made / PROVIDER), "-out", str(made / MODULE_CONFIG), "-self_test_onload",
        ],
        made,
    )  # fmt: skip


def _run(command: list[str], folder: Path) -> None:
    """One step, outside of the FIPS mode of this process: its module may be a broken one."""
    done = subprocess.run(
        [*_PLAIN, *command], cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, encoding="utf-8", errors="replace", check=False,
    )  # fmt: skip
    if done.returncode:
        last = "\n".join(done.stdout.splitlines()[-_SAID_LINES:])
        raise ProviderUnavailable(
            f"the FIPS module could not be built: {' '.join(command[:3])} ended with"
            f" {done.returncode}:\n{last}",
            hint="its source is fetched by cargo, which needs a network or a mirror"
            if command[0] == "cargo"
            else TOOLS_HINT,
        )


# ---- the cache ----------------------------------------------------------------------------------


def _key(source: dict[str, str]) -> str:
    return _sha256(json.dumps(source, sort_keys=True).encode())[:16]


def _whole(done: Path) -> bool:
    """Whether a module is there as it was built."""
    try:
        said = json.loads((done / SOURCE).read_bytes())
        return bool(said["sha256"] == _hash(done / PROVIDER)) and (done / MODULE_CONFIG).exists()
    except (OSError, ValueError, KeyError, TypeError):
        return False


@contextmanager
def _one_at_a_time(cache: Path) -> Iterator[None]:
    """A second build waits for the first, however long, and then finds it done."""
    import fasteners

    try:
        cache.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = fasteners.InterProcessLock(cache / "build.lock")
        lock.acquire()
    except OSError as error:
        raise ProviderUnavailable(
            f"nothing can be built in {cache}: {error.strerror or error}"
        ) from error
    try:
        yield
    finally:
        lock.release()


def _require_tools() -> None:
    missing = missing_tools()
    if missing:
        raise ProviderUnavailable(
            f"the FIPS module cannot be built without {', '.join(missing)}", hint=TOOLS_HINT
        )


def _first_line(command: list[str]) -> str:
    done = subprocess.run(
        command, capture_output=True, encoding="utf-8", errors="replace", check=False
    )
    return (done.stdout.splitlines() or [""])[0].strip()


def _text(name: str) -> str:
    return (files("satchel_crypto.fips") / "source" / name).read_text("utf-8")


def _hash(path: Path) -> str:
    return _sha256(path.read_bytes())


def _sha256(data: bytes) -> str:
    return sha256(data, usedforsecurity=False).hexdigest()
