-- The doors of bundles: `satchel_sync.bundles.ports.Depot`. A visit is an attempt that is no link
-- of the replica's chain; the other doors work for it. `satchel_sync.bundles.peer` decides alike.

-- Whether this login may act for a replica: its own, or an administrator's for the same tenant.
CREATE OR REPLACE FUNCTION satchel.may_carry(_login text, _tenant text) RETURNS boolean
LANGUAGE sql STABLE SET search_path = satchel, pg_catalog, pg_temp AS $$
    SELECT _login = session_user::text OR (
        pg_has_role(session_user, 'satchel_owner', 'MEMBER')
        AND coalesce(satchel.session_tenant(), _tenant) = _tenant)
$$;

-- The tenant of a replica that comes for the first time: the login's. What an administrator carries
-- tells by the warehouse that it names, else by the earlier ids of its file; else there is but one.
CREATE OR REPLACE FUNCTION satchel.carried_tenant(_hub bytea, _predecessors bytea[]) RETURNS text
LANGUAGE plpgsql STABLE SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    found text[];
BEGIN
    IF satchel.session_tenant() IS NOT NULL
        OR NOT pg_has_role(session_user, 'satchel_owner', 'MEMBER')
    THEN
        RETURN satchel.login_tenant();
    END IF;
    IF _hub IS NOT NULL THEN
        found := ARRAY(SELECT name FROM satchel.tenant WHERE id = _hub);
        IF found = '{}' THEN
            RAISE EXCEPTION 'this replica belongs to the warehouse %, which is not this one',
                encode(_hub, 'hex') USING ERRCODE = 'SA003';
        END IF;
        RETURN found[1];
    END IF;
    found := ARRAY(SELECT DISTINCT tenant FROM satchel.replica
        WHERE replica_id = ANY (_predecessors));
    IF found = '{}' THEN
        found := ARRAY(SELECT name FROM satchel.tenant);
    END IF;
    IF cardinality(found) <> 1 THEN
        RAISE EXCEPTION 'the bundle does not tell of which of % tenants its machine is',
            cardinality(found) USING ERRCODE = 'SA001',
            HINT = 'let a login of the right tenant import it, or the machine sync with one first';
    END IF;
    RETURN found[1];
END
$$;

-- The login of a replica that comes for the first time: who carries it, or of an administrator's
-- the tenant's stand-in. Its name is longer than a role's can be, so nobody ever logs in as it.
CREATE OR REPLACE FUNCTION satchel.carried_login(_tenant text) RETURNS text
LANGUAGE plpgsql VOLATILE SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    _login text := session_user::text;
BEGIN
    IF satchel.session_tenant() IS NULL THEN
        SELECT 'no login yet: what an administrator carries for machines of tenant number '
            || number INTO _login
        FROM satchel.tenant WHERE name = _tenant;
    END IF;
    INSERT INTO satchel.login VALUES (_login, _tenant, satchel.now_ms()) ON CONFLICT DO NOTHING;
    RETURN _login;
END
$$;

CREATE OR REPLACE FUNCTION satchel.begin_visit(
    _attempt text, _replica bytea, _relaying boolean, _levels boolean
) RETURNS void LANGUAGE sql VOLATILE SET search_path = satchel, pg_catalog, pg_temp AS $$
    INSERT INTO satchel.attempt
        (tenant, attempt, replica_id, started_at, relaying, levels, columns, carrier)
    SELECT tenant, _attempt, _replica, satchel.now_ms(), _relaying, _levels, '@columns_mark@',
        session_user::text
    FROM satchel.replica WHERE replica_id = _replica
$$;

-- Begins to take a push in: registers the sender and judges its past by what the bundle names.
CREATE FUNCTION satchel_api.bundle_unpack(_attempt text, _head jsonb) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    h satchel.hub;
    r satchel.replica;
    p satchel.bundle_peer;
    _tenant text;
    _replica bytea;
    _predecessors bytea[];
    _reconcile text := _head ->> 'reconcile';
    file bytea[];
    named bigint;
    levels boolean;
    known_epoch text;
    known_hub bytea;
    _standing text;
    is_stale boolean;
    reason text;
    now bigint := satchel.now_ms();
