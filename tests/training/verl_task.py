"""A task for veRL, as a user writes one: loaded by the reward workers, imported by all processes."""

import os
from collections.abc import Sequence

from evolve.vpo.group import Rollout
from training.adapters.completions import Completion
from training.adapters.verl import register, score_function
from training.adapters.weighting import Weighting

ROWS = {"red": [1.0, 0.0], "green": [0.0, 1.0], "blue": [0.4, 0.4]}
WEIGHTING = Weighting(seed=3, draws=8)


def judge(completions: Sequence[Completion]) -> list[Rollout]:
    """A row for each colour that is named; a completion that was cut off holds none."""
    named = [[] if one.cut else [ROWS[word] for word in one.text.split() if word in ROWS] for one in completions]
    return [rows or None for rows in named]


compute_score = score_function(judge, WEIGHTING)
if "VERL_USE_EXTERNAL_MODULES" in os.environ:  # not where tests import this without veRL
    register(WEIGHTING)
