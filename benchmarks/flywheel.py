"""Rounds of search, training, gate and promotion beside a frozen policy: `python -m benchmarks.flywheel FOLDER`.

Each round searches fresh hard mazes with the promoted policy, trains it on all mazes searched so far, and asks the
evaluation gate. The frozen policy searches the same mazes with the same seeds, with as many evaluations, and with
further evaluations for the tokens that the last training wrote. Mazes of searches are of the split `questions`, those
of the gate of `test`. The search, its prompts and the gate are those of the product.

Settled before the first run:
* H1: after a training, the promoted policy solves more mazes within 512 evaluations than the frozen policy.
* H2: it solves more than the frozen policy with further evaluations for the tokens of the training.
* Measured: share of mazes whose exact optimum is found (`solved`), within 256 and 512 evaluations. Beside it the share
  found to 95 % of the optimum (`near`) and the best as a share of the optimum (`best`).
* Three seeds of training and search, each with mazes of its own. All rounds after the first training count, paired by
  maze. An interval is the wider of Student's over seeds and over mazes. A hypothesis holds if it lies above zero.

Everything is kept in the folder: the searches evaluation by evaluation, and `rounds.jsonl` with the trainings and the
gate. A call continues what was interrupted. `results.json` holds the tables and the figures of every maze.
"""

import argparse
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.harness import report
from evolve.domains.maze import Maze, maze_of, mazes, render
from evolve.multiobjective.scalarization import Floats
from service.cli.study import problem_of
from service.ports import PolicyEvaluation
from service.projections.policy_gate import summarize_evaluation
from training.evaluation import figures_of_mazes
from training.export import read_model
from training.maze import REINFORCE, RunFolder, base_of, keep_model, reinforce
from training.recipe import Recipe, Reinforcement, reinforcement_of
from training.study import intervals
from training.study.contenders import Contender
from training.study.plan import HARD, TRIED
from training.study.raw import Store
from training.study.searching import Paths, SearchTask
from training.training_log import TrainingLog

FIRST = 100_000  # number of the first maze, far from all that other comparisons search
BUDGETS = (256, 512)
NEAR = 0.95  # a share of the optimum


@dataclass(frozen=True, slots=True, kw_only=True)
class FlywheelSize:
    """How much is done.

    Attributes:
        rounds: trainings of a seed. One more search follows the last.
        searched: mazes of a round.
        further: evaluations at which the frozen policy ends.
        steps, asked: updates of a training, and mazes of an update.
        tested: mazes of the gate.
    """

    seeds: int = 3
    rounds: int = 4
    searched: int = 8
    further: int = 1024
    steps: int = 18
    asked: int = 8
    tested: int = 48
    method: str = "vector_max_at_k"
    k: int = 16

    @property
    def recipe(self) -> Recipe:
        """Of a training, with seed 0."""
        learnt = replace(reinforcement_of(self.method), k=self.k, steps=self.steps, mazes=self.asked)
        return replace(Recipe(kinds=(HARD,)), reinforcement=learnt)

    def first(self, seed: int, number: int) -> int:
        """Number of the first maze of a round."""
        return FIRST + (seed * (self.rounds + 1) + number) * self.searched


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundResult:
    """What a round has found, with a value a maze.

    Attributes:
        own, frozen: best mean of the objectives as a share of the optimum, by evaluations.
        further: that of the frozen policy with further evaluations for the tokens of the last training.
        tokens: written in the search of 512 evaluations, by policy.
    """

    own: Mapping[int, Floats]
    frozen: Mapping[int, Floats]
    further: Floats
    tokens: Mapping[str, float]


def run_seed(size: FlywheelSize, seed: int, base: Path, folder: Path) -> list[RoundResult]:
    """The rounds of a seed."""
    store, results, learnt = Store(folder=folder / "raw"), [], 0.0
    frozen, own, seen = contender(base, "frozen"), contender(base, "frozen"), list[Maze]()
    for number in range(size.rounds + 1):
        results.append(_searched(size, seed, number, (own, frozen), learnt, store))
        first = size.first(seed, number)
        seen += [maze_of(HARD, "questions", maze) for maze in range(first, first + size.searched)]
        if number < size.rounds:
            own, learnt = _trained(size, seed, number, own, seen, folder)
    return results


