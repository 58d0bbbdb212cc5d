"""Evaluators that are written into converted problems: each calls the evaluator of another project in the sandbox.

They are texts. Nothing of Evolve imports them, and they import the standard library alone.
"""
