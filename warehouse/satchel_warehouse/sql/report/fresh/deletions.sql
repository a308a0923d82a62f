-- Tombstones and erased rows, by day, machine and kind.
SELECT _tenant, d.day, d.machine, d.kind, count(*) FILTER (WHERE NOT d.erased),
    count(*) FILTER (WHERE d.erased)
FROM (@kinds_dead@) AS d
GROUP BY d.day, d.machine, d.kind
