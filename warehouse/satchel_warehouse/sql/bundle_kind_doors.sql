-- @kind@: all rows without content, for a replica that reconciles by bundles.

CREATE FUNCTION satchel_api.bundle_versions_@kind@(_attempt text, _buckets integer[])
RETURNS TABLE (key text, version text, change_seq bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    me record := satchel.caller(_attempt);
BEGIN
    RETURN QUERY SELECT t.@key@, satchel.hex(t.life, t.hlc, t.origin, t.digest), t.change_seq
    FROM satchel.@kind@ t WHERE t.tenant = me.tenant AND get_byte(sha256(
        '@frame@'::bytea || satchel.framed(convert_to(t.@key@, 'UTF8'))), 0) = ANY (_buckets);
END
$$;
