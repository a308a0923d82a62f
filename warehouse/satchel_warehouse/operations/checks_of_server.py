"""Is the server set up so that it loses nothing and goes on: settings, sessions, vacuum."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from satchel_warehouse.database import Connection
from satchel_warehouse.operations.check import Check, fail, ok, warn
from satchel_warehouse.operations.health import Health, looked
from satchel_warehouse.sessions import one

VERSION_MIN = 150_000
TRANSACTION_WARN_S = 3600.0
"""Vacuum removes nothing that came after the oldest open transaction."""
CONNECTIONS_WARN = 0.8
STANDBY_LAG_WARN_BYTES = 1 << 30
SLOT_WARN_BYTES = 10 << 30
FROZEN_WARN, FROZEN_FAIL = 1_000_000_000, 1_800_000_000
"""Transactions; at 2,100 million Postgres stops to write."""
DEAD_WARN = 0.3
_SETTINGS = """
SELECT current_setting('fsync'), current_setting('full_page_writes'),
    current_setting('synchronous_commit'), current_setting('data_checksums'),
    current_setting('autovacuum'), current_setting('password_encryption'),
    current_setting('ssl'), current_setting('listen_addresses')
"""
_SLOTS = """
SELECT slot_name, pg_wal_lsn_diff(pg_current_wal_lsn(), restart_lsn)::bigint
FROM pg_replication_slots WHERE NOT active AND NOT pg_is_in_recovery() ORDER BY 1
"""
_PREPARED = """
SELECT gid FROM pg_prepared_xacts
WHERE database = current_database() AND prepared < now() - interval '1 hour' ORDER BY 1
"""
_DEAD = """
SELECT relname, n_dead_tup, n_live_tup FROM pg_stat_user_tables
WHERE schemaname = 'satchel' AND n_dead_tup > 100000 AND n_dead_tup > n_live_tup * %s ORDER BY 1
"""


def checks() -> list[tuple[str, Callable[[Connection], Iterator[Check]]]]:
    """(what is looked at, how)."""
    return [
        ("server", _server),
        ("durability", _durability),
        ("encryption", _encryption),
        ("sessions", lambda db: _sessions(looked(db))),
        ("standbys", _standbys),
        ("vacuum", _vacuum),
        ("clock", _clock),
    ]


def _server(db: Connection) -> Iterator[Check]:
    number, name, encoding = one(
        db,
        "SELECT current_setting('server_version_num')::integer, current_setting('server_version'),"
        " current_setting('server_encoding')",
    )
    found = f"PostgreSQL {name}, {encoding}"
    if number < VERSION_MIN:
        yield fail("server", found, "satchel needs 15 or newer", "upgrade the cluster")
    elif encoding != "UTF8":
        why = "texts of other scripts are refused row by row"
        yield fail("server", found, why, "dump, and restore into a database of encoding UTF8")
    else:
        yield ok("server", found)


def _durability(db: Connection) -> Iterator[Check]:
    fsync, pages, commit, checksums, *_ = one(db, _SETTINGS)
    off = [
        name for name, value in (("fsync", fsync), ("full_page_writes", pages)) if value == "off"
    ]
    if off:
        why = "a power cut can lose or damage what machines were told is safe"
        yield fail("durability", f"off: {', '.join(off)}", why, "set them on and restart")
    elif commit == "off":
        why = "a crash loses the last answered pushes; machines notice, and refill"
        yield warn("durability", "synchronous_commit is off", why, "set it on")
    elif checksums == "off":
        why = "a disk that lies is found by `satchel sync verify` only"
        yield warn("durability", "no data checksums", why, "`pg_checksums --enable`, stopped")
    else:
        yield ok("durability", "fsync, full pages, synchronous commits, checksums")


def _encryption(db: Connection) -> Iterator[Check]:
    *_, hashing, tls, addresses = one(db, _SETTINGS)
    if hashing != "scram-sha-256":
        why = "passwords that others set are hashed so that a copy of the hash logs in"
        fix = "ALTER SYSTEM SET password_encryption TO 'scram-sha-256'"
        yield fail("encryption", f"password_encryption is {hashing}", why, fix)
    elif tls == "off" and addresses not in ("", "localhost", "127.0.0.1"):
        why = "machines refuse a remote server that they cannot verify"
        fix = "ssl = on, with a certificate of its name (docs/TRANSPORT.md)"
        yield warn("encryption", f"no TLS, and it listens on {addresses}", why, fix)
    else:
        yield ok("encryption", "SCRAM" + (", TLS" if tls == "on" else ", this machine only"))


def _sessions(health: Health) -> Iterator[Check]:
    count, most = sum(health.connections.values()), health.connections_max
    found = f"{count} of {most}"
    oldest = health.oldest_transaction
    if oldest and oldest.age_s > TRANSACTION_WARN_S:
        why = "vacuum can remove nothing that came after it: tables and indexes grow"
        fix = f"end it: SELECT pg_terminate_backend({oldest.pid})"
        told = f"{found}; {oldest.login} is in a transaction for {oldest.age_s / 3600:.1f} h"
        yield warn("sessions", told, why, fix)
    elif count > most * CONNECTIONS_WARN:
        why = "the next machines are turned away (exit 10, they try again)"
        yield warn("sessions", found, why, "raise max_connections, or put a pooler before it")
    else:
        yield ok("sessions", found)


def _standbys(db: Connection) -> Iterator[Check]:
    health = looked(db)
    late = [one for one in health.standbys if (one.lag_bytes or 0) > STANDBY_LAG_WARN_BYTES]
    slots = db.execute(_SLOTS.encode()).fetchall()
    kept = [name for name, behind in slots if (behind or 0) > SLOT_WARN_BYTES]
    if health.standby:
        yield ok(
            "standbys", f"this is one; it shows what was {health.replayed_s_ago or 0:.0f} s ago"
        )
    elif kept:
        why = "WAL is kept for a slot that nobody reads: the disk fills up"
        yield fail("standbys", f"idle slots: {', '.join(kept)}", why, "pg_drop_replication_slot")
    elif late:
        names = ", ".join(f"{one.name} ({one.lag_bytes} bytes)" for one in late)
        why = "reports there are old, and a switch to it would lose that much"
        yield warn("standbys", f"behind: {names}", why, "look at its load and its network")
    else:
        yield ok("standbys", f"{len(health.standbys)} follow")


def _vacuum(db: Connection) -> Iterator[Check]:
    age = one(db, "SELECT age(datfrozenxid) FROM pg_database WHERE datname = current_database()")[0]
    prepared = [name for (name,) in db.execute(_PREPARED.encode()).fetchall()]
    dead = [name for name, *_ in db.execute(_DEAD.encode(), (DEAD_WARN,)).fetchall()]
    found = f"the oldest transaction number is {age / 1e6:.0f} million old"
    if age > FROZEN_WARN:
        told = fail if age > FROZEN_FAIL else warn
        why = "at 2,100 million Postgres stops to write"
        yield told("vacuum", found, why, "end old transactions and run VACUUM (FREEZE)")
    elif prepared:
        why = "a prepared transaction holds its locks and keeps vacuum from its work for ever"
        yield warn("vacuum", f"prepared: {', '.join(prepared)}", why, "ROLLBACK PREPARED '…'")
    elif one(db, "SELECT current_setting('autovacuum')")[0] == "off":
        yield warn("vacuum", "autovacuum is off", "tables and indexes grow", "set autovacuum = on")
    elif dead:
        why = "more than a third of them is dead rows: queries read those as well"
        yield warn("vacuum", f"in {', '.join(dead)}", why, "VACUUM (ANALYZE) them")
    else:
        yield ok("vacuum", found)


def _clock(db: Connection) -> Iterator[Check]:
    correction = one(db, "SELECT clock_correction_ms FROM satchel.hub")[0]
    if correction:
        why = "stamps of machines are judged by a clock that is not the server's"
        fix = "UPDATE satchel.hub SET clock_correction_ms = 0"
        yield warn("clock", f"corrected by {correction} ms", why, fix)
    else:
        yield ok("clock", "the server's own")
