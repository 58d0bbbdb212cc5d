"""A policy for programs: reinforcement learning of a model that the user brings, with TRL: an adapter or all weights.

The prompts are those of the user's own runs. The problem's evaluator scores new completions.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from evolve.problem import Problem
from evolve.statistics.answer_sets import collinearity_warning
from evolve.vpo import method_of
from training.adapter_files import Report
from training.base_model import require_frameworks
from training.errors import TrainingError
from training.program_judge import COLUMN, PROBLEM, Evaluate, ProgramJudge, by_problem
from training.records import read_records
from training.reward_training import RewardTrainingSettings, fitting, load_trained, train
from training.signal import SignalWatch, check_signals

_DRAWN = 7_1105  # the random stream of the held-out prompts
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class RecordedProblem:
    """A problem with records of its own.

    Attributes:
        problem: of the records.
        evaluate: scores programs, in order.
        records: files of `evolve export --training`.
    """

    problem: Problem
    evaluate: Evaluate
    records: tuple[Path, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LoraSettings(RewardTrainingSettings):
    """The settings of a training of an adapter. Records show no weights, so `goal_conditioned` is refused.

    Attributes:
        records: files of `evolve export --training`.
        keep_going: train even if all rewards are equal.
        held_out: prompts of the records that are tested on, and not trained on, if `test_every` is above 0.
    """

    records: tuple[Path, ...]
    keep_going: bool = False
    held_out: int = 8

    def __post_init__(self) -> None:
        if method_of(self.method).weights == "shown":
            raise TrainingError(
                f"The prompts of runs show no weights, which {self.method} needs: choose another method."
            )
        if self.held_out < 1:
            raise TrainingError(f"held_out must be at least 1, not {self.held_out}.")
        RewardTrainingSettings.__post_init__(self)  # super() does not find the class that slots made


def train_lora(settings: LoraSettings, problem: Problem, evaluate: Evaluate, report: Report = lambda _: None) -> Path:
    """Train an adapter, or all weights. Returns the folder that a server loads.

    Args:
        settings: of the training.
        problem: of the records.
        evaluate: scores programs, in order.
        report: gets every update (step, set_reward, group_std, unread and more, as in the log), every test, the time
            that the rest will take, and once a warning.

    Raises:
        TrainingError: the records cannot be used, the extra `trl` is not installed, weights diverge or memory runs out.
        NothingToLearnError: all rewards are equal, in the records and for new completions.
        ModelError: the model cannot be loaded, or is not a chat model.
        CheckpointError: the folder holds a training and `resume` is not set, or it holds none to resume.
    """
    return train_on_problems(settings, [RecordedProblem(problem, evaluate, settings.records)], report)


def train_on_problems(
    settings: LoraSettings, problems: Sequence[RecordedProblem], report: Report = lambda _: None
) -> Path:
    """Train an adapter, or all weights, on several problems, each with records of its own. As `train_lora` otherwise.

    Args:
        settings: of the training.
        problems: with records.
        report: as of `train_lora`.

    Raises:
        TrainingError, NothingToLearnError, ModelError, CheckpointError: as of `train_lora`.
    """
    require_frameworks()
    read = [read_records(one.records) for one in problems]
    judges = [ProgramJudge(one.problem, one.evaluate, own) for one, own in zip(problems, read, strict=True)]
    if not settings.keep_going:
        check_signals(read)
    for records in read:
        if len(records.rewards) > 1 and (warning := collinearity_warning(records.rewards)):
            report({"warning": warning})
    loaded = load_trained(settings)
    asked = [
        {"prompt": [dict(message) for message in record.messages], COLUMN: number, PROBLEM: place}
        for place, records in enumerate(read)
        for number, record in enumerate(records.usable)
    ]
    rows, tested = _apart(settings, fitting(asked, loaded, settings.max_tokens))
    watch = SignalWatch(report, stops=not settings.keep_going)
    passed_over = sum(records.passed_over for records in read)
    card = {"prompts": len(rows), "held_out": len(tested), "passed_over": passed_over}
    return train(settings, loaded, rows, tested, by_problem(judges), watch, card, watch.close)


def _apart(settings: LoraSettings, rows: list[Row]) -> tuple[list[Row], list[Row]]:
    """The rows to train on, and those to test on. Rows of equal prompts stay together."""
    if not settings.test_every:
        return rows, []
    texts = list(dict.fromkeys(json.dumps(row["prompt"]) for row in rows))
    if len(texts) <= settings.held_out:
        raise TrainingError(
            f"The records have {len(texts)} different prompts, of which {settings.held_out} cannot be held out"
            " and others trained on: record more, lower held_out, or leave test_every at 0."
        )
    places = np.random.default_rng([settings.weighting.seed, _DRAWN]).permutation(len(texts))[: settings.held_out]
    chosen = {texts[place] for place in places}
    tested = [row for row in rows if json.dumps(row["prompt"]) in chosen]
    return [row for row in rows if json.dumps(row["prompt"]) not in chosen], tested
