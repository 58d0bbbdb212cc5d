"""Updates of a policy within its run beside the frozen policy: `python -m benchmarks.within_run FOLDER`.

Each variant searches the same fresh hard mazes with the same seeds. The search, its prompts, its bandit over versions,
and the updates are those of the product. An update takes place between two proposals, as in a deterministic run.
The plan is in docs/study.md, and was settled before the first run.

Everything is kept in the folder, a file for each variant and seed. A call continues what was interrupted.
`results.json` holds the tables and the figures of every maze.
"""

import argparse
import json
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from benchmarks.harness import report
from evolve.change_events import PolicyUpdated, RequestedChange
from evolve.configuration import LearningConfig
from evolve.domains.maze import OBJECTIVES, Maze, maze_of, optimum
from evolve.identity import update_id
from evolve.multiobjective.scalarization import Floats
from evolve.proposal import Answer, CompletedReply, Proposal, Usage
from evolve.search.ensemble import PolicyRequest
from evolve.search.learning import DueUpdate
from evolve.search.search import Search
from evolve.statistics.intervals import Estimate
from evolve.statistics.t_distribution import quantile
from service.cli.study import problem_of
from service.policy.bundled.model import Model, load_model
from service.policy.bundled.sampling import SampledChain, generate
from training.answered_prompts import AnsweredPrompt, UpdateSettings
from training.errors import TrainingError
from training.export import export, read_model
from training.llama import Weights
from training.measures import EQUAL
from training.recipe import Shape
from training.study.plan import HARD, PROPOSED, TRIED
from training.study.searching import evaluate, prompt_ids
from training.within_run import update

if TYPE_CHECKING:
    from evolve.problem import Problem