BEGIN
    SELECT * INTO h FROM satchel.hub;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'the warehouse is not initialised' USING ERRCODE = '3F000';
    END IF;
    PERFORM satchel.check_hello(_head);
    _replica := decode(_head ->> 'replica_id', 'hex');
    _predecessors := satchel.named_predecessors(_head);
    IF NOT (_head ->> 'protocol')::bigint BETWEEN @protocol_min@ AND h.protocol
        OR (_head ->> 'schema')::bigint < @schema_min@
    THEN
        RAISE EXCEPTION 'the bundle speaks protocol %, schema %; the warehouse % and %',
            _head ->> 'protocol', _head ->> 'schema', h.protocol, h.schema USING ERRCODE = 'SA002';
    END IF;
    SELECT * INTO r FROM satchel.replica WHERE replica_id = _replica FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        _tenant := satchel.carried_tenant(decode(_head ->> 'hub_id', 'hex'), _predecessors);
        INSERT INTO satchel.replica (tenant, replica_id, login, host, version, first_seen,
            last_seen, bound, must_reconcile)
        VALUES (_tenant, _replica, satchel.carried_login(_tenant), '', '', now, now, false, EXISTS (
            SELECT FROM satchel.replica f
            WHERE f.tenant = _tenant AND f.replica_id = ANY (_predecessors) AND f.must_reconcile))
        ON CONFLICT DO NOTHING;
        SELECT * INTO r FROM satchel.replica WHERE replica_id = _replica FOR NO KEY UPDATE;
        IF satchel.comes_of_revoked(_tenant, _predecessors) THEN
            RAISE EXCEPTION 'this replica is revoked' USING ERRCODE = 'SA001';
        END IF;
    END IF;
    _tenant := r.tenant;
    IF r.replica_id IS NULL OR r.revoked_at IS NOT NULL OR NOT satchel.may_carry(r.login, _tenant)
    THEN
        RAISE EXCEPTION 'this replica is revoked or bound to another login' USING ERRCODE = 'SA001';
    END IF;
    -- Two bundles that find one rewind open one epoch.
    SELECT epoch, id INTO known_epoch, known_hub
    FROM satchel.tenant WHERE name = _tenant FOR NO KEY UPDATE;
    PERFORM satchel.check_hub(_head, known_hub);
    INSERT INTO satchel.bundle_peer (tenant, replica_id) VALUES (_tenant, _replica)
    ON CONFLICT DO NOTHING;
    SELECT * INTO p FROM satchel.bundle_peer WHERE replica_id = _replica FOR UPDATE;
    file := ARRAY(SELECT replica_id FROM satchel.replica
        WHERE tenant = _tenant AND replica_id = ANY (_replica || _predecessors));

    -- satchel_sync.bundles.peer.weigh
    named := coalesce((SELECT number FROM satchel.token
        WHERE token = _head ->> 'token' AND replica_id = ANY (file)), 0);
    levels := p.manifest > 0 AND named >= p.manifest AND _reconcile = '' AND NOT p.levelled;
    is_stale := named BETWEEN 1 AND r.token_number - 1;
    _standing := satchel.judge(
        '', _head ->> 'last_attempt', _head ->> 'token', _head ->> 'epoch',
        satchel.known_seqs(_head -> 'cursors'),
        known_epoch, '', false, levels OR EXISTS (SELECT FROM satchel.attempt
            WHERE attempt = _head ->> 'last_attempt' AND replica_id = ANY (file)),
        named > 0, false,
        (SELECT coalesce(jsonb_object_agg(kind, seq), '{}') FROM (
            SELECT d.key AS kind, max(d.value::bigint) AS seq
            FROM satchel.replica f, jsonb_each_text(f.delivered) d
            WHERE f.replica_id = ANY (file) GROUP BY d.key) AS most),
        r.must_reconcile AND NOT levels);
    IF _reconcile <> '' AND _standing = 'known' THEN
        _standing := 'moved';
    END IF;
    reason := CASE WHEN is_stale THEN 'known' ELSE _standing END;

    UPDATE satchel.replica SET
        host = left(_head ->> 'host', 255), version = left(_head ->> 'version', 255),
        last_seen = now, predecessors = _predecessors,
        token_number = greatest(token_number, named),
        must_reconcile = must_reconcile OR reason <> 'known'
    WHERE replica_id = _replica;
    IF reason = 'rewound' AND _head ->> 'epoch' = known_epoch THEN
        UPDATE satchel.tenant SET epoch = satchel.random_hex(8) WHERE name = _tenant;
    END IF;
    PERFORM satchel.begin_visit(_attempt, _replica,
        (p.manifest > 0 AND named = p.manifest) OR _reconcile <> '' OR _standing <> 'known',
        levels);
    RETURN jsonb_build_object('reason', reason, 'columns', '@columns@'::jsonb);
END
$$;

-- Keeps what the hub said of versions of one kind until the replica names a later token.
CREATE FUNCTION satchel_api.bundle_keep(_attempt text, _kind text, _receipts jsonb) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    me record := satchel.writer(_attempt);
    newest bigint := coalesce(
        pg_sequence_last_value(pg_get_serial_sequence('satchel.token', 'number')::regclass), 0);
BEGIN
    INSERT INTO satchel.receipt (tenant, replica_id, kind, key, version, verdict, now_ms, winner,
        lineage, reason, detail, number)
    SELECT me.tenant, me.replica_id, _kind, key, version, verdict, now_ms, winner, lineage, reason,
        detail, newest
    FROM jsonb_to_recordset(_receipts) AS r (key text, version text, verdict text, now_ms bigint,
        winner text, lineage text, reason text, detail text)
    ON CONFLICT (replica_id, kind, key, version, tenant) DO UPDATE SET
        verdict = excluded.verdict, now_ms = excluded.now_ms, winner = excluded.winner,
        lineage = excluded.lineage, reason = excluded.reason, detail = excluded.detail,
        number = excluded.number;
END
$$;

