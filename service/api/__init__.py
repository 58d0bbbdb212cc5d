"""The REST API: talks HTTP, knows ports and schemas, and nothing of databases, queues or policies."""