FIRST = 300_000  # number of the first maze, far from all that other comparisons search
TUNED = 350_000  # of those on which the rate was chosen
BUDGETS = (256, 512, 1024)
NEAR = 0.95  # a share of the optimum
START = "start"
LEARNING = LearningConfig(every=8, updates=8, divergence=0.0)
VARIANTS: Mapping[str, LearningConfig] = {
    "off": LearningConfig(),
    "entropic": LEARNING,
    "entropic, KL": replace(LEARNING, divergence=0.1),
    "entropic, replay": replace(LEARNING, replay=0.1),
    "PKPO, k 8 to 1": replace(LEARNING, objective="pkpo"),
    "PKPO, KL, replay": replace(LEARNING, objective="pkpo", divergence=0.1, replay=0.1),
    "entropic, KL, from 32": replace(LEARNING, divergence=0.1, after=32, updates=5),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class WithinRunSize:
    """How much is done.

    Attributes:
        mazes: of a seed. No two seeds share one.
        evaluations: of a run.
        rate: of the updates.
        first: number of the first maze.
    """

    seeds: int = 5
    mazes: int = 8
    evaluations: int = 1024
    rate: float = 1e-4
    first: int = FIRST


class _Run:
    """A run on a maze.

    Attributes:
        path: best mean of the objectives so far, by evaluation.
        asked: proposals by version: 0 is the policy of the start.
        spent: processor seconds of updates.
    """

    def __init__(self, number: int, seed: int, learning: LearningConfig, size: WithinRunSize, start: "_Start") -> None:
        self.maze: Maze = maze_of(HARD, "questions", number)
        self.problem: Problem = problem_of(HARD, "questions", number)
        self.path: list[float] = []
        self.asked: dict[int, int] = {}
        self.spent = 0.0
        self.figures: list[Mapping[str, float]] = []
        self._start, self._size, self._seed, self._best = start, size, seed, 0.0
        self._learning = replace(learning, rate=size.rate) if learning.every else learning
        self._models: dict[str, Model] = {START: start.model}
        self._weights: Weights = start.weights
        self._prompts: list[tuple[int, AnsweredPrompt]] = []
        config = TRIED[0].configuration("islands", size.evaluations + PROPOSED, seed * 1000 + number % 1000)
        self._run_id = f"run_{number}"
        request = PolicyRequest(policy=START, answers=1, samples=PROPOSED)
        self._search = Search(self._run_id, self.problem, replace(config, learning=self._learning), request)
        self._score(self._search.start().candidates)

    def ask(self) -> list[tuple[Model, Proposal]]:
        if len(self.path) >= self._size.evaluations:
            return []
        state = self._search.state
        if (due := state.changes.learning.next(state.asked, (), {})) is not None:
            self._update(due)
        proposals = self._search.ask().proposals
        for proposal in proposals:
            version = int(proposal.policy.partition("@")[2] or 0)
            self.asked[version] = self.asked.get(version, 0) + 1
        return [(self._models[proposal.policy], proposal) for proposal in proposals]

    def answer(self, proposal: Proposal, ids: Sequence[int], chains: Sequence[SampledChain]) -> None:
        rewards, fitness = [], list[float | None]()
        for number, chain in enumerate(chains):
            found: list[tuple[Floats, float]] = []
            if number < proposal.limit and (text := _walk(chain)) is not None:
                answer = Answer(chain=number, index=0, text=text)
                found = self._score(self._search.answer(proposal.number, answer).candidates)
            rewards.append(np.array([found[0][0] if found else np.zeros(len(OBJECTIVES))]))
            fitness.append(found[0][1] if found else None)
        usage = Usage(output=sum(len(chain.ids) for chain in chains))
        texts = tuple(chain.text for chain in chains)
        self._search.complete(proposal.number, CompletedReply(completions=texts, usage=usage))
        replies = [chain.ids for chain in chains]
        prompt = AnsweredPrompt(ids=ids, replies=replies, rewards=rewards, fitness=fitness)
        self._prompts.append((proposal.number, prompt))

    def _score(self, candidates: Sequence[Any]) -> list[tuple[Floats, float]]:
        found = []
        for candidate in candidates:
            evaluation = evaluate(self.problem, self.maze, candidate.program)
            self._search.tell(candidate.id, evaluation)
            if evaluation.ok:
                scores = np.array([evaluation.scores[name] for name in OBJECTIVES])
                self._best = max(self._best, float(scores.mean()))
                found.append((scores, float(scores.mean())))
            self.path.append(self._best)
        return found

    def _update(self, due: DueUpdate) -> None:
        began = time.process_time()
        settings = UpdateSettings(
            objective=self._learning.objective,
            k=due.k,
            rate=self._learning.rate,
            divergence=self._learning.divergence,
            replay=self._learning.replay,
            seed=self._seed,
        )
        batch = [prompt for number, prompt in self._prompts if number > due.after]
        archive = [prompt for _, prompt in self._prompts]
        name, reason, figures = f"{self._run_id}@{due.number}", "", dict[str, float]()
        try:
            start = self._start
            found, figures = update(self._weights, start.weights, start.shape, batch, archive, settings)
            with TemporaryDirectory() as folder:
                export(found, start.shape, Path(folder) / "model", m=1, card="")
                self._models[name] = load_model(Path(folder) / "model")
                self._weights = read_model(Path(folder) / "model")[0]
        except TrainingError as error:
            name, reason = "", str(error)
        self.spent += time.process_time() - began
        self.figures.append(figures)
        told = PolicyUpdated(
            change_id=update_id(self._run_id, due.number),
            by="",
            number=due.number,
            policy=name,
            start=START,
            base=due.newest or START,
            answered=due.answered,
            through=due.through,
            figures=figures,
            seconds=0.0,
            reason=reason,
        )
        self._search.change(RequestedChange(data=told))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Start:
    """The policy that runs begin with."""

    model: Model
    weights: Weights
    shape: Shape

    @classmethod
    def read(cls, folder: Path) -> "_Start":
        weights, shape = read_model(folder)
        return cls(model=load_model(folder), weights=weights, shape=shape)


def _walk(chain: SampledChain) -> str | None:
    """The answer of a chain in its tag. None: it is not closed."""
    before, opened, rest = chain.text.partition("<route_1>")
    walk, closed, _ = rest.partition("</route_1>")
    return f"{walk.strip()}\n" if opened and closed and not before.strip() else None


def run_seed(variant: str, seed: int, size: WithinRunSize, start: _Start) -> dict[str, Any]:
    """A variant on the mazes of a seed."""
    began = time.process_time()
    numbers = range(size.first + seed * size.mazes, size.first + (seed + 1) * size.mazes)
    runs = [_Run(number, seed, VARIANTS[variant], size, start) for number in numbers]
    longest = max(run.maze.limit for run in runs) + 3
    while asked := [(run, model, proposal) for run in runs for model, proposal in run.ask()]:
        asked.sort(key=lambda one: (id(one[1]), one[2].samples))
        for (_, samples), group in groupby(asked, key=lambda one: (id(one[1]), one[2].samples)):
            some = list(group)
            ids = [prompt_ids(model, run.problem, proposal) for run, model, proposal in some]
            seeds = [proposal.seed for _, _, proposal in some]
            written = generate(some[0][1], ids, samples=samples, max_tokens=longest, temperature=1.0, seeds=seeds)
            for (run, _, proposal), prompt, chains in zip(some, ids, written, strict=True):
                run.answer(proposal, prompt, chains)
    paths = [_padded(run.path, size.evaluations) for run in runs]
    optima = [float(optimum(run.maze, EQUAL)) for run in runs]
    budgets = [budget for budget in BUDGETS if budget <= size.evaluations]
    return {
        "variant": variant,
        "seed": seed,
        "best": {
            str(budget): [round(path[budget - 1] / best, 6) for path, best in zip(paths, optima, strict=True)]
            for budget in budgets
        },
        "evaluations": [len(run.path) for run in runs],
        "proposals": [{str(version): count for version, count in sorted(run.asked.items())} for run in runs],
        "divergence": [[round(figures.get("divergence", 0.0), 5) for figures in run.figures] for run in runs],
        "new": [[round(figures.get("new", 0.0), 3) for figures in run.figures] for run in runs],
        "update_seconds": round(sum(run.spent for run in runs), 2),
        "seconds": round(time.process_time() - began, 2),
    }


def _padded(path: Sequence[float], length: int) -> list[float]:
    """A path of a search that ended early keeps its last best."""
    return [*path[:length], *[path[-1]] * (length - len(path))]


def tables(found: Sequence[Mapping[str, Any]], size: WithinRunSize) -> dict[str, Any]:
    """Means of every variant and differences from the frozen policy, paired by maze. Every pair has a maze of its own.

    `simultaneous` is the interval with which all variants are compared at once. `equal time` is the frozen policy with
    1,024 evaluations, which takes less time than a variant with 512.
    """
    shown: dict[str, Any] = {}
    offs = {one["seed"]: one for one in found if one["variant"] == "off"}
    for variant in VARIANTS:
        own = [one for one in found if one["variant"] == variant and one["seed"] in offs]
        if not own:
            continue
        rows: dict[str, Any] = {"mazes": len(own) * size.mazes}
        for budget in (str(budget) for budget in BUDGETS if budget <= size.evaluations):
            mine, theirs = _values(own, budget), _values([offs[one["seed"]] for one in own], budget)
            for name, of in (("best", _plain), ("near", _near), ("solved", _solved)):
                rows[f"{name}@{budget}"] = round(float(of(mine).mean()), 4)
                rows[f"{name}@{budget} - off"] = _difference(of(mine) - of(theirs)).signed
            rows[f"best@{budget} - off, simultaneous"] = _difference(mine - theirs, 0.05 / (len(VARIANTS) - 1)).signed
        if size.evaluations >= max(BUDGETS):
            longer = _values([offs[one["seed"]] for one in own], str(max(BUDGETS)))
            rows["best@512 - off@1024, equal time"] = _difference(_values(own, "512") - longer).signed
        rows["seconds"] = round(float(np.mean([one["seconds"] for one in own])) / size.mazes, 2)
        rows["update_seconds"] = round(float(np.mean([one["update_seconds"] for one in own])) / size.mazes, 2)
        shown[variant] = rows
    return shown


def _values(found: Sequence[Mapping[str, Any]], budget: str) -> Floats:
    return np.concatenate([one["best"][budget] for one in found])


def _difference(pairs: Floats, missed: float = 0.05) -> Estimate:
    """The mean of paired differences with Student's interval."""
    value = float(pairs.mean())
    reach = quantile(1 - missed / 2, pairs.size - 1) * float(pairs.std(ddof=1)) / math.sqrt(pairs.size)
    return Estimate(value=value, low=value - reach, high=value + reach)


def _plain(table: Floats) -> Floats:
    return table


def _near(table: Floats) -> Floats:
    return np.asarray((table >= NEAR).astype(float))


def _solved(table: Floats) -> Floats:
    return np.asarray((table >= 1 - 1e-9).astype(float))


def main() -> None:
    """Search with every variant and seed, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="folder for all results")
    policies = Path(__file__).parent / "policies"
    parser.add_argument("--start", type=Path, default=policies / "max_at_k-s0", help="model folder of the policy")
    parser.add_argument("--variants", default=",".join(map(str, range(len(VARIANTS)))), help="numbers, from 0: off")
    for name in ("seeds", "mazes", "evaluations", "first"):
        parser.add_argument(f"--{name}", type=int, default=getattr(WithinRunSize(), name))
    parser.add_argument("--rate", type=float, default=WithinRunSize().rate)
    words = vars(parser.parse_args())
    folder, start, chosen = words.pop("folder"), words.pop("start"), words.pop("variants")
    size, names = WithinRunSize(**words), list(VARIANTS)
    torch.set_num_threads(1)
    folder.mkdir(parents=True, exist_ok=True)
    model, found = _Start.read(start), []
    for seed in range(size.seeds):
        for variant in (names[int(number)] for number in chosen.split(",")):
            path = folder / f"{names.index(variant)}-{seed}.json"
            if not path.exists():
                path.write_text(json.dumps(run_seed(variant, seed, size, model)) + "\n", encoding="utf-8")
            found.append(json.loads(path.read_text(encoding="utf-8")))
            print(variant, seed, found[-1]["seconds"], flush=True)
    report("within_run", {"size": words, **tables(found, size), "raw": found}, folder / "results.json")


if __name__ == "__main__":
    main()
