-- The doors that are no kind's own: SECURITY DEFINER, EXECUTE for replica logins only.

-- Judges the file's past and opens an attempt, unless the file has to take a new id first. "Of the
-- file" is what the hub knows under its id and its predecessors', within the tenant of the login.
CREATE FUNCTION satchel_api.hello(_hello jsonb) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    h satchel.hub;
    r satchel.replica;
    _tenant text := satchel.login_tenant();
    known_epoch text := (SELECT epoch FROM satchel.tenant WHERE name = _tenant);
    known_hub bytea := (SELECT id FROM satchel.tenant WHERE name = _tenant);
    _replica bytea;
    _attempt text := _hello ->> 'attempt';
    _last_attempt text := coalesce(_hello ->> 'last_attempt', '');
    _token text := coalesce(_hello ->> 'token', '');
    _epoch text := coalesce(_hello ->> 'epoch', '');
    _schema integer;
    _predecessors bytea[];
    file bytea[];
    facts record;
    is_new boolean;
    _standing text;
    now bigint := satchel.now_ms();
    answer jsonb;
BEGIN
    SELECT * INTO h FROM satchel.hub;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'the warehouse is not initialised' USING ERRCODE = '3F000';
    END IF;
    answer := jsonb_build_object(
        'hub_id', encode(known_hub, 'hex'), 'protocol', h.protocol, 'schema', h.schema,
        'columns', '@columns@'::jsonb, 'seqs', '{}'::jsonb, 'now_ms', now, 'epoch', known_epoch,
        'standing', 'known', 'access', 'ok');
    IF NOT (CASE jsonb_typeof(_hello -> 'protocol') WHEN 'number'
        THEN (_hello ->> 'protocol')::numeric BETWEEN @protocol_min@ AND h.protocol ELSE false END)
    THEN
        RETURN answer || '{"access": "upgrade_required"}';
    END IF;
    PERFORM satchel.check_hello(_hello);
    IF coalesce(_attempt, '') = '' THEN
        RAISE EXCEPTION 'the id of an attempt has 1 to @name_bytes@ bytes' USING ERRCODE = 'SA001';
    END IF;
    _replica := decode(_hello ->> 'replica_id', 'hex');
    _predecessors := satchel.named_predecessors(_hello);
    _schema := _hello ->> 'schema';
    PERFORM satchel.check_hub(_hello, known_hub);

    -- One hello of an id at a time: a copy of the file that asks meanwhile waits for this answer.
    INSERT INTO satchel.login VALUES (session_user::text, _tenant, now) ON CONFLICT DO NOTHING;
    INSERT INTO satchel.replica (tenant, replica_id, login, host, version, first_seen, last_seen)
    VALUES (_tenant, _replica, session_user::text, '', '', now, now) ON CONFLICT DO NOTHING;
    is_new := FOUND;
    SELECT * INTO r FROM satchel.replica WHERE replica_id = _replica FOR NO KEY UPDATE;
    -- Known by a bundle that somebody carried here: the first hello binds it.
    IF NOT r.bound AND r.tenant = _tenant THEN
        UPDATE satchel.replica SET login = session_user::text, bound = true
        WHERE replica_id = _replica RETURNING * INTO r;
    END IF;
    file := ARRAY(SELECT replica_id FROM satchel.replica
        WHERE tenant = _tenant AND replica_id = ANY (_replica || _predecessors));
    -- Of another tenant's machine there is no row to be seen.
    IF r.login IS DISTINCT FROM session_user::text OR r.revoked_at IS NOT NULL
        OR (is_new AND satchel.comes_of_revoked(_tenant, _predecessors))
    THEN
        RAISE EXCEPTION 'this replica is revoked or bound to another login' USING ERRCODE = 'SA001';
    END IF;

    SELECT EXISTS (SELECT FROM satchel.attempt
            WHERE attempt = _attempt AND replica_id = _replica) AS attempt_known,
        EXISTS (SELECT FROM satchel.attempt
            WHERE attempt = _last_attempt AND replica_id = ANY (file)) AS link_known,
        (SELECT number FROM satchel.token
            WHERE token = _token AND replica_id = ANY (file)) AS token_number,
        (SELECT coalesce(jsonb_object_agg(kind, seq), '{}') FROM (
            SELECT d.key AS kind, max(d.value::bigint) AS seq
            FROM satchel.replica f, jsonb_each_text(f.delivered) d
            WHERE f.replica_id = ANY (file) GROUP BY d.key) AS most) AS delivered,
        r.must_reconcile OR (is_new AND EXISTS (SELECT FROM satchel.replica
            WHERE replica_id = ANY (file) AND must_reconcile)) AS must_reconcile
    INTO facts;
    _standing := satchel.judge(
        _attempt, _last_attempt, _token, _epoch, satchel.known_seqs(_hello -> 'cursors'),
        known_epoch, r.last_attempt, facts.attempt_known, facts.link_known,
        facts.token_number IS NOT NULL,
        coalesce(r.token_number > facts.token_number, false),
        facts.delivered, facts.must_reconcile);
    answer := answer || jsonb_build_object('standing', _standing, 'seqs', satchel.bound(_tenant));
    IF _standing = 'restored' THEN
        RETURN answer;
    END IF;

    UPDATE satchel.replica SET
        host = coalesce(left(_hello ->> 'host', 255), ''),
        version = coalesce(left(_hello ->> 'version', 255), ''),
        last_seen = now, predecessors = _predecessors, last_attempt = _attempt,
        token_number = greatest(token_number, facts.token_number),
        must_reconcile = facts.must_reconcile
    WHERE replica_id = _replica;
    INSERT INTO satchel.attempt AS a
        (tenant, attempt, replica_id, started_at, standing, epoch, relaying, read_only, columns)
    VALUES (_tenant, _attempt, _replica, now, _standing, _epoch,
        coalesce(_hello ->> 'reconcile', '') <> '' OR _standing <> 'known',
        coalesce(_schema, 0) < @schema_min@, '@columns_mark@')
    ON CONFLICT (attempt, replica_id, tenant) DO UPDATE SET standing = excluded.standing,
        epoch = excluded.epoch, relaying = a.relaying OR excluded.relaying,
        read_only = excluded.read_only, columns = excluded.columns;
    PERFORM satchel.caller(_attempt);
    RETURN answer || jsonb_build_object(
        'access', CASE WHEN coalesce(_schema, 0) < @schema_min@ THEN 'read_only' ELSE 'ok' END,
        'audit', satchel.audit_standing(_tenant, _replica));
