"""The evaluator of a command: a copy of this package lies in each such problem, and needs nothing but Python."""
