"""The files of bridges that read what a folder says of its problem."""

import json
from collections.abc import Mapping
from typing import Any

from service.problems.formats.bridge import EVALUATOR, bridge_text

SEED, SEED_FOLDER = "evolve_seed.py", "evolve_seed"
_SETTINGS, _STAND_INS = "evolve_bridge.json", "evolve_stand_ins.py"


def bridge_files(name: str, settings: Mapping[str, Any]) -> Mapping[str, bytes]:
    """The files of a bridge: itself, what it shares with others, and its settings.

    Args:
        name: of a module of `service.problems.formats.bridges`.
        settings: what the folder says, as JSON can hold it.
    """
    return {
        EVALUATOR: bridge_text(name),
        _STAND_INS: bridge_text("stand_ins"),
        _SETTINGS: (json.dumps(settings, indent=2, sort_keys=True) + "\n").encode(),
    }