END
$$;

-- Two replicas that find one rewind open one epoch: the second finds that it is in an older one.
-- It is the tenant's own, so what a login makes up costs nobody else a reconcile.
-- An attempt that ended before its reconcile counts, as its successor may no longer see the rewind.
CREATE FUNCTION satchel_api.reconcile(_attempt text) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    me record := satchel.writer(_attempt);
    _epoch text;
    answer jsonb;
BEGIN
    SELECT epoch INTO _epoch FROM satchel.tenant WHERE name = me.tenant FOR NO KEY UPDATE;
    SELECT reconciling INTO answer FROM satchel.attempt
    WHERE attempt = _attempt AND replica_id = me.replica_id;
    IF answer IS NOT NULL THEN
        RETURN answer;
    END IF;
    IF EXISTS (SELECT FROM satchel.attempt WHERE replica_id = me.replica_id
        AND standing = 'rewound' AND epoch = _epoch)
    THEN
        UPDATE satchel.tenant SET epoch = satchel.random_hex(8)
        WHERE name = me.tenant RETURNING epoch INTO _epoch;
    END IF;
    answer := jsonb_build_object('epoch', _epoch, 'seqs', satchel.bound(me.tenant));
    UPDATE satchel.attempt SET relaying = true, reconciling = answer
    WHERE attempt = _attempt AND replica_id = me.replica_id;
    RETURN answer;
END
$$;

-- The file forgets its token in the same breath, so none that it named before counts any more.
CREATE FUNCTION satchel_api.reconciled(_attempt text, _seqs jsonb) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    me record := satchel.writer(_attempt);
BEGIN
    IF satchel.seqs_fault(_seqs) IS NOT NULL THEN
        RAISE EXCEPTION '%', satchel.seqs_fault(_seqs) USING ERRCODE = 'SA001';
    END IF;
    PERFORM satchel.deliver(me.tenant, me.replica_id, _seqs);
    UPDATE satchel.replica SET must_reconcile = false, token_number = 0
    WHERE replica_id = me.replica_id;
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
-- Each kind in one snapshot of its own.
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
    me record := satchel.writer(_attempt);
BEGIN
    PERFORM satchel.check_journal(_losers);
    -- Under the lock, so that nothing is forgotten between the look and the entry.
    PERFORM satchel.lock_tenant(me.tenant);
    INSERT INTO satchel.conflict
    SELECT me.tenant, kind, key, version, lineage, content, winner, path, at, me.replica_id
    FROM jsonb_to_recordset(_losers) AS l (kind text, key text, version text, lineage text,
        content text, winner text, path text, at bigint, about jsonb)
    WHERE NOT satchel.is_forgotten(me.tenant, kind, key) AND NOT EXISTS (
        SELECT FROM jsonb_array_elements(about) AS a
        WHERE satchel.is_forgotten(me.tenant, a ->> 0, a ->> 1))
    ON CONFLICT DO NOTHING;
END
$$;

-- Not `writer`: what a machine did is told also by a program that may only read.
CREATE FUNCTION satchel_api.audit(_attempt text, _parts jsonb) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    me record := satchel.caller(_attempt);
BEGIN
    RETURN satchel.take_audits(me.tenant, me.replica_id, _attempt, _parts);
END
$$;

-- The last audit records come with it, and so cost no round trip of their own.
CREATE FUNCTION satchel_api.bye(_attempt text, _report text, _parts jsonb DEFAULT '[]')
RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    me record := satchel.caller(_attempt);
    answer jsonb;
BEGIN
    IF _parts <> '[]' THEN
        answer := satchel.take_audits(me.tenant, me.replica_id, _attempt, _parts);
    END IF;
    UPDATE satchel.attempt SET finished_at = satchel.now_ms(), report = satchel.kept_report(_report)
    WHERE attempt = _attempt AND replica_id = me.replica_id;
    RETURN answer;
END
$$;
