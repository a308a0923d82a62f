-- report.totals
SELECT t.tenant, t.kind, t.alive, t.deleted, t.erased FROM satchel.report_totals t
