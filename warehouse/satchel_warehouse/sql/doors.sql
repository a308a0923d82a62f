-- The doors that are no kind's own: SECURITY DEFINER, EXECUTE for replica logins only.

CREATE FUNCTION satchel_api.hello(_hello jsonb) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    h satchel.hub;
    me text := session_user::text;
    _replica bytea := decode(_hello ->> 'replica_id', 'hex');
    _attempt text := _hello ->> 'attempt';
    _host text := coalesce(left(_hello ->> 'host', 255), '');
    _version text := coalesce(left(_hello ->> 'version', 255), '');
    now bigint := satchel.now_ms();
BEGIN
    SELECT * INTO h FROM satchel.hub;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'the warehouse is not initialised' USING ERRCODE = '3F000';
    END IF;
    IF coalesce(octet_length(_replica), 0) <> 16 THEN
        RAISE EXCEPTION 'a replica id has 16 bytes' USING ERRCODE = 'SA001';
    END IF;
    IF coalesce(octet_length(_attempt), 0) NOT BETWEEN 1 AND 200 THEN
        RAISE EXCEPTION 'the id of an attempt has 1 to 200 bytes' USING ERRCODE = 'SA001';
    END IF;
    IF (_hello ->> 'protocol')::integer IS DISTINCT FROM h.protocol THEN
        RAISE EXCEPTION 'this replica speaks protocol %, the warehouse %',
            _hello ->> 'protocol', h.protocol USING ERRCODE = 'SA002';
    END IF;
    IF decode(_hello ->> 'hub_id', 'hex') <> h.hub_id THEN
        RAISE EXCEPTION 'this replica belongs to the warehouse %, this one is %',
            _hello ->> 'hub_id', encode(h.hub_id, 'hex') USING ERRCODE = 'SA003';
    END IF;
    IF NOT EXISTS (SELECT FROM satchel.login WHERE role_name = me) THEN
        IF NOT (SELECT rolsuper FROM pg_roles WHERE rolname = me) THEN
            RAISE EXCEPTION 'the login % was granted no replica', quote_literal(me)
                USING ERRCODE = 'SA001';
        END IF;
        INSERT INTO satchel.login VALUES (me, 'default', now) ON CONFLICT DO NOTHING;
    END IF;
    INSERT INTO satchel.replica AS r (replica_id, login, host, version, first_seen, last_seen)
    VALUES (_replica, me, _host, _version, now, now)
    ON CONFLICT (replica_id) DO UPDATE
    SET host = excluded.host, version = excluded.version, last_seen = excluded.last_seen
    WHERE r.login = me AND r.revoked_at IS NULL;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'this replica is revoked or bound to another login' USING ERRCODE = 'SA001';
    END IF;
    INSERT INTO satchel.attempt (attempt, replica_id, started_at)
    VALUES (_attempt, _replica, now) ON CONFLICT DO NOTHING;
    PERFORM satchel.caller(_attempt);
    RETURN jsonb_build_object(
        'hub_id', encode(h.hub_id, 'hex'), 'protocol', h.protocol, 'schema', h.schema,
        'columns', '@columns@'::jsonb, 'now_ms', now,
        'seqs', satchel.bound((SELECT tenant FROM satchel.login WHERE role_name = me)));
END
$$;

-- The hub's clock, for whoever may enter at all.
CREATE FUNCTION satchel_api.now_ms() RETURNS bigint
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp AS $$
    SELECT satchel.now_ms()
$$;

CREATE FUNCTION satchel_api.bound(_attempt text) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    me record := satchel.caller(_attempt);
BEGIN
    RETURN satchel.bound(me.tenant);
END
$$;

-- Of `_kinds` only, without the rows whose kind and key stand side by side in the two other arrays.
-- One statement, so one snapshot.
CREATE FUNCTION satchel_api.digests(
    _attempt text, _kinds text[], _held_kinds text[], _held_keys text[]
)
RETURNS TABLE (kind text, bucket integer, rows bigint, total numeric, seq bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    me record := satchel.caller(_attempt);
BEGIN
    RETURN QUERY @digests@;
END
$$;

CREATE FUNCTION satchel_api.journal(_attempt text, _losers jsonb) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    me record := satchel.caller(_attempt);
BEGIN
    INSERT INTO satchel.conflict
    SELECT me.tenant, kind, key, version, lineage, content, winner, path, at, me.replica_id
    FROM jsonb_to_recordset(_losers) AS l (kind text, key text, version text, lineage text,
        content text, winner text, path text, at bigint)
    ON CONFLICT DO NOTHING;
END
$$;

CREATE FUNCTION satchel_api.bye(_attempt text, _report text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp AS $$
BEGIN
    PERFORM satchel.caller(_attempt);
    UPDATE satchel.attempt SET finished_at = satchel.now_ms(), report = _report
    WHERE attempt = _attempt;
END
$$;
