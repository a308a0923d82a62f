"""What satchel leaves on a machine: its home and its cache, as docs/DEPLOY.md says."""

from __future__ import annotations

from pathlib import Path

from fix_command import run

PAGE = (Path(__file__).parents[2] / "docs" / "DEPLOY.md").read_text("utf-8")


def test_a_home_and_a_cache_and_nothing_else(tmp_path: Path) -> None:
    """From a user's very first command, the doctor's, before there is a home."""
    said = {"HOME": str(tmp_path), "SATCHEL_EMBEDDING": "auto"}
    run("doctor", **said)
    run("write", "the attic is dry", **said)
    written = {path.relative_to(tmp_path) for path in tmp_path.rglob("*") if path.is_file()}
    home, cache = Path(".local/share/satchel"), Path(".cache/satchel")
    assert home / "satchel.db" in written
    assert [one for one in written if not {home, cache} & {*one.parents}] == []
    assert "`satchel` in the user's cache\nfolder (`~/.cache`" in PAGE