-- The push was taken in to its end: the next export starts at the cursors that it named.
CREATE FUNCTION satchel_api.bundle_unpacked(_attempt text, _head jsonb, _report text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    me record := satchel.writer(_attempt);
    _levels boolean := (SELECT levels FROM satchel.attempt
        WHERE attempt = _attempt AND replica_id = me.replica_id);
    _link text := _head ->> 'last_attempt';
BEGIN
    PERFORM satchel.check_hello(_head);
    UPDATE satchel.bundle_peer p SET
        cursors = satchel.known_seqs(_head -> 'cursors'),
        token = _head ->> 'token', imported_at = satchel.now_ms(),
        levelled = p.levelled OR _levels OR NOT r.must_reconcile
    FROM satchel.replica r WHERE r.replica_id = p.replica_id AND p.replica_id = me.replica_id;
    IF _levels THEN
        UPDATE satchel.replica f SET must_reconcile = false
        FROM satchel.replica r
        WHERE f.tenant = me.tenant AND r.replica_id = me.replica_id
            AND f.replica_id = ANY (r.replica_id || r.predecessors);
        -- After a reconcile the chain of the file is the hub's; a link of it that was no sync.
        INSERT INTO satchel.attempt
            (tenant, attempt, replica_id, started_at, epoch, columns, levels)
        SELECT me.tenant, _link, me.replica_id, satchel.now_ms(), _head ->> 'epoch',
            '@columns_mark@', true
        WHERE _link <> '' ON CONFLICT DO NOTHING;
        IF FOUND THEN
            UPDATE satchel.replica SET last_attempt = _link WHERE replica_id = me.replica_id;
        END IF;
    END IF;
    UPDATE satchel.attempt SET finished_at = satchel.now_ms(), report = satchel.kept_report(_report)
    WHERE attempt = _attempt AND replica_id = me.replica_id;
END
$$;

-- Begins an export: draws its token, writes down what it will deliver, drops receipts that arrived.
CREATE FUNCTION satchel_api.bundle_dispatch(_attempt text, _replica text) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    h satchel.hub;
    r satchel.replica;
    p satchel.bundle_peer;
    t satchel.tenant;
    _id bytea := decode(_replica, 'hex');
    _tenant text;
    reach jsonb;
    _kind text;
    _token text;
BEGIN
    SELECT * INTO h FROM satchel.hub;
    SELECT * INTO r FROM satchel.replica WHERE replica_id = _id FOR NO KEY UPDATE;
    _tenant := r.tenant;
    IF r.replica_id IS NULL OR r.revoked_at IS NOT NULL OR NOT satchel.may_carry(r.login, _tenant)
    THEN
        RAISE EXCEPTION 'the warehouse has no replica % for this login, or it is revoked', _replica
            USING ERRCODE = 'SA001';
    END IF;
    INSERT INTO satchel.bundle_peer (tenant, replica_id) VALUES (_tenant, _id)
    ON CONFLICT DO NOTHING;
    SELECT * INTO p FROM satchel.bundle_peer WHERE replica_id = _id FOR UPDATE;
    reach := satchel.bound(_tenant);
    _token := satchel.give_token(_id, _attempt);
    _kind := CASE
        WHEN r.must_reconcile THEN 'manifest'
        WHEN EXISTS (SELECT FROM jsonb_each_text(reach) s
            WHERE s.value::bigint > coalesce((p.cursors ->> s.key)::bigint, 0)) THEN 'pull'
        ELSE 'ack' END;
    IF r.must_reconcile THEN
        UPDATE satchel.bundle_peer SET levelled = false,
            manifest = (SELECT number FROM satchel.token WHERE token = _token)
        WHERE replica_id = _id;
    END IF;
    PERFORM satchel.deliver(_tenant, _id, reach);
    DELETE FROM satchel.receipt WHERE replica_id = _id AND number < r.token_number;
    PERFORM satchel.begin_visit(_attempt, _id, false, false);
    SELECT * INTO t FROM satchel.tenant WHERE name = _tenant;
    RETURN jsonb_build_object('hub_id', encode(t.id, 'hex'), 'epoch', t.epoch,
        'protocol', h.protocol, 'columns', '@columns@'::jsonb, 'kind', _kind,
        'base', p.cursors, 'reach', reach, 'token', _token, 'after', p.token);
END
$$;

-- A page of the receipts that are kept, after this kind, key and version.
CREATE FUNCTION satchel_api.bundle_receipts(
    _attempt text, _kind text, _key text, _version text, _rows_max integer
)
RETURNS SETOF satchel.receipt
LANGUAGE plpgsql SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    me record := satchel.caller(_attempt);
BEGIN
    RETURN QUERY SELECT * FROM satchel.receipt r
    WHERE r.replica_id = me.replica_id AND (r.kind, r.key, r.version) > (_kind, _key, _version)
    ORDER BY r.kind, r.key, r.version LIMIT _rows_max;
END
$$;

-- The replicas that this login may carry for.
CREATE FUNCTION satchel_api.bundle_replicas() RETURNS SETOF text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp AS $$
    SELECT encode(r.replica_id, 'hex')
    FROM satchel.replica r WHERE satchel.may_carry(r.login, r.tenant) ORDER BY r.replica_id
$$;
