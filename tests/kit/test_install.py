"""A kit on a machine without a network: installed, used, repaired, upgraded, interrupted."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from fix_command import KEPT
from fix_kit import code_of, shipped, small_kit, start
from fix_kit_guide import typed

from satchel.offline.namespace import without_network

INSTALL = shipped("install")
PREFIX, WHY_NOT = without_network()
TEXT = "Grandmother's dog must not eat grapes"
QUESTION = "what food is poisonous for the pet"
TIMEOUT_S = 300
pytestmark = [pytest.mark.skipif(not PREFIX, reason=WHY_NOT), pytest.mark.timeout(600)]


@dataclass(frozen=True, slots=True)
class Site:
    """An installation, and a home of who uses it."""

    target: Path
    home: Path

    def words(self, *words: str) -> list[str]:
        return [*PREFIX, str(self.target / "bin/satchel"), *words]

    def variables(self, **more: str) -> dict[str, str]:
        kept = {name: os.environ[name] for name in KEPT if name in os.environ}
        return kept | {"SATCHEL_HOME": str(self.home), "HOME": str(self.home)} | more

    def satchel(self, *words: str, **more: str) -> Any:
        """The answer of one command, run where there is no network."""
        done = subprocess.run(
            self.words(*words, "--json"), env=self.variables(**more), capture_output=True,
            text=True, timeout=TIMEOUT_S, check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"{words}: {done.stdout[-300:]}{done.stderr}"
        return json.loads(done.stdout)

    def version(self) -> str:
        done = subprocess.run(
            self.words("--version"),
            env=self.variables(),
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.split()[-1]


def hostile(folder: Path) -> dict[str, str]:
    """Settings of pip and Python that would lead an installation elsewhere."""
    (folder / "shadow").mkdir()
    (folder / "shadow/json.py").write_text("raise SystemExit('the wrong json')\n")
    (folder / "pip.conf").write_text(
        "[install]\nuser = true\n[global]\nindex-url = http://[::1]:9/\n"
    )
    return {
        "PIP_CONFIG_FILE": str(folder / "pip.conf"),
        "PIP_TARGET": str(folder / "elsewhere"),
        "PIP_REQUIRE_VIRTUALENV": "1",
        "PYTHONPATH": str(folder / "shadow"),
        "SATCHEL_HOME": str(folder / "not-touched"),
        "SATCHEL_FIPS": "1",
    }


def test_a_kit_on_machines_without_a_network(kit: Path, tmp_path: Path) -> None:
    """All that needs two installations: one test, for it takes half a minute to make them."""
    # A short name: the socket of a Postgres lies in it.
    with (
        tempfile.TemporaryDirectory(prefix="kit-") as name,
        guided_and_hostile(kit, Path(name)) as (laptop, desk),
    ):
        meet_by_a_stick(laptop, desk, tmp_path)
        if (kit / "fips").is_dir():
            use_the_module_of_the_kit(laptop, tmp_path / "fips-home")
        upgrade_that_dies_and_then_fails(desk, kit, tmp_path)


@contextmanager
def guided_and_hostile(kit: Path, folder: Path) -> Iterator[tuple[Site, Site]]:
    """The kit twice, at once, without a network: as the guide says, and among hostile settings."""
    laptop = Site(folder / "l/satchel", folder / "l/home")
    desk = Site(folder / "desk", folder / "d")
    laptop.target.parent.mkdir()
    kept = {name: os.environ[name] for name in KEPT if name in os.environ}
    with subprocess.Popen(
        [*PREFIX, "sh", kit / "install.sh", "--target", desk.target, "--no-compile"],
        env=kept | hostile(folder) | {"PYTHON": sys.executable},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    ) as other:  # fmt: skip
        before = [f"exec {shlex.join(PREFIX)} bash --norc", f"export SATCHEL_HOME={laptop.home}"]
        typed("site", laptop.target.parent, before, kit.parent)
        said = other.communicate(timeout=TIMEOUT_S)[0]
    assert other.returncode == 0, said
    assert not (folder / "elsewhere").exists()
    assert not (folder / "not-touched").exists()
    inside = {"satchel.lock", "venv", "bin", *(["fips"] if (kit / "fips").is_dir() else [])}
    assert {one.name for one in laptop.target.iterdir()} == inside
    yield laptop, desk


@contextmanager
def hub_of(site: Site, folder: Path) -> Iterator[dict[str, str]]:
    """The warehouse that came with the kit, in a folder; the variables that lead to it."""
    process = subprocess.Popen(
        site.words("warehouse", "serve-embedded", str(folder), "--json"), env=site.variables(),
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        dsn = json.loads(process.stdout.readline())["dsn"]
        yield {"SATCHEL_WAREHOUSE_ADMIN_DSN": dsn}
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=TIMEOUT_S)


def meet_by_a_stick(laptop: Site, desk: Site, tmp_path: Path) -> None:
    """What was written on one, as the guide says, is carried to the hub's machine and back."""
    up, down = str(tmp_path / "up.bundle"), str(tmp_path / "down.bundle")
    keys = {one: str(tmp_path / f"{one}.json") for one in ("hub", "laptop")}
    with hub_of(desk, desk.home.parent / "h") as hub:
        desk.satchel("warehouse", "init", **hub)
        desk.satchel("key", "export", keys["hub"], "--as", "hub")
        laptop.satchel("key", "trust", keys["hub"], "--yes")
        laptop.satchel("sync", "export", "--for", "hub", up)
        laptop.satchel("key", "export", keys["laptop"])
        desk.satchel("key", "trust", keys["laptop"], "--name", "laptop", "--yes")
        assert desk.satchel("sync", "import", up, **hub)["ok"]
        replica = laptop.satchel("sync", "status")["replica_id"]
        desk.satchel("sync", "export", "--for", replica, down, **hub)
        assert laptop.satchel("sync", "import", down)["ok"]
        assert laptop.satchel("sync", "status")["pending"] == {}
        hits = desk.satchel("warehouse", "search", "grapes", **hub)
        assert TEXT in json.dumps(hits)


