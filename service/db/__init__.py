"""Storage on SQLite or PostgreSQL, one schema for both: the log that a runner writes and what the front doors read."""
