"""Measures a model on the questions of a domain: n completions of m answers each, from a policy or a local model.

What was answered is kept question by question, so an interrupted evaluation continues and a finished one costs nothing.
"""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from evolve.domains import floors_of, grade, open_domain
from evolve.money import FREE, Money
from evolve.multiobjective.scalarization import Floats
from evolve.statistics.answer_sets import best_at_k, expected_max_at_k, mean_pairwise_l1, pass_at_k, volume
from training.errors import TrainingError
from training.measures import SEED, weights
from training.plots import draw_evaluation
from training.study import intervals
from training.study.markdown import cell, table

KS = (1, 2, 3, 5, 10, 15, 20, 30, 64)
CURVES = ("best", "pass", "ew")
ANSWERS, SETTINGS, FIGURES, REPORT = "answers.jsonl", "settings.json", "figures.json", "report.md"
PICTURE = "curves.svg"
ASKED = "prompt_sha256"  # of an answered question, the beginning
Key = tuple[int, int]  # of an answered question: the seed, and its place
_RIGHT = 1 - 1e-9  # a scalar from here on counts as passed


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationSettings:
    """How a model is asked. The defaults are the published protocol: 30 answers at temperature 0.7.

    Attributes:
        domain: its name, or `module:Class`.
        model: its name, or its folder.
        m: answers of a completion.
        chains: completions to a question.
        seeds: of the sampling. Each asks every question anew, so four seeds cost four times as much.
    """

    domain: str
    model: str
    m: int = 3
    chains: int = 10
    temperature: float = 0.7
    top_p: float = 1.0
    max_tokens: int = 1024
    seeds: tuple[int, ...] = (0,)

    def __post_init__(self) -> None:
        if min(self.m, self.chains, self.max_tokens, len(self.seeds)) < 1:
            raise TrainingError("m, chains, max_tokens and the number of seeds must be at least 1.")
        if not (self.temperature >= 0 and 0 < self.top_p <= 1):
            raise TrainingError("temperature must be at least 0, and top_p above 0 and at most 1.")
        if not self.temperature and (self.chains > 1 or len(self.seeds) > 1):
            raise TrainingError("At temperature 0 all completions are the same: ask for --chains 1 and a single seed.")


@dataclass(frozen=True, slots=True, kw_only=True)
class SampledCompletions:
    """The completions of a prompt.

    Attributes:
        texts: of the completions.
        cut: of each, whether it ran out of tokens.
        prompt_tokens, completion_tokens: of all requests together.
        cost: None: the model has no price.
    """

    texts: tuple[str, ...]
    cut: tuple[bool, ...]
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: Money | None = None


