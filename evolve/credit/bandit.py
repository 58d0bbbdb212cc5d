"""Bandits: more proposals for the islands, or the policies, that have found something better of late."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

DECAY = 0.995
SCALE_DECAY = 0.98
MIN_VISITS = 3
_HALVINGS = 40
_SMALL = 1e-8


@dataclass(slots=True, kw_only=True)
class Arm:
    """How one of them does (AdaEvolve, Cemri et al. 2026, arXiv:2602.20133); gains lie in [0, 1].

    Attributes:
        decay: what an earlier gain counts for, beside the one after it.
        visits: proposals made there.
        reward: sum of its gains, each new one making the older ones count less.
        weight: number of its gains, which decays likewise.
    """

    decay: float = DECAY
    visits: int = 0
    reward: float = 0.0
    weight: float = 0.0

    @property
    def mean(self) -> float:
        """The mean gain of late; 0 before the first."""
        return self.reward / self.weight if self.weight else 0.0

    def learn(self, gain: float) -> None:
        """Take note of what was gained; 0: nothing."""
        self.reward = self.decay * self.reward + gain
        self.weight = self.decay * self.weight + 1.0


@dataclass(slots=True)
class GainScale:
    """The largest gain of late, of all arms: gains of a few per cent become shares of it.

    A bound for rewards in [0, 1] that are all near 0 tells no arm from another. The largest fades with each evaluation,
    for a first gain may be a thousand times those that follow.
    """

    largest: float = 0.0

    def share(self, gain: float) -> float:
        """A gain as a share of the largest, itself included."""
        self.largest = max(gain, SCALE_DECAY * self.largest)
        return gain / self.largest if gain else 0.0


def gain(fitness: float | None, island_best: float, best: float | None) -> float:
    """By how much an evaluation improves on its island, in shares of the best of the run: the same for all islands.

    An island that is far behind does not win by catching up in large steps of its own small numbers. At most 1, and
    1 where there was nothing yet.
    """
    if fitness is None or fitness <= island_best:
        return 0.0
    if math.isinf(island_best) or best is None:
        return 1.0
    return min(1.0, (fitness - island_best) / (abs(best) + _SMALL))


def choose(arms: Sequence[Arm], prices: Sequence[float] | None = None) -> int:
    """The next arm: those with few visits in turn, then by the bound of KL-UCB; the first among equals.

    The bound is the largest mean that the gains seen do not rule out (Garivier and Cappe 2011). Where gains are rare it
    is far tighter than that of UCB1, so that an arm that brings nothing is soon left alone.

    Args:
        arms: to choose from.
        prices: what the bound of each is divided by.
    """
    fewest = min(range(len(arms)), key=lambda place: arms[place].visits)
    if arms[fewest].visits < MIN_VISITS:
        return fewest
    total = _visited(arms)

    def bound(place: int) -> float:
        arm = arms[place]
        return upper_bound(arm.mean, arm.visits, total) / (prices[place] if prices else 1.0)

    return max(range(len(arms)), key=bound)


def reasons(arms: Sequence[Arm], place: int, prices: Sequence[float] | None = None) -> dict[str, float]:
    """What spoke for the arm that `choose` chose: its visits and its bound in parts, as far as that decided.

    Args:
        arms, prices: as `choose` was given them.
        place: of the arm.
    """
    arm = arms[place]
    if arm.visits < MIN_VISITS:
        return {"visits": arm.visits}
    bound = upper_bound(arm.mean, arm.visits, _visited(arms))
    parts = {"visits": arm.visits, "gain": arm.mean, "bonus": bound - arm.mean}
    return parts if prices is None else {**parts, "price": prices[place]}


def upper_bound(mean: float, visits: int, evidence: float) -> float:
    """The largest q in [mean, 1] with visits * KL(mean, q) <= evidence; KL is that of two Bernoullis."""
    low, high = min(mean, 1.0), 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if visits * _divergence(mean, middle) > evidence:
            high = middle
        else:
            low = middle
    return low


def _visited(arms: Sequence[Arm]) -> float:
    return math.log(sum(arm.visits for arm in arms) + 1)


def _divergence(p: float, q: float) -> float:
    """KL(p, q) of two Bernoulli distributions, p <= q."""
    found = p * math.log(p / q) if p > 0 else 0.0
    if p >= 1:
        return found
    return found + (1 - p) * math.log((1 - p) / (1 - q)) if q < 1 else math.inf
