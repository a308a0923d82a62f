-- Rows of each kind.
SELECT _tenant, k.kind, k.alive, k.deleted, k.erased FROM (@kinds_counted@) AS k
