"""Dominance, hypervolume and weighted sums of reward vectors."""
