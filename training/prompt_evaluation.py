"""A measure of a model on prompts of runs: what its completions are worth as sets, as the evaluator scores them."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from training.adapters.completions import Completion
from training.adapters.weighting import Weighting
from training.harness import EvaluationSettings
from training.local_completions import LocalModel
from training.program_judge import COLUMN, ProgramJudge
from training.records import Records


def measure_prompts(
    settings: EvaluationSettings, adapter: Path, asked: Sequence[tuple[str, int, int]], judges: Sequence[ProgramJudge],
    read: Sequence[Records],
) -> dict[str, float]:  # fmt: skip
    """The mean set reward of a model's completions to each prompt: E_w[max over the answers of w·r].

    Completions are sampled with a seed of the prompt, so that two models are asked alike.

    Args:
        settings: of the sampling. `chains` completions are written to a prompt.
        adapter: of the model.
        asked: name of each prompt, the place of its judge, and its record there.
        judges: of the problems.
        read: the records of each judge.
    """
    model = LocalModel(settings, model=None, adapter=adapter)
    weighting = Weighting(seed=settings.seeds[0])
    values = {}
    for name, place, number in asked:
        messages = [dict(message) for message in read[place].usable[number].messages]
        (sampled,) = model.complete([messages], settings.chains, settings.seeds[0])
        completions = [
            Completion(text=text, prompt=messages, columns={COLUMN: number}, cut=cut)
            for text, cut in zip(sampled.texts, sampled.cut, strict=True)
        ]
        worth = [
            weighting.value(None if rollout is None else np.asarray(rollout), 0, name)
            for rollout in judges[place](completions)
        ]
        values[name] = float(np.mean(worth))
    return values


def find_prompts(path: Path, read: Sequence[Records]) -> list[tuple[str, int, int]]:
    """The prompts of a file of held-out records, by their place in the records of the problems."""
    places = {
        record.name: (place, number)
        for place, records in enumerate(read)
        for number, record in enumerate(records.usable)
    }
    lines: list[Mapping[str, Any]] = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    named = [(str(line["name"]), f"{line['record']['run_id']}, proposal {line['record']['number']}") for line in lines]
    return [(name, *places[record]) for name, record in named]
