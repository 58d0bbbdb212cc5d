"""Writes the evaluators of converted problems, which call the evaluators of other projects."""

from collections.abc import Mapping
from importlib.resources import files
from typing import Any

EVALUATOR = "evolve_evaluator.py"
# Other projects bound nothing but the time: their evaluators use every core and write what they like.
CORES = 16
_LIMITS = {"memory_mb": 4096, "processes": 256, "disk_mb": 1024, "output_kb": 1024}


def bridge_text(name: str) -> bytes:
    """The text of a bridge, a module of `service.problems.formats.bridges`."""
    return files("service.problems.formats.bridges").joinpath(f"{name}.py").read_bytes()


def bridge_tables(seconds: float) -> Mapping[str, Any]:
    """The tables `[evaluator]` and `[limits]` of a problem whose evaluator is a bridge.

    Args:
        seconds: that one evaluation may take.
    """
    limits = {"wall_seconds": float(seconds), "cpu_seconds": float(seconds) * CORES, **_LIMITS}
    return {"evaluator": {"file": EVALUATOR, "integrity": "shared", "lenient": True}, "limits": limits}
