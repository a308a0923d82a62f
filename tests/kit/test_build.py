"""What a kit holds: the pinned files for its machine, each with a licence and in the bill."""

from __future__ import annotations

import json
import re
import shutil
import sys
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from fix_kit import given_native, kit_program
from packageurl import PackageURL

from airgap import gather, licences, pins, sbom, sums, wheel
from airgap.build import HUB, Asked, build, system_min
from airgap.errors import KitError, OutputRefused, WheelMissing
from airgap.licences import Licensed
from airgap.target import NAMES, Target, target_of

LINUX = target_of("linux-x86_64", "3.11")
WINDOWS = target_of("windows-x86_64", "3.12")
pytestmark = pytest.mark.timeout(600)  # the first one waits for the kit


def files_of(folder: Path) -> dict[str, bytes]:
    found = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


def names(found: Iterable[Any]) -> set[str]:
    return {one.name for one in found}


# ---- pins ---------------------------------------------------------------------------------------


def test_markers_are_those_of_the_target_and_not_of_this_machine() -> None:
    linux, windows = (names(pins.pins_for(one, [])) for one in (LINUX, WINDOWS))
    assert {"jeepney", "secretstorage", "importlib-metadata"} <= linux
    assert {"pywin32", "colorama"} <= windows
    assert not {"pywin32", "colorama"} & linux
    assert not {"jeepney", "importlib-metadata"} & windows, "Python 3.12 has what it is for"


def test_an_extra_brings_what_it_leads_to() -> None:
    base = names(pins.pins_for(LINUX, []))
    for extra, leads_to in {
        "warehouse": {"psycopg", "psycopg-binary", "sqlalchemy", "mako"},
        "report": {"pyarrow", "jinja2", "markupsafe"},
        "metrics": {"prometheus-client"},
        "nacl": {"pynacl"},
    }.items():
        more = names(pins.pins_for(LINUX, [extra])) - base
        assert leads_to <= more, extra
    everything = pins.pins_for(LINUX, pins.EXTRAS)
    assert len(everything) == len(names(everything)), "each once"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("apsw>=3 \\\n    --hash=sha256:" + "0" * 64, "is not pinned with a hash"),
        ("apsw==3\n", "is not pinned with a hash"),
        ("apsw==3 \\\n    --hash=md5:" + "0" * 32, "is not pinned with a hash"),
        ("-e .\n", "is no requirement"),
        ("https://example.org/apsw.whl", "is no requirement"),
    ],
)
def test_what_is_not_pinned_is_refused(text: str, told: str, tmp_path: Path) -> None:
    (tmp_path / "base.txt").write_text(text)
    with pytest.raises(KitError, match=told):
        pins.read(tmp_path / "base.txt", LINUX)


def test_targets() -> None:
    for name in NAMES:
        assert target_of(name, "3.13").name == name
    for name, python in (("linux-riscv64", "3.11"), ("beos-x86_64", "3.11"), (None, "3.10")):
        with pytest.raises(KitError, match="no kit can be built for"):
            target_of(name, python)
    assert target_of("linux-arm64", "3.11").name == "linux-aarch64"
    tags = {"linux-x86_64": "manylinux_2_34_x86_64", "macos-aarch64": "macosx_11_0_arm64",
            "windows-x86_64": "win_amd64", "linux-aarch64": "manylinux2014_aarch64"}  # fmt: skip
    for name, tag in tags.items():
        fits = {one for one in NAMES if target_of(one, "3.11").takes(tag)}
        assert fits == {name}


# ---- gathering ----------------------------------------------------------------------------------


def pin_of(path: Path) -> pins.Pin:
    read = wheel.read(path)
    return pins.Pin(name=read.name, version=read.version, hashes=frozenset({read.sha256}))