def contender(folder: Path, name: str) -> Contender:
    """A model folder, asked for single answers."""
    digest = hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()[:16]
    return Contender(method=name, seed=0, folder=folder, m=1, digest=digest)


def _searched(
    size: FlywheelSize, seed: int, number: int, policies: tuple[Contender, Contender], learnt: float, store: Store
) -> RoundResult:
    own, frozen = policies
    task = SearchTask(
        contender=frozen,
        strategy="islands",
        settings=TRIED[0],
        split="questions",
        mazes=size.searched,
        evaluations=size.further,
        temperature=1.0,
        seed=seed,
        first=size.first(seed, number),
    )
    theirs = _read(task, store)
    same = own.digest == frozen.digest
    ours = theirs if same else _read(replace(task, contender=own, evaluations=max(BUDGETS)), store)
    spent = np.nanmax(ours.tokens[:, : max(BUDGETS)], axis=1)
    within = (theirs.tokens <= spent[:, None] + learnt / size.searched) | (np.arange(size.further) < max(BUDGETS))
    return RoundResult(
        own={budget: _share(ours, np.arange(ours.best.shape[1]) < budget) for budget in BUDGETS},
        frozen={budget: _share(theirs, np.arange(size.further) < budget) for budget in BUDGETS},
        further=_share(theirs, within),
        tokens={
            "own": float(spent.mean()),
            "frozen": float(np.nanmax(theirs.tokens[:, : max(BUDGETS)], axis=1).mean()),
            "further": float(np.where(within, np.nan_to_num(theirs.tokens), 0).max(axis=1).mean()),
            "training": learnt / size.searched,
        },
    )


def _read(task: SearchTask, store: Store) -> Paths:
    if not store.has(task.key):
        print(f"search {task.contender.name}, mazes from {task.first}", flush=True)
        store.write(task.key, task.run(problem_of))
    return task.read(store)


def _share(paths: Paths, counted: Any) -> Floats:
    best: Floats = np.where(counted, np.nan_to_num(paths.best), 0.0).max(axis=1) / paths.optimum
    return best


def _trained(
    size: FlywheelSize, seed: int, number: int, policy: Contender, seen: Sequence[Maze], folder: Path
) -> tuple[Contender, float]:
    """The policy that is promoted after a training, and the tokens that the training wrote."""
    place, told = folder / f"seed-{seed}" / f"round-{number + 1}", folder / "rounds.jsonl"
    model = place / size.method
    recipe = replace(size.recipe, seed=seed * 100 + number)
    if not model.exists():
        print(f"train seed {seed}, round {number + 1}", flush=True)
        weights = reinforce(recipe, base_of(policy.folder, recipe), RunFolder(folder=place), lambda _: None, seen)
        keep_model(weights, recipe, model, f"Round {number + 1} of seed {seed}.")
    lines = [line for line in TrainingLog(place / "journal.jsonl").lines() if line["stage"] == REINFORCE]
    trained = contender(model, f"s{seed}r{number + 1}")
    found = _gate(size, trained, policy, place)
    tokens = sum(float(line["tokens"]) for line in lines)
    row = {"seed": seed, "round": number + 1, "base": policy.name, "tokens": tokens, "gate": found}
    with told.open("a", encoding="utf-8") as file:
        file.write(json.dumps(row) + "\n")
    return (trained if found["low"] > 0 else policy), tokens


def _gate(size: FlywheelSize, trained: Contender, policy: Contender, place: Path) -> dict[str, Any]:
    """The evaluation against the promoted policy, as the product has it: best@16 on mazes of the test split."""
    path = place / "gate.json"
    if not path.exists():
        asked = mazes(HARD, "test", size.tested)
        values, baseline = (_best_at_16(one.folder, asked) for one in (trained, policy))
        names = [hashlib.sha256(render(maze).encode()).hexdigest()[:12] for maze in asked]
        evaluation = PolicyEvaluation(against=1, metric="best@16", problems=names, values=values, baseline=baseline)
        path.write_text(json.dumps(summarize_evaluation(evaluation)) + "\n", encoding="utf-8")
    found = json.loads(path.read_text(encoding="utf-8"))
    return {name: found[name] for name in ("mean", "baseline_mean", "difference", "low", "high")}