def use_the_module_of_the_kit(laptop: Site, home: Path) -> None:
    """It makes FIPS mode, where all works that worked before."""
    site = Site(laptop.target, home)
    assert site.satchel("crypto", "fips", "install", str(site.target / "fips"))["folder"]
    status = site.satchel("crypto", "status", SATCHEL_FIPS="1")
    assert status["fips"]["active"], status["fips"]
    assert site.satchel("write", TEXT, SATCHEL_FIPS="1")["outcome"] == "created"
    assert len(site.satchel("search", QUESTION, SATCHEL_FIPS="1")["hits"]) == 1


def upgrade_that_dies_and_then_fails(site: Site, kit: Path, tmp_path: Path) -> None:
    """Ended in the middle, killed there, then started with a kit that cannot be installed."""
    version, venv, before = site.version(), site.target / "venv", site.target / "venv.before"

    def begin() -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, kit / "install.py", "--target", site.target],
            stdout=subprocess.DEVNULL, start_new_session=True,
            env=os.environ | {"TMPDIR": str(tmp_path)},
        )  # fmt: skip

    started = begin()
    wait_for(lambda: before.exists() and (venv / "bin").exists())
    started.terminate()
    assert (started.wait(TIMEOUT_S), INSTALL.read_whole(venv)["satchel"]) == (143, version)
    assert not before.exists(), "who ends it finds what was there before"
    started = begin()
    wait_for(lambda: before.exists() and (venv / "bin").exists())
    os.killpg(started.pid, signal.SIGKILL)
    started.wait()
    assert not INSTALL.read_whole(venv)
    small = small_kit(kit, tmp_path / "small")
    done = start(small, "--target", site.target, "--no-compile")
    assert done.returncode == 1, done.stdout
    assert "satchel" in done.stderr
    assert (before.exists(), INSTALL.read_whole(venv)["satchel"]) == (False, version)
    assert site.version() == version
    assert not list((site.target / "venv").rglob("*.part"))


def test_a_first_installation_that_fails_leaves_nothing(kit: Path, tmp_path: Path) -> None:
    target = tmp_path / "target"
    done = start(small_kit(kit, tmp_path / "small"), "--target", target)
    assert done.returncode == 1
    assert [one.name for one in target.iterdir()] == ["satchel.lock"]


def test_a_module_comes_and_goes_with_its_program(tmp_path: Path) -> None:
    """What a dead upgrade copied of it counts no more than the rest of that program."""
    venv, before, link = tmp_path / "venv", tmp_path / "venv.before", tmp_path / "fips"

    def program(module: str, *, whole: bool) -> None:
        (venv / "bin").mkdir(parents=True)
        if module:
            (venv / "fips").mkdir()
            (venv / "fips/fips.so").write_text(module)
        if whole:
            (venv / "satchel-kit.json").write_text("{}")

    program("old", whole=True)
    INSTALL.put_back(tmp_path)
    assert ((link / "fips.so").read_text(), (tmp_path / "bin").is_symlink()) == ("old", True)
    venv.rename(before)
    program("half of the n", whole=False)
    INSTALL.put_back(tmp_path)
    assert ((link / "fips.so").read_text(), before.exists()) == ("old", False)
    venv.rename(before)
    program("", whole=True)
    INSTALL.put_back(tmp_path)
    assert (link.is_symlink(), before.exists()) == (False, False), "that kit has none"
    (venv / "satchel-kit.json").unlink()
    INSTALL.put_back(tmp_path)
    assert list(tmp_path.iterdir()) == []


