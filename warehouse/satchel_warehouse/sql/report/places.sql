-- Where each living task of a tenant stands in the tree that holds (satchel.memory.tasks.tree): of
-- a ring of parents the link with the highest version is cut, and so is every link to a parent that
-- is deleted or has not come. Tasks are numbered in the order of their versions, so of a ring the
-- highest number is cut. Chains and rings may be as long as somebody makes them: each task is
-- walked a few times only.
CREATE OR REPLACE FUNCTION satchel.task_places(_tenant text)
RETURNS TABLE (id text, parent_id text, root_id text, depth bigint)
LANGUAGE plpgsql STABLE SET search_path = satchel, pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    ids text[];
    parents integer[];
    roots integer[];
    depths integer[];
    walked integer[];
    tasks integer;
    here integer;
    top integer;
    steps integer;
BEGIN
    WITH task AS MATERIALIZED (
        SELECT t.id, t.parent_id,
            row_number() OVER (ORDER BY t.life, t.hlc, t.origin, t.digest, t.id)::integer AS number
        FROM satchel.task t WHERE t.tenant = _tenant AND satchel.is_alive(t.life)
    )
    SELECT array_agg(t.id ORDER BY t.number), array_agg(coalesce(p.number, 0) ORDER BY t.number),
        count(*)
    INTO ids, parents, tasks FROM task t LEFT JOIN task p ON p.id = t.parent_id;
    walked := array_fill(0, ARRAY[tasks]);
    roots := walked;
    depths := walked;

    -- A walk that comes back to where it has been itself has found a ring.
    FOR start IN 1..tasks LOOP
        here := start;
        WHILE here > 0 LOOP
            EXIT WHEN walked[here] > 0;
            walked[here] := start;
            here := parents[here];
        END LOOP;
        CONTINUE WHEN here = 0;
        CONTINUE WHEN walked[here] < start;
        top := here;
        steps := parents[here];
        WHILE steps <> here LOOP
            top := greatest(top, steps);
            steps := parents[steps];
        END LOOP;
        parents[top] := 0;
    END LOOP;

    -- Up to what has its place already, or the top; then the same way once more, counting down.
    FOR start IN 1..tasks LOOP
        here := start;
        steps := 0;
        top := start;
        WHILE here > 0 LOOP
            EXIT WHEN roots[here] > 0;
            steps := steps + 1;
            top := here;
            here := parents[here];
        END LOOP;
        IF here > 0 THEN
            steps := steps + depths[here] + 1;
            top := roots[here];
        END IF;
        here := start;
        WHILE here > 0 LOOP
            EXIT WHEN roots[here] > 0;
            steps := steps - 1;
            roots[here] := top;
            depths[here] := steps;
            here := parents[here];
        END LOOP;
    END LOOP;

    RETURN QUERY
    WITH placed AS MATERIALIZED (
        SELECT * FROM unnest(ids, parents, roots, depths)
            WITH ORDINALITY AS u (id, parent, root, depth, number)
    )
    SELECT t.id, p.id, r.id, t.depth::bigint FROM placed t
    JOIN placed r ON r.number = t.root LEFT JOIN placed p ON p.number = t.parent;
END
$$;
