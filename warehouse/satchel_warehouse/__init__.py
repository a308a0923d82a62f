"""The warehouse: a Postgres database in which the replicas of many machines meet."""
