"""The measurements of a method under a condition, as tables of (training seeds, mazes) for means."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from evolve.domains.maze import OBJECTIVES, Maze, optimum
from evolve.multiobjective.scalarization import Floats
from evolve.statistics.answer_sets import best_at_k, chain_best_at_k, chain_pass_at_k, volume
from training.measures import EQUAL, SEED, measure, weights
from training.study.sampling import Answers
from training.study.searching import Paths

PARTS = ("best", "solved", "ew")
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodTable:
    """A method under a condition.

    Attributes:
        seeds: of training, as the rows of the tables.
        tables: (seeds, mazes) by the name of the figure.
        tokens: mean tokens of an answer.
        temperature: of its sampling.
    """

    seeds: tuple[int, ...]
    tables: Mapping[str, Floats]
    tokens: float
    temperature: float

    def rows(self, name: str, seeds: Sequence[int]) -> Floats:
        """The rows of some seeds."""
        return self.tables[name][[self.seeds.index(seed) for seed in seeds]]

    def repeated(self, seeds: tuple[int, ...]) -> "MethodTable":
        """The figures of a single policy, as those of each of some trainings."""
        tables = {name: np.repeat(table, len(seeds), axis=0) for name, table in self.tables.items()}
        return replace(self, seeds=seeds, tables=tables)


def common(one: MethodTable, other: MethodTable) -> tuple[int, ...]:
    """Training seeds that both have."""
    return tuple(seed for seed in one.seeds if seed in other.seeds)


def tokens_for_an_answer(found: Answers, answers: int) -> float:
    """Tokens written for one of the first answers to each maze, in the mean."""
    m = found.rewards.shape[1] // found.tokens.shape[1]
    return float(found.tokens[:, : answers // m].sum() / (len(found.tokens) * answers))


def tokens_in_search(paths: Paths) -> float:
    """Tokens written for an answer, in the mean over searches."""
    return float(np.nanmax(paths.tokens, axis=1).sum() / max(1.0, np.nanmax(paths.answers, axis=1).sum()))


def figures(maze: Maze, rewards: Floats, m: int, ks: Sequence[int], fitting: Mapping[int, float]) -> dict[str, float]:
    """Figures of the answers to a maze.

    Args:
        rewards: (n, 4), chain by chain.
        m: answers of a chain.
        ks: sizes of sets.
        fitting: for each of `ks`, the number of answers that fit its tokens, which may be fractional.

    Returns:
        The result of `measure`. For k that are chains of m, the same for whole chains (`chain-best@k`,
            `chain-solved@k`, `chain-ew@k`). At equal tokens (`tokens-best@k`, `tokens-solved@k`, `tokens-ew@k`), linear
            between whole numbers of answers, if at least one answer fits.
    """
    n = len(rewards)
    whole = {k: int(np.floor(fit + _ROUNDING)) for k, fit in fitting.items() if 1 - _ROUNDING <= fit <= n + _ROUNDING}
    between = {size for floor in whole.values() for size in (floor, min(floor + 1, n))}
    found = measure(maze, rewards, sorted({*ks, *between}))
    for k, floor in whole.items():
        share = max(0.0, fitting[k] - floor)
        for name in PARTS:
            above = found[f"{name}@{min(floor + 1, n)}"]
            found[f"tokens-{name}@{k}"] = (1 - share) * found[f"{name}@{floor}"] + share * above
    return {**found, **_of_chains(maze, rewards, m, [k for k in ks if k % m == 0])}


def _of_chains(maze: Maze, rewards: Floats, m: int, ks: Sequence[int]) -> dict[str, float]:
    if m == 1:
        return {}
    chains = rewards.reshape(-1, m, rewards.shape[1])
    scores = chains.mean(axis=2)
    solved = scores >= float(optimum(maze, EQUAL)) - _ROUNDING
    drawn = weights()
    oracle = float(optimum(maze, drawn).mean())
    # The best of each chain under each weight: (draws, chains).
    best = (chains @ drawn.T).max(axis=1).T
    found: dict[str, float] = {}
    for k in ks:
        found[f"chain-best@{k}"] = float(chain_best_at_k(scores, k // m))
        found[f"chain-solved@{k}"] = float(chain_pass_at_k(solved, k // m))
        found[f"chain-ew@{k}"] = float(best_at_k(best, k // m).mean()) / oracle
    return found


def solved_within(maze: Maze, rewards: Floats) -> float:
    """1 if any of the answers is the optimum, else 0."""
    return float((rewards.mean(axis=1) >= float(optimum(maze, EQUAL)) - _ROUNDING).any())


def reached(paths: Paths, budgets: Sequence[int], rate: float) -> dict[str, Floats]:
    """The results of searches within budgets, each (mazes,).

    Args:
        paths: of the searches.
        budgets: evaluations.
        rate: tokens of an evaluation at equal tokens.

    Returns:
        For each budget `best@` and `solved@` (evaluations), `answers-solved@` (that many answers written, including
            repeated answers) and `tokens-solved@` (budget * rate tokens written). `ended` says whether it ended before
            the last.
    """
    found: dict[str, Floats] = {}
    for budget in budgets:
        best = np.nanmax(paths.best[:, :budget], axis=1)
        found |= {f"best@{budget}": best, f"solved@{budget}": _solved(best, paths)}
        found[f"answers-solved@{budget}"] = _solved(_within(paths, paths.answers, budget), paths)
        found[f"tokens-solved@{budget}"] = _solved(_within(paths, paths.tokens, budget * rate), paths)
    return found | {"ended": np.isnan(paths.best[:, -1]).astype(np.float64)}


def volumes(paths: Paths, budgets: Sequence[int]) -> dict[str, Floats]:
    """Hypervolume of all evaluated walks over that of the cube, as `volume@` each budget of evaluations, (mazes,)."""
    reference = np.zeros(len(OBJECTIVES))
    return {
        f"volume@{budget}": np.array(
            [
                volume(evaluated[~np.isnan(evaluated).any(axis=1)], reference, np.random.default_rng(SEED))
                for evaluated in paths.scores[:, :budget]
            ]
        )
        for budget in budgets
    }


def answers_written(paths: Paths, budgets: Sequence[int]) -> dict[str, Floats]:
    """Answers written for so many evaluations, as `answers@` each budget, (mazes,)."""
    return {f"answers@{budget}": np.nanmax(paths.answers[:, :budget], axis=1) for budget in budgets}


def _within(paths: Paths, spent: Floats, maximum: float) -> Floats:
    best: Floats = np.where(spent <= maximum, paths.best, 0.0).max(axis=1)
    return best


def _solved(best: Floats, paths: Paths) -> Floats:
    return np.asarray((best >= paths.optimum - _ROUNDING).astype(np.float64))


def stacked(found: Mapping[int, Sequence[Mapping[str, Floats]]], *, tokens: float, temperature: float) -> MethodTable:
    """Tables of the results of each training seed. Several searches of a seed count as their mean."""
    seeds = tuple(sorted(found))
    names = set.intersection(*(set(one) for some in found.values() for one in some))
    tables = {name: np.stack([np.mean([one[name] for one in found[seed]], axis=0) for seed in seeds]) for name in names}
    return MethodTable(seeds=seeds, tables=tables, tokens=tokens, temperature=temperature)
