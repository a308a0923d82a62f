"""The replica's file: one SQLite database that keeps its own versions, outbox and history."""
