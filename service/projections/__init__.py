"""Projections: what is shown of runs, folded from their events, candidates and programs."""

from service.projections.run_totals import count, entered

__all__ = ["count", "entered"]
