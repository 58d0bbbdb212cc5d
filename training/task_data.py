"""Questions of a domain as rows that TRL, veRL and `evolve train task` read, with where they come from."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from evolve.domains import Domain, open_domain
from evolve.domains.maze import KINDS, mazes
from evolve.domains.questions import TEXT_DOMAINS, question_as_json, question_from_json
from evolve.vpo import draw_weights
from training.adapters.completions import Completion, Judge, by_domain
from training.errors import TrainingError

SPLITS = ("train", "test")
PROVENANCE, CARD = "dataset.json", "README.md"
_STRATIFIED = 7_1106  # that of the questions of a limited evaluation
_DRAWN = 7_1104  # the random stream of the weights in prompts
_CARD = """\
---
configs:
- config_name: default
  data_files:
  - split: train
    path: train.parquet
  - split: test
    path: test.parquet
---
# {domain}, {m} answers a completion

Written by `evolve train data`. `dataset.json` says from what. Load it with `datasets.load_dataset(FOLDER)`.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class DataSettings:
    """What rows hold.

    Attributes:
        domain: its name, or `module:Class`.
        m: answers that a completion is asked for.
        weights: each prompt shows weights of the objectives, for `goal_conditioned`.
        alpha: concentration of these weights.
        limit: most questions of a split. None: all.
        seed: of the weights.
    """

    domain: str
    m: int = 1
    weights: bool = False
    alpha: float = 1.0
    limit: int | None = None
    seed: int = 0


def questions_of(name: str, split: str, limit: int | None = None) -> list[Any]:
    """The questions of a split of a domain that brings them: mazes named as `maze`, and domains of your own.

    Raises:
        TrainingError: the domain has no questions of its own, or none of that split.
    """
    domain = open_domain(name)
    if name == "maze":
        return list(mazes(next(iter(KINDS)), split, limit or 1000))
    bring = getattr(domain, "questions", None)
    if not callable(bring):
        raise TrainingError(f"The domain {name} brings no questions: name the file of its data set with --data.")
    found = list(bring(split))[:limit]
    if not found:
        raise TrainingError(f"The domain {name} has no questions of the split {split}.")
    return found


def limited(name: str, questions: Sequence[Any], limit: int | None, seed: int = 0) -> list[Any]:
    """At most so many questions of a published data set, in their order: the first, and of MuSiQue a stratified draw.

    As published, the draw holds the numbers of hops in proportion.
    """
    if limit is None or limit >= len(questions):
        return list(questions)
    if name != "musique":
        return list(questions[:limit])
    rng = np.random.default_rng([seed, _STRATIFIED])
    strata: dict[int, list[int]] = {}
    for place in rng.permutation(len(questions)).tolist():
        strata.setdefault(len(questions[place].support), []).append(place)
    # The k-th of n questions of a stratum stands at (k + 1/2) / n, so that every beginning is in proportion.
    ranked = sorted(
        ((at + 0.5) / len(own), hops, place) for hops, own in strata.items() for at, place in enumerate(own)
    )
    return [questions[place] for place in sorted(place for *_, place in ranked[:limit])]


def rows_of(settings: DataSettings, split: str, questions: Sequence[Any]) -> list[dict[str, Any]]:
    """A row for each question.

    TRL reads `prompt`, a conversation, and hands the other columns on. veRL reads `prompt`, `data_source`,
    `reward_model` and `extra_info`.
    """
    domain = open_domain(settings.domain)
    rows = []
    for index, question in enumerate(questions):
        rng = np.random.default_rng([settings.seed, _DRAWN, SPLITS.index(split), index])
        shown = _weights(domain, question, settings.alpha, rng) if settings.weights else None
        text = domain.prompt(question, settings.m) + ("" if shown is None else f"\n{weights_in_words(shown)}\n")
        told = {"index": index, "split": split, "m": settings.m, "question": json.dumps(question_of(question))}
        told |= {} if shown is None else {"weights": list(shown.values())}
        rows.append({
            "prompt": [{"role": "user", "content": text}],
            **told,
            "data_source": domain.name,
            "ability": domain.name,
            "reward_model": {"style": "rule", "ground_truth": ""},
            "extra_info": told,
        })  # fmt: skip
    return rows


def weights_in_words(weights: Mapping[str, float]) -> str:
    """How a prompt shows weights of the objectives."""
    return "Weights of the objectives: " + ", ".join(f"{name} {weight:g}" for name, weight in weights.items()) + "."


def question_of(question: Any) -> Mapping[str, Any]:
    """A question as JSON."""
    return question if isinstance(question, Mapping) else question_as_json(question)


def row_judge(name: str, m: int) -> Judge:
    """Scores completions to rows of a domain: the question stands in the column `question`."""
    domain = open_domain(name)

    def asked(completion: Completion) -> Any:
        value = json.loads(completion.columns["question"])
        return question_from_json(name, value) if name in TEXT_DOMAINS else value

    return by_domain(domain, m, asked)


def write_rows(
    folder: Path, settings: DataSettings, rows: Mapping[str, Sequence[Mapping[str, Any]]], source: str
) -> None:
    """Write `train.parquet` and `test.parquet` with their origin, as a folder that `datasets.load_dataset` loads.

    Raises:
        TrainingError: the folder holds something else.
    """
    if folder.exists() and any(folder.iterdir()) and not (folder / PROVENANCE).exists():
        raise TrainingError(f"{folder} is not empty, and no data set of evolve train data: name another folder.")
    folder.mkdir(parents=True, exist_ok=True)
    datasets = import_module("datasets")
    files = {}
    for split, found in rows.items():
        path = folder / f"{split}.parquet"
        datasets.Dataset.from_list(list(found)).to_parquet(path)
        files[path.name] = {"rows": len(found), "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}
    origin = {
        "domain": settings.domain, "source": source, "answers": settings.m, "weights_in_prompts": settings.weights,
        "alpha": settings.alpha, "seed": settings.seed, "evolve": version("evolve-search"), "files": files,
    }  # fmt: skip
    (folder / PROVENANCE).write_text(json.dumps(origin, indent=1) + "\n", encoding="utf-8")
    (folder / CARD).write_text(_CARD.format(domain=settings.domain, m=settings.m), encoding="utf-8")


def _weights(domain: Domain[Any, Any], question: Any, alpha: float, rng: np.random.Generator) -> dict[str, float]:
    """Weights of the objectives in hundredths, which are what the prompt says and what is rewarded."""
    names = domain.objectives(question)
    drawn = np.round(draw_weights(len(names), rng, 1, alpha)[0], 2)
    return dict(zip(names, drawn.tolist(), strict=True))
