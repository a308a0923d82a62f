"""Every file says of which version it is; the page has them all; a newer one is left as it is."""

from __future__ import annotations

import io
import json
import re
import struct
import zlib
from pathlib import Path

import apsw
import pytest
from fix_audit import openssl
from place import Place

from satchel.audit import exported
from satchel.backup import manifest
from satchel.embedding import packs
from satchel.errors import StoreNewer
from satchel.protection import key_store
from satchel.store import activity, migrate
from satchel.vectors import format as vectors
from satchel.vectors.errors import Damaged
from satchel_crypto import bearer, certificate, envelope, key_file, trusted
from satchel_crypto.errors import AuditBroken, KeyInvalid, SealedInvalid, SignatureInvalid
from satchel_crypto.fips import module
from satchel_crypto.vault import document
from satchel_sync.bundles import header
from satchel_sync.errors import VersionsDiffer

PAGE = Path(__file__).parents[2] / "docs/BACKUPS.md"
KIT = Path(__file__).parents[2] / "deploy/airgap/build.py"

NOW = {
    "`satchel.db`": migrate.latest(),
    "`activity.db`": activity.VERSION,
    "`manifest.json` of a backup": f"{manifest.FORMAT_NAME}{manifest.FORMAT}",
    "`vectors/*.vec`": vectors.VERSION,
    "a bundle": header.FORMAT,
    "a sealed value (envelope)": envelope.VERSION,
    "`keys/vault.json`": document.VERSION,
    "a key file": key_file.FORMAT,
    "`keys/trusted.json`": trusted.FORMAT,
    "`keys/bearers.json`": bearer.FORMAT,
    "a certificate of erasure": certificate.FORMAT,
    "an audit export": exported.FORMAT,
    "`pack.json` of a model pack": packs.FORMAT,
    "`kit.json` of a kit": int(re.findall(r"^FORMAT = (\d+)$", KIT.read_text(), re.M)[0]),
    "`fips/module.json`": module.FORMAT,
    "`config.toml`": "none",
    "an export in JSON lines": "none",
}


def test_the_page_has_every_format_as_it_is() -> None:
    section = PAGE.read_text("utf-8").partition("## Formats")[2]
    rows = [line.strip("| ").split(" | ") for line in section.splitlines() if line[:2] == "| "]
    told = {cells[0]: cells[2].strip() for cells in rows if cells[0] != "file"}
    assert told == {name: str(now) for name, now in NOW.items()}


# ---- newer ones ----------------------------------------------------------------------------------


def test_documents_of_a_version_to_come_are_refused(place: Place) -> None:
    """Whole ones, of which nothing but the version differs, and what is told of each."""
    key = place.write("a secret")
    audit = io.StringIO()
    exported.export(place.replica.store, place.settings, audit, place.clock.at_ms)
    keys = key_store(place.settings)
    public = keys.key_file(name="laptop", of="", made_at="2026-11-30T15:00:00.000+00:00")
    paper = json.dumps(place.forget(key)["certificate"]).encode()
    for data, said, read, error in (
        (audit.getvalue().encode(), exported.FORMAT, read_audit, AuditBroken),
        (public, key_file.FORMAT, read_key, KeyInvalid),
        (paper, certificate.FORMAT, read_certificate, SignatureInvalid),
    ):
        read(data)
        with pytest.raises(error, match=said):
            read(data.replace(said.encode(), said[:-1].encode() + b"2"))


def read_audit(data: bytes) -> object:
    return exported.read(data.decode().splitlines(), openssl())


def read_key(data: bytes) -> object:
    return key_file.KeyFile.parse(data, openssl())


def read_certificate(data: bytes) -> object:
    return certificate.Certificate.parse(data, openssl())


def test_binary_files_of_a_version_to_come_are_refused() -> None:
    fields = header.Header(
        suite="plain", bundle_id=b"i" * 16, manifest_at=100, manifest_bytes=9, signature_bytes=0
    ).packed()
    assert header.Header.parse(fields, 109).format == header.FORMAT
    fields = fields[:8] + struct.pack(">H", header.FORMAT + 1) + fields[10:-4]
    with pytest.raises(VersionsDiffer, match=f"reads up to {header.FORMAT}"):
        header.Header.parse(fields + struct.pack(">I", zlib.crc32(fields)), 109)
    key = envelope.SymmetricKey.new(openssl())
    sealed = envelope.seal(openssl(), key, b"plain", envelope.Purpose.FILE, b"")
    assert envelope.Envelope.parse(sealed).purpose == envelope.Purpose.FILE
    newer = sealed[:4] + bytes([envelope.VERSION + 1]) + sealed[5:]
    with pytest.raises(SealedInvalid, match=f"has the version {envelope.VERSION + 1}"):
        envelope.Envelope.parse(newer)
    head = vectors.Header(b"r" * 16, "memory m", 4, 1, 0, 0, 0, 0, 0, 0, 0, 0).pack()
    assert vectors.read_header(head).dims == 4
    body = head[:8] + struct.pack("<I", vectors.VERSION + 1) + head[12:-4]
    with pytest.raises(Damaged, match=f"of version {vectors.VERSION + 1}"):
        vectors.read_header(body + struct.pack("<I", zlib.crc32(body)))


def test_files_of_keys_are_left_as_they_are(place: Place) -> None:
    place.write("one")
    folder = place.folder / "keys"
    for name, read, entries in (
        ("trusted", trusted.TrustedKeys(folder).all, "keys"),
        ("bearers", bearer.Bearers(folder, openssl()).all, "bearers"),
    ):
        path = folder / f"{name}.json"
        path.write_text(json.dumps({"format": f"satchel-{name}-1", entries: []}))
        path.chmod(0o600)
        assert read() == ()
        path.write_text(path.read_text().replace("-1", "-2"))
        before = path.read_bytes()
        with pytest.raises(KeyInvalid) as refused:
            read()
        assert "upgrade satchel" in refused.value.hint
        assert path.read_bytes() == before


def test_reads_are_not_recorded_in_a_newer_file(place: Place) -> None:
    key = place.write("one")
    place.read(key)
    place.close()
    path = place.folder / "activity.db"
    with apsw.Connection(str(path)) as db:
        db.execute(f"CREATE TABLE access(a); PRAGMA user_version = {activity.VERSION + 1}")
    place.open()
    place.read(key)
    assert "newer satchel" in place.replica.activity.last_failure
    with apsw.Connection(str(path)) as db:
        # A table that an older program would have dropped.
        assert db.execute("SELECT count(*) FROM access").get == 0
        assert db.execute("SELECT count(*) FROM audit").get == 2
        db.execute(f"PRAGMA user_version = {activity.VERSION}")


def test_a_replica_without_a_backup(place: Place) -> None:
    place.close()
    with apsw.Connection(str(place.path)) as db:
        db.execute(f"PRAGMA user_version = {migrate.latest() + 1}")
    with pytest.raises(StoreNewer) as refused:
        place.open()
    assert "go back" not in refused.value.hint, "there is no backup"
    with apsw.Connection(str(place.path)) as db:
        db.execute(f"PRAGMA user_version = {migrate.latest()}")
    place.open()