class CompletionSource(Protocol):
    """Where completions come from: a policy, or a model in this process.

    Attributes:
        batch: prompts of a call.
        concurrency: calls at once.
    """

    batch: int
    concurrency: int

    def complete(self, prompts: Sequence[str], count: int, seed: int) -> Sequence[SampledCompletions]:
        """So many completions of each prompt.

        Raises:
            TrainingError: there are none.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationProgress:
    """How far an evaluation is.

    Attributes:
        answered, questions: over all seeds.
        known: answered before this evaluation began, as it continues another.
        tokens: of prompts and completions so far.
        cost: so far. None: the model has no price.
    """

    answered: int
    questions: int
    known: int
    tokens: int
    cost: Money | None

    def after(self, more: "EvaluationProgress") -> "EvaluationProgress":
        """The progress with further questions answered."""
        cost = None if self.cost is None or more.cost is None else self.cost + more.cost
        return replace(self, answered=self.answered + more.answered, tokens=self.tokens + more.tokens, cost=cost)


def evaluate_model(
    settings: EvaluationSettings,
    questions: Sequence[Any],
    source: CompletionSource,
    folder: Path,
    report: Callable[[EvaluationProgress], None] = lambda _: None,
) -> dict[str, float]:
    """Answer all questions that are not answered yet, and write `figures.json` and `report.md`. Returns mean figures.

    Raises:
        TrainingError: the folder holds an evaluation with other settings, or of other questions, or the model gives no
            completions.
    """
    _claim(folder, settings)
    path = folder / ANSWERS
    known = _known(path)
    wanted = [(seed, place) for seed in settings.seeds for place in range(len(questions))]
    missing = [key for key in wanted if key not in known]
    domain = open_domain(settings.domain)
    prompts = [domain.prompt(question, settings.m) for question in questions]
    if any(known[key].get(ASKED) != _digest(prompts[key[1]]) for key in wanted if key in known):
        raise TrainingError(f"{folder} holds answers to other questions: name another folder.")

    def answer(keys: Sequence[Key]) -> list[dict[str, Any]]:
        asked = [questions[place] for _, place in keys]
        found = source.complete([prompts[place] for _, place in keys], settings.chains, keys[0][0])
        return [_line(domain, settings, *row) for row in zip(keys, asked, found, strict=True)]

    begun = [known[key] for key in wanted if key in known]
    progress = _progress(begun, len(wanted), len(begun))
    with ThreadPoolExecutor(source.concurrency) as pool, path.open("a", encoding="utf-8") as log:
        for answered in pool.map(answer, _batches(missing, source.batch)):
            log.write("".join(json.dumps(line) + "\n" for line in answered))
            log.flush()
            progress = progress.after(_progress(answered, len(wanted), len(begun)))
            report(progress)
    return _summarise(settings, _known(path), len(questions), folder)


def _batches(missing: Sequence[Key], size: int) -> list[list[Key]]:
    """Groups of keys of the same seed."""
    return [
        own[start : start + size]
        for seed in dict.fromkeys(seed for seed, _ in missing)
        for own in [[key for key in missing if key[0] == seed]]
        for start in range(0, len(own), size)
    ]


def _line(
    domain: Any, settings: EvaluationSettings, key: Key, question: Any, found: SampledCompletions
) -> dict[str, Any]:
    if len(found.texts) != settings.chains:
        raise TrainingError(f"{len(found.texts)} of {settings.chains} completions came: ask for fewer --chains.")
    graded = [grade(domain, question, text, settings.m, cut) for text, cut in zip(found.texts, found.cut, strict=True)]
    return {
        "seed": key[0], "question": key[1], ASKED: _digest(domain.prompt(question, settings.m)),
        "rewards": [one.rewards.tolist() for one in graded],
        "unread": sum(all(answer is None for answer in one.reply.answers) for one in graded),
        "cut": list(found.cut), "floors": list(floors_of(domain, question).values()),
        "prompt_tokens": found.prompt_tokens, "completion_tokens": found.completion_tokens,
        "cost": None if found.cost is None else str(found.cost), "completions": list(found.texts),
    }  # fmt: skip


def _digest(prompt: str) -> str:
    return hashlib.sha256(prompt.encode()).hexdigest()[:16]


def _progress(lines: Sequence[Mapping[str, Any]], count: int, known: int) -> EvaluationProgress:
    tokens = sum(line["prompt_tokens"] + line["completion_tokens"] for line in lines)
    return EvaluationProgress(answered=len(lines), questions=count, known=known, tokens=tokens, cost=_cost(lines))


def _cost(lines: Sequence[Mapping[str, Any]]) -> Money | None:
    """What all answers cost. None where the price of any is not known."""
    if any(line["cost"] is None for line in lines):
        return None
    return sum((Money.read(line["cost"]) for line in lines), FREE)


def figures_of(domain: Any, rewards: Floats, floors: Sequence[float]) -> dict[str, float]:
    """The figures of the answers to a question, (n, k), in the order drawn.

    `best@k` is the expected best scalar of k answers, `pass@k` the probability that one of k earns the full scalar,
    `ew@k` E_w of the best of k. `volume` is the hypervolume above the floors, `diversity` the mean L1 distance.
    """
    scalars = np.array([domain.scalar(row) for row in rewards])
    drawn = weights(rewards.shape[1])
    n, passed = len(rewards), int((scalars >= _RIGHT).sum())
    found: dict[str, float] = {}
    for k in (k for k in KS if k <= n):
        found[f"best@{k}"] = float(best_at_k(scalars, k))
        found[f"pass@{k}"] = float(pass_at_k(n, passed, k))
        found[f"ew@{k}"] = expected_max_at_k(rewards, drawn, k)
    found["volume"] = volume(rewards, floors, np.random.default_rng(SEED))
    found["diversity"] = mean_pairwise_l1(rewards)
    return found


def _claim(folder: Path, settings: EvaluationSettings) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    path, told = folder / SETTINGS, json.loads(json.dumps(asdict(settings)))
    if path.exists():
        before = json.loads(path.read_text(encoding="utf-8"))
        # More seeds continue an evaluation. All else makes it another.
        if {**before, "seeds": None} != {**told, "seeds": None}:
            raise TrainingError(f"{folder} holds an evaluation with other settings: name another folder.")
    path.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")


def _known(path: Path) -> dict[Key, Mapping[str, Any]]:
    """The answered questions; a line that was cut off by a crash is not one of them."""
    found: dict[Key, Mapping[str, Any]] = {}
    kept = []
    for text in path.read_text(encoding="utf-8").splitlines(keepends=True) if path.exists() else []:
        try:
            line = json.loads(text)
        except ValueError:
            continue
        found[line["seed"], line["question"]] = line
        kept.append(text)
    path.write_text("".join(kept), encoding="utf-8")
    return found


def _summarise(
    settings: EvaluationSettings, known: Mapping[Key, Mapping[str, Any]], count: int, folder: Path
) -> dict[str, float]:
    domain = open_domain(settings.domain)
    rows = {
        key: figures_of(domain, np.concatenate([np.array(chain) for chain in line["rewards"]]), line["floors"])
        for key, line in known.items()
    }
    names = list(next(iter(rows.values())))
    tables = {name: [[rows[seed, place][name] for place in range(count)] for seed in settings.seeds] for name in names}
    means = {name: intervals.mean(values) for name, values in tables.items()}
    answered = [known[seed, place] for seed in settings.seeds for place in range(count)]
    tokens = {
        name: sum(int(line[name]) for line in answered) for name in ("prompt_tokens", "completion_tokens", "unread")
    }
    cost = _cost(answered)
    figures = {name: {"value": found.value, "low": found.low, "high": found.high} for name, found in means.items()}
    told = {"figures": figures, **tokens, "completions": len(answered) * settings.chains}
    told |= {} if cost is None else {"cost": str(cost)}
    (folder / FIGURES).write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
    ks = [k for k in KS if f"best@{k}" in means]
    curves = [[name, *(cell(means[f"{name}@{k}"]) for k in ks)] for name in CURVES]
    others = [[name, cell(means[name])] for name in ("volume", "diversity")]
    seeds = "1 seed" if len(settings.seeds) == 1 else f"{len(settings.seeds)} seeds"
    text = (
        f"# {settings.model} on {settings.domain}\n\n{count} questions, {seeds},"
        f" {settings.chains} completions of {settings.m} answers at temperature {settings.temperature:g} and top-p"
        f" {settings.top_p:g}. Intervals are Student's, over questions and seeds.\n\n"
        f"{table(['', *(f'k = {k}' for k in ks)], curves)}\n\n{table(['figure', 'mean'], others)}\n\n"
        f"Completions without a readable answer: {tokens['unread']:,} of {told['completions']:,}.\n\n"
        f"Cost: {'' if cost is None else f'{cost}, '}{tokens['prompt_tokens']:,} prompt tokens,"
        f" {tokens['completion_tokens']:,} completion tokens.\n"
    )
    (folder / REPORT).write_text(text, encoding="utf-8")
    if find_spec("matplotlib") is not None:
        draw_evaluation(ks, {name: [means[f"{name}@{k}"] for k in ks] for name in CURVES}, folder / PICTURE)
    return {name: found.value for name, found in means.items()} | {name: float(sum_) for name, sum_ in tokens.items()}