def test_a_cache_is_believed_by_hash_only(kit: Path, tmp_path: Path) -> None:
    """A wheel that lies in the cache and was changed is fetched again, or the kit is not built."""
    given = next((kit / "wheels").glob("idna-*.whl"))
    cache, out = tmp_path / "cache" / "linux-x86_64-3.11", tmp_path / "out"
    cache.mkdir(parents=True)
    out.mkdir()
    shutil.copyfile(given, cache / given.name)
    [taken] = gather.gather([pin_of(given)], LINUX, tmp_path / "cache", out)
    assert taken.read_bytes() == given.read_bytes()
    (cache / given.name).write_bytes(given.read_bytes() + b"more")
    elsewhere = Target(system="linux", machine="x86_64", python="3.11")
    unknown = pins.Pin(name="idna", version="0.0.0.1", hashes=frozenset({"0" * 64}))
    with pytest.raises(WheelMissing, match="pip could not get the wheels"):
        gather.gather([unknown], elsewhere, tmp_path / "cache", out)
    [again] = gather.gather([pin_of(given)], LINUX, tmp_path / "cache", out)
    assert again.read_bytes() == given.read_bytes()


def test_the_kit_holds_exactly_the_pinned_files(kit: Path) -> None:
    target = target_of(None, f"{sys.version_info[0]}.{sys.version_info[1]}")
    pinned = {pin.name: pin for pin in pins.pins_for(target, ["warehouse"])}
    held = {one.name: one for one in map(wheel.read, (kit / "wheels").iterdir())}
    ours = held.keys() - pinned.keys()
    assert ours - {"satchel-native"} == {"satchel", "satchel-model-all-minilm-l6-v2"}
    assert pinned.keys() <= held.keys()
    assert all(held[name].sha256 in pin.hashes for name, pin in pinned.items())
    lines = (kit / "requirements.txt").read_text().splitlines()
    assert lines == [
        f"{one.name}=={one.version} --hash=sha256:{one.sha256}"
        for one in sorted(held.values(), key=lambda one: one.path.name)
    ]
    [installer] = (kit / "installer").iterdir()
    assert pin_of(installer).hashes <= pins.read(pins.REQUIREMENTS / "pip.txt", target)[0].hashes
    manifest = json.loads((kit / "kit.json").read_text())
    assert (manifest["platform"], manifest["python"]) == (target.name, target.python)
    assert manifest["made_at"] == "2026-09-21T14:13:20+00:00"
    assert (manifest["model"]["name"], manifest["model"]["packaged"]) == ("all-MiniLM-L6-v2", True)
    assert re.fullmatch(r"2\.\d+", manifest["system_min"])
    assert not list(kit.rglob("*.py[co]"))
    assert files_of(kit / "hub") == files_of(HUB), "whoever keeps the hub has no source tree"
    assert not [path for path in kit.rglob("*") if path.stat().st_mode & 0o022]


# ---- licences and bill --------------------------------------------------------------------------


def test_every_part_has_its_licence(kit: Path) -> None:
    rows = [
        line.split("\t") for line in (kit / "licences/INDEX.txt").read_text("utf-8").splitlines()
    ]
    held = {wheel.read(one).title for one in kit.glob("*/*.whl")}
    assert held <= {title for title, _, _ in rows}
    for title, licence, texts in rows:
        lying = sorted(one.name for one in (kit / "licences" / title).iterdir())
        assert lying == [one for one in texts.split(", ") if one], title
        assert lying, title
        assert licence != "unknown", title
    assert json.loads((kit / "kit.json").read_text())["licence_text_missing"] == []
    if given_native():
        (folder,) = (kit / "licences").glob("satchel-native-*")
        assert "tokenizers" in (folder / "CRATES.txt").read_text("utf-8")


def test_a_part_without_a_licence_is_named(tmp_path: Path) -> None:
    parts = [
        Licensed(title="b-1", licence="", texts={}),
        Licensed(title="a-1", licence="MIT", texts={"LICENSE": b"MIT", "sub dir/NOTICE": b"n"}),
    ]
    assert licences.write(parts, tmp_path) == ["b-1"]
    index = (tmp_path / "licences/INDEX.txt").read_text()
    assert index == "a-1\tMIT\tLICENSE, sub_dir__NOTICE\nb-1\tunknown\t\n"


