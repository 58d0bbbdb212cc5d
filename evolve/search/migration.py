"""Migration between islands: where migrants go, who they are, and whom an island that stands still begins anew from."""

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from evolve.archives.population import Population
from evolve.configuration import RunConfig
from evolve.multiobjective.pareto import crowding, front
from evolve.multiobjective.scalarization import Floats
from evolve.proposal import Individual
from evolve.search.islands import Island

NEIGHBOURS = 15  # as Lehman and Stanley have it
COMPARED = 64  # members of the receiving island that a migrant is compared with, the fittest
_MIGRATION, _RESET = 1, 2  # streams apart from each other, and from those of proposals


def targets(island: Island, islands: int, config: RunConfig) -> list[int]:
    """Where migrants of an island go now: the next of a ring, all others, one drawn at random, or nowhere.

    The draw derives from the run's seed and the number of evaluations on the island: a replay repeats it.
    """
    others = [(island.number + step) % islands for step in range(1, islands)]
    if not others or config.topology == "none":
        return []
    if config.topology == "random":
        return [others[int(_stream(island, config, _MIGRATION).integers(len(others)))]]
    return others if config.topology == "full" else others[:1]


def migrants(members: Population, receiver: Population, config: RunConfig) -> Sequence[Individual]:
    """Who leaves a copy with a receiver: a share of the members, at least one, in the order of their claim.

    Some that are with the receiver already may be among them: these leave no copy.
    """
    if config.migration_rate == 0 or not len(members):
        return []
    count = max(1, math.ceil(config.migration_rate * len(members)))
    return _CHOICES[config.migrants](members, receiver, count)


def survivor(island: Island, others: Sequence[Island], config: RunConfig) -> Individual | None:
    """Whom an island begins anew from; None: it is ahead of all others, and is left alone.

    The best of the island that is ahead, or that of one drawn among the better half of the others, as FunSearch
    (Romera-Paredes et al. 2023) does for the weaker half of its islands; never one that is worse than the island's own.
    """
    founders = [other.archive.members.best()[0] for other in others if len(other.archive.members)]
    founders.sort(key=_fitness, reverse=True)
    founders = founders[: math.ceil(len(founders) / 2)] if config.reset_from == "better_half" else founders[:1]
    founders = [founder for founder in founders if _fitness(founder) >= island.best]
    if not founders:
        return None
    return founders[int(_stream(island, config, _RESET).integers(len(founders)))]


def _best(members: Population, receiver: Population, count: int) -> Sequence[Individual]:
    return members.best(count, excluding=receiver)  # most of the fittest of a large archive have been there before


def _front(members: Population, receiver: Population, count: int) -> Sequence[Individual]:
    """Of those that no member dominates the least crowded, of equally crowded ones the fittest."""
    del receiver
    places = np.flatnonzero(front(members.signed_scores))
    order = np.lexsort((-members.fitness[places], -crowding(members.signed_scores[places])))
    return [members[int(place)] for place in places[order][:count]]


def _most_novel(members: Population, receiver: Population, count: int) -> Sequence[Individual]:
    """Of the fitter half those that are most novel to the receiver: far from what lives there.

    Migrants that differ from the receiving island do better than its own kind of the best (Araujo and Merelo 2011,
    "Diversity through multiculturality"). Novelty is the mean distance to the nearest neighbours (Lehman and Stanley
    2011) among the fittest there: in the space of the measures, else of the rewards, in shares of their ranges.
    """
    half = members.best(math.ceil(len(members) / 2))
    there = receiver.best(COMPARED)
    if not there:
        return half[:count]
    points, others = _points(half), _points(there)
    ranges = np.ptp(np.concatenate([points, others]), axis=0)
    squares = np.zeros((len(points), len(others)))
    with np.errstate(over="ignore"):  # what is too far for a number is infinitely far
        for column, other, span in zip(points.T, others.T, ranges, strict=True):
            if span > 0:
                squares += ((column[:, None] - other) / span) ** 2
    nearest = min(NEIGHBOURS, len(others))
    novelty = np.sqrt(np.partition(squares, nearest - 1, axis=1)[:, :nearest]).mean(axis=1)
    return [half[int(place)] for place in np.argsort(-novelty, kind="stable")[:count]]


_Choose = Callable[[Population, Population, int], Sequence[Individual]]
_CHOICES: Mapping[str, _Choose] = {"best": _best, "front": _front, "most_novel": _most_novel}


def _points(individuals: Sequence[Individual]) -> Floats:
    """Where individuals lie: their measures by name, else their rewards."""
    names = sorted(individuals[0].measures)
    rows = [[one.measures[name] for name in names] if names else list(one.rewards) for one in individuals]
    return np.array(rows)


def _stream(island: Island, config: RunConfig, purpose: int) -> np.random.Generator:
    return np.random.default_rng([config.seed, island.evaluated, island.number, purpose])


def _fitness(individual: Individual) -> float:
    return -math.inf if individual.fitness is None else individual.fitness
