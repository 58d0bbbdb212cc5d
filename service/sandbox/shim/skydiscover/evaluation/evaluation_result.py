"""The value that SkyDiscover's evaluators may return, which is OpenEvolve's."""

from openevolve.evaluation_result import EvaluationResult  # type: ignore[import-not-found]  # it lies beside this shim

__all__ = ["EvaluationResult"]
