-- Audit chains: what comes is appended if it follows what is held, and kept as evidence if not.

-- satchel_crypto.audit_record.link_of.
CREATE OR REPLACE FUNCTION satchel.audit_link(before bytea, body text) RETURNS bytea
LANGUAGE sql IMMUTABLE AS $$
    SELECT sha256('\x@audit_domain@'::bytea || before || convert_to(body, 'UTF8'))
$$;

-- What a body says; NULL for what is no JSON object that this server reads. As its definer: a view
-- asks it with an auditor's rights.
CREATE OR REPLACE FUNCTION satchel.audit_said(_body text) RETURNS json
LANGUAGE plpgsql IMMUTABLE SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    said json;
BEGIN
    said := satchel.readable(_body);
    RETURN CASE WHEN json_typeof(said) = 'object' THEN said END;
EXCEPTION WHEN data_exception OR program_limit_exceeded THEN
    RETURN NULL;
END
$$;

-- The last record of a chain; 0 and zeros where there is none.
CREATE OR REPLACE FUNCTION satchel.audit_held(
    _tenant text, _replica bytea, _chain text, OUT seq bigint, OUT link bytea
)
LANGUAGE sql STABLE SET search_path = satchel, pg_catalog, pg_temp AS $$
    SELECT last.seq, last.link FROM (
        (SELECT a.seq, a.link FROM satchel.audit a
            WHERE a.tenant = _tenant AND a.replica_id = _replica AND a.chain = _chain
            ORDER BY a.seq DESC LIMIT 1)
        UNION ALL
        (SELECT c.seq, c.link FROM satchel.audit_cut c
            WHERE c.tenant = _tenant AND c.replica_id = _replica AND c.chain = _chain
                AND c.why = 'expired'
            ORDER BY c.seq DESC LIMIT 1)
        UNION ALL
        SELECT 0, decode(repeat('00', 32), 'hex')
    ) AS last ORDER BY last.seq DESC LIMIT 1
$$;

-- Chain -> [seq, link] of what is held of a machine.
CREATE OR REPLACE FUNCTION satchel.audit_standing(_tenant text, _replica bytea) RETURNS jsonb
LANGUAGE sql STABLE SET search_path = satchel, pg_catalog, pg_temp AS $$
    SELECT coalesce(jsonb_object_agg(
        chain, jsonb_build_array(held.seq, encode(held.link, 'hex'))), '{}')
    FROM unnest('@audit_chains@'::text[]) AS chain,
        satchel.audit_held(_tenant, _replica, chain) AS held
    WHERE held.seq > 0
$$;

