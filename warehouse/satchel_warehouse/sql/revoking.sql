-- Who is shut out with a revoked replica: the later ids of its file, and of copies of the file.

-- A replica and all that name it, or one of those, as an earlier id of their file.
CREATE OR REPLACE FUNCTION satchel.with_heirs(_replica bytea) RETURNS SETOF bytea
LANGUAGE sql STABLE SET search_path = satchel, pg_catalog, pg_temp AS $$
    WITH RECURSIVE known AS (
        SELECT r.replica_id, r.predecessors
        FROM satchel.replica r
        WHERE r.tenant = (SELECT tenant FROM satchel.replica WHERE replica_id = _replica)
    ), heir (replica_id) AS (
        SELECT _replica
        UNION
        SELECT k.replica_id FROM heir h JOIN known k ON h.replica_id = ANY (k.predecessors)
    )
    SELECT replica_id FROM heir
$$;

-- Whether an id that comes for the first time is a revoked replica's file: the newest of its
-- earlier ids that the tenant knows decides. Shared locks, so that a revocation waits for this
-- answer, and then finds the id that got it; or this waits for the revocation.
CREATE OR REPLACE FUNCTION satchel.comes_of_revoked(_tenant text, _predecessors bytea[])
RETURNS boolean
LANGUAGE plpgsql VOLATILE SET search_path = satchel, pg_catalog, pg_temp AS $$
BEGIN
    PERFORM FROM satchel.replica r
    WHERE r.tenant = _tenant AND r.replica_id = ANY (_predecessors)
    ORDER BY r.replica_id FOR SHARE OF r;
    RETURN coalesce((
        SELECT r.revoked_at IS NOT NULL
        FROM unnest(_predecessors) WITH ORDINALITY AS p (id, place)
        JOIN satchel.replica r ON r.replica_id = p.id
        WHERE r.tenant = _tenant ORDER BY place LIMIT 1), false);
END
$$;

-- Shut these out, in the name of `_replica`: with its time, so that all are taken back with it.
CREATE OR REPLACE FUNCTION satchel.revoke(_replica bytea) RETURNS SETOF bytea
LANGUAGE plpgsql VOLATILE SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    since bigint;
BEGIN
    UPDATE satchel.replica SET revoked_at = coalesce(revoked_at, satchel.now_ms())
    WHERE replica_id = _replica RETURNING revoked_at INTO since;
    -- In a statement of its own: it sees who came while the first one waited.
    RETURN QUERY UPDATE satchel.replica SET revoked_at = coalesce(revoked_at, since)
    WHERE replica_id IN (SELECT satchel.with_heirs(_replica)) RETURNING replica_id;
END
$$;

-- Open the doors again to those that were shut out in one: they have missed what happened, and
-- reconcile first.
CREATE OR REPLACE FUNCTION satchel.take_back(_replica bytea) RETURNS SETOF bytea
LANGUAGE sql VOLATILE SET search_path = satchel, pg_catalog, pg_temp AS $$
    UPDATE satchel.replica SET revoked_at = NULL, must_reconcile = true
    WHERE replica_id IN (SELECT satchel.with_heirs(_replica))
        AND revoked_at = (SELECT revoked_at FROM satchel.replica WHERE replica_id = _replica)
    RETURNING replica_id
$$;