def wait_for(held: Callable[[], bool]) -> None:
    """Until it is so; the test's own timeout ends it otherwise."""
    while not held():
        time.sleep(0.02)


# ---- what is refused before anything is touched -------------------------------------------------


def taken(folder: Path) -> Path:
    """A folder with somebody's file."""
    folder.mkdir()
    (folder / "mine.txt").write_text("mine")
    return folder


def newer(folder: Path) -> Path:
    """An installation of a satchel that is newer than the kit."""
    (folder / "venv").mkdir(parents=True)
    (folder / "satchel.lock").touch()
    (folder / "venv/satchel-kit.json").write_text('{"satchel": "99.0"}')
    return folder


TARGETS: dict[str, tuple[Callable[[Path, Path], Path], str]] = {
    "a folder of somebody": (lambda _, here: taken(here / "t"), "holds other things: mine.txt"),
    "a newer satchel": (lambda _, here: newer(here / "t"), "satchel 99.0 is there"),
    "inside the kit": (lambda kit, _: kit / "t", "lies inside the kit"),
    "around the kit": (lambda kit, _: kit.parent, "the kit lies inside the target"),
    "a file": (lambda kit, _: kit / "../file", "cannot be written to"),
    "below a file": (lambda kit, _: kit / "../file/t", "cannot be written to"),
}  # fmt: skip


def test_targets_that_are_refused(kit: Path, tmp_path: Path) -> None:
    small = small_kit(kit, tmp_path / "kits" / "small")
    (tmp_path / "kits" / "file").touch()
    for number, (name, (make, told)) in enumerate(TARGETS.items()):
        (here := tmp_path / str(number)).mkdir()
        target = make(small, here)
        before = sorted(tmp_path.rglob("*"))
        done = start(small, "--target", target)
        assert (done.returncode, code_of(done)) == (4, "target_refused"), name
        assert told in done.stderr, name
        assert sorted(tmp_path.rglob("*")) == before, name


def machine(**said: object) -> dict[str, Any]:
    """A manifest for this machine, but for what is said."""
    here = INSTALL.Manifest(
        platform=f"linux-{os.uname().machine}",
        python=f"{sys.version_info[0]}.{sys.version_info[1]}",
        system_min="2.5",
        satchel="0.1.0",
        unpacked_bytes=1,
        longest_name=80,
    )
    return here | said


def test_machines_that_are_refused() -> None:
    INSTALL.check_machine(machine())
    for said in ({"python": "3.10"}, {"platform": "windows-x86_64"}, {"system_min": "2.99"}):
        with pytest.raises(INSTALL.Refused) as refused:
            INSTALL.check_machine(machine(**said))
        assert refused.value.code == "kit_unfit"
        assert next(iter(said.values())) in str(refused.value)


def test_a_disk_that_is_too_small_and_a_path_that_is_too_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refusal(**said: object) -> str:
        with pytest.raises(INSTALL.Refused) as refused:
            INSTALL.check_target(tmp_path / "t", machine(**said), downgrade=False)
        return str(refused.value)

    assert INSTALL.check_target(tmp_path / "t", machine(), downgrade=False) == tmp_path / "t"
    assert "MiB free" in refusal(unpacked_bytes=1 << 60)
    monkeypatch.setattr(INSTALL, "WINDOWS", True)
    assert "characters" in refusal(longest_name=250)


def test_one_installation_at_a_time(kit: Path, tmp_path: Path) -> None:
    small, target = small_kit(kit, tmp_path / "small"), tmp_path / "target"
    target.mkdir()
    with INSTALL.only_one(target / "satchel.lock"):
        done = start(small, "--target", target)
    assert (done.returncode, code_of(done)) == (4, "target_refused")
    assert "another installation works" in done.stderr


def test_another_python_is_told_which_one_is_needed(kit: Path, tmp_path: Path) -> None:
    """By the shell starter, which looks for the right one, and finds none here."""
    (tmp_path / "bin").mkdir()
    for name in ("sed", "dirname", "sh"):
        program = shutil.which(name)
        assert program
        (tmp_path / "bin" / name).symlink_to(program)
    done = subprocess.run(
        ["/bin/sh", kit / "install.sh", "--verify"], env={"PATH": str(tmp_path / "bin")},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    needed = f"this kit needs Python {sys.version_info[0]}.{sys.version_info[1]}"
    assert (done.returncode, needed in done.stderr) == (4, True)
