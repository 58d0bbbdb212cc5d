"""Selections by dominance: ranks and crowding, reference directions, shares of the volume."""

from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import NDArray

from evolve.multiobjective import exact_hypervolume
from evolve.multiobjective.contribution import EXACT, contributions, draw_contributor
from evolve.multiobjective.pareto import front, ranks
from evolve.multiobjective.scalarization import Floats
from evolve.selection.selection import Selected, SelectionParams, brief, draw
from evolve.selection.view import ArchiveView

Places = NDArray[np.intp]
MAX_DIRECTIONS = 100
FAR = 1e100  # its square is finite


def select_nsga2(view: ArchiveView, rng: np.random.Generator, params: SelectionParams) -> Selected:
    """The better of two members drawn with repetition: of lower rank, else less crowded (NSGA-II, Deb et al. 2002)."""
    del params
    layers, distances = view.once(_layers), view.once(_distances)
    first, second = (int(place) for place in rng.integers(len(view), size=2))
    better = (layers[second], -distances[second]) < (layers[first], -distances[first])
    place = second if better else first
    return Selected(place=place, rationale={"rank": int(layers[place]), "crowding": brief(float(distances[place]))})


def select_nsga3(view: ArchiveView, rng: np.random.Generator, params: SelectionParams) -> Selected:
    """A member near a reference direction: the direction is drawn among those that have any.

    Directions are those of Das and Dennis (1998), members belong to the nearest (NSGA-III, Deb and Jain 2014), and of
    two of them drawn with repetition the one of lower rank is chosen, else the nearer (Seada and Deb 2016).
    """
    del params
    layers, niches = view.once(_layers), view.once(_niches)
    direction = int(niches.filled[rng.integers(len(niches.filled))])
    crowd = np.flatnonzero(niches.of == direction)
    first, second = (int(place) for place in crowd[rng.integers(len(crowd), size=2)])
    better = (layers[second], niches.distances[second]) < (layers[first], niches.distances[first])
    place = second if better else first
    return Selected(
        place=place,
        rationale={
            "rank": int(layers[place]),
            "direction": [brief(float(part)) for part in directions(view.signed_scores.shape[1])[direction]],
            "distance": brief(float(niches.distances[place])),
        },
    )


def select_hypervolume(view: ArchiveView, rng: np.random.Generator, params: SelectionParams) -> Selected:
    """A member in proportion to the volume that the front would lose without it.

    Measured from the problem's reference point, else from a tenth of the range below the worst of the members. Where
    volumes are not computed, points drawn anew for each choice decide.
    """
    del params
    shares = view.once(_shares)
    if shares is not None:
        place = draw(shares, rng)
        return Selected(place=place, rationale={"share": brief(float(shares[place]))})
    volumes = view.once(_volumes)
    row = draw_contributor(volumes.rows, rng)
    places = np.arange(len(view)) if row is None else np.flatnonzero(volumes.of == row)
    return Selected(place=int(places[rng.integers(len(places))]), rationale={"sampled": row is not None})


@lru_cache(maxsize=16)
def directions(k: int) -> Floats:
    """Reference points on the unit simplex of k objectives (Das and Dennis 1998), (n, k).

    The finest lattice of up to 100 points. With fewer divisions than objectives none of them lies inside, and a second
    layer at half the size is added (Deb and Jain 2014).
    """
    divisions = 1
    while k > 1 and comb(divisions + k, k - 1) <= MAX_DIRECTIONS:
        divisions += 1
    outer = _lattice(k, divisions)
    if 1 < divisions < k:
        return np.concatenate([outer, _lattice(k, divisions - 1) / 2 + 1 / (2 * k)])
    return outer


def _lattice(k: int, divisions: int) -> Floats:
    """All points of the simplex whose coordinates are multiples of 1 / divisions: stars and bars."""
    bars = np.array(list(combinations(range(divisions + k - 1), k - 1)), dtype=np.int64)
    edges = np.concatenate([np.full((len(bars), 1), -1), bars, np.full((len(bars), 1), divisions + k - 1)], axis=1)
    return (np.diff(edges, axis=1) - 1) / divisions


