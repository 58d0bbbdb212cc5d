"""The libraries that are compared with: imported when a test first asks for something of theirs."""

from importlib import import_module
from typing import Any


class Library:
    """A module of an environment of its own; without it the tests that use it are skipped, and can be collected."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        return getattr(import_module(self._name), attribute)


code_utils = Library("openevolve.utils.code_utils")
crowding_metrics = Library("pymoo.operators.survival.rank_and_crowding.metrics")
datasketch = Library("datasketch")
emo = Library("deap.tools.emo")
moocore = Library("moocore")
non_dominated_sorting = Library("pymoo.util.nds.non_dominated_sorting")
qmc = Library("scipy.stats.qmc")
ribs = Library("ribs.archives")
spatial_distance = Library("scipy.spatial.distance")
stats = Library("scipy.stats")