-- Up to where a `rotated` record says that its chain was pruned; NULL for any other, and for one
-- that tells of another chain, of an id that the file had before.
CREATE OR REPLACE FUNCTION satchel.audit_cut_of(_record jsonb, OUT seq bigint, OUT link bytea)
LANGUAGE plpgsql IMMUTABLE SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    said json := satchel.audit_said(_record ->> 'body');
BEGIN
    IF said ->> 'action' = 'rotated' AND said #>> '{detail, replica_id}' IS NULL
        AND said #>> '{detail, seq}' ~ '^[1-9][0-9]{0,15}$'
        AND said #>> '{detail, link}' ~ '^[0-9a-f]{64}$'
    THEN
        seq := said #>> '{detail, seq}';
        link := decode(said #>> '{detail, link}', 'hex');
    END IF;
END
$$;

-- Whether this is a record of this chain of this machine: only then it is looked at any further.
CREATE OR REPLACE FUNCTION satchel.is_audit_record(
    _replica bytea, _chain text, _record jsonb, _said json
) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
    SELECT coalesce(
        _record ->> 'seq' ~ '^[1-9][0-9]{0,15}$'
        AND _record ->> 'link' ~ '^[0-9a-f]{64}$' AND _record ->> 'mac' ~ '^[0-9a-f]{64}$'
        AND octet_length(_record ->> 'body') <= @audit_body_bytes@
        AND (_said ->> 'chain', _said ->> 'replica_id', _said ->> 'seq')
            = (_chain, encode(_replica, 'hex'), _record ->> 'seq')
        AND _said ->> 'at' ~ '^-?[0-9]{1,16}$', false)
$$;

-- Keep what came and was not taken; once (of a key, whatever it signed next), and no more of one
-- machine than a thousand.
CREATE OR REPLACE FUNCTION satchel.note_audit_trouble(
    _tenant text, _replica bytea, _attempt text, _chain text, _what text, _held bigint, _came jsonb
) RETURNS jsonb
LANGUAGE plpgsql VOLATILE SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    _seq bigint := CASE WHEN _came ->> 'seq' ~ '^[0-9]{1,16}$' THEN _came ->> 'seq' ELSE '0' END;
    _evidence text := left(_came::text, 65536);
    _hash bytea := sha256(convert_to(CASE WHEN _what = 'key'
        THEN satchel.audit_said(_came ->> 'signature') ->> 'public_key' ELSE _evidence END,
        'UTF8'));
BEGIN
    IF (SELECT count(*) FROM satchel.audit_trouble
        WHERE tenant = _tenant AND replica_id = _replica) < 1000
        AND NOT EXISTS (SELECT FROM satchel.audit_trouble
            WHERE tenant = _tenant AND replica_id = _replica AND chain = _chain AND what = _what
                AND evidence_hash = _hash)
    THEN
        INSERT INTO satchel.audit_trouble VALUES (_tenant, _replica, _chain, _what, _seq,
            _evidence, _hash, _held, session_user::text, _attempt, satchel.now_ms());
    END IF;
    RETURN jsonb_build_object('what', _what, 'seq', _seq, 'held', _held);
END
$$;

-- What a record that is well-formed finds: NULL to be appended, `same` where it is held already,
-- or what is wrong. Behind a cut it follows the record that was the last to be pruned.
CREATE OR REPLACE FUNCTION satchel.audit_verdict(
    _tenant text, _replica bytea, _chain text, _held bigint, _held_link bytea, _cut bigint,
    _cut_link bytea, _seq bigint, _body text, _link bytea, _mac bytea
) RETURNS text
LANGUAGE plpgsql STABLE SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    there satchel.audit;
    before bytea := _held_link;
BEGIN
    IF _seq <= _held THEN
        SELECT * INTO there FROM satchel.audit
        WHERE tenant = _tenant AND replica_id = _replica AND chain = _chain AND seq = _seq;
        -- One that expired here, or was pruned before it came, says nothing any more.
        RETURN CASE WHEN there.seq IS NULL
            OR (there.body, there.link, there.mac) = (_body, _link, _mac)
            THEN 'same' ELSE 'fork' END;
    END IF;
    IF _seq > _held + 1 THEN
        IF _cut IS DISTINCT FROM _seq - 1 THEN
            RETURN 'gap';
        END IF;
        before := _cut_link;
    END IF;
    RETURN CASE WHEN satchel.audit_link(before, _body) <> _link THEN 'link' END;
END
$$;

-- The signed head of a chain: of its last record, and by the key that the machine began with.
CREATE OR REPLACE FUNCTION satchel.take_audit_head(
    _tenant text, _replica bytea, _chain text, _held bigint, _held_link bytea, _head jsonb
) RETURNS text
LANGUAGE plpgsql VOLATILE SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    said json := satchel.audit_said(_head ->> 'signature');
    _algorithm text := said ->> 'algorithm';
    _key text := said ->> 'public_key';
BEGIN
    IF _head ->> 'seq' IS DISTINCT FROM _held::text
        OR _head ->> 'link' IS DISTINCT FROM encode(_held_link, 'hex')
        OR coalesce(_head ->> 'at', '') !~ '^-?[0-9]{1,16}$'
        OR octet_length(_head ->> 'signature') > 8192
        OR coalesce(octet_length(_algorithm), 0) NOT BETWEEN 1 AND 40
        OR coalesce(octet_length(_key), 0) NOT BETWEEN 1 AND 1024
    THEN
        RETURN 'head';
    END IF;
    INSERT INTO satchel.audit_key SELECT _tenant, _replica, _algorithm, _key, satchel.now_ms()
    WHERE NOT EXISTS (
        SELECT FROM satchel.audit_key WHERE tenant = _tenant AND replica_id = _replica);
    IF NOT EXISTS (SELECT FROM satchel.audit_key WHERE tenant = _tenant AND replica_id = _replica
        AND algorithm = _algorithm AND public_key = _key)
    THEN
        RETURN 'key';
    END IF;
    INSERT INTO satchel.audit_head VALUES (_tenant, _replica, _chain, _held, _held_link,
        (_head ->> 'at')::bigint, _head ->> 'signature', satchel.now_ms())
    ON CONFLICT DO NOTHING;
    RETURN NULL;
END
$$;

-- One chain's part of an upload, up to the first record that is not taken.
CREATE OR REPLACE FUNCTION satchel.take_audit(
    _tenant text, _replica bytea, _attempt text, _part jsonb, OUT taken bigint, OUT refused jsonb
)
LANGUAGE plpgsql VOLATILE SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    _chain text := _part ->> 'chain';
    held record := satchel.audit_held(_tenant, _replica, _chain);
    cut record := satchel.audit_cut_of(_part -> 'cut');
    r jsonb;
    said json;
    _seq bigint;
    _link bytea;
    what text;
BEGIN
    taken := 0;
    FOR r IN SELECT * FROM jsonb_array_elements(_part -> 'records') LOOP
        said := satchel.audit_said(r ->> 'body');
        IF satchel.is_audit_record(_replica, _chain, r, said) THEN
            _seq := r ->> 'seq';
            _link := decode(r ->> 'link', 'hex');
            what := satchel.audit_verdict(_tenant, _replica, _chain, held.seq, held.link, cut.seq,
                cut.link, _seq, r ->> 'body', _link, decode(r ->> 'mac', 'hex'));
        ELSE
            what := 'shape';
        END IF;
        CONTINUE WHEN what = 'same';
        IF what IS NOT NULL THEN
            refused := satchel.note_audit_trouble(
                _tenant, _replica, _attempt, _chain, what, held.seq, r);
            RETURN;
        END IF;
        IF _seq > held.seq + 1 THEN
            INSERT INTO satchel.audit_cut VALUES (_tenant, _replica, _chain, cut.seq, cut.link,
                'pruned', _part -> 'cut' ->> 'body', satchel.now_ms()) ON CONFLICT DO NOTHING;
        END IF;
        INSERT INTO satchel.audit VALUES (_tenant, _replica, _chain, _seq, (said ->> 'at')::bigint,
            r ->> 'body', _link, decode(r ->> 'mac', 'hex'), satchel.now_ms());
        SELECT _seq AS seq, _link AS link INTO held;
        taken := taken + 1;
    END LOOP;
    IF jsonb_typeof(_part -> 'head') = 'object' THEN
        what := satchel.take_audit_head(
            _tenant, _replica, _chain, held.seq, held.link, _part -> 'head');
        IF what IS NOT NULL THEN
            refused := satchel.note_audit_trouble(
                _tenant, _replica, _attempt, _chain, what, held.seq, _part -> 'head');
        END IF;
    END IF;
END
$$;

-- Why an upload is none; NULL when it is.
CREATE OR REPLACE FUNCTION satchel.audits_fault(_parts jsonb) RETURNS text
LANGUAGE plpgsql IMMUTABLE SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    rows bigint := 0;
    part jsonb;
BEGIN
    IF jsonb_typeof(_parts) IS DISTINCT FROM 'array' OR jsonb_array_length(_parts) > 16 THEN
        RETURN 'an upload of audit records is a list of no more than 16 parts';
    END IF;
    FOR part IN SELECT * FROM jsonb_array_elements(_parts) LOOP
        IF coalesce(part ->> 'chain', '') !~ '^[a-z]{1,16}$' THEN
            RETURN 'the name of an audit chain has 1 to 16 letters';
        END IF;
        IF jsonb_typeof(part -> 'records') IS DISTINCT FROM 'array' THEN
            RETURN 'the records of an audit chain are a list';
        END IF;
        rows := rows + jsonb_array_length(part -> 'records');
    END LOOP;
    RETURN CASE WHEN rows > @audit_rows@
        THEN 'the warehouse takes no more than @audit_rows@ audit records at a time' END;
END
$$;

-- An upload of a machine; one at a time, so that two copies of a file never append side by side.
CREATE OR REPLACE FUNCTION satchel.take_audits(
    _tenant text, _replica bytea, _attempt text, _parts jsonb
) RETURNS jsonb
LANGUAGE plpgsql VOLATILE SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    part jsonb;
    found record;
    taken bigint := 0;
    refused jsonb := '{}';
BEGIN
    IF satchel.audits_fault(_parts) IS NOT NULL THEN
        RAISE EXCEPTION '%', satchel.audits_fault(_parts) USING ERRCODE = 'SA001';
    END IF;
    PERFORM FROM satchel.replica WHERE replica_id = _replica FOR NO KEY UPDATE;
    FOR part IN SELECT * FROM jsonb_array_elements(_parts) LOOP
        IF part ->> 'chain' <> ALL ('@audit_chains@') THEN -- of a program that is newer
            refused := refused || jsonb_build_object(part ->> 'chain',
                '{"what": "chain", "seq": 0, "held": 0}'::jsonb);
            CONTINUE;
        END IF;
        found := satchel.take_audit(_tenant, _replica, _attempt, part);
        taken := taken + found.taken;
        IF found.refused IS NOT NULL THEN
            refused := refused || jsonb_build_object(part ->> 'chain', found.refused);
        END IF;
    END LOOP;
    RETURN jsonb_build_object('taken', taken, 'refused', refused,
        'held', satchel.audit_standing(_tenant, _replica));
END
$$;

-- The owner's retention: records that came more than so many days ago go, from the beginning of
-- their chains on, and a cut says where each one begins now; with them what was refused then.
-- Returns how many records.
CREATE OR REPLACE FUNCTION satchel.expire_audit(_days integer) RETURNS bigint
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    since bigint := satchel.now_ms() - _days * 86400000::bigint;
    c record;
    gone bigint;
    total bigint := 0;
BEGIN
    IF coalesce(_days, 0) < 1 THEN
        RAISE EXCEPTION 'audit records are kept for at least a day' USING ERRCODE = '22023';
    END IF;
    PERFORM set_config('satchel.expiring', 'on', true);
    FOR c IN SELECT tenant, replica_id, chain,
            coalesce(min(seq) FILTER (WHERE received_at >= since) - 1, max(seq)) AS upto
        FROM satchel.audit GROUP BY tenant, replica_id, chain
    LOOP
        INSERT INTO satchel.audit_cut
        SELECT tenant, replica_id, chain, seq, link, 'expired', NULL, satchel.now_ms()
        FROM satchel.audit WHERE (tenant, replica_id, chain, seq)
            = (c.tenant, c.replica_id, c.chain, c.upto) ON CONFLICT DO NOTHING;
        DELETE FROM satchel.audit_head WHERE (tenant, replica_id, chain)
            = (c.tenant, c.replica_id, c.chain) AND seq < c.upto;
        DELETE FROM satchel.audit WHERE (tenant, replica_id, chain)
            = (c.tenant, c.replica_id, c.chain) AND seq <= c.upto;
        GET DIAGNOSTICS gone = ROW_COUNT;
        total := total + gone;
    END LOOP;
    DELETE FROM satchel.audit_trouble WHERE at < since;
    PERFORM set_config('satchel.expiring', 'off', true);
    RETURN total;
END
$$;

CREATE OR REPLACE FUNCTION satchel.keep_audit() RETURNS trigger
LANGUAGE plpgsql SET search_path = satchel, pg_catalog, pg_temp AS $$
BEGIN
    IF TG_OP <> 'DELETE' OR current_user <> '@owner@'
        OR coalesce(current_setting('satchel.expiring', true), '') <> 'on'
    THEN
        RAISE EXCEPTION 'satchel.% is only ever appended to: satchel.expire_audit(days) removes'
            ' what is old', TG_TABLE_NAME USING ERRCODE = 'SA004';
    END IF;
    RETURN NULL;
END
$$;

@keep_audit@