def _layers(view: ArchiveView) -> Places:
    return ranks(view.signed_scores)


def _distances(view: ArchiveView) -> Floats:
    """Crowding distance of each member within its rank, as `multiobjective.pareto.crowding` of that rank alone."""
    layers = view.once(_layers)
    total = np.zeros(len(layers))
    for column in view.signed_scores.T:
        order = np.lexsort((column, layers))
        values, sorted_layers = column[order], layers[order]
        starts = np.flatnonzero(np.diff(sorted_layers, prepend=-1))
        ends = np.append(starts[1:], len(order)) - 1
        sizes = ends - starts + 1
        spans = np.repeat(values[ends] - values[starts], sizes)
        wide = spans > 0
        gaps = np.where(wide, np.inf, 0.0)
        inner = wide.copy()
        inner[starts] = inner[ends] = False
        places = np.flatnonzero(inner)
        gaps[places] = (values[places + 1] - values[places - 1]) / spans[places]
        total[order] += gaps
    return total


@dataclass(frozen=True, slots=True)
class _Niches:
    """The direction that each member belongs to, its distance from it, and which directions have any."""

    of: Places
    distances: Floats
    filled: Places


def _niches(view: ArchiveView) -> _Niches:
    """Members by the nearest line from the ideal point: scores over the range of the front, seen from its best.

    Where the front has no range, that of all members counts.
    """
    scores = view.signed_scores
    ideal, nadir = scores.max(axis=0), scores[view.once(_layers) == 0].min(axis=0)
    nadir = np.where(nadir < ideal, nadir, scores.min(axis=0))
    span = ideal - nadir
    with np.errstate(over="ignore"):
        losses = np.minimum((ideal - scores) / np.where(span > 0, span, 1.0), FAR)
    lines = directions(scores.shape[1])
    along = losses @ (lines / np.linalg.norm(lines, axis=1, keepdims=True)).T
    of = along.argmax(axis=1)
    apart = (losses**2).sum(axis=1) - along[np.arange(len(of)), of] ** 2
    return _Niches(of, np.sqrt(np.maximum(apart, 0.0)), np.unique(of))


@dataclass(frozen=True, slots=True)
class _Volumes:
    """The distinct rows of the front over the reference, in shares of the whole box, and which of them members are.

    Attributes:
        of: row of each member; -1: it contributes nothing.
    """

    rows: Floats
    of: Places


def _volumes(view: ArchiveView) -> _Volumes:
    scores = view.signed_scores
    best, worst = scores.max(axis=0), scores.min(axis=0)
    below = worst - 0.1 * np.where(best > worst, best - worst, 1.0)
    reference = below if view.reference is None else np.asarray(view.reference)
    # Over the range of each objective: volumes of large scores would not be finite.
    gains = np.maximum(scores - reference, 0.0) / np.where(best > reference, best - reference, 1.0)
    # Twins as they are over that range: there scores that differ may have become one.
    gains, which = np.unique(gains, axis=0, return_inverse=True)
    kept = front(gains) & (gains > 0).all(axis=1)
    return _Volumes(gains[kept], np.where(kept, np.cumsum(kept) - 1, -1)[which.reshape(-1)])


def _shares(view: ArchiveView) -> Floats | None:
    """Contributions of the members to the volume of the front, twins with half of theirs each; None: not computed."""
    volumes = view.once(_volumes)
    k = volumes.rows.shape[1]
    found = contributions(volumes.rows, np.zeros(k)) if k <= EXACT else exact_hypervolume.contributions(volumes.rows)
    if found is None:
        return None
    there = volumes.of >= 0
    shares = np.zeros(len(view))
    shares[there] = (found / np.bincount(volumes.of[there], minlength=len(found)))[volumes.of[there]]
    return shares
