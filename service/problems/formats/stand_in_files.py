"""The files of bridges that load Python files of another project, with stand-ins for its package."""

from collections.abc import Mapping
from typing import Any

from service.problems.formats.bridge import EVALUATOR, bridge_files

SEED, SEED_FOLDER = "evolve_seed.py", "evolve_seed"
_STAND_INS = "evolve_stand_ins.py"


def stand_in_bridge(name: str, settings: Mapping[str, Any]) -> dict[str, bytes]:
    """The files of a bridge, and the module that it shares with others.

    Args:
        name: of a module of `service.problems.formats.bridges`.
        settings: what the folder says, as JSON can hold it.
    """
    return {**bridge_files(name, settings), _STAND_INS: bridge_files("stand_ins")[EVALUATOR]}
