"""The value that SkyDiscover's evaluators may return, which is OpenEvolve's."""

from openevolve.evaluation_result import EvaluationResult

__all__ = ["EvaluationResult"]
