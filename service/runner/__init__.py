"""The runner: drives a run to its end, the only writer of its events."""
