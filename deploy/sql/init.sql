-- Made from satchel's sources (protocol 2, schema 1, revision 0009):
-- do not edit, run `make docs`.

-- All that `satchel warehouse init` and `migrate` do.
-- As a superuser, or as a role with CREATEROLE that owns the database:
--   psql -X -d DATABASE -f init.sql
--   psql -X -d DATABASE -v partitions=16 -f init.sql    in a new database only: docs/DISTRIBUTED.md
-- All of it is done or nothing.
\set ON_ERROR_STOP on
\if :{?partitions}
    \set partition_by 'PARTITION BY HASH (id)'
\else
    \set partitions 0
    \set partition_by ''
\endif

BEGIN;
SET LOCAL client_min_messages = warning;
SELECT pg_advisory_xact_lock(5202611290);
SELECT :partitions <> 0 AND (:partitions NOT BETWEEN 2 AND 64
    OR to_regclass('satchel.memory') IS NOT NULL AND :partitions <> (
        SELECT count(*) FROM pg_inherits WHERE inhparent = to_regclass('satchel.memory')))
    AS refused \gset
\if :refused
    DO $$ BEGIN RAISE 'partitions: 2 to 64, and only in a new warehouse'; END $$;
\endif
\ir 01_roles.sql
SET LOCAL ROLE satchel_owner;
\ir 02_tables.sql
\ir 03_functions.sql
\ir 04_identity.sql
COMMIT;
