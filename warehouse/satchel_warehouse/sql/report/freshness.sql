-- report.freshness
SELECT r.tenant, v.name, r.refreshed_at, CASE WHEN v.is_whole THEN r.lines END AS rows
FROM satchel.report_refresh r
JOIN (VALUES @views_of_sums@) AS v (name, sum, is_whole) ON v.sum = r.name
