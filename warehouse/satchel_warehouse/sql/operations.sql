-- What is old goes, and what a restore needs. Never pruned: rows, tombstones, scrubbed stubs,
-- replicas, attempts (only their reports), tokens, receipts and relayed origins: by these a file
-- that was away for years is told from one that was restored, and the hub from one set back.

-- Whether the machine whose version lost has seen that since: it began and ended a sync after the
-- entry came, or a bundle of it named a cursor behind the row; its own journal has the entry then.
-- True where nobody is left to see it: an origin that is no machine's, or of revoked ones only.
CREATE OR REPLACE FUNCTION satchel.loser_has_seen(
    _tenant text, _kind text, _key text, _version text, _received_at bigint
) RETURNS boolean
LANGUAGE sql STABLE SET search_path = satchel, pg_catalog, pg_temp AS $$
    WITH machine AS (
        SELECT r.replica_id FROM satchel.replica r JOIN satchel.login l ON l.role_name = r.login
        WHERE l.tenant = _tenant AND r.revoked_at IS NULL
            AND decode(substr(_version, 33, 32), 'hex') = ANY (r.replica_id || r.predecessors)
    )
    SELECT NOT EXISTS (SELECT FROM machine)
        OR EXISTS (SELECT FROM machine m JOIN satchel.attempt a USING (replica_id)
            WHERE a.started_at > _received_at AND a.finished_at IS NOT NULL AND a.carrier IS NULL)
        OR EXISTS (SELECT FROM machine m JOIN satchel.bundle_peer p USING (replica_id)
            WHERE (p.cursors ->> _kind)::bigint >= CASE _kind @row_seqs@ END)
$$;

-- When what is older goes. 1 day is the least: what came this very day is looked at by nobody yet.
CREATE OR REPLACE FUNCTION satchel.retained_since(_days integer) RETURNS bigint
LANGUAGE plpgsql VOLATILE SET search_path = satchel, pg_catalog, pg_temp AS $$
BEGIN
    IF coalesce(_days, 0) < 1 THEN
        RAISE EXCEPTION 'what is pruned was kept for at least a day' USING ERRCODE = '22023';
    END IF;
    RETURN satchel.now_ms() - _days * 86400000::bigint;
END
$$;

-- The conflict journal's retention: entries that came more than so many days ago. `expired` went
-- (or would go, with `_dry`), `waiting` are as old and stay until their machine has seen them.
CREATE OR REPLACE FUNCTION satchel.expire_journal(
    _days integer, _dry boolean DEFAULT false, OUT expired bigint, OUT waiting bigint
)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    since bigint := satchel.retained_since(_days);
BEGIN
    IF _dry THEN
        SELECT count(*) FILTER (WHERE seen), count(*) FILTER (WHERE NOT seen) INTO expired, waiting
        FROM (SELECT satchel.loser_has_seen(tenant, kind, key, version, received_at) AS seen
            FROM satchel.conflict WHERE received_at < since OFFSET 0) AS old;
    ELSE
        DELETE FROM satchel.conflict c WHERE c.received_at < since
            AND satchel.loser_has_seen(c.tenant, c.kind, c.key, c.version, c.received_at);
        GET DIAGNOSTICS expired = ROW_COUNT;
        SELECT count(*) INTO waiting FROM satchel.conflict c WHERE c.received_at < since;
    END IF;
END
$$;

-- The reports' retention. The attempts stay, without what they reported; of each machine the
-- newest report stays too, as it says how the machine fares.
CREATE OR REPLACE FUNCTION satchel.expire_reports(_days integer, _dry boolean DEFAULT false)
RETURNS bigint
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    since bigint := satchel.retained_since(_days);
    expired bigint;
BEGIN
    WITH old AS (
        SELECT a.attempt, a.replica_id FROM satchel.attempt a
        WHERE a.report IS NOT NULL AND coalesce(a.finished_at, a.started_at) < since
            AND EXISTS (SELECT FROM satchel.attempt n WHERE n.replica_id = a.replica_id
                AND n.started_at > a.started_at AND n.report IS NOT NULL)
    ), emptied AS (
        UPDATE satchel.attempt a SET report = NULL FROM old o
        WHERE NOT _dry AND a.attempt = o.attempt AND a.replica_id = o.replica_id
    )
    SELECT count(*) INTO expired FROM old;
    RETURN expired;
END
$$;

-- How many audit records satchel.expire_audit would remove.
CREATE OR REPLACE FUNCTION satchel.expirable_audit(_days integer) RETURNS bigint
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp AS $$
    SELECT coalesce(sum(CASE WHEN youngest IS NULL THEN held ELSE youngest - oldest END), 0)::bigint
    FROM (SELECT count(*) AS held, min(seq) AS oldest,
            min(seq) FILTER (WHERE received_at >= satchel.retained_since(_days)) AS youngest
        FROM satchel.audit GROUP BY tenant, replica_id, chain) AS c
$$;

-- After a restore: each tenant is in a time of its own, so that every machine compares all rows
-- with the hub before anything else. Those that come by bundle are asked for it by the next one.
-- A sequence that a restore left behind its rows would hide new ones from all cursors.
CREATE OR REPLACE FUNCTION satchel.mark_restored() RETURNS TABLE (name text, epoch text)
LANGUAGE plpgsql VOLATILE SET search_path = satchel, pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    one record;
    reached bigint;
BEGIN
    FOR one IN SELECT t.name FROM satchel.tenant t ORDER BY t.number LOOP
        PERFORM satchel.lock_tenant(one.name);
        SELECT max(b.value::bigint) INTO reached
        FROM jsonb_each_text(satchel.bound(one.name)) AS b;
        IF reached > coalesce(pg_sequence_last_value(satchel.change_sequence(one.name)), 0) THEN
            PERFORM setval(satchel.change_sequence(one.name), reached);
        END IF;
    END LOOP;
    UPDATE satchel.replica r SET must_reconcile = true
    WHERE r.replica_id IN (SELECT p.replica_id FROM satchel.bundle_peer p)
        -- Of an earlier id it would stay, and each new id of that file would inherit it.
        AND NOT EXISTS (SELECT FROM satchel.replica s WHERE s.predecessors @> ARRAY[r.replica_id]);
    RETURN QUERY UPDATE satchel.tenant t SET epoch = satchel.random_hex(8)
    RETURNING t.name, t.epoch;
END
$$;
