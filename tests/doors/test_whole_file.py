"""A file that somebody named is there whole, or not at all, whatever ends the writer."""

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from satchel.whole_file import _require_place, whole_file

KILLED = """
import os, signal, sys
from pathlib import Path
from satchel.whole_file import whole_file
with whole_file(Path(sys.argv[1]), overwrite=sys.argv[2] == "over") as file:
    file.write(b"half")
    file.flush()
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(os.name != "posix", reason="there is no SIGKILL")
@pytest.mark.parametrize("how", ["over", "new"])
def test_a_writer_that_is_killed_leaves_what_was_there(how: str, tmp_path: Path) -> None:
    path = tmp_path / "file"
    if how == "over":
        path.write_bytes(b"before")
    done = subprocess.run([sys.executable, "-c", KILLED, path, how], check=False)
    assert done.returncode == -signal.SIGKILL
    assert (path.read_bytes() if path.exists() else None) == (b"before" if how == "over" else None)


def written(path: Path, content: bytes, *, overwrite: bool, meanwhile: bytes = b"") -> None:
    with whole_file(path, overwrite=overwrite) as file:
        file.write(content)
        if meanwhile:
            path.write_bytes(meanwhile)


def failing(path: Path, *, overwrite: bool) -> None:
    with whole_file(path, overwrite=overwrite) as file:
        file.write(b"half")
        raise ZeroDivisionError


@pytest.mark.parametrize("overwrite", [True, False])
def test_a_body_that_fails_leaves_nothing(overwrite: bool, tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        failing(tmp_path / "file", overwrite=overwrite)
    assert list(tmp_path.iterdir()) == []


def test_a_whole_one_is_its_owners_only(tmp_path: Path) -> None:
    path = tmp_path / "file"
    for content in (b"one", b"two"):
        with whole_file(path, overwrite=True) as file:
            file.write(content)
        assert (path.read_bytes(), list(tmp_path.iterdir())) == (content, [path])
    assert os.name != "posix" or stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("when", ["before", "meanwhile"])
def test_a_name_that_is_taken_is_not_written_over(when: str, tmp_path: Path) -> None:
    path = tmp_path / "file"
    if when == "before":
        path.write_bytes(b"theirs")
    with pytest.raises(FileExistsError):
        written(path, b"ours", overwrite=False, meanwhile=b"theirs")
    assert path.read_bytes() == b"theirs"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.skipif(os.name != "posix", reason="there are no such files")
def test_only_a_file_is_replaced(tmp_path: Path) -> None:
    """Never a pipe, a device or a folder, nor a link to one; of a link to a file the link."""
    pipe, folder, file, link = (tmp_path / name for name in ("pipe", "folder", "file", "link"))
    os.mkfifo(pipe)
    folder.mkdir()
    file.write_bytes(b"theirs")
    (tmp_path / "system").symlink_to("/proc/self/exe")
    for target in (pipe, folder, Path("/dev/null")):
        link.symlink_to(target)
        for path in (target, link, tmp_path / "system"):
            before = path.lstat()
            # Of a device itself only the check: did it fail, the machine would lose the device.
            with pytest.raises(OSError, match=r"no file|directory"):
                _require_place(path) if path.parent == Path("/dev") else written(
                    path, b"ours", overwrite=True
                )
            assert path.lstat() == before
        link.unlink()
    link.symlink_to(file)
    written(link, b"ours", overwrite=True)
    assert (link.is_symlink(), link.read_bytes(), file.read_bytes()) == (False, b"ours", b"theirs")
