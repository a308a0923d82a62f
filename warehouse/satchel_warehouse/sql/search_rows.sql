-- @kind@: whole living rows by @by@; how many is kept with the search.
CREATE FUNCTION satchel_search.rows_@kind@(
    _tenant text, _search text, _ids text[], _model text DEFAULT NULL
) RETURNS SETOF satchel.@kind@
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp
SET enable_seqscan = off SET jit = off AS $$
DECLARE
    found bigint;
BEGIN
    PERFORM satchel.check_search(_tenant, _search);
    RETURN QUERY SELECT t.* FROM satchel.@kind@ t
    WHERE t.tenant = _tenant AND t.@by@ = ANY (_ids) AND satchel.is_alive(t.life) @and@;
    GET DIAGNOSTICS found = ROW_COUNT;
    UPDATE satchel.searched s SET rows_read = s.rows_read + found
    WHERE s.tenant = _tenant AND s.id = _search;
END
$$;