def test_the_bill_names_every_wheel_and_what_is_inside(kit: Path) -> None:
    bill = json.loads((kit / sbom.FILE).read_text("utf-8"))
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.6")
    told = {one["name"]: one for one in bill["components"]}
    held = {one.name: one for one in map(wheel.read, kit.glob("*/*.whl"))}
    assert told.keys() - held.keys() <= {"openssl-fips-provider"}
    for name, one in held.items():
        assert told[name]["hashes"] == [{"alg": "SHA-256", "content": one.sha256}]
        purl = PackageURL.from_string(told[name]["purl"])
        assert (purl.type, purl.name, purl.version) == ("pypi", name, one.version)
        assert told[name].get("licenses"), name
    if (kit / "fips").is_dir():
        digest = told["openssl-fips-provider"]["hashes"][0]["content"]
        assert f"{digest}  fips/fips.so" in (kit / "SHA256SUMS").read_text().splitlines()
    if "satchel-native" in held:
        crates = {one["name"]: one for one in told["satchel-native"]["components"]}
        assert crates["tokenizers"]["purl"].startswith("pkg:cargo/tokenizers@")
        assert crates["tokenizers"]["hashes"]
    needs = {one["ref"]: set(one.get("dependsOn", [])) for one in bill["dependencies"]}
    (satchel,) = [ref for ref in needs if ref.startswith("satchel@")]
    assert f"apsw@{held['apsw'].version}" in needs[satchel]
    assert set().union(*needs.values()) <= needs.keys(), "whatever is needed is in the kit"


def test_the_oldest_system_is_that_of_the_most_demanding_wheel(tmp_path: Path) -> None:
    def made(tag: str) -> wheel.Wheel:
        path = tmp_path / f"one-1-cp311-abi3-{tag}.whl"
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("one-1.dist-info/METADATA", "Metadata-Version: 2.1\nName: one\n")
        return wheel.read(path)

    old, new = made("manylinux2014_x86_64"), made("manylinux_2_17_x86_64.manylinux_2_34_x86_64")
    assert system_min([old]) == "2.17"
    assert system_min([old, made("manylinux_2_28_x86_64"), made("any")]) == "2.28"
    assert system_min([new]) == "2.17", "one that has several tags runs on the oldest of them"
    assert system_min([made("macosx_11_0_arm64")]) == "11.0"
    assert system_min([made("win_amd64")]) == ""


# ---- building -----------------------------------------------------------------------------------


def test_names_that_a_file_system_may_take_for_one_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    (tmp_path / "A").touch()
    with pytest.raises(KitError, match="twin"):
        sums.write(tmp_path)
    (tmp_path / "A").rename(tmp_path / "with blank")
    with pytest.raises(KitError, match="'with blank'"):
        sums.write(tmp_path)


def test_nothing_is_written_over_and_nothing_is_left(tmp_path: Path) -> None:
    out = tmp_path / "kit"
    asked = Asked(target=WINDOWS, cache=tmp_path / "c", fips_cache=tmp_path, with_fips=True,
                  native=Path(__file__))  # fmt: skip
    out.mkdir()
    (out / "mine").touch()
    with pytest.raises(OutputRefused):
        build(asked, out, None, lambda _: None)
    (out / "mine").unlink()
    with pytest.raises(KitError):
        build(asked, out, None, lambda _: None)
    assert [one.name for one in tmp_path.rglob("*")] == ["kit"]


def test_the_same_sources_give_the_same_bytes(kit: Path, tmp_path: Path) -> None:
    more = ["--with-fips"] if (kit / "fips").is_dir() else []
    done = kit_program(
        "build", "--out", tmp_path / "other", "--extra", "warehouse", *more, *given_native()
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "other/SHA256SUMS").read_text() == (kit / "SHA256SUMS").read_text()


def test_a_kit_for_another_platform_tells_what_it_lacks(tmp_path: Path) -> None:
    words = ["--platform", "windows-x86_64", "--python", "3.12", "--no-model"]
    done = kit_program("build", "--out", tmp_path / "kit", *words)
    assert done.returncode == 0, done.stderr
    assert "without the Rust core, so satchel searches by words" in done.stdout
    manifest = json.loads((tmp_path / "kit/kit.json").read_text())
    assert (manifest["native"], manifest["model"]) == (False, None)
    assert list((tmp_path / "kit/wheels").glob("pywin32-*-win_amd64.whl"))


def test_wrong_usage_and_what_cannot_be_built_are_told(tmp_path: Path) -> None:
    assert kit_program("build").returncode == 2
    words = ["--platform", "windows-x86_64", "--with-fips", "--native", str(tmp_path / "no.whl")]
    done = kit_program("build", "--out", tmp_path / "kit", *words)
    assert done.returncode == 1
    assert re.search(r"^kit: .*no\.whl.*\[kit_failed\]$", done.stderr, re.MULTILINE), done.stderr
