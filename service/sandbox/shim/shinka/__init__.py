"""The part of ShinkaEvolve that its evaluators import, for where ShinkaEvolve itself is not installed."""
