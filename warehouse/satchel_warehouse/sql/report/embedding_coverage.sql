-- report.embedding_coverage
SELECT c.tenant, nullif(c.model, '') AS model, c.memories, c.embedded, c.outdated,
    c.memories - c.embedded - c.outdated AS missing,
    c.embedded::double precision / nullif(c.memories, 0) AS share
FROM satchel.report_coverage c
