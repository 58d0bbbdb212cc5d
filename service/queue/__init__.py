"""Evaluations spread over workers: through Redis, or within one process."""