def _best_at_16(folder: Path, asked: Sequence[Maze]) -> list[float]:
    weights, shape = read_model(folder)
    return [found["best@16"] for found in figures_of_mazes(weights, shape, asked, Reinforcement(m=1, answers=32))]


def tables(size: FlywheelSize, found: Sequence[Sequence[RoundResult]]) -> dict[str, Any]:
    """Means by round, and differences from the frozen policy after the first training, with intervals."""
    later = [list(results[1:]) for results in found]
    return {
        "rounds": [_round([results[number] for results in found]) for number in range(size.rounds + 1)],
        "after_training": {
            "evaluations": {str(budget): _lead(later, budget, further=False) for budget in BUDGETS},
            "equal_tokens": _lead(later, max(BUDGETS), further=True),
        },
    }


def raw(found: Sequence[Sequence[RoundResult]]) -> list[dict[str, Any]]:
    """What every round of every seed has found, maze by maze."""
    return [
        {
            "seed": seed,
            "round": number + 1,
            "own": {str(budget): np.round(values, 6).tolist() for budget, values in one.own.items()},
            "frozen": {str(budget): np.round(values, 6).tolist() for budget, values in one.frozen.items()},
            "further": np.round(one.further, 6).tolist(),
            "tokens": dict(one.tokens),
        }
        for seed, results in enumerate(found)
        for number, one in enumerate(results)
    ]


def _round(results: Sequence[RoundResult]) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "tokens": {name: float(np.mean([one.tokens[name] for one in results])) for name in results[0].tokens}
    }
    for budget in BUDGETS:
        for name in ("own", "frozen"):
            table = np.stack([getattr(one, name)[budget] for one in results])
            shown[f"{name}@{budget}"] = _figures(table)
    return shown | {"further": _figures(np.stack([one.further for one in results]))}


def _figures(table: Floats) -> dict[str, str]:
    return {
        "solved": str(intervals.mean(_solved(table))),
        "near": str(intervals.mean(_near(table))),
        "best": str(intervals.mean(table)),
    }


def _lead(later: Sequence[Sequence[RoundResult]], budget: int, *, further: bool) -> dict[str, str]:
    own = np.stack([np.concatenate([one.own[budget] for one in results]) for results in later])
    other = np.stack(
        [np.concatenate([one.further if further else one.frozen[budget] for one in results]) for results in later]
    )
    measures: dict[str, Callable[[Floats], Floats]] = {"solved": _solved, "near": _near, "best": lambda table: table}
    return {name: intervals.difference(of(own), of(other)).signed for name, of in measures.items()}


def _solved(table: Floats) -> Floats:
    return np.asarray((table >= 1 - 1e-9).astype(float))


def _near(table: Floats) -> Floats:
    return np.asarray((table >= NEAR).astype(float))


def main() -> None:
    """Run the rounds of every seed, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="folder for all results")
    parser.add_argument("--base", type=Path, default=Path(__file__).parents[1] / "models" / "maze-base")
    for name in ("seeds", "rounds", "searched", "further", "steps", "asked", "tested"):
        parser.add_argument(f"--{name}", type=int, default=getattr(FlywheelSize(), name))
    words = vars(parser.parse_args())
    folder, base = words.pop("folder"), words.pop("base")
    size = FlywheelSize(**words)
    torch.set_num_threads(1)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "rounds.jsonl").unlink(missing_ok=True)
    found = [run_seed(size, seed, base, folder) for seed in range(size.seeds)]
    gates = [json.loads(line) for line in (folder / "rounds.jsonl").read_text(encoding="utf-8").splitlines()]
    figures = {"size": words, "trainings": gates, **tables(size, found), "mazes": raw(found)}
    report("flywheel", figures, folder / "results.json")


if __name__ == "__main__":
    main()
