"""Stands in for the package that OpenEvolve's evaluators import; it holds what an evaluator needs and no more."""
